"""A group in a database with members that send updates, for the server's tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine

from federation_server.database import reading, writing
from federation_server.forgetting import tombstones
from federation_server.forgetting.forgetting import Forgetter
from federation_server.forgetting.tombstones import TombstoneFile
from federation_server.group import enrolment, group
from federation_server.group.signed_requests import Credentials
from federation_server.refusals import Refused
from federation_server.rounds import intake, rounds
from federation_server.rounds.intake import Expectation
from federation_server.rounds.rounds import Policy, Schedule
from federation_server.settings import ForgettingSection
from federation_server.vault import Vault
from foltr.arrays import FloatVector
from foltr.federated.envelope import Identity, box_public, pseudonym, seal
from foltr.federated.fpdgd import FPDGDMessage, encode_message
from foltr.federated.joining import Joining
from foltr.federated.method import Model
from foltr.federated.sealed import roster
from foltr.federated.wire import Accepted, Enrolment, Sealed, Terms, Update, encode

NOW = 1_000_000
ADMIN_TOKEN = "a token of the administrator"
VAULT = Vault.generate()
START = np.array([1.0, -2.0, 3.0])
SCHEDULE = Schedule(quorum=3, seconds=60)
POLICY = Policy(SCHEDULE, Joining(largest_weight=50, guard=True))
PRIVATE: dict[str, Any] = {
    "privacy": {"mechanism": "gaussian", "clip": 1.0, "noise_multiplier": 0.5},
    "weighting": "equal",
}
OPEN: dict[str, Any] = {"privacy": {"mechanism": "none"}}


def theta(engine: Engine) -> FloatVector:
    """The present ranker's."""
    with reading(engine) as connection:
        return group.newest(connection).model.theta


def forgetter(folder: Path, **changes: Any) -> Forgetter:
    """What forgetting takes; `changes` are of its settings."""
    return Forgetter(VAULT, POLICY, ForgettingSection(**changes), TombstoneFile(folder / tombstones.FILE))


def make_terms(group_id: str, settings: dict[str, Any], floor: int) -> Terms:
    return Terms(
        group_id=group_id,
        method="fpdgd",
        settings=settings,
        ranker="linear",
        n_features=3,
        n_params=3,
        manifest_hash="manifest",
        n_local=50,
        n_unlearn=3,
        floor=floor,
    )


def make_group(engine: Engine, *, settings: dict[str, Any] = PRIVATE, floor: int = 1, n_members: int = 1) -> None:
    """A group with an open round; members are those of `identity(0)`, `identity(1)`, ..."""
    with writing(engine) as connection:
        group_id = group.create(connection, name="test", server_key="f", now=NOW)
        agreed = make_terms(group_id, settings, floor)
        group.set_terms(connection, agreed)
        group.begin_lineage(connection, agreed, Model(START), reason="init", now=NOW)
        rounds.open_next(connection, VAULT, SCHEDULE, now=NOW)
        for number in range(n_members):
            join(connection, number)


def identity(number: int) -> Identity:
    return Identity(bytes([number + 1]) * 32)


def device(number: int) -> str:
    return pseudonym(identity(number).public)


def enrolling(token: str, who: Identity, group_id: str = "") -> Enrolment:
    """What a device asks with this invite's secret."""
    return roster.enrolment(group_id, token, who, box_public(who.seed))


def join(connection: Connection, number: int) -> None:
    token = enrolment.invite(connection, note="", seconds=60, now=NOW)
    asked = enrolling(token, identity(number), group.fact(connection, "group_id") or "")
    enrolment.redeem(connection, asked, lifetime=None, now=NOW)


def expectation(engine: Engine) -> Expectation:
    """What the server expects of an update of the open round."""
    with reading(engine) as connection:
        here, agreed, start = rounds.present(connection), group.terms(connection), group.newest(connection)
    assert here is not None
    assert here.sealed_key is not None
    return Expectation(here, VAULT.decrypt(here.sealed_key), agreed, group.method_of(agreed), start.model.theta)


def update_for(expected: Expectation, theta: FloatVector, count: int = 1, *, number: int = 0) -> Update:
    return Update(
        group_id=expected.agreed.group_id,
        lineage=expected.open_round.lineage,
        round=expected.open_round.number,
        device=device(number),
        model_hash=expected.open_round.model_hash,
        manifest_hash="manifest",
        payload=encode_message(expected.method, FPDGDMessage(theta, count)),
    )


def sealed(expected: Expectation, inner: bytes) -> Sealed:
    here = expected.open_round
    return Sealed(round=here.number, lineage=here.lineage, box=seal(here.public_key, inner))


def credentials(number: int, nonce: str) -> Credentials:
    return Credentials(device(number), NOW, nonce, b"")


def send(engine: Engine, number: int, theta: FloatVector, *, count: int = 1, nonce: str = "") -> Accepted | Refused:
    """One member's update, checked and kept."""
    expected = expectation(engine)
    who = credentials(number, nonce or f"{expected.open_round.lineage:08}{expected.open_round.number:08}")
    offer = intake.check(sealed(expected, encode(update_for(expected, theta, count, number=number))), who, expected)
    with writing(engine) as connection:
        (answer,) = intake.keep(connection, VAULT, [offer], now=NOW)
    return answer
