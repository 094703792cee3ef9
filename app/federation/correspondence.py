"""What a device asks its server and what it answers: one method for each address, every answer checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.federation import answers
from app.federation.membership import Membership
from app.federation.receipts import Kept
from app.federation.standing import Standing
from app.federation.transport import Patience, Transport
from app.settings import FederationSettings
from foltr.federated.wire import (
    Accepted,
    Announcement,
    Enrolled,
    Enrolment,
    Farewell,
    ModelRecord,
    Receipt,
    Sealed,
    Signed,
    decode,
    encode,
)

Connect = Callable[[Membership, FederationSettings], Transport]
"""makes the door to a member's server; tests put in one that does not sleep"""


def connect(member: Membership, settings: FederationSettings) -> Transport:
    """The real one."""
    return Transport(member, Patience(settings.timeout_seconds, settings.retries, settings.proxy))


class Correspondence:
    """The requests of one member."""

    def __init__(self, member: Membership, transport: Transport, *, clock: Callable[[], float] = time.time) -> None:
        self.member, self._transport, self._clock = member, transport, clock

    def enrol(self, token: str) -> Enrolled:
        """Ask to be taken in; asking again with the same key gives the same answer."""
        asked = Enrolment(token=token, device_key=self.member.identity.public)
        return answers.enrolled(self._transport.post("/v1/members", encode(asked)), self.member)

    def announcement(self, standing: Standing) -> Announcement:
        """The present round."""
        answer = self._transport.get("/v1/round")
        return answers.announcement(answer, self.member, standing, now=int(self._clock()))

    def announced_model(self, told: Announcement) -> ModelRecord:
        """The common ranker that the round begins from."""
        answer = self._transport.get(f"/v1/models/{told.model_hash}")
        return answers.model(answer, self.member, told, wanted=told.model_hash)

    def newest_model(self, told: Announcement) -> ModelRecord:
        """The common ranker of this moment, which may be newer than the announcement."""
        return answers.model(self._transport.get("/v1/models/newest"), self.member, told)

    def send(self, body: bytes) -> Accepted:
        """An update as it is kept in the outbox."""
        return answers.accepted(self._transport.post("/v1/updates", body), decode(body, Sealed))

    def farewell(self, *, forget: bool) -> tuple[Signed, Receipt]:
        """Leave the group."""
        asked = Farewell(group_id=self.member.group_id, forget=forget)
        answer = self._transport.post("/v1/farewell", encode(asked))
        return answers.receipt(answer, self.member.server_key, self.member.group_id)

    def receipt(self, request: str) -> tuple[Signed, Receipt]:
        """How far a forget-me request is; needs no membership."""
        answer = self._transport.get(f"/v1/receipts/{request}", signed=False)
        return answers.receipt(answer, self.member.server_key, self.member.group_id)


@contextmanager
def corresponding(
    member: Membership, settings: FederationSettings, *, by: Connect = connect, clock: Callable[[], float] = time.time
) -> Iterator[Correspondence]:
    """Talk to a member's server, then hang up."""
    transport = by(member, settings)
    try:
        yield Correspondence(member, transport, clock=clock)
    finally:
        transport.close()


def former_member(kept: Kept) -> Membership:
    """Enough of a membership to ask for a receipt; its key is erased, and nothing can be signed."""
    return Membership(
        address=kept.address,
        fingerprint=kept.fingerprint,
        certificate=kept.certificate,
        seed=b"",
        group=kept.group,
        group_id=kept.group_id,
        server_key=kept.server_key,
    )
