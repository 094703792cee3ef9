"""One line under the search box: what was wrong in the query, at its place, or a better spelling, asked or not."""

from __future__ import annotations

from collections.abc import Callable

from rich.cells import cell_len
from rich.text import Text
from textual.widget import Widget

from app.search.results import ResultPage
from console.printable import safe_line
from console.wording import fit


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
    if page.searched:
        text = Text("Results for ", no_wrap=True, end="")
        text.append(safe_line(page.searched), style="bold underline")
        return text.append(f"   {key}: as typed" if key else "")
    if page.suggestion:
        text = Text("Did you mean ", no_wrap=True, end="")
        text.append(safe_line(page.suggestion), style="bold underline")
        return text.append(f" ?   {key}" if key else " ?")
    if page.relaxed:
        wide = "Few documents hold all the words; those that hold some of them follow."
        return Text(fit(wide, width), no_wrap=True, end="")
    return Text()
