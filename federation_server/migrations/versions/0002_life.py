"""What a group needs over its life."""

from __future__ import annotations

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    _sealed()
    _lineages()
    _guard()
    _operations()


def _sealed() -> None:
    """Roster, shares, lists and answers of sealed rounds."""


def _lineages() -> None:
    """Lineages above all that was, receipts and lists in one chain."""


def _guard() -> None:
    """What the guard remembers of each member."""


def _operations() -> None:
    """What an operator sees."""
