"""The actions on the screen itself: the order, the panes, the filters, help, statistics, going back."""

from __future__ import annotations

from textual.widgets import Input

from app.search.results import ORDERS, IndexStatus
from app.tui.engine import ProgressLine
from app.tui.explain_pane import ExplainPane
from app.tui.facet_bar import FACETS, FacetBar
from app.tui.help_screen import HelpScreen
from app.tui.hint_line import HintLine
from app.tui.hit_actions import HitActions
from app.tui.preview_body import PreviewBody
from app.tui.preview_pane import PreviewPane
from app.tui.query_input import QueryInput
from app.tui.results_list import ResultsList
from app.tui.setup import Setup
from app.tui.stats_screen import StatsScreen
from app.tui.status_line import ORDER_NAMES, StatusLine
from app.tui.wording import short_path

SIDE_SHARES = (30, 40, 50, 60, 70)
"""per cent of the body that the side pane takes"""

HIDDEN = ("app.focus", "screen.copy_text")
"""Textual's own actions that need no line in the help"""


class ScreenActions(HitActions):
    """What the search screen is narrowed to, ordered by and showing."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.order = "learned"
        self.narrowed = {"type": "", "folder": setup.folder, "time": ""}
        self.status: IndexStatus | None = None
        self.generation = -1
        self.progress = ProgressLine("", -1, False)
        self._side_wanted = {"wide": setup.settings.screen.preview, "narrow": False}
        self._share = 2

    def ask_again(self) -> None:
        """Ask the same anew, because the order, the filters or the index are others."""
        raise NotImplementedError("the search box asks")

    def set_query(self, text: str) -> None:
        """Put a text in the search box, as if it had been typed."""
        box = self.query_one(QueryInput)
        box.value = text
        box.cursor_position = len(text)
        box.focus()

    def narrowing(self) -> str:
        """What the results are narrowed to, in words."""
        parts = [self.narrowed["type"], short_path(self.narrowed["folder"]), self.narrowed["time"]]
        return ", ".join(part for part in parts if part)

    def narrow(self, facet: str, value: str) -> None:
        """Narrow to a facet's value, or with "" no longer."""
        self.narrowed[facet] = value
        bar = self.query_one(FacetBar)
        bar.active[facet] = value
        bar.refresh()
        self.ask_again()

    def action_order(self) -> None:
        self.action_order_by(ORDERS[(ORDERS.index(self.order) + 1) % len(ORDERS)])

    def action_order_by(self, order: str) -> None:
        self.order = order
        self.query_one(StatusLine).say(ORDER_NAMES[order])
        self.ask_again()

    def action_refresh(self) -> None:
        self.session.look_again()
        self.ask_again()

    def action_preview(self) -> None:
        """Show or hide the preview; from the explanation, go back to it."""
        explaining = self.query_one(ExplainPane).display
        self._side_wanted[self._shape] = explaining or not self._side_wanted[self._shape]
        self.show_side()

    def action_explain(self) -> None:
        """Show the explanation, or go back to the preview."""
        explaining = self.query_one(ExplainPane).display and self.has_class("-side")
        self._side_wanted[self._shape] = True
        self.show_side(explain=not explaining)

    def show_side(self, *, explain: bool = False) -> None:
        """Lay the side pane out: beside the results, below them where the screen is narrow, or not at all."""
        self.query_one(PreviewPane).display = not explain
        self.query_one(ExplainPane).display = explain
        self.set_class(self._side_wanted[self._shape], "-side")
        share = SIDE_SHARES[self._share]
        side = self.query_one("#side")
        side.styles.width = "100%" if self._shape == "narrow" else f"{share}%"
        side.styles.height = f"{share}%" if self._shape == "narrow" else "100%"
        if not self.has_class("-side") and self.focused is not None and side in self.focused.ancestors:
            self.query_one(QueryInput).focus()
        self.call_after_refresh(self.read_side)

    def read_side(self) -> None:
        """Ask for what the side pane shows of the selected result."""
        hit = self.query_one(ResultsList).selected
        if hit is None or not self.has_class("-side"):
            return
        if self.query_one(ExplainPane).display:
            self.session.want_explanation(hit)
        elif width := self.query_one(PreviewBody).size.width:
            self.session.want_preview(hit, width)

    def action_wider(self) -> None:
        self._share = min(len(SIDE_SHARES) - 1, self._share + 1)
        self.show_side(explain=self.query_one(ExplainPane).display)

    def action_narrower(self) -> None:
        self._share = max(0, self._share - 1)
        self.show_side(explain=self.query_one(ExplainPane).display)

    def action_facets(self) -> None:
        """Show the filters and go there; from there, hide them."""
        bar = self.query_one(FacetBar)
        bar.display = not (bar.display and bar.has_focus)
        (bar if bar.display else self.query_one(QueryInput)).focus()

    def action_next_match(self) -> None:
        self.query_one(PreviewPane).step_match(1)

    def action_previous_match(self) -> None:
        self.query_one(PreviewPane).step_match(-1)

    def action_suggestion(self) -> None:
        suggestion = self.query_one(HintLine).suggestion
        if suggestion:
            self.set_query(suggestion)

    def action_search(self) -> None:
        box = self.query_one(QueryInput)
        box.focus()
        box.action_select_all()

    def action_back(self) -> None:
        """One step back: to the search box, then an empty box, then no filters."""
        box = self.query_one(QueryInput)
        if not box.has_focus:
            box.focus()
        elif box.value:
            box.value = ""
        elif any(self.narrowed.values()):
            for facet in FACETS:
                self.narrowed[facet] = self.query_one(FacetBar).active[facet] = ""
            self.query_one(FacetBar).refresh()
            self.query_one(StatusLine).say("filters taken away")
        else:
            self.query_one(StatusLine).say("Ctrl+Q leaves")

    def action_stats(self) -> None:
        self.app.push_screen(StatsScreen(self.setup.read_stats))

    def action_help(self) -> None:
        """Help for the part that has the focus, with the keys as they are now."""
        focused = self.focused
        about = focused.HELP if focused is not None and focused.HELP else ""
        rows: dict[str, list[str]] = {}
        for active in self.active_bindings.values():
            binding = active.binding
            if not binding.system and not isinstance(active.node, Input) and not binding.action.startswith(HIDDEN):
                rows.setdefault(binding.tooltip or binding.description, []).append(self.app.get_key_display(binding))
        self.app.push_screen(HelpScreen(about, [(" ".join(keys), what) for what, keys in rows.items()]))

    @property
    def _shape(self) -> str:
        return "narrow" if self.size.width and self.size.width < 96 else "wide"
