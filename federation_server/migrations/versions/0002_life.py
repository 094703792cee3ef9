"""What a group needs over its life."""

from __future__ import annotations

from typing import Any

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
    _devices()


def _sealed() -> None:
    """Roster, shares, lists and answers of sealed rounds."""
    op.alter_column("invites", "token_hash", new_column_name="key_hash")
    op.add_column("invites", sa.Column("voucher", sa.Integer()))
    op.add_column("invites", sa.Column("signature", sa.LargeBinary(length=64)))
    op.add_column("rounds", sa.Column("phase", sa.String(length=8), nullable=False, server_default="collect"))
    op.add_column("rounds", sa.Column("roster_number", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("rounds", sa.Column("roster_head", sa.String(length=64), nullable=False, server_default=""))
    op.create_table(
        "roster",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("entry", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    _of_a_round(
        "shares",
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("message_hash", sa.String(length=64), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.LargeBinary(), nullable=False),
    )
    op.create_index("shares_device", "shares", ["device"])
    _of_a_round(
        "lists",
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("signed", sa.LargeBinary(), nullable=False),
        sa.Column("fixed", sa.BigInteger(), nullable=False),
    )
    _of_a_round(
        "answers",
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
    )


def _of_a_round(name: str, *columns: sa.Column[Any]) -> None:
    """A table whose rows belong to a round, one for each device where it says of which."""
    devices = [column.name for column in columns if column.name == "device"]
    op.create_table(
        name,
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        *columns,
        sa.PrimaryKeyConstraint("lineage", "round", *devices),
        sa.ForeignKeyConstraint(["lineage", "round"], ["rounds.lineage", "rounds.round"]),
    )


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


def _devices() -> None:
    """What a device is told about itself."""
    op.add_column("members", sa.Column("answered", sa.Integer(), nullable=False, server_default="0"))
