"""Choosing paths for another program: what Enter takes, what leaving gives, and that a choice is learned from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.search.results import Hit
    from app.tui.marks import Marked, Marks
    from app.tui.session import Session

CHOSEN, NOTHING, LEFT = 0, 1, 130
"""exit codes, those of fzf: chosen; Enter where nothing is found; left with Esc or Ctrl-C"""


@dataclass(slots=True)
class Picking:
    """A screen that chooses and opens nothing."""

    multi: bool = False
    query: str = ""
    """what is asked at the start"""
    paths: tuple[str, ...] = ()
    """what was chosen"""

    @property
    def without(self) -> frozenset[str]:
        """The actions that do nothing here."""
        return FILING if self.multi else FILING | {"mark", "mark-back", "unmark"}

    def take(self, session: Session, selected: Hit | None, marks: Marks) -> int:
        """Choose the marked results in the order of marking, else the selected one; gives the exit code.

        Each counts as opened on the page on which it was marked.
        """
        page = session.page
        chosen: list[Marked] = list(marks)
        if not chosen and selected is not None and page is not None:
            chosen = [(page, selected)]
        for shown, hit in sorted(chosen, key=lambda one: one[0].page_id):
            session.opened(hit, on=shown)
        self.paths = tuple(dict.fromkeys(hit.path for _, hit in chosen))
        return CHOSEN if self.paths else NOTHING


FILING = frozenset({"open-all", "copy-files", "move-files", "trash"})
"""the actions that change or start something; a picker only chooses"""
