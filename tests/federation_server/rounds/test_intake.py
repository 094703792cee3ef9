"""An update arrives: what is kept, what is refused, and that nothing counts twice."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from msgspec import structs
from sqlalchemy import Engine, delete, event, select, text
from sqlalchemy.exc import OperationalError

from federation_server.database import is_sqlite, reading, writing
from federation_server.group import enrolment, group
from federation_server.refusals import Refused
from federation_server.rounds import intake, rounds
from federation_server.rounds.intake import Expectation, Expectations, Offer
from federation_server.tables import models, updates
from federation_server.tables import rounds as rounds_table
from foltr.federated.fpdgd import largest_update
from foltr.federated.wire import Accepted, encode
from tests.federation_server.groups import (
    NOW,
    OPEN,
    SCHEDULE,
    START,
    VAULT,
    credentials,
    device,
    expectation,
    make_group,
    make_terms,
    sealed,
    send,
    update_for,
)
from tests.waiting import PATIENCE, until


def prepared(engine: Engine) -> Expectation:
    """A group of one member, and what the server expects of it."""
    make_group(engine)
    return expectation(engine)


def offer(expected: Expectation, theta: np.ndarray = START, nonce: str = "0" * 32) -> Offer:
    return intake.check(sealed(expected, encode(update_for(expected, theta))), credentials(0, nonce), expected)


def reason(expected: Expectation, inner: bytes) -> str:
    with pytest.raises(Refused) as refused:
        intake.check(sealed(expected, inner), credentials(0, "0" * 32), expected)
    return refused.value.reason


def test_each_fault_has_its_own_reason(engine: Engine) -> None:
    """Every field that does not fit the open round is refused under its own code."""
    expected = prepared(engine)
    good = update_for(expected, START)
    for changed, wanted in [
        ({"group_id": "another"}, "wrong-group"),
        ({"device": "another"}, "wrong-device"),
        ({"round": 9}, "stale-round"),
        ({"lineage": 9}, "stale-round"),
        ({"model_hash": "another"}, "wrong-model"),
        ({"manifest_hash": "another"}, "wrong-manifest"),
        ({"payload": good.payload[:-1]}, "wrong-length"),
        ({"payload": good.payload[:-8] + np.array([np.nan]).tobytes()}, "not-finite"),
        ({"payload": good.payload[:-8] + np.array([1e6]).tobytes()}, "over-norm"),
        ({"payload": b"\0\0\0\0" + good.payload[4:]}, "not-finite"),
    ]:
        assert reason(expected, encode(msgspec.structs.replace(good, **changed))) == wanted
    assert reason(expected, b"{}") == "malformed"


def test_the_norm_bound_is_the_mechanisms(engine: Engine) -> None:
    """An update just inside the bound passes and one just outside is refused; the bound is clip + noise tail."""
    expected = prepared(engine)
    bound = largest_update(expected.method, START)
    assert bound == pytest.approx(1.0 + 0.5 * (np.sqrt(3) + np.sqrt(2 * np.log(1e12))))
    direction = np.array([0.0, 1.0, 0.0])
    assert offer(expected, START + 0.999 * bound * direction).norm == pytest.approx(0.999 * bound)
    with pytest.raises(Refused):
        offer(expected, START + 1.001 * bound * direction)


def test_a_refused_offer_does_not_spoil_the_others(engine: Engine) -> None:
    """In one transaction a stranger, a good update and the same again each get their own answer."""
    expected = prepared(engine)
    stranger = structs.replace(offer(expected), credentials=credentials(8, "4" * 32))
    batch = [stranger, offer(expected), offer(expected)]
    with writing(engine) as connection:
        answers = intake.keep(connection, VAULT, batch, now=NOW)
    assert [a.reason if isinstance(a, Refused) else a.received for a in answers] == ["unknown-device", 1, 1]


def test_a_round_that_closed_meanwhile_takes_nothing(engine: Engine) -> None:
    """An update checked before the round ended is refused afterwards, and no row is written."""
    expected = prepared(engine)
    late = offer(expected)
    with writing(engine) as connection:
        rounds.end(connection, expected.open_round, now=NOW, state="abandoned")
        (answer,) = intake.keep(connection, VAULT, [late], now=NOW)
        rows = connection.execute(select(updates)).all()
    assert isinstance(answer, Refused)
    assert answer.reason == "stale-round"
    assert rows == []


def test_payloads_are_encrypted_at_rest(engine: Engine) -> None:
    """The stored bytes hold neither the payload nor a part of it, and open with the vault alone."""
    expected = prepared(engine)
    given = offer(expected, START + 0.25)
    with writing(engine) as connection:
        intake.keep(connection, VAULT, [given], now=NOW)
    with reading(engine) as connection:
        stored = bytes(connection.execute(select(updates.c.payload)).scalar_one())
    assert given.payload[4:20] not in stored
    assert VAULT.decrypt(stored) == given.payload


def told(answers: list[Accepted | Refused | None]) -> list[str | int | None]:
    """The reason of a refusal, the number received of an acceptance, None of a request that only reads."""
    return [a.reason if isinstance(a, Refused) else a.received if a else None for a in answers]


def test_a_checked_offer_says_what_is_kept(engine: Engine) -> None:
    """Sender, round and payload as they were sealed, the digest of the sealed bytes, the length of the step."""
    expected = prepared(engine)
    sent = update_for(expected, START + np.array([0.0, 0.3, 0.4]))
    who, inner = credentials(0, "0" * 32), encode(sent)
    found = intake.check(sealed(expected, inner), who, expected)
    assert (found.credentials, found.lineage, found.round, found.payload) == (who, 1, 1, sent.payload)
    assert found.digest == hashlib.blake2b(inner, digest_size=32).hexdigest()
    assert found.norm == pytest.approx((0.3**2 + 0.4**2) ** 0.5)


def test_what_is_refused_tells_what_was_wanted(engine: Engine) -> None:
    """The sentence names both rounds, both lineages, or the part of the update that does not fit."""
    expected = prepared(engine)
    good = update_for(expected, START)
    outside = sealed(expected, encode(good))
    for changed, sentence in [
        (msgspec.structs.replace(outside, round=2), "round 1 is open, the update is for 2"),
        (msgspec.structs.replace(outside, lineage=3), "the group is in lineage 1, the update in 3"),
        (msgspec.structs.replace(outside, box=b"x"), "not sealed to this round's key"),
        (sealed(expected, encode(msgspec.structs.replace(good, round=9))), "inside the seal"),
        (sealed(expected, b"{}"), "inside the seal"),
        (sealed(expected, encode(msgspec.structs.replace(good, payload=good.payload[:-1]))), "bytes"),
    ]:
        with pytest.raises(Refused, match=sentence):
            intake.check(changed, credentials(0, "0" * 32), expected)


def test_an_update_too_long_for_a_number_is_too_long(engine: Engine) -> None:
    """1e200 in each parameter has a length that no float holds: it is refused as over the norm, without a warning."""
    make_group(engine, settings=OPEN)
    expected = expectation(engine)
    inner = encode(update_for(expected, np.full(3, 1e200)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert reason(expected, inner) == "over-norm"


def test_what_is_kept_of_an_update(engine: Engine) -> None:
    """Its round, device, digest, time of arrival, length; and the round counts all devices of the transaction."""
    make_group(engine, n_members=2)
    expected = expectation(engine)
    first = offer(expected, START + 0.1)
    inner = encode(update_for(expected, START + 0.2, number=1))
    second = intake.check(sealed(expected, inner), credentials(1, "0" * 32), expected)
    with writing(engine) as connection:
        assert told(intake.keep(connection, VAULT, [first, second], now=NOW + 7)) == [1, 2]
    with reading(engine) as connection:
        rows = {row.device: row for row in connection.execute(select(updates))}
        here = rounds.present(connection)
    assert here is not None
    assert here.n_updates == len(rows) == 2
    row = rows[device(0)]
    assert (row.lineage, row.round, row.digest, row.received) == (1, 1, first.digest, NOW + 7)
    assert row.norm == pytest.approx(0.1 * 3**0.5)


def test_who_is_no_longer_a_member_is_refused_at_the_last_moment(engine: Engine) -> None:
    """Membership is asked of the database when the update is kept, not when it was checked."""
    expected = prepared(engine)
    checked = offer(expected)
    with writing(engine) as connection:
        enrolment.end_membership(connection, device(0), now=NOW)
        assert told(intake.keep(connection, VAULT, [checked], now=NOW)) == ["revoked"]
        assert connection.execute(select(updates)).all() == []


def test_each_round_takes_one_update_of_each_device(engine: Engine) -> None:
    """In a later transaction the same update is acknowledged, another refused; the next round begins from nothing."""
    make_group(engine, n_members=2)
    expected = expectation(engine)
    assert told([send(engine, 0, START), send(engine, 1, START)]) == [1, 2]
    again, changed = offer(expected, nonce="7" * 32), offer(expected, START + 0.1, "8" * 32)
    with writing(engine) as connection:
        assert told(intake.keep(connection, VAULT, [again, changed], now=NOW)) == [2, "already-reported"]
        rounds.end(connection, expected.open_round, now=NOW, state="closed")
        group.publish(connection, expected.agreed, 1, replace(group.newest(connection).model, round=1), now=NOW)
        rounds.open_next(connection, VAULT, SCHEDULE, now=NOW)
    assert told([send(engine, 0, START)]) == [1]
    with writing(engine) as connection:
        late = structs.replace(again, credentials=credentials(0, "9" * 32))
        assert told(intake.keep(connection, VAULT, [late], now=NOW)) == ["stale-round"]
        counts = connection.execute(select(rounds_table.c.n_updates).order_by(rounds_table.c.round)).scalars().all()
    assert counts == [2, 1]


def test_another_lineage_with_the_same_round_is_stale(engine: Engine) -> None:
    """Round 1 of lineage 2 takes nothing that was checked for round 1 of lineage 1."""
    expected = prepared(engine)
    old = offer(expected)
    assert told([send(engine, 0, START)]) == [1]
    with writing(engine) as connection:
        rounds.end(connection, expected.open_round, now=NOW, state="abandoned")
        terms = make_terms(expected.agreed.group_id, OPEN, 1)
        group.begin_lineage(connection, terms, group.newest(connection).model, reason="forget", now=NOW)
        rounds.open_next(connection, VAULT, SCHEDULE, now=NOW)
        here = rounds.present(connection)
        assert here is not None
        assert (here.lineage, here.number) == (2, 1)
        assert told(intake.keep(connection, VAULT, [old], now=NOW)) == ["stale-round"]
    assert told([send(engine, 0, START)]) == [1]


def test_an_update_waits_for_a_round_that_is_closing(engine: Engine) -> None:
    """While another transaction holds the round, an update waits."""
    if is_sqlite(engine):
        pytest.skip("SQLite lets one transaction write at a time")
    late = offer(prepared(engine))

    def keep(asked: Offer) -> list[str | int | None]:
        with writing(engine) as connection:
            connection.execute(text("SET LOCAL lock_timeout = '200ms'"))
            return told(intake.keep(connection, VAULT, [asked], now=NOW))

    with writing(engine) as closing:
        assert rounds.present(closing, lock=True) is not None
        with pytest.raises(OperationalError, match="lock timeout"):
            keep(late)
    assert keep(late) == [1]


def test_a_round_that_closes_while_an_update_waits_takes_nothing(engine: Engine) -> None:
    """The update that waited for the closing finds the round closed, and is not kept for it after all."""
    if is_sqlite(engine):
        pytest.skip("SQLite lets one transaction write at a time")
    expected = prepared(engine)
    late = offer(expected)

    def keep() -> list[str | int | None]:
        with writing(engine) as connection:
            return told(intake.keep(connection, VAULT, [late], now=NOW))

    waiting = text("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")

    def is_waiting() -> bool:
        with reading(engine) as connection:
            return connection.execute(waiting).first() is not None

    with ThreadPoolExecutor(1) as pool:
        with writing(engine) as closing:
            assert rounds.present(closing, lock=True) is not None
            answer = pool.submit(keep)
            until(is_waiting)
            rounds.end(closing, expected.open_round, now=NOW, state="abandoned")
        assert answer.result(PATIENCE) == ["stale-round"]


# What the open round takes -------------------------------------------------------------------------------------------


@contextmanager
def counted(engine: Engine) -> Iterator[list[str]]:
    """The statements that reach the database meanwhile."""
    statements: list[str] = []

    def note(connection: object, cursor: object, statement: str, *more: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    yield statements
    event.remove(engine, "before_cursor_execute", note)


def test_what_a_round_takes_is_read_once(engine: Engine) -> None:
    """The second update of a round asks the database nothing; one for another round, or after `forget`, does."""
    expected = prepared(engine)
    known = Expectations(engine, VAULT)
    box = sealed(expected, encode(update_for(expected, START)))
    with counted(engine) as first:
        found = known.of(box)
    assert first
    assert (found.private_key, found.agreed, found.method) == (expected.private_key, expected.agreed, expected.method)
    assert (found.open_round.lineage, found.open_round.number) == (1, 1)
    assert found.start.tolist() == START.tolist()
    with counted(engine) as second:
        assert known.of(box) is found
    assert second == []
    for other in (msgspec.structs.replace(box, round=2), msgspec.structs.replace(box, lineage=2)):
        with counted(engine) as asked:
            assert known.of(other).open_round.number == 1
        assert asked
    known.forget()
    with counted(engine) as asked:
        known.of(box)
    assert asked


def test_without_an_open_round_nothing_is_taken(engine: Engine) -> None:
    """A model that is gone is told as unavailable; no round, and one whose key is destroyed, as a round that ended."""
    expected = prepared(engine)
    known, box = Expectations(engine, VAULT), sealed(expected, encode(update_for(expected, START)))
    with writing(engine) as connection:
        connection.execute(delete(models))
    with pytest.raises(Refused, match="the round's model is missing"):
        known.of(box)
    with writing(engine) as connection:
        connection.execute(rounds_table.update().values(private_key=None))
    with pytest.raises(Refused, match="no round is open"):
        known.of(box)
    with writing(engine) as connection:
        connection.execute(rounds_table.update().values(state="abandoned"))
    with pytest.raises(Refused, match="no round is open") as refused:
        known.of(box)
    assert refused.value.reason == "stale-round"
