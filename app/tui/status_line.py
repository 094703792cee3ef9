"""One line of facts: what was found and how, on the left; what the program is doing or has learned, on the right."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text
from textual.widget import Widget

from app.search.results import IndexStatus, ResultPage
from app.wording import count, fit

ORDER_NAMES = {"learned": "learned order", "bm25": "BM25 order", "modified": "newest first", "name": "by name"}


class StatusLine(Widget):
    """The line above the footer."""

    DEFAULT_CSS = "StatusLine { height: 1; }"

    def __init__(self, *, exploring: bool, learning: bool, id: str | None = None) -> None:
        super().__init__(id=id)
        self._exploring, self._learning = exploring, learning
        self._left = ""
        self._doing = ""
        self._said = ""
        self._group = ""
        self._marked = ""

    @property
    def text(self) -> str:
        """All of it, for tests and screen readers."""
        return "  ".join(part for part in (self._left_text, self._right) if part)

    @property
    def _right(self) -> str:
        return " · ".join(part for part in (self._said, self._group, self._doing) if part)

    def show_page(self, page: ResultPage, *, narrowed: str) -> None:
        """Say how much was found, how fast and in which order."""
        parts = [found_of(page), f"{max(1, round(page.seconds * 1000))} ms", ORDER_NAMES[page.request.order]]
        if page.request.order == "learned":
            parts.append("learning off" if not self._learning else "exploring" if self._exploring else "")
        self._left = " · ".join(part for part in (*parts, narrowed) if part)
        self.refresh()

    def show_marked(self, n_marked: int) -> None:
        """Say how many results are marked."""
        self._marked = f"{n_marked} marked" if n_marked else ""
        self.refresh()

    @property
    def _left_text(self) -> str:
        return " · ".join(part for part in (self._marked, self._left) if part)

    def show_index(self, status: IndexStatus | None, *, key: str = "") -> None:
        """Say what the index holds, while no question is asked; `key` shows what could not be read."""
        self._left = "opening the index …" if status is None else f"{count(status.n_documents, 'document')} indexed"
        if status is not None and status.n_failures:
            self._left += f" · {count(status.n_failures)} failed" + (f": {key}" if key else "")
        self.refresh()

    def show_unkept(self) -> None:
        """What is opened teaches nothing now."""
        self._learning = False

    def show_doing(self, text: str) -> None:
        """Say how far indexing is; "" when there is nothing to say."""
        self._doing = text
        self.refresh()

    def show_group(self, text: str) -> None:
        """Say what became of the last sync with the group."""
        self._group = text
        self.refresh()

    def say(self, text: str) -> None:
        """Say what was last learned or done."""
        self._said = text
        self.refresh()

    async def on_click(self) -> None:
        await self.screen.run_action("failures")

    def render(self) -> Text:
        width = max(0, self.size.width)
        right = fit(self._right, width)
        left = fit(self._left_text, max(0, width - cell_len(right) - 2)) if right else fit(self._left_text, width)
        gap = " " * max(0, width - cell_len(left) - cell_len(right))
        return Text(left + gap + right, no_wrap=True, end="")


def found_of(page: ResultPage) -> str:
    """How much was found: "220 of 1,400", "6 with all words, 214 with some"."""
    if not page.hits:
        return "nothing found"
    if page.n_all_words < page.n_matches:
        return f"{count(page.n_all_words)} with all words, {count(page.n_matches - page.n_all_words)} with some"
    return f"{count(page.n_matches)} of {count(page.n_documents)}"
