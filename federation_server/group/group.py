"""What a group is: its identity, the terms that every member computes by, its rankers and their journal, its address.

The journal is one chain of hashes of what happened to the rankers (foltr.federated.journal). An entry is written in the
transaction of what it tells, under the group's lock, and never changed. A backup holds the journal; after a restore it
goes on from where the backup was made, with an entry that says so.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, Select, bindparam, func, insert, select, text, update

from federation_server.tables import facts, journal, lineages, models
from foltr.errors import FoltrError
from foltr.federated import wire
from foltr.federated.envelope import Identity, sign_document
from foltr.federated.fpdgd import FPDGD
from foltr.federated.journal import BEGINNING, next_hash, participants
from foltr.federated.method import Model
from foltr.federated.optimizers import Optimizer
from foltr.federated.registry import make_method
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import make_ranker


class GroupError(FoltrError):
    """The group cannot be used as the configuration says."""


class Published(msgspec.Struct, frozen=True, eq=False):
    """A stored model with the hash that devices know it by."""

    record: wire.ModelRecord
    body: bytes
    """its JSON as it was published, also by an older version: the hash is of these bytes"""
    hash: str
    model: Model


def create(connection: Connection, *, name: str, server_key: str, now: int) -> str:
    """Make the group; its random id. `server_key` is the fingerprint of the identity that it belongs to."""
    group_id = secrets.token_hex(16)
    for key, value in (("group", name), ("group_id", group_id), ("server_key", server_key), ("created", str(now))):
        connection.execute(insert(facts).values(name=key, value=value))
    return group_id


_FACT = select(facts.c.value).where(facts.c.name == bindparam("name"))


def fact(connection: Connection, name: str) -> str | None:
    """A small named value, None when it was never set."""
    return connection.execute(_FACT, {"name": name}).scalar_one_or_none()


def set_fact(connection: Connection, name: str, value: str) -> None:
    """Set it, also where another process has just begun to set it for the first time."""
    put = (
        "INSERT INTO facts (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    )
    connection.execute(text(put), {"name": name, "value": value})


def terms(connection: Connection) -> wire.Terms:
    """What members compute by; GroupError before `foltr-server init` has set it."""
    stored = fact(connection, "terms")
    if stored is None:
        raise GroupError("there is no group in this database; run `foltr-server restore FILE`, or `init`")
    return wire.decode(stored.encode(), wire.Terms)


def set_terms(connection: Connection, agreed: wire.Terms) -> None:
    """Set them; checks that the method exists and takes these settings."""
    method_of(agreed)
    set_fact(connection, "terms", wire.encode(agreed).decode())


def lock(connection: Connection) -> bool:
    """Until the transaction ends nobody else closes or opens rounds; False where there is no group yet."""
    return connection.execute(_FACT.with_for_update(), {"name": "terms"}).scalar_one_or_none() is not None


def gaussian_of(method: FPDGD) -> Gaussian:
    """The noise of a group whose server learns sums; GroupError for terms with any other."""
    if not isinstance(method.privacy, Gaussian):
        raise GroupError("a sealed group needs Gaussian noise")
    return method.privacy


def method_of(agreed: wire.Terms) -> FPDGD:
    """The method as every member has it; GroupError when the numbers do not fit one another, or for another method."""
    ranker = make_ranker(agreed.ranker, agreed.n_features)
    if ranker.n_params != agreed.n_params:
        raise GroupError(f"a {agreed.ranker} ranker of {agreed.n_features} features has {ranker.n_params} parameters")
    method = make_method(agreed.method, ranker, agreed.settings)
    if not isinstance(method, FPDGD):
        raise GroupError(f"groups learn by fpdgd, not by {agreed.method}")
    return method


def begin_lineage(
    connection: Connection,
    agreed: wire.Terms,
    start: Model,
    *,
    reason: str,
    now: int,
    parent: tuple[int, int] | None = None,
    least: int = 1,
) -> int:
    """A new line of models that begins from `start`; its number, at least `least`, and above all there are.

    `parent` is the (lineage, round) it branches from.
    """
    highest = int(connection.execute(select(func.coalesce(func.max(lineages.c.lineage), 0))).scalar_one())
    lineage, above = max(highest + 1, least), parent or (None, None)
    began = wire.JournalEntry(kind="lineage", time=now, lineage=lineage, parent=parent, reason=reason)
    write_in_journal(connection, began)
    row = {"began": now, "reason": reason, "parent_lineage": above[0], "parent_round": above[1]}
    connection.execute(insert(lineages).values(lineage=lineage, **row))
    publish(connection, agreed, lineage, start, now=now)
    return lineage


def branch(connection: Connection, chosen: Published, *, reason: str, now: int, least: int = 1) -> int:
    """A new line of models that goes on from a stored one, with its noise and without moments; its number."""
    start = Model(chosen.model.theta, noise=chosen.model.noise)
    parent = (chosen.record.lineage, chosen.record.round)
    return begin_lineage(connection, terms(connection), start, reason=reason, now=now, parent=parent, least=least)


def publish(
    connection: Connection,
    agreed: wire.Terms,
    lineage: int,
    model: Model,
    *,
    now: int,
    list_hash: str = "",
    lost: wire.Loss = "",
) -> Published:
    """Store the next model of a lineage; `list_hash` is that of the list of a sealed round, `lost` why it was."""
    before = select(models.c.hash).where(models.c.lineage == lineage, models.c.round == model.round - 1)
    record = wire.ModelRecord(
        group_id=agreed.group_id,
        lineage=lineage,
        round=model.round,
        method=agreed.method,
        ranker=agreed.ranker,
        manifest_hash=agreed.manifest_hash,
        theta=wire.encode_vector(model.theta),
        noise=model.noise,
        previous=connection.execute(before).scalar_one_or_none() or "",
        list_hash=list_hash,
        lost=lost,
    )
    body = wire.encode(record)
    connection.execute(
        insert(models).values(
            lineage=lineage,
            round=model.round,
            hash=wire.digest(body),
            record=body,
            moments=msgspec.msgpack.encode([wire.encode_vector(np.atleast_1d(moment)) for moment in model.moments]),
            created=now,
        )
    )
    return Published(record, body, wire.digest(body), model)


def newest(connection: Connection) -> Published:
    """The common ranker of today; GroupError when there is none."""
    found = _published(connection, select(models).order_by(models.c.lineage.desc(), models.c.round.desc()))
    if found is None:
        raise GroupError("there is no model in this database; run `foltr-server init`")
    return found


def first(connection: Connection, lineage: int) -> Published | None:
    """The model that a lineage began with, None when it was erased: of round 0, or what a restored server got back."""
    return _published(connection, select(models).where(models.c.lineage == lineage).order_by(models.c.round))


def at(connection: Connection, lineage: int, round: int) -> Published | None:
    """A model of the past, None when there is none or it was erased."""
    return _published(connection, select(models).where(models.c.lineage == lineage, models.c.round == round))


def by_hash(connection: Connection, model_hash: str) -> Published | None:
    """The model that devices know by this hash."""
    return _published(connection, select(models).where(models.c.hash == model_hash))


def _published(connection: Connection, query: Select[Any]) -> Published | None:
    """The first that the query finds."""
    row = connection.execute(query.limit(1)).first()
    if row is None:
        return None
    record = wire.decode(bytes(row.record), wire.ModelRecord)
    theta = wire.decode_vector(record.theta, len(record.theta) // 8)
    moments = tuple(wire.decode_vector(m, len(m) // 8) for m in msgspec.msgpack.decode(row.moments, type=list[bytes]))
    return Published(record, bytes(row.record), row.hash, Model(theta, record.round, moments, noise=record.noise))


def step_by(connection: Connection, optimizer: Optimizer) -> None:
    """From now on models are made by this optimiser: what another one, or other settings, remembered is dropped."""
    used = msgspec.json.encode(optimizer).decode()
    if fact(connection, "optimizer") != used:
        connection.execute(update(models).values(moments=msgspec.msgpack.encode([])))
        set_fact(connection, "optimizer", used)


def carried_by(connection: Connection, lineage: int) -> tuple[int, ...]:
    """The older lineages whose updates this one was added up from, as forgetting does."""
    stored = fact(connection, f"carried {lineage}")
    return msgspec.json.decode(stored, type=tuple[int, ...]) if stored else ()


MOVED = "moved"


def move(connection: Connection, identity: Identity, *, address: str, certificate: str, now: int) -> wire.Signed:
    """Sign that the server is to be found there from now on: at another address or port, or by another certificate.

    Announcements carry the record, later than whatever was signed before, so that members who sync before the move
    follow by themselves; for those who come too late it can be passed on as a link. What devices pinned is the
    identity, so nobody else can move them.
    """
    before = move_of(connection)
    serial = max(now, wire.decode(before.body, wire.ServerMove).serial + 1 if before else 1)
    record = wire.ServerMove(
        group_id=terms(connection).group_id, address=address.rstrip("/"), certificate=certificate, serial=serial
    )
    signed = sign_document(identity, MOVED, record)
    set_fact(connection, MOVED, wire.encode(signed).decode())
    return signed


def move_of(connection: Connection) -> wire.Signed | None:
    """The newest record of a move, None for a server that never moved."""
    stored = fact(connection, MOVED)
    return wire.decode(stored.encode(), wire.Signed) if stored else None


LARGEST_JOURNAL_PAGE = 200_000
"""bytes of entries in one answer, unless a single one is longer"""


def write_in_journal(connection: Connection, entry: wire.JournalEntry) -> tuple[int, str]:
    """Write one entry; its position, counted from 1, and the hash of the journal up to it."""
    size, head = _journal_end(connection)
    body = wire.encode(entry)
    position, after = size + 1, next_hash(head, body)
    connection.execute(insert(journal).values(position=position, body=body, hash=after))
    return position, after


def note_participants(connection: Connection, lineage: int, round: int, devices: Iterable[str], *, now: int) -> None:
    """Write down whose updates a round was joined from."""
    named = participants(devices, lineage, round)
    entry = wire.JournalEntry(kind="list", time=now, lineage=lineage, round=round, participants=named)
    write_in_journal(connection, entry)


def _journal_end(connection: Connection) -> tuple[int, str]:
    """How many entries there are, and the hash of all of them."""
    row = connection.execute(select(journal).order_by(journal.c.position.desc()).limit(1)).first()
    return (row.position, row.hash) if row is not None else (0, BEGINNING)


def journal_hash(connection: Connection, position: int) -> str:
    """The hash of the journal up to an entry, "" where there is none."""
    query = select(journal.c.hash).where(journal.c.position == position)
    return connection.execute(query).scalar_one_or_none() or ""


def journal_page(connection: Connection, group_id: str, *, after: int) -> wire.JournalPage:
    """The entries that follow a position, as many as one answer holds; the others are asked for with a later one."""
    size, head = _journal_end(connection)
    total = func.sum(func.length(journal.c.body)).over(order_by=journal.c.position)
    counted = select(journal.c.position, journal.c.body, total.label("bytes")).where(journal.c.position > after)
    rows = counted.subquery()
    fits = (rows.c.bytes <= LARGEST_JOURNAL_PAGE) | (rows.c.position == after + 1)
    found = connection.execute(select(rows.c.body).where(fits).order_by(rows.c.position))
    bodies = tuple(bytes(row.body) for row in found)
    return wire.JournalPage(group_id=group_id, after=after, size=size, head=head, entries=bodies)
