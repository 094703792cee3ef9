"""Choosing paths for another program: what the screen was asked for, what was chosen, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass

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


FILING = frozenset({"open-all", "copy-files", "move-files", "trash"})
"""the actions that change or start something; a picker only chooses"""
