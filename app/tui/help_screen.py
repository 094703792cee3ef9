"""Help for the part of the screen that has the focus: what it is, its keys as they are set now, the query language."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from app.tui.keys import ACTIONS

QUERIES = (
    ("wind turbine", "both words; some when few documents hold both"),
    ('"wind turbine"', "this phrase"),
    ("wind OR solar", "either; also AND, NOT, ( )"),
    ("-nuclear", "without this word"),
    ("turb*", "any word that begins so"),
    ("=running", "this very form, not run or runs"),
    ("title: name: path: from:", "only there: title:lease"),
    ("type:pdf ext:md lang:de", "kind of document, name ending, language"),
    ("dir:projects", "in this folder or below"),
    ("modified:last-week", "also today, 2024, >2024-01, 2024-01..2024-03"),
    ("size:>1mb", "also <10kb"),
    ("artist: camera: tag: taken:", "what describes it: taken:2026-05"),
)


class HelpScreen(ModalScreen[None]):
    """A panel over the screen; any of the keys that opened it closes it."""

    CSS_PATH = "panels.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,question_mark,enter", "dismiss", "Close"),
        Binding("down,j", "scroll(1)", "Down", show=False),
        Binding("up,k", "scroll(-1)", "Up", show=False),
        Binding("pagedown,space", "scroll(10)", "Page down", show=False),
        Binding("pageup", "scroll(-10)", "Page up", show=False),
    ]

    def __init__(self, about: str, keys: Sequence[tuple[str, str]]) -> None:
        """`about` says what the focused part is; `keys` are (keys, description)."""
        super().__init__()
        self._about = about
        self._keys = keys

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help-panel"):
            yield Static(self._text(), markup=False)

    def action_scroll(self, lines: int) -> None:
        self.query_one("#help-panel", VerticalScroll).scroll_relative(y=lines, animate=False)

    def _text(self) -> Text:
        text = Text(self._about + "\n\n")
        text.append("Keys\n", style="bold")
        for keys, description in self._keys:
            text.append(f"  {keys.ljust(17)} ", style="bold")
            text.append(description + "\n")
        text.append("\nWhat can be asked\n", style="bold")
        for query, meaning in QUERIES:
            text.append(f"  {query.ljust(26)} ")
            text.append(meaning + "\n", style="dim")
        text.append("\nHow the order learns\n", style="bold")
        text.append(
            "Text decides first. What you open moves up a little for this and similar questions, and for documents\n"
            "like it; one stray opening hardly counts, two or three do. It stays on this device, unless you join a\n"
            "group: then noised changes of the weights leave it (`foltr-search privacy`). `foltr-search model` shows,\n"
            "saves or resets what was learned, and x on a result says what moved it.\n"
        )
        text.append("\nNames for screen.keys\n", style="bold")
        text.append(", ".join(action.id for action in ACTIONS) + "\n", style="dim")
        return text
