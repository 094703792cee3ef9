"""The server's tables. Times are whole seconds since 1970; bytes that could tell of a person are encrypted at rest.

A round is one row that goes open -> closed (or abandoned); closing it, aggregating, publishing the next model,
destroying the round's key and opening the next round are one transaction, so that a crash leaves either all or nothing.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, String, Table, Text
from sqlalchemy.schema import SchemaItem

metadata = MetaData()


def _place() -> tuple[Column[int], Column[int]]:
    """The two columns that name a round, as a key."""
    return (
        Column("lineage", BigInteger, primary_key=True, autoincrement=False),
        Column("round", Integer, primary_key=True, autoincrement=False),
    )


def _table(name: str, *columns: SchemaItem) -> Table:
    return Table(name, metadata, *columns)


def _of_rounds(name: str, *columns: SchemaItem) -> Table:
    """A table of what came in rounds."""
    of_round = sa.ForeignKeyConstraint(["lineage", "round"], ["rounds.lineage", "rounds.round"])
    return _table(name, *_place(), *columns, of_round)


facts = _table("facts", Column("name", String(40), primary_key=True), Column("value", Text, nullable=False))
"""small named values: the group's id and name, the hash of the server's key, the guard's state"""

invites = _table(
    "invites",
    Column("key_hash", String(64), primary_key=True),
    Column("note", String(200), nullable=False),
    Column("created", BigInteger, nullable=False),
    Column("expires", BigInteger, nullable=False),
    Column("used", BigInteger),
    Column("revoked", BigInteger),
    Column("voucher", Integer),
    Column("signature", LargeBinary(64)),
)
"""voucher is the number of the roster's entry by which the inviting member joined, NULL for the administrator's"""

members = _table(
    "members",
    Column("device", String(32), primary_key=True),
    Column("device_key", LargeBinary(32), nullable=False),
    Column("joined", BigInteger, nullable=False),
    Column("expires", BigInteger),
    Column("ended", BigInteger),
    Column("first_lineage", BigInteger),
    Column("first_round", Integer),
    Column("last_lineage", BigInteger),
    Column("last_round", Integer),
    Column("answered", Integer, nullable=False, server_default="0"),
)
"""pseudonyms; first and last say in which rounds an update was counted, answered how many rounds had one, ever"""

nonces = _table(
    "nonces",
    Column("nonce_hash", String(64), primary_key=True),
    Column("expires", BigInteger, nullable=False),
    Index("nonces_expires", "expires"),
)

lineages = _table(
    "lineages",
    Column("lineage", BigInteger, primary_key=True, autoincrement=False),
    Column("began", BigInteger, nullable=False),
    Column("reason", String(40), nullable=False),
    Column("parent_lineage", BigInteger),
    Column("parent_round", Integer),
)

models = _table(
    "models",
    *_place(),
    Column("hash", String(64), nullable=False, unique=True),
    Column("record", LargeBinary, nullable=False),
    Column("moments", LargeBinary, nullable=False),
    Column("created", BigInteger, nullable=False),
    sa.ForeignKeyConstraint(["lineage"], ["lineages.lineage"]),
)
"""published rankers; model r is what r closed rounds of the lineage led to, and what round r + 1 begins from"""

rounds = _table(
    "rounds",
    *_place(),
    Column("purpose", String(8), nullable=False),
    Column("state", String(10), nullable=False),
    Column("opened", BigInteger, nullable=False),
    Column("deadline", BigInteger, nullable=False),
    Column("closed", BigInteger),
    Column("public_key", LargeBinary(32), nullable=False),
    Column("private_key", LargeBinary),
    Column("model_hash", String(64), nullable=False),
    Column("n_updates", Integer, nullable=False),
    Column("rule", String(40)),
    Column("guard", Text),
    Column("verdict", String(10)),
    Column("update_norm", sa.Float),
    Column("agreement", sa.Float),
    Column("phase", String(8), nullable=False, server_default="collect"),
    Column("roster_number", Integer, nullable=False, server_default="0"),
    Column("roster_head", String(64), nullable=False, server_default=""),
    Index("rounds_state", "state"),
)
"""state: open, closed, abandoned; verdict: calm, alert, not judged; private_key is encrypted at rest, and NULL when the
round is over; roster_number is how many entries the roster had when the round opened"""

