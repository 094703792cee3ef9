"""An update arrives: opened, checked, kept. What is acknowledged is on disk; nothing is counted twice.

Opening and checking need no transaction and happen in the request's own thread. Keeping is the transaction's part:
`keep` takes many checked offers at once, so that one wait for the disk serves them all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, insert, select, update

from federation_server import rounds
from federation_server.authentication import Credentials, active_member, spend_nonce
from federation_server.refusals import Refused
from federation_server.rounds import Round
from federation_server.tables import rounds as rounds_table
from federation_server.tables import updates
from federation_server.vault import Vault
from foltr.errors import RecordError, ShapeError, ValueRangeError
from foltr.federated.envelope import SignatureError, unseal
from foltr.federated.method import Method
from foltr.federated.payload import decode_message, largest_update
from foltr.federated.wire import Accepted, Sealed, Terms, Update, decode

FloatVector = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Expectation:
    """What an update of the open round must look like."""

    open_round: Round
    private_key: bytes
    agreed: Terms
    method: Method[Any, Any]
    start: FloatVector
    """[n_params] the theta of the model that devices begin from"""


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A checked update that waits for its transaction."""

    credentials: Credentials
    lineage: int
    round: int
    digest: str
    """of the opened update: the same update sealed twice has the same digest"""
    payload: bytes
    norm: float


def check(sealed: Sealed, credentials: Credentials, expected: Expectation) -> Offer:
    """Open and examine an update; Refused with the first thing that is wrong with it."""
    here = expected.open_round
    if sealed.lineage != here.lineage:
        raise Refused("wrong-lineage", f"the group is in lineage {here.lineage}, the update in {sealed.lineage}")
    if sealed.round != here.number:
        raise Refused("stale-round", f"round {here.number} is open, the update is for {sealed.round}")
    try:
        inner = unseal(expected.private_key, sealed.box)
        found = decode(inner, Update)
    except SignatureError as error:
        raise Refused("sealed-wrongly") from error
    except RecordError as error:
        raise Refused("malformed", "inside the seal") from error
    _check_context(found, expected)
    return Offer(
        credentials=credentials,
        lineage=here.lineage,
        round=here.number,
        digest=hashlib.blake2b(inner, digest_size=32).hexdigest(),
        payload=found.payload,
        norm=_checked_norm(found.payload, expected),
    )


def _check_context(found: Update, expected: Expectation) -> None:
    """The sealed part must say the same as the outside, so that nobody can move it to another round."""
    here, agreed = expected.open_round, expected.agreed
    if (found.lineage, found.round) != (here.lineage, here.number):
        raise Refused("stale-round", "inside the seal")
    if found.group_id != agreed.group_id:
        raise Refused("wrong-group")
    if found.model_hash != here.model_hash:
        raise Refused("wrong-model")
    if found.manifest_hash != agreed.manifest_hash:
        raise Refused("wrong-manifest")


def _checked_norm(payload: bytes, expected: Expectation) -> float:
    """||theta - start||_2 of an update that could be an honest device's."""
    try:
        message = decode_message(expected.method, payload)
    except ShapeError as error:
        raise Refused("wrong-length", str(error)) from error
    except ValueRangeError as error:
        raise Refused("not-finite", str(error)) from error
    norm = float(np.linalg.norm(message.theta - expected.start))
    if not norm <= largest_update(expected.method, expected.start):
        raise Refused("over-norm")
    return norm


def keep(connection: Connection, vault: Vault, offers: Sequence[Offer], *, now: int) -> list[Accepted | Refused]:
    """Store the offers in one transaction; one answer for each, in their order.

    The round is locked, so it cannot close between the check that it is open and the insert. An offer whose
    round closed in the meantime is refused; one that is already stored is acknowledged again.
    """
    here = rounds.present(connection, lock=True)
    answers: list[Accepted | Refused] = []
    received = here.n_updates if here else 0
    for offer in offers:
        try:
            received += _keep_one(connection, vault, offer, here, now=now)
            answers.append(Accepted(round=offer.round, received=received))
        except Refused as refused:
            answers.append(refused)
    if here is not None and received != here.n_updates:
        key = (rounds_table.c.lineage == here.lineage, rounds_table.c.round == here.number)
        connection.execute(update(rounds_table).where(*key).values(n_updates=received))
    return answers


def _keep_one(connection: Connection, vault: Vault, offer: Offer, here: Round | None, *, now: int) -> int:
    """1 when the offer is new, 0 when it is already stored."""
    active_member(connection, offer.credentials.device, now=now)
    spend_nonce(connection, offer.credentials)
    if here is None or (here.lineage, here.number) != (offer.lineage, offer.round):
        raise Refused("stale-round", "it closed while the update was on its way")
    key = (updates.c.lineage == offer.lineage, updates.c.round == offer.round)
    query = select(updates.c.digest).where(*key, updates.c.device == offer.credentials.device)
    stored = connection.execute(query).scalar_one_or_none()
    if stored is not None and stored != offer.digest:
        raise Refused("already-reported")
    if stored is not None:
        return 0
    connection.execute(
        insert(updates).values(
            lineage=offer.lineage,
            round=offer.round,
            device=offer.credentials.device,
            digest=offer.digest,
            received=now,
            payload=vault.encrypt(offer.payload),
            norm=offer.norm,
        )
    )
    return 1
