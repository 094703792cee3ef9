"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "facts",
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )
    op.create_table(
        "forgettings",
        sa.Column("request", sa.String(length=32), nullable=False),
        sa.Column("asked", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("method", sa.String(length=12), nullable=False),
        sa.Column("erased", sa.Text(), nullable=False),
        sa.Column("from_lineage", sa.Integer(), nullable=True),
        sa.Column("from_round", sa.Integer(), nullable=True),
        sa.Column("until_round", sa.Integer(), nullable=True),
        sa.Column("lineage", sa.Integer(), nullable=True),
        sa.Column("done", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("request"),
    )
    op.create_table(
        "invites",
        sa.Column("token_hash", sa.String(length=64), nullable=False),
        sa.Column("note", sa.String(length=200), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=True),
        sa.Column("revoked", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("token_hash"),
    )
    op.create_table(
        "lineages",
        sa.Column("lineage", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("began", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("parent_lineage", sa.Integer(), nullable=True),
        sa.Column("parent_round", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("lineage"),
    )
    op.create_table(
        "members",
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("device_key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("joined", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=True),
        sa.Column("ended", sa.BigInteger(), nullable=True),
        sa.Column("first_lineage", sa.Integer(), nullable=True),
        sa.Column("first_round", sa.Integer(), nullable=True),
        sa.Column("last_round", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("device"),
    )
    op.create_table(
        "nonces",
        sa.Column("nonce_hash", sa.String(length=64), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("nonce_hash"),
    )
    op.create_index("nonces_expires", "nonces", ["expires"], unique=False)
    op.create_table(
        "rounds",
        sa.Column("lineage", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("purpose", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=10), nullable=False),
        sa.Column("opened", sa.BigInteger(), nullable=False),
        sa.Column("deadline", sa.BigInteger(), nullable=False),
        sa.Column("closed", sa.BigInteger(), nullable=True),
        sa.Column("public_key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("private_key", sa.LargeBinary(), nullable=True),
        sa.Column("model_hash", sa.String(length=64), nullable=False),
        sa.Column("n_updates", sa.Integer(), nullable=False),
        sa.Column("rule", sa.String(length=40), nullable=True),
        sa.Column("guard", sa.Text(), nullable=True),
        sa.Column("update_norm", sa.Float(), nullable=True),
        sa.Column("agreement", sa.Float(), nullable=True),
        sa.PrimaryKeyConstraint("lineage", "round"),
    )
    op.create_index("rounds_state", "rounds", ["state"], unique=False)
    op.create_table(
        "models",
        sa.Column("lineage", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("moments", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["lineage"],
            ["lineages.lineage"],
        ),
        sa.PrimaryKeyConstraint("lineage", "round"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "updates",
        sa.Column("lineage", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("norm", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["lineage", "round"],
            ["rounds.lineage", "rounds.round"],
        ),
        sa.PrimaryKeyConstraint("lineage", "round", "device"),
    )
    op.create_index("updates_device", "updates", ["device"], unique=False)
