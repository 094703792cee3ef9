"""Who has lied in a sealed round, and commitments to its noise."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "noises",
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("point", sa.LargeBinary(length=32), nullable=False),
        sa.ForeignKeyConstraint(["lineage", "round"], ["rounds.lineage", "rounds.round"]),
        sa.PrimaryKeyConstraint("lineage", "round", "device"),
    )
    op.create_table(
        "named",
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("lie", sa.String(length=10), nullable=False),
        sa.Column("proof", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["lineage", "round"], ["rounds.lineage", "rounds.round"]),
        sa.PrimaryKeyConstraint("lineage", "round", "device", "lie"),
    )
