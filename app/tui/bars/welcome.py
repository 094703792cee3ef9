"""What the result area says while there is nothing to list: how to begin, or why nothing was found."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from app.search.index_status import IndexStatus
from app.search.results import ResultPage
from app.tui.background_indexing import ProgressLine
from console.printable import safe_line
from console.wording import count, fit

EXAMPLES = (
    ('"annual report"', "these words in this order"),
    ("type:pdf  ext:odt", "one kind of file"),
    ("from:anna  title:lease", "sender, title"),
    ("modified:last-week", "by date; also >2024-01"),
    ("dir:projects  -draft", "folder, without a word"),
)
LONGEST = 48
"""cells of a query; a pasted page would leave no room for the rest"""


class Welcome(Static):
    """A calm page in place of the list."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)

    def show_start(
        self, status: IndexStatus | None, progress: ProgressLine, *, searches: Sequence[str] = (), recent: bool = False,
        brief: bool = False, key: str = "",
    ) -> None:  # fmt: skip
        """Before a question: what is there, what can be typed, and the last searches.

        `recent`: recent files follow; `brief`: there is little room; `key` shows the folders.
        """
        text = Text()
        if status is None:
            text.append("Opening the index …\n", style="dim")
        elif status.n_documents:
            text.append(f"{count(status.n_documents, 'document')} ready to be searched\n", style="bold")
        else:
            text.append("0 documents indexed\n", style="bold")
            text.append("Results appear here as files are read.\n" if progress.busy else f"Add a folder: {key}\n")
        if progress.busy:
            text.append(progress.text + "\n")
            text.append("".join(f"  {line}\n" for line in progress.details), style="dim")
        if not (brief and recent):
            text.append("\nType some words. These work too:\n\n", style="dim")
            for example, meaning in EXAMPLES:
                text.append(f"  {example.ljust(25)}")
                text.append(f"{meaning}\n", style="dim")
        if searches:
            text.append("\nLast searches, with Up: ", style="dim")
            text.append(" · ".join(fit(safe_line(one), LONGEST) for one in searches) + "\n")
        if recent:
            text.append("\nOpened and changed lately, with Down:", style="dim")
        self.update(text)

    def show_nothing(self, page: ResultPage, *, narrowed: str, indexing: bool, key: str = "") -> None:
        """After a question that nothing answers: what can be done about it; `key` shows the folders."""
        text = Text()
        text.append(f"Nothing found for {fit(safe_line(page.request.text.strip()), LONGEST)}\n", style="bold")
        if narrowed:
            text.append(f"\nOnly {narrowed} was searched; Esc in the empty search box takes filters away.\n")
        if indexing:
            text.append("\nIndexing is still going on; what is found later appears by itself.\n")
        if not page.n_documents:
            text.append(
                "\n0 documents are indexed" + ("." if indexing else f": add a folder{f' ({key})' * bool(key)}.\n")
            )
        else:
            text.append("\nFewer words, or another spelling, find more.\n", style="dim")
            text.append("`foltr-search why FILE` says why a file is not in the index.\n", style="dim")
        self.update(text)

    def show_trouble(self, error: str) -> None:
        """The index cannot be used."""
        text = Text("The index cannot be searched\n", style="bold")
        text.append(f"\n{error}\n\n")
        text.append("`foltr-search index --rebuild` rebuilds it; your files are never touched.\n", style="dim")
        self.update(text)
