"""The running server without its network: what each address does, over one database, one vault and one policy.

Rounds are closed by the writer thread right after the update that makes them due, and by `tick` when a deadline passes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine

from federation_server import closing, enrolment, forgetting, group, intake, retention, rounds
from federation_server.authentication import (
    Credentials,
    active_member,
    check_signature,
    forget_old_nonces,
    spend_nonce,
)
from federation_server.closing import Closed
from federation_server.database import reading, writing
from federation_server.intake import Expectation, Offer
from federation_server.policy import Policy
from federation_server.refusals import Refused
from federation_server.settings import Settings
from federation_server.vault import Vault
from federation_server.writer import Writer
from foltr.errors import RecordError
from foltr.federated.envelope import pseudonym, sign_document
from foltr.federated.payload import payload_size
from foltr.federated.wire import Accepted, Enrolled, Enrolment, Farewell, R, Sealed, Signed, decode

Clock = Callable[[], int]
DAY = 86_400


def now() -> int:
    """Whole seconds since 1970."""
    return int(time.time())


@dataclass(frozen=True, slots=True)
class Request:
    """A signed request, as the network brought it."""

    credentials: Credentials
    method: str
    path: str
    """with its query"""
    body: bytes


@dataclass(slots=True, eq=False)
class Service:
    """Start it, serve, stop it; its methods may be called from many threads."""

    engine: Engine
    vault: Vault
    policy: Policy
    settings: Settings
    clock: Clock = now
    on_closed: Callable[[Closed], None] = lambda closed: None
    writer: Writer = field(init=False)
    _expected: Expectation | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.writer = Writer(self._keep)

    def start(self) -> None:
        """Open the first round where there is none, and begin to write."""
        self.tick()
        self.writer.start()

    def stop(self) -> None:
        """Write what waits, then end."""
        self.writer.stop()

    def tick(self) -> Closed | None:
        """Close the round whose deadline has passed, or open the first one; cheap while neither is due."""
        with reading(self.engine) as connection:
            here = rounds.present(connection)
        if here is not None and self.clock() < here.deadline and here.n_updates < self.policy.schedule.quorum:
            return None
        with writing(self.engine) as connection:
            closed = closing.close_due(connection, self.vault, self.policy, now=self.clock())
        return self._announce(closed)

    def clean(self) -> int:
        """Drop old nonces, and rows whose retention has ended; how many."""
        with writing(self.engine) as connection:
            gone = forget_old_nonces(connection, now=self.clock())
            return gone + retention.drop_old(
                connection, self.settings.retention, self.settings.forgetting, now=self.clock()
            )

    def enrol(self, request: Request) -> Signed:
        """A device becomes a member; it proves that it holds the key it brings."""
        asked = _decoded(request.body, Enrolment)
        if request.credentials.device != pseudonym(asked.device_key):
            raise Refused("bad-signature", "the pseudonym is not that of the key")
        self._check(request, asked.device_key)
        days = self.settings.retention.member_days
        with writing(self.engine) as connection:
            member = enrolment.redeem(
                connection, asked.token, asked.device_key, lifetime=days * DAY or None, now=self.clock()
            )
            spend_nonce(connection, request.credentials)
            enrolled = Enrolled(
                group=group.fact(connection, "group") or "",
                group_id=group.terms(connection).group_id,
                device=member.device,
                server_key=self.vault.identity.public,
            )
        return sign_document(self.vault.identity, "enrolled", enrolled)

    def announcement(self, request: Request) -> Signed:
        """The present round."""
        with writing(self.engine) as connection:
            self._authenticated(connection, request)
            here = rounds.present(connection)
            if here is None:
                raise Refused("unavailable", "no round is open")
            told = rounds.announcement(here, group.terms(connection), now=self.clock())
        return sign_document(self.vault.identity, "announcement", told)

    def model(self, request: Request, model_hash: str) -> Signed:
        """A published common ranker by its hash, or the newest."""
        with writing(self.engine) as connection:
            self._authenticated(connection, request)
            newest = model_hash == "newest"
            found = group.newest(connection) if newest else group.by_hash(connection, model_hash)
            if found is None:
                raise Refused("not-found", "no such model, or it was erased")
        return sign_document(self.vault.identity, "model", found.record)

    def update(self, request: Request) -> Future[Accepted]:
        """Take an update; the future is done when it is on disk."""
        sealed = _decoded(request.body, Sealed)
        with reading(self.engine) as connection:
            member = active_member(connection, request.credentials.device, now=self.clock())
        self._check(request, member.device_key)
        return self.writer.submit(intake.check(sealed, request.credentials, self._expectation(sealed)))

    def farewell(self, request: Request) -> Signed:
        """A member leaves; with `forget` what it sent is erased and its influence is unlearned."""
        asked = _decoded(request.body, Farewell)
        with writing(self.engine) as connection:
            self._authenticated(connection, request)
            if asked.group_id != group.terms(connection).group_id:
                raise Refused("wrong-group")
            receipt = forgetting.farewell(
                connection, self.vault, self.policy, self.settings.forgetting,
                request.credentials.device, forget=asked.forget, now=self.clock(),
            )  # fmt: skip
        self._expected = None
        if asked.forget:
            forgetting.scrub(self.engine)
        return sign_document(self.vault.identity, "receipt", receipt)

    def receipt(self, name: str) -> Signed:
        """How far a forget-me request is; its random name is the only key to it."""
        with reading(self.engine) as connection:
            found = forgetting.receipt(connection, name)
            if found is None:
                raise Refused("not-found", "no such request")
        return sign_document(self.vault.identity, "receipt", found)

    def largest_body(self) -> int:
        """Bytes of the largest body that makes sense: a sealed update in base64 with its envelope, and some room."""
        if self.settings.limits.body_bytes:
            return self.settings.limits.body_bytes
        with reading(self.engine) as connection:
            return 4096 + 2 * payload_size(group.method_of(group.terms(connection)))

    def _authenticated(self, connection: Connection, request: Request) -> None:
        """The request is a member's, is fresh, and was not sent before."""
        member = active_member(connection, request.credentials.device, now=self.clock())
        self._check(request, member.device_key)
        spend_nonce(connection, request.credentials)

    def _check(self, request: Request, device_key: bytes) -> None:
        check_signature(
            request.credentials,
            device_key,
            method=request.method,
            path=request.path,
            body=request.body,
            now=self.clock(),
        )

    def _expectation(self, sealed: Sealed) -> Expectation:
        """What the open round takes, read again when the update speaks of another one than was read last."""
        with self._lock:
            known = self._expected
            if known is None or (known.open_round.lineage, known.open_round.number) != (sealed.lineage, sealed.round):
                with reading(self.engine) as connection:
                    self._expected = known = _read_expectation(connection, self.vault)
            return known

    def _keep(self, offers: Sequence[Offer]) -> Sequence[Accepted | Refused]:
        with writing(self.engine) as connection:
            answers = intake.keep(connection, self.vault, offers, now=self.clock())
        if any(isinstance(answer, Accepted) and answer.received >= self.policy.schedule.quorum for answer in answers):
            with writing(self.engine) as connection:
                closed = closing.close_due(connection, self.vault, self.policy, now=self.clock())
            self._announce(closed)
        return answers

    def _announce(self, closed: Closed | None) -> Closed | None:
        if closed is not None:
            self._expected = None
            self.on_closed(closed)
        return closed


def _decoded(body: bytes, kind: type[R]) -> R:
    try:
        return decode(body, kind)
    except RecordError as error:
        raise Refused("malformed", str(error)) from error


def _read_expectation(connection: Connection, vault: Vault) -> Expectation:
    here, agreed = rounds.present(connection), group.terms(connection)
    if here is None or here.sealed_key is None:
        raise Refused("unavailable", "no round is open")
    start = group.by_hash(connection, here.model_hash)
    if start is None:
        raise Refused("unavailable", "the round's model is missing")
    return Expectation(here, vault.decrypt(here.sealed_key), agreed, group.method_of(agreed), start.model.theta)