updates = _of_rounds(
    "updates",
    Column("device", String(32), primary_key=True),
    Column("digest", String(64), nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("payload", LargeBinary, nullable=False),
    Column("norm", sa.Float, nullable=False),
    Column("left_out", Integer, nullable=False, server_default="0"),
    Index("updates_device", "device"),
)
"""payload is encrypted at rest; the primary key makes a second update of a device in a round impossible; left_out: 1
where the guard did not let it count"""

guarded = _table(
    "guarded",
    Column("device", String(32), primary_key=True),
    Column("n_rounds", Integer, nullable=False),
    Column("sums", LargeBinary, nullable=False),
)
"""what each member sent in all its rounds, added up, and what of it counted: two vectors, encrypted at rest"""

roster = _table(
    "roster",
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("entry", LargeBinary, nullable=False),
)
"""foltr.federated.wire.RosterEntry, in order; its body is erased with the member"""

shares = _of_rounds(
    "shares",
    Column("device", String(32), primary_key=True),
    Column("message_hash", String(64), nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("message", LargeBinary, nullable=False),
    Index("shares_device", "device"),
)
"""SharedUpdates of a sealed round, encrypted at rest; deleted when the round is over"""

lists = _of_rounds(
    "lists",
    Column("hash", String(64), nullable=False),
    Column("signed", LargeBinary, nullable=False),
    Column("fixed", BigInteger, nullable=False),
)
"""the one list of a sealed round, as it was signed: the primary key makes a second one impossible"""

noises = _of_rounds(
    "noises", Column("device", String(32), primary_key=True), Column("point", LargeBinary(32), nullable=False)
)
"""commitments to the noise of a sealed round, kept before their coins are drawn; deleted when the round is over"""

answers = _of_rounds(
    "answers",
    Column("device", String(32), primary_key=True),
    Column("received", BigInteger, nullable=False),
    Column("answer", LargeBinary, nullable=False),
)
"""CommitteeAnswers; deleted when the round is over"""

named = _of_rounds(
    "named",
    Column("device", String(32), primary_key=True),
    Column("lie", String(10), primary_key=True),
    Column("proof", LargeBinary, nullable=False),
)
"""who has lied in a sealed round, by what (proof, message, complaint, answer), and the signed record; deleted when the
round is over, whose report names them"""

depots = _table(
    "depots",
    Column("name", String(32), primary_key=True),
    Column("key", LargeBinary(32), nullable=False),
    Column("device", String(32), nullable=False),
    Column("former", Integer, nullable=False, server_default="0"),
    Index("depots_device", "device"),
)
"""keys that open a member's depot, by their pseudonyms; former: how many took its place since, 0 for the present one"""

depot_files = _table(
    "depot_files",
    Column("device", String(32), primary_key=True),
    Column("name", String(32), primary_key=True),
    Column("handed_on", Integer, nullable=False),
    Column("size", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
)
"""what a member's computers exchange, sealed by them; former keys see what is handed on alone"""

forgettings = _table(
    "forgettings",
    Column("request", String(32), primary_key=True),
    Column("asked", BigInteger, nullable=False),
    Column("state", String(10), nullable=False),
    Column("method", String(12), nullable=False),
    Column("erased", Text, nullable=False),
    Column("until_round", Integer),
    Column("lineage", BigInteger),
    Column("position", BigInteger, nullable=False, server_default="0"),
    Column("done", BigInteger),
)
"""requests to be forgotten, without the member's name; see federation_server.forgetting.forgetting"""

tombstones = _table(
    "tombstones",
    Column("member", String(64), primary_key=True),
    Column("lineage", BigInteger),
    Column("round", Integer),
    Column("method", String(12), nullable=False),
    Column("request", String(64), nullable=False),
    Column("time", BigInteger, nullable=False),
)
"""who was forgotten, by hash alone, and is in this database no more; see federation_server.forgetting.tombstones"""

journal = _table(
    "journal",
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("body", LargeBinary, nullable=False),
    Column("hash", String(64), nullable=False),
)
"""lineages, the participants of rounds (as hashes) and receipts in one chain; see federation_server.group.group"""
