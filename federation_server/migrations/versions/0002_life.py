"""What a group needs over its life."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

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
    """What the guard remembers of each member, and what it says of a round."""
    op.create_table(
        "guarded",
        sa.Column("device", sa.String(32), primary_key=True),
        sa.Column("n_rounds", sa.Integer, nullable=False),
        sa.Column("sums", sa.LargeBinary, nullable=False),
    )
    op.add_column("updates", sa.Column("left_out", sa.Integer, nullable=False, server_default="0"))
    op.add_column("rounds", sa.Column("verdict", sa.String(10)))


def _operations() -> None:
    """What an operator sees."""
