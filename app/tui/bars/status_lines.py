"""Lines of text around the results: under the search box what was wrong in the query or a better spelling, under the
panes what was found and what the program does, and the keys at the bottom.

Where not all of it fits, the least important goes first and whole: what was found stays, unless what was said since
needs the room; of the keys always how to leave.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from rich.cells import cell_len
from rich.text import Text
from textual import events, on
from textual.widget import Widget

from app.search.index_status import IndexStatus
from app.search.results import ResultPage
from app.tui.keys import Action, actions_of, is_letter, keys_of, typed_action
from app.tui.messages import Learned
from console.printable import safe_line
from console.wording import count, fit

ORDER_NAMES = {"learned": "learned order", "bm25": "by words alone", "modified": "newest first", "name": "by name"}
LEAST = 16
"""cells that a sentence on the right must have; with fewer it tells nothing"""
SEPARATOR = " · "


class Fact(NamedTuple):
    text: str
    rank: int
    """0 stays longest; those above `ESSENTIAL` go before a sentence beside them is cut"""


ESSENTIAL = 4


class StatusLine(Widget):
    """The line above the footer."""

    DEFAULT_CSS = "StatusLine { height: 1; }"

    def __init__(self, *, exploring: bool, learning: bool, id: str | None = None) -> None:
        super().__init__(id=id)
        self._exploring, self._learning = exploring, learning
        self._left: tuple[Fact, ...] = ()
        self._doing = ""
        self._busy = False
        self._said = ""
        self._group = ""
        self._marked = ""
        self._said_last = False
        """the newest sentence is newer than what was found"""

    @property
    def text(self) -> str:
        """All of it, for tests and screen readers."""
        return "  ".join(part for part in (_joined(self._left_parts), _joined(self._right_parts)) if part)

    @property
    def _left_parts(self) -> list[Fact]:
        return [part for part in (Fact(self._marked, 2), *self._left) if part.text]

    @property
    def _right_parts(self) -> list[Fact]:
        said = Fact(self._said, 0 if self._said_last else 2)
        return [part for part in (said, Fact(self._group, 6), Fact(self._doing, 4 if self._busy else 6)) if part.text]

    @on(Learned)
    def _learned(self, message: Learned) -> None:
        self.say(message.sentence)

    def show_page(self, page: ResultPage, *, narrowed: str) -> None:
        """Say how much was found, how fast and in which order."""
        order = page.request.order
        order = "modified" if order == "learned" and not page.words else order  # filters alone find the newest
        mode = "learning off" if not self._learning else "exploring" if self._exploring else ""
        self._left = (
            *found_of(page),
            Fact(f"{max(1, round(page.seconds * 1000))} ms", 8),
            Fact(ORDER_NAMES[order], 7 if order == "learned" else 3),
            Fact(mode if order == "learned" else "", 6),
            Fact(narrowed, 3),
        )
        self._said_last = False
        self.refresh()

    def show_marked(self, n_marked: int) -> None:
        self._marked = f"{n_marked} marked" if n_marked else ""
        self.refresh()

    def show_index(self, status: IndexStatus | None, *, key: str = "") -> None:
        """Say what the index holds, while no question is asked; `key` shows what could not be read."""
        self._left = (
            Fact("opening the index …" if status is None else f"{count(status.n_documents, 'document')} indexed", 1),
        )
        if status is not None and status.n_failures:
            self._left += (Fact(f"{count(status.n_failures)} failed" + (f": {key}" if key else ""), 3),)
        self.refresh()

    def show_unkept(self) -> None:
        """What is opened teaches nothing now."""
        self._learning = False

    def show_doing(self, text: str, *, busy: bool) -> None:
        """Say how far indexing is; "" when there is nothing to say. Not `busy`: it may be known already."""
        self._doing, self._busy = text, busy
        self.refresh()

    def show_group(self, text: str) -> None:
        """Say what became of the last sync with the group."""
        self._group = text
        self.refresh()

    def say(self, text: str) -> None:
        """Say what was last learned or done."""
        self._said, self._said_last = text, True
        self.refresh()

    async def on_click(self) -> None:
        await self.screen.run_action(typed_action("failures"))

    def render(self) -> Text:
        width = max(0, self.size.width)
        left, right = fitted(self._left_parts, self._right_parts, width)
        return Text(left + " " * (width - cell_len(left) - cell_len(right)) + right, no_wrap=True, end="")


def fitted(left: Sequence[Fact], right: Sequence[Fact], width: int) -> tuple[str, str]:
    """Both sides in `width` cells: without the least important parts, then with the last sentence cut."""
    ranks = sorted({part.rank for part in (*left, *right)}, reverse=True)
    for rank in ranks[:-1]:
        may_be_cut = right and (right[-1].rank <= ESSENTIAL or len(right) == 1)
        may_be_cut = may_be_cut and rank <= max(ESSENTIAL, right[-1].rank)
        spare = max(0, cell_len(right[-1].text) - LEAST) if may_be_cut else 0
        if cell_len(_joined(left)) + _gap(left, right) + cell_len(_joined(right)) - spare <= width:
            break
        left, right = ([part for part in side if part.rank < rank] for side in (left, right))
    beside = fit(_joined(left), width)
    return beside, fit(_joined(right), max(0, width - cell_len(beside) - _gap(left, right)))


def _gap(left: Sequence[Fact], right: Sequence[Fact]) -> int:
    return 2 if left and right else 0


def _joined(parts: Sequence[Fact]) -> str:
    return SEPARATOR.join(part.text for part in parts)


def found_of(page: ResultPage) -> tuple[Fact, ...]:
    """How much was found: "220 of 1,400 documents", "6 with all words · 214 with some"."""
    if not page.hits or not page.n_matches:
        return (Fact("found by meaning alone" if page.hits else "nothing found", 1),)
    if page.n_all_words < page.n_matches:
        return Fact(f"{count(page.n_all_words)} with all words", 1), Fact(
            f"{count(page.n_matches - page.n_all_words)} with some", 5
        )
    return (Fact(f"{count(page.n_matches)} of {count(page.n_documents, 'document')}", 1),)


class HintLine(Widget):
    """Hidden while there is nothing to say; a click takes the suggested spelling."""

    DEFAULT_CSS = "HintLine { height: 1; display: none; }"

    def __init__(self, *, take: Callable[[str], None], id: str | None = None) -> None:
        """`take` is given the spelling that is clicked."""
        super().__init__(id=id)
        self._take = take
        self.hint = Text()
        self.suggestion = ""

    def show_page(self, page: ResultPage | None, *, key: str, width: int) -> None:
        """Say the most useful thing about a page; `key` takes the spelling, `width` is the room in cells."""
        self.suggestion = page.suggestion if page else ""
        hint = hint_of(page, key=key, width=width) if page else Text()
        if hint != self.hint:
            self.hint = hint
            self.display = bool(hint.plain)
            self.refresh()

    def on_click(self) -> None:
        if self.suggestion:
            self._take(self.suggestion)

    def render(self) -> Text:
        return self.hint


def hint_of(page: ResultPage, *, key: str, width: int) -> Text:
    """The hint for one page; empty where there is nothing to say."""
    if page.problems:
        problem = page.problems[0]
        before = cell_len(safe_line(page.request.text[: problem.position]))
        message = safe_line(problem.message)
        fits = before + 2 + cell_len(message) <= width
        return Text(" " * before + "↑ " + message if fits else fit("↑ " + message, width), no_wrap=True, end="")
    if query := page.searched or page.suggestion:
        lead, sign, what = ("Results for ", "", ": as typed") if page.searched else ("Did you mean ", " ?", "")
        text = Text(lead, no_wrap=True, end="").append(safe_line(query), style="bold underline")
        return text.append(sign + (f"   {key}{what}" if key else ""))
    if page.unasked:
        return Text(fit(safe_line("; ".join(page.unasked)), width), no_wrap=True, end="")
    if page.relaxed:
        whole = "Few documents hold" if page.n_all_words else "No document holds"
        return Text(fit(f"{whole} all the words; those that hold some of them follow.", width), no_wrap=True, end="")
    return Text()


GAP = "  "
Label = tuple[Action, str, str]
"""an action, its key as it is shown, its title"""


class KeyLine(Widget):
    """One line; a click on an action is its key."""

    DEFAULT_CSS = "KeyLine { height: 1; }"
    COMPONENT_CLASSES: ClassVar[set[str]] = {"keys--key"}

    def __init__(
        self, keymap: Mapping[str, str], display: Callable[[str], str], *, without: frozenset[str], opens: str = ""
    ) -> None:
        """`display` writes a key as people do; the actions `without` do nothing here; `opens`: what Enter does."""
        super().__init__()
        actions = [action for action in actions_of("search") if action.rank and action.id not in without]
        keys = ([key for key in keys_of(action, keymap) if not is_letter(key)] for action in actions)
        self._labels = [
            (action, display(there[0]), opens if opens and action.id == "open" else action.title)
            for action, there in zip(actions, keys, strict=True)
            if there
        ]

    @property
    def shown(self) -> list[Label]:
        """What fits into the line, in the order of the table; the last one says how to leave."""
        return fitting(self._labels, self.size.width)

    def render(self) -> Text:
        style = self.get_component_rich_style("keys--key", partial=True)
        text = Text(" ", no_wrap=True, end="")
        for _, key, title in self.shown:
            text.append(key, style=style)
            text.append(f" {title}{GAP}")
        return text

    async def on_click(self, event: events.Click) -> None:
        left = 1
        for label in self.shown:
            right = left + _width(label)
            if left <= event.x < right - len(GAP):
                await self.screen.run_action(typed_action(label[0].id))
                return
            left = right


def fitting(labels: list[Label], width: int) -> list[Label]:
    """Those of the highest rank that fit together into `width` cells, in their own order."""
    kept: set[str] = set()
    room = width - 1 + len(GAP)
    for label in sorted(labels, key=lambda label: label[0].rank):
        room -= _width(label)
        if room < 0:
            break
        kept.add(label[0].id)
    return [label for label in labels if label[0].id in kept]


def _width(label: Label) -> int:
    return cell_len(f"{label[1]} {label[2]}{GAP}")
