"""What a group needs over its life."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


LINEAGES = {
    "members": ("first_lineage",),
    "lineages": ("lineage", "parent_lineage"),
    "models": ("lineage",),
    "rounds": ("lineage",),
    "updates": ("lineage",),
    "forgettings": ("lineage",),
}
"""columns that hold a lineage's number, which may be seconds since 1970"""


def upgrade() -> None:
    _sealed()
    _lineages()
    _guard()
    _operations()


def _sealed() -> None:
    """Roster, shares, lists and answers of sealed rounds."""


def _lineages() -> None:
    """Lineages above all that was, receipts and lists in one chain."""
    if op.get_bind().dialect.name == "postgresql":  # an integer of SQLite has 64 bits by itself
        for table, columns in LINEAGES.items():
            for column in columns:
                op.alter_column(table, column, type_=sa.BigInteger())
    for column in ("from_lineage", "from_round"):
        op.drop_column("forgettings", column)
    op.add_column("forgettings", sa.Column("position", sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("members", sa.Column("last_lineage", sa.BigInteger()))
    op.create_table(
        "tombstones",
        sa.Column("member", sa.String(length=64), nullable=False),
        sa.Column("lineage", sa.BigInteger(), nullable=True),
        sa.Column("round", sa.Integer(), nullable=True),
        sa.Column("method", sa.String(length=12), nullable=False),
        sa.Column("request", sa.String(length=64), nullable=False),
        sa.Column("time", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("member"),
    )
    op.create_table(
        "journal",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("position"),
    )


def _guard() -> None:
    """What the guard remembers of each member."""


def _operations() -> None:
    """What an operator sees."""
