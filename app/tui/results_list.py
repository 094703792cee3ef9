"""The list of results, drawn in view only: each a title with its place, a passage and a blank line, or one line alone.

Only visible rows are styled and only visible rows ask for a snippet, so that a page of any length appears at once.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Collection, Iterator
from typing import ClassVar

from rich.style import Style
from textual import events, on
from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.reactive import reactive
from textual.strip import Strip

from app.search.results import Hit, ResultPage, Snippet
from app.tui.keys import BY_ID, bindings_of, typed_action
from app.tui.line_view import LineView
from app.tui.messages import HitChosen, HitSelected, RowsShown, SnippetsMade
from app.tui.result_rows import HEIGHT, KINDS, RowStyles, row_lines

Marked = tuple[ResultPage, Hit]
"""a hit, and the page on which it was marked: opening it counts on that page"""


class Marks:
    """An ordered set of results."""

    def __init__(self) -> None:
        self._marked: dict[tuple[str, str], Marked] = {}

    def __len__(self) -> int:
        return len(self._marked)

    def __iter__(self) -> Iterator[Marked]:
        return iter(tuple(self._marked.values()))

    def holds(self, hit: Hit) -> bool:
        return (hit.path, hit.part) in self._marked

    def turn(self, page: ResultPage, hit: Hit) -> None:
        """Mark a result, or remove its mark."""
        if self._marked.pop((hit.path, hit.part), None) is None:
            self._marked[hit.path, hit.part] = (page, hit)

    def clear(self, *, but: Collection[str] = ()) -> None:
        """Remove the marks, except those on these paths."""
        self._marked = {key: marked for key, marked in self._marked.items() if key[0] in but}


BLANK = 1
"""lines that end a result; the last one in view may do without"""
KEPT_SNIPPETS = 500
PARTS = ("bar", "snippet", "match", "dim", "mark", "warning")
"""parts of a row with a style of their own"""

SnippetKey = tuple[int, tuple[str, ...], str]


class ResultsList(LineView, can_focus=True):
    """The results of one page, with a cursor."""

    HELP = "The results. Enter opens the selected one; letters act on it; Esc goes back to the search box."
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"results--{name}" for name in ("title", "chosen", "selected", *PARTS, *KINDS)
    }
    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings_of("list"),
        *(
            Binding(BY_ID[name].keys, typed_action(name), BY_ID[name].title, id=name, tooltip=BY_ID[name].description)
            for name in ("open", "edit", "copy")
        ),
    ]

    cursor: reactive[int] = reactive(0, init=False)
    """row of the selected result; 0 for the first"""

    def __init__(self, *, now: float | None = None, id: str | None = None) -> None:
        """`now` is the moment that dates are relative to, for screenshots; None for the real one."""
        super().__init__(id=id)
        self.page: ResultPage | None = None
        self._now = now
        self._snippets: OrderedDict[SnippetKey, Snippet] = OrderedDict()
        self._reasons: dict[int, str] = {}
        """row of the page shown -> why it stands there"""
        self._asked: set[int] = set()
        self._asked_width = 0
        """characters of the snippets that were asked for"""
        self._lines: dict[tuple[int, bool, bool], tuple[Strip, Strip]] = {}
        self._row_styles: dict[tuple[bool, bool], RowStyles] = {}
        """by whether the row is chosen and the list has the focus"""
        self.sized = False
        """whether sizes are shown in the rows"""
        self.row_height = HEIGHT
        """lines of one result; 1 for its title alone"""
        self.moved = False
        """whether the user put the cursor where it is"""
        self.marks = Marks()

    @property
    def is_read(self) -> bool:
        """Whether the user has moved the cursor or scrolled on this page."""
        return self.moved or self.scroll_offset.y > 0

    @property
    def selected(self) -> Hit | None:
        hits = self.page.hits if self.page else ()
        return hits[self.cursor] if 0 <= self.cursor < len(hits) else None

    def show_page(self, page: ResultPage | None, *, keep: Hit | None = None, rows: SnippetsMade | None = None) -> None:
        """Show another page from its start, or with the cursor on the document of `keep` where it is still there.

        `rows` is what is already known of its rows. No HitSelected is sent: the caller knows of the new selection.
        """
        self.moved = keep is not None
        self.page = page
        self._asked.clear()
        self._asked_width = self.snippet_width
        self._reasons = {}
        self._lines.clear()
        hits = page.hits if page else ()
        self.set_length(len(hits) * self.row_height)
        same = [row for row, hit in enumerate(hits) if keep is not None and hit.doc_id == keep.doc_id]
        self.set_reactive(ResultsList.cursor, same[0] if same else 0)
        self._follow_cursor()
        if rows is not None:
            self._asked.update(rows.snippets)
            self._keep(rows)
        self.repaint()
        self.call_after_refresh(self.ask_for_snippets)

    @on(SnippetsMade)
    def add_snippets(self, rows: SnippetsMade) -> None:
        """Keep snippets that a worker made, and draw those that belong to the page shown, with their reasons."""
        self._keep(rows)
        self.repaint()

    def _keep(self, rows: SnippetsMade) -> None:
        if rows.page is self.page:
            self._reasons.update(rows.reasons)
        for row, snippet in rows.snippets.items():
            self._snippets[self._snippet_key(rows.page, row)] = snippet
            if rows.page is self.page:
                self._forget_lines(row)
        while len(self._snippets) > KEPT_SNIPPETS:
            self._snippets.popitem(last=False)

    def snippet_of(self, row: int) -> Snippet | None:
        """The snippet of one row, once it was made."""
        return self._snippets.get(self._snippet_key(self.page, row)) if self.page else None

    def ask_for_snippets(self) -> None:
        """Ask once for the snippets of the rows in view, and why they stand there."""
        if self.page is None or not self.size.height:
            return
        if self._asked_width != self.snippet_width:
            self._asked_width = self.snippet_width
            self._asked.clear()
        first = max(0, int(self.scroll_offset.y) // self.row_height)
        last = min(len(self.page.hits), -(-(int(self.scroll_offset.y) + self.size.height) // self.row_height))
        rows = tuple(r for r in range(first, last) if r not in self._asked)
        if rows:
            self._asked.update(rows)
            self.post_message(RowsShown(self.page, rows, self.snippet_width))

    def move(self, rows: int) -> None:
        """Move the cursor by so many rows, stopping at both ends."""
        if self.page is not None and self.page.hits:
            self.moved = True
            self.cursor = max(0, min(len(self.page.hits) - 1, self.cursor + rows))

    def turn_mark(self) -> None:
        if self.page is not None and self.selected is not None:
            self.marks.turn(self.page, self.selected)
            self._forget_lines(self.cursor)
            self.repaint()

    def clear_marks(self, *, but: Collection[str] = ()) -> None:
        self.marks.clear(but=but)
        self.draw_anew()

    def draw_anew(self) -> None:
        self._lines.clear()
        self.repaint()

    def watch_cursor(self, old: int, new: int) -> None:
        self._follow_cursor()
        self.repaint()
        self.post_message(HitSelected())

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self.ask_for_snippets()

    def on_resize(self) -> None:
        self._lines.clear()
        self.set_length(len(self.page.hits) * self.row_height if self.page else 0)
        self._follow_cursor()
        self.ask_for_snippets()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._lines.clear()
        self._row_styles.clear()

    def on_click(self, event: events.Click) -> None:
        row = (event.y + int(self.scroll_offset.y)) // self.row_height
        if self.page is None or not 0 <= row < len(self.page.hits):
            return
        self.moved, self.cursor = True, row
        if event.chain == 2:
            self.post_message(HitChosen())

    def make_line(self, row: int) -> Strip:
        hit, line = divmod(row, self.row_height)
        if self.page is None or hit >= len(self.page.hits):
            return Strip.blank(self.text_width, self.base_style)
        return self._row(hit)[line] if line < len(self._row(hit)) else Strip.blank(self.text_width, self.base_style)

    @property
    def is_dense(self) -> bool:
        """Whether each result takes one line."""
        return self.row_height == 1

    def show_rows(self, *, dense: bool) -> None:
        """Show each result in one line, or at length."""
        self.row_height = 1 if dense else HEIGHT
        self.on_resize()
        self.repaint()

    def turn_sizes(self) -> None:
        """Show or hide the size of each file in its row."""
        self.sized = not self.sized
        self.draw_anew()

    def action_go(self, action: str) -> None:
        n_hits = len(self.page.hits) if self.page else 0
        half, page = max(1, self.rows_in_view // 2), max(1, self.rows_in_view - 1)
        rows = {"down": 1, "half-down": half, "page-down": page, "bottom": n_hits}
        rows |= {"up": -1, "half-up": -half, "page-up": -page, "top": -n_hits}
        self.move(rows[action.removeprefix("list-")])

    @property
    def snippet_width(self) -> int:
        return max(20, self.text_width - 3)

    @property
    def rows_in_view(self) -> int:
        """How many whole results fit."""
        return (self.size.height + BLANK) // self.row_height

    def _snippet_key(self, page: ResultPage, row: int) -> SnippetKey:
        return (page.hits[row].doc_id, page.words, page.hits[row].part)

    def _forget_lines(self, row: int) -> None:
        for chosen in (False, True):
            for focused in (False, True):
                self._lines.pop((row, chosen, focused), None)

    def _follow_cursor(self) -> None:
        region = Region(0, self.cursor * self.row_height, max(1, self.size.width), max(1, self.row_height - BLANK))
        self.scroll_to_region(region, animate=False, force=True, immediate=True)

    def _row(self, row: int) -> tuple[Strip, Strip]:
        assert self.page is not None
        key = (row, row == self.cursor, self.has_focus)
        if key not in self._lines:
            self._lines[key] = row_lines(
                self.page.hits[row],
                snippet=self.snippet_of(row),
                why=self._reasons.get(row, ""),
                width=self.text_width,
                styles=self._styles(chosen=key[1], focused=key[2]),
                now=time.time() if self._now is None else self._now,
                chosen=key[1],
                sized=self.sized,
                marked=self.marks.holds(self.page.hits[row]),
            )
        return self._lines[key]

    def _styles(self, *, chosen: bool, focused: bool) -> RowStyles:
        if (chosen, focused) not in self._row_styles:
            self._row_styles[chosen, focused] = self._made_styles(chosen=chosen)
        return self._row_styles[chosen, focused]

    def _made_styles(self, *, chosen: bool) -> RowStyles:
        base = self.get_component_rich_style("results--selected") if chosen else self.base_style

        def part(name: str) -> Style:
            own = self.get_component_rich_style(f"results--{name}")
            return base + own + Style.from_color(None, base.bgcolor)

        few = self.get_component_rich_style("results--chosen").without_color  # shows it where colours are few
        return RowStyles(
            base=base,
            title=part("title") + (few if chosen else Style.null()),
            **{name: part(name) for name in PARTS},
            kinds={kind: part(kind) for kind in KINDS},
        )
