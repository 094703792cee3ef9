"""An update arrives: what is kept, what is refused, and that nothing counts twice."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from sqlalchemy import Connection, Engine, select

from federation_server import enrolment, group, intake, rounds
from federation_server.authentication import Credentials
from federation_server.database import reading, writing
from federation_server.intake import Expectation, Offer
from federation_server.refusals import Refused
from federation_server.rounds import Schedule
from federation_server.tables import updates
from federation_server.vault import Vault
from foltr.federated.envelope import Identity, pseudonym, seal
from foltr.federated.fpdgd import Message
from foltr.federated.method import Model
from foltr.federated.payload import encode_message, largest_update
from foltr.federated.wire import Accepted, Sealed, Terms, Update, encode

NOW = 1_000_000
VAULT = Vault.generate()
SETTINGS = {"privacy": {"mechanism": "gaussian", "clip": 1.0, "noise_multiplier": 0.5}, "weighting": "equal"}
START = np.array([1.0, -2.0, 3.0])


def make_group(engine: Engine) -> Expectation:
    """A group of one member with an open round, as a server would expect updates for it."""
    with writing(engine) as connection:
        group_id = group.create(connection, name="test", server_key="f", now=NOW)
        agreed = Terms(
            group_id=group_id,
            method="fpdgd",
            settings=SETTINGS,
            ranker="linear",
            n_features=3,
            n_params=3,
            manifest_hash="manifest",
            n_local=50,
            n_unlearn=3,
            floor=1,
        )
        group.set_terms(connection, agreed)
        group.begin_lineage(connection, agreed, Model(START), reason="init", now=NOW)
        here = rounds.open_next(connection, VAULT, Schedule(quorum=10, seconds=60), now=NOW)
        join(connection, b"1")
    assert here.sealed_key is not None
    return Expectation(here, VAULT.decrypt(here.sealed_key), agreed, group.method_of(agreed), START)


def join(connection: Connection, seed: bytes) -> str:
    token = enrolment.invite(connection, note="", seconds=60, now=NOW)
    key = Identity(seed * 32).public
    return enrolment.redeem(connection, token, key, lifetime=None, now=NOW).device


def update_for(expected: Expectation, theta: np.ndarray = START) -> Update:
    return Update(
        group_id=expected.agreed.group_id,
        lineage=expected.open_round.lineage,
        round=expected.open_round.number,
        model_hash=expected.open_round.model_hash,
        manifest_hash="manifest",
        payload=encode_message(expected.method, Message(theta, 1)),
    )


def sealed(expected: Expectation, inner: bytes) -> Sealed:
    here = expected.open_round
    return Sealed(round=here.number, lineage=here.lineage, box=seal(here.public_key, inner))


def who(nonce: str = "0" * 32, seed: bytes = b"1") -> Credentials:
    return Credentials(pseudonym(Identity(seed * 32).public), NOW, nonce, b"")


def offer(expected: Expectation, theta: np.ndarray = START, nonce: str = "0" * 32) -> Offer:
    return intake.check(sealed(expected, encode(update_for(expected, theta))), who(nonce), expected)


def reason(expected: Expectation, inner: bytes) -> str:
    with pytest.raises(Refused) as refused:
        intake.check(sealed(expected, inner), who(), expected)
    return refused.value.reason


def test_each_fault_has_its_own_reason(engine: Engine) -> None:
    """Every field that does not fit the open round is refused under its own code."""
    expected = make_group(engine)
    good = update_for(expected)
    for changed, wanted in [
        ({"group_id": "another"}, "wrong-group"),
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
    expected = make_group(engine)
    good = sealed(expected, encode(update_for(expected)))
    for changed, wanted in [
        ({"round": 2}, "stale-round"),
        ({"lineage": 2}, "wrong-lineage"),
        ({"box": b"x"}, "sealed-wrongly"),
    ]:
        with pytest.raises(Refused) as refused:
            intake.check(msgspec.structs.replace(good, **changed), who(), expected)
        assert refused.value.reason == wanted


def test_the_norm_bound_is_the_mechanisms(engine: Engine) -> None:
    """An update just inside the bound passes and one just outside is refused; the bound is clip + noise tail."""
    expected = make_group(engine)
    bound = largest_update(expected.method, START)
    assert bound == pytest.approx(1.0 + 0.5 * (np.sqrt(3) + np.sqrt(2 * np.log(1e12))))
    direction = np.array([0.0, 1.0, 0.0])
    assert offer(expected, START + 0.999 * bound * direction).norm == pytest.approx(0.999 * bound)
    with pytest.raises(Refused):
        offer(expected, START + 1.001 * bound * direction)


def test_an_update_is_kept_once(engine: Engine) -> None:
    """The same update again is acknowledged and not counted; another one of the same device is refused."""
    expected = make_group(engine)
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
    expected = make_group(engine)
    stranger = replace(offer(expected), credentials=who("4" * 32, seed=b"9"))
    batch = [stranger, offer(expected), offer(expected)]
    with writing(engine) as connection:
        answers = intake.keep(connection, VAULT, batch, now=NOW)
    assert [a.reason if isinstance(a, Refused) else a.received for a in answers] == ["unknown-device", 1, "replayed"]


def test_a_round_that_closed_meanwhile_takes_nothing(engine: Engine) -> None:
    """An update checked before the round ended is refused afterwards, and no row is written."""
    expected = make_group(engine)
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
    expected = make_group(engine)
    given = offer(expected, START + 0.25)
    with writing(engine) as connection:
        intake.keep(connection, VAULT, [given], now=NOW)
    with reading(engine) as connection:
        stored = bytes(connection.execute(select(updates.c.payload)).scalar_one())
    assert given.payload[4:20] not in stored
    assert VAULT.decrypt(stored) == given.payload
