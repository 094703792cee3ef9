"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0002"  # the name that the databases and backups there are carry
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
        sa.Column("until_round", sa.Integer(), nullable=True),
        sa.Column("lineage", sa.BigInteger(), nullable=True),
        sa.Column("position", sa.BigInteger(), nullable=False, server_default="0"),
        sa.Column("done", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("request"),
    )
    op.create_table(
        "guarded",
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("n_rounds", sa.Integer(), nullable=False),
        sa.Column("sums", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("device"),
    )
    op.create_table(
        "invites",
        sa.Column("key_hash", sa.String(length=64), nullable=False),
        sa.Column("note", sa.String(length=200), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.Column("used", sa.BigInteger(), nullable=True),
        sa.Column("revoked", sa.BigInteger(), nullable=True),
        sa.Column("voucher", sa.Integer(), nullable=True),
        sa.Column("signature", sa.LargeBinary(length=64), nullable=True),
        sa.PrimaryKeyConstraint("key_hash"),
    )
    op.create_table(
        "journal",
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("position"),
    )
    op.create_table(
        "lineages",
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("began", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.String(length=40), nullable=False),
        sa.Column("parent_lineage", sa.BigInteger(), nullable=True),
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
        sa.Column("first_lineage", sa.BigInteger(), nullable=True),
        sa.Column("first_round", sa.Integer(), nullable=True),
        sa.Column("last_lineage", sa.BigInteger(), nullable=True),
        sa.Column("last_round", sa.Integer(), nullable=True),
        sa.Column("answered", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("device"),
    )
    op.create_table(
        "nonces",
        sa.Column("nonce_hash", sa.String(length=64), nullable=False),
        sa.Column("expires", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("nonce_hash"),
    )
    op.create_index("nonces_expires", "nonces", ["expires"])
    op.create_table(
        "roster",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("entry", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("number"),
    )
    op.create_table(
        "rounds",
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
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
        sa.Column("verdict", sa.String(length=10), nullable=True),
        sa.Column("update_norm", sa.Float(), nullable=True),
        sa.Column("agreement", sa.Float(), nullable=True),
        sa.Column("phase", sa.String(length=8), nullable=False, server_default="collect"),
        sa.Column("roster_number", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("roster_head", sa.String(length=64), nullable=False, server_default=""),
        sa.PrimaryKeyConstraint("lineage", "round"),
    )
    op.create_index("rounds_state", "rounds", ["state"])
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
        "answers",
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("answer", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lineage", "round", "device"),
        sa.ForeignKeyConstraint(["lineage", "round"], ["rounds.lineage", "rounds.round"]),
    )
    op.create_table(
        "lists",
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("signed", sa.LargeBinary(), nullable=False),
        sa.Column("fixed", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("lineage", "round"),
        sa.ForeignKeyConstraint(["lineage", "round"], ["rounds.lineage", "rounds.round"]),
    )
    op.create_table(
        "models",
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("record", sa.LargeBinary(), nullable=False),
        sa.Column("moments", sa.LargeBinary(), nullable=False),
        sa.Column("created", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("lineage", "round"),
        sa.ForeignKeyConstraint(["lineage"], ["lineages.lineage"]),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "shares",
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("message_hash", sa.String(length=64), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("message", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("lineage", "round", "device"),
        sa.ForeignKeyConstraint(["lineage", "round"], ["rounds.lineage", "rounds.round"]),
    )
    op.create_index("shares_device", "shares", ["device"])
    op.create_table(
        "updates",
        sa.Column("lineage", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("round", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("received", sa.BigInteger(), nullable=False),
        sa.Column("payload", sa.LargeBinary(), nullable=False),
        sa.Column("norm", sa.Float(), nullable=False),
        sa.Column("left_out", sa.Integer(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("lineage", "round", "device"),
        sa.ForeignKeyConstraint(["lineage", "round"], ["rounds.lineage", "rounds.round"]),
    )
    op.create_index("updates_device", "updates", ["device"])
