"""What members' computers exchange."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "depots",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("former", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_index("depots_device", "depots", ["device"])
    op.create_table(
        "depot_files",
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("handed_on", sa.Integer(), nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("device", "name"),
    )
