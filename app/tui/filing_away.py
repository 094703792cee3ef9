"""What is done with the marked files: asked for by name first, done in a worker, and said file by file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from textual.screen import Screen

from app import filing
from app.filing import Filed
from app.tui.marks import Marked
from app.tui.messages import FilesFiled
from app.tui.results_list import ResultsList
from app.tui.session import Session
from console.wording import count, short_path

DONE = {"copy": "copied", "move": "moved", "trash": "trashed"}
SHOWN = 8
"""refusals that are told one by one"""


class FilingAway:
    """Copies, moves and trashes the marked results of a screen, or the selected one where none is marked."""

    def __init__(self, screen: Screen[None], session: Session) -> None:
        self._screen, self._session = screen, session

    @property
    def marked(self) -> list[Marked]:
        """The marked results in the order of marking, else the selected one."""
        results = self._screen.query_one(ResultsList)
        if len(results.marks) or results.selected is None or results.page is None:
            return list(results.marks)
        return [(results.page, results.selected)]

    def ask(self, what: str, then: Callable[[str], None] | None = None) -> None:
        """Name the files and ask; when the user agrees, do it, or call `then` with the folder."""
        from app.tui.panels.filing_screen import FilingScreen

        marked = self.marked
        if marked:
            act = then or partial(self._begin, what, list(dict.fromkeys(hit.path for _, hit in marked)))
            self._screen.app.push_screen(
                FilingScreen(what, marked), lambda folder: act(folder) if folder is not None else None
            )

    def _begin(self, what: str, paths: Sequence[str], folder: str) -> None:
        self._session.run(partial(self._do, what, paths, folder))

    def _do(self, what: str, paths: Sequence[str], folder: str) -> None:
        """Runs in a worker."""
        if what == "trash":
            filed = filing.trash(paths)
        else:
            filed = (filing.copy_to if what == "copy" else filing.move_to)(paths, folder)
        if what == "move":
            self._session.follow((one.path, one.target) for one in filed if not one.error)
        self._session.tell(FilesFiled(what, tuple(filed), folder))


def report(what: str, filed: Sequence[Filed], folder: str) -> tuple[str, str]:
    """What was done as one sentence, and what was refused, a line for each file; "" for nothing of either."""
    refused = [one for one in filed if one.error]
    n_done = len(filed) - len(refused)
    where = f" to {short_path(folder)}" if folder else ""
    lines = [f"{short_path(one.path)}: {one.error}" for one in refused[:SHOWN]]
    if len(refused) > SHOWN:
        lines.append(f"and {len(refused) - SHOWN} more")
    return f"{DONE[what]} {count(n_done, 'file')}{where}" if n_done else "", "\n".join(lines)
