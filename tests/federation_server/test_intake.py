"""An update arrives: what is kept, what is refused, and that nothing counts twice."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from sqlalchemy import Engine, select

from federation_server import intake, rounds
from federation_server.database import reading, writing
from federation_server.intake import Expectation, Offer
from federation_server.refusals import Refused
from federation_server.tables import updates
from foltr.federated.payload import largest_update
from foltr.federated.wire import Accepted, encode
from tests.federation_server.groups import (
    NOW,
    START,
    VAULT,
    credentials,
    expectation,
    make_group,
    sealed,
    update_for,
)


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


def test_the_outside_must_fit_too(engine: Engine) -> None:
    """A stale round, an old lineage and a box for another key are refused before anything inside is read."""
    expected = prepared(engine)
    good = sealed(expected, encode(update_for(expected, START)))
    for changed, wanted in [
        ({"round": 2}, "stale-round"),
        ({"lineage": 2}, "wrong-lineage"),
        ({"box": b"x"}, "sealed-wrongly"),
    ]:
        with pytest.raises(Refused) as refused:
            intake.check(msgspec.structs.replace(good, **changed), credentials(0, "0" * 32), expected)
        assert refused.value.reason == wanted


def test_the_norm_bound_is_the_mechanisms(engine: Engine) -> None:
    """An update just inside the bound passes and one just outside is refused; the bound is clip + noise tail."""
    expected = prepared(engine)
    bound = largest_update(expected.method, START)
    assert bound == pytest.approx(1.0 + 0.5 * (np.sqrt(3) + np.sqrt(2 * np.log(1e12))))
    direction = np.array([0.0, 1.0, 0.0])
    assert offer(expected, START + 0.999 * bound * direction).norm == pytest.approx(0.999 * bound)
    with pytest.raises(Refused):
        offer(expected, START + 1.001 * bound * direction)


def test_an_update_is_kept_once(engine: Engine) -> None:
    """The same update again is acknowledged and not counted; another one of the same device is refused."""
    expected = prepared(engine)
    again = [offer(expected, nonce="1" * 32), offer(expected, nonce="2" * 32), offer(expected, START + 0.1, "3" * 32)]
    with writing(engine) as connection:
        first, second, third = intake.keep(connection, VAULT, again, now=NOW)
        here = rounds.present(connection)
    assert first == second == Accepted(round=1, received=1)
    assert isinstance(third, Refused)
    assert third.reason == "already-reported"
    assert here is not None
    assert here.n_updates == 1


def test_a_refused_offer_does_not_spoil_the_others(engine: Engine) -> None:
    """In one transaction a stranger, a replay and a good update each get their own answer."""
    expected = prepared(engine)
    stranger = replace(offer(expected), credentials=credentials(8, "4" * 32))
    batch = [stranger, offer(expected), offer(expected)]
    with writing(engine) as connection:
        answers = intake.keep(connection, VAULT, batch, now=NOW)
    assert [a.reason if isinstance(a, Refused) else a.received for a in answers] == ["unknown-device", 1, "replayed"]


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
