"""The running server without its network: the work of each address, over one database, one vault and one policy.

Rounds are closed by the writer thread right after the update that makes them due, and by `tick` when a deadline passes;
`tick` also drops what the settings no longer keep.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import SQLAlchemyError

from federation_server import database
from federation_server.database import error_text, reading, writing
from federation_server.forgetting import forgetting, tombstones
from federation_server.group import depots, enrolment, group, roster_book
from federation_server.group.signed_requests import Request, check_signature, forget_old_nonces, spend_nonce
from federation_server.refusals import Refused
from federation_server.rounds import closing, intake, rounds
from federation_server.rounds.rounds import DAY, Closed, Policy, Round, rest_until
from federation_server.running import retention, vouching
from federation_server.sealed import inbox, summing
from federation_server.settings import ServerSettings
from federation_server.vault import Vault
from foltr.errors import RecordError
from foltr.federated import wire
from foltr.federated.envelope import pseudonym, sign_document
from foltr.federated.fpdgd import payload_size
from foltr.federated.sealed.note_proof import false_claims

Clock = Callable[[], int]
HASH, REQUEST = re.compile("[0-9a-f]{64}"), re.compile("[0-9a-f]{32}")
"""the names of models and of requests to be forgotten"""
LARGEST_KEYS = 100_000
SETTLE_SECONDS = 30.0
"""that a request waits at most for a round to close; it then reads what there is"""
AWAY_SECONDS = 600
"""between two looks at the round; after more the server was off, asleep, or had another clock: longer than a database
is waited for"""
log = logging.getLogger("foltr-server")


def now() -> int:
    """Whole seconds since 1970."""
    return int(time.time())


@dataclass(slots=True, eq=False)
class Service:
    """Start it, serve, stop it; its methods may be called from many threads."""

    engine: Engine
    forgetter: forgetting.Forgetter
    settings: ServerSettings
    clock: Clock = now
    on_closed: Callable[[Closed], None] = lambda closed: None
    writer: intake.Writer = field(init=False)
    sealed: inbox.SealedRounds = field(default_factory=inbox.SealedRounds)
    _keys: dict[str, bytes] = field(default_factory=dict)
    """device key by pseudonym"""
    _expectations: intake.Expectations = field(init=False)
    _least: int = 1
    """a round with fewer updates was not complete at the last tick; `closing` decides"""
    _looked: int = 0
    """when `tick` looked last, 0 before it did"""

    @property
    def vault(self) -> Vault:
        return self.forgetter.vault

    @property
    def policy(self) -> Policy:
        return self.forgetter.policy

    def __post_init__(self) -> None:
        self.writer = intake.Writer(self._keep, self._close_if_enough)
        self._expectations = intake.Expectations(self.engine, self.vault)

    def start(self) -> None:
        """Open the first round where there is none, and begin to write; a database that is away comes back."""
        try:
            self.tick()
        except SQLAlchemyError as error:
            log.error("the open round could not be looked at: %s", error_text(error))
        self.writer.start()

    def stop(self) -> None:
        """Write what waits, then end."""
        self.writer.stop()

    def tick(self) -> Closed | None:
        """Close the round that is due, or open the first one; cheap while neither is.

        A round that another process has closed or opened, as `foltr-server rounds close` does, is noticed.
        """
        if (now := self.clock()) - self._looked > AWAY_SECONDS:
            with writing(self.engine) as connection:
                rounds.give_time_again(connection, self.policy.schedule, now=now)
        self._looked = now
        with reading(self.engine) as connection:
            here = rounds.present(connection)
            n_active = enrolment.count_active(connection, now=self.clock())
            self._least = self.policy.schedule.quorum or max(n_active, 1)
            due = self._may_open(connection) if here is None else self._is_due(connection, here)
            owed = forgetting.are_owed(connection)
        if owed:
            with writing(self.engine) as connection:
                forgetting.forget_waiting(connection, self.forgetter, now=self.clock())
            self._scrub()
        return self.close() if due else None

    def _is_due(self, connection: Connection, here: Round) -> bool:
        """Whether closing the open round is worth a try."""
        agreed = group.terms(connection)
        if rounds.is_ahead(here, self.policy.schedule, now=self.clock()):
            return True
        if agreed.mode != "open":
            return summing.is_due(connection, self.sealed, agreed, here, now=self.clock())
        self._expectations.keep_only(here)
        return self.clock() >= here.deadline or here.n_updates >= self._least

    def _may_open(self, connection: Connection) -> bool:
        """Whether there is a group, and it has not learned enough for now."""
        made = group.fact(connection, "terms") is not None
        return made and not rest_until(connection, group.terms(connection), now=self.clock())

    def close(self, *, asked: bool = False) -> Closed | None:
        """Close the open round if it is due, or because the operator has `asked` and it can be; None otherwise."""
        with writing(self.engine) as connection:
            now = self.clock()
            is_open = group.terms(connection).mode == "open"
            if is_open:
                closed = closing.close_due(connection, self.vault, self.policy, now=now, asked=asked)
            else:
                closed = summing.close_due(connection, self.sealed, self.vault, self.policy, now=now, asked=asked)
        if closed is not None:
            if is_open:  # no other server holds a key that opens updates
                self._expectations.forget()
            self.on_closed(closed)
        return closed

    def clean(self) -> int:
        """Drop old nonces, and rows whose retention has ended; how many. Finishes an erasure that was hindered."""
        if database.is_scrub_due(self.engine):
            self._scrub()
        with writing(self.engine) as connection:
            moment = retention.moment(connection, clock=self.clock())
            gone = forget_old_nonces(connection, now=moment)
            return gone + retention.drop_old(connection, self.settings.retention, self.settings.forgetting, now=moment)

    def enrol(self, request: Request) -> wire.Signed:
        """A device becomes a member, once: sent again, as by a proxy that got no answer, it is answered alike."""
        asked = _decoded(request.body, wire.Enrolment)
        if request.credentials.device != pseudonym(asked.device_key):
            raise Refused("bad-signature", "the pseudonym is not that of the key")
        self._check(request, asked.device_key)
        days = self.settings.retention.member_days
        with writing(self.engine) as connection:
            group.lock(connection)  # asked again while the first time is under way, it is a member by then
            if asked.group_id != group.terms(connection).group_id:
                raise Refused("bad-invite", "it is of another group")
            member = enrolment.redeem(connection, asked, lifetime=days * DAY or None, now=self.clock())
            enrolled = wire.Enrolled(
                group=group.fact(connection, "group") or "",
                group_id=asked.group_id,
                device=member.device,
                server_key=self.vault.identity.public,
            )
        return self._document("enrolled", enrolled)

    def announcement(self, request: Request) -> wire.Signed:
        self._signed(request)
        self.writer.settled.wait(SETTLE_SECONDS)
        with reading(self.engine) as connection:
            enrolment.active_member(connection, request.credentials.device, now=self.clock())
            announced = self._announced(connection, request.credentials.device)
        return self._document("announcement", announced)

    def _announced(self, connection: Connection, device: str) -> wire.Announcement:
        """The open round, or that the group rests, for one device."""
        here, agreed = rounds.present(connection), group.terms(connection)
        if here is not None:
            announced = self._of_round(connection, agreed, here, device)
        elif (resting := rounds.announced_rest(connection, agreed, now=self.clock())) is not None:
            announced = resting
        else:
            raise Refused("unavailable", "no round is open")
        return msgspec.structs.replace(
            announced,
            group=group.fact(connection, "group") or "",
            answered=enrolment.answered(connection, device),
            carried=group.carried_by(connection, announced.lineage),
            moved=group.move_of(connection),
            sums=wire.SUMS_VERSION,
        )

    def _of_round(self, connection: Connection, agreed: wire.Terms, here: Round, device: str) -> wire.Announcement:
        """The open round, and whether it has this device's update."""
        if agreed.mode == "open":
            wanted, listed = max(self._least, agreed.floor), ""
            received = intake.has_update(connection, here, device)
        else:
            wanted = summing.n_wanted(connection, self.sealed, agreed, here, now=self.clock())
            received = inbox.message_of(connection, here, device) is not None
            listed = inbox.list_hash(connection, here)
        announced = rounds.announcement(here, agreed, wanted=wanted, now=self.clock())
        return msgspec.structs.replace(announced, received=received, list_hash=listed)

    def model(self, request: Request, model_hash: str) -> wire.Signed:
        """A published common ranker by its hash, or the newest."""
        self._signed(request)
        if model_hash != "newest" and not HASH.fullmatch(model_hash):
            raise Refused("not-found", "no such model")
        self.writer.settled.wait(SETTLE_SECONDS)
        with reading(self.engine) as connection:
            enrolment.active_member(connection, request.credentials.device, now=self.clock())
            found = group.newest(connection) if model_hash == "newest" else group.by_hash(connection, model_hash)
            if found is None:
                raise Refused("not-found", "no such model, or it was erased")
        return self._document("model", found.body)

    def update(self, request: Request) -> Future[wire.Accepted]:
        """Take an update; the future is done when it is on disk."""
        _, sealed = self._asked(request, wire.Sealed)
        return self.writer.submit(intake.check(sealed, request.credentials, self._expectations.of(sealed)))

    def roster(self, request: Request, after: int) -> wire.Signed:
        """The entries of the roster from number `after` on."""
        self._signed(request)
        with reading(self.engine) as connection:
            enrolment.active_member(connection, request.credentials.device, now=self.clock())
            page = roster_book.page(connection, after=after)
        return self._document("roster", page)

    def take_back(self, request: Request) -> wire.Signed:
        """Take entries of the roster that a restored database lacks; the sender may be a member by them alone."""
        asked, device = _decoded(request.body, wire.RosterReturn), request.credentials.device
        if device != pseudonym(asked.device_key):
            raise Refused("bad-signature", "the pseudonym is not that of the key")
        self._check(request, asked.device_key)
        with writing(self.engine) as connection:
            page = vouching.take_back(connection, self.vault.identity.public, device, asked, now=self.clock())
        with reading(self.engine) as connection:  # who was forgotten has handed back what is true, and stays so
            enrolment.active_member(connection, device, now=self.clock())
        return self._document("roster", page)

    def take_back_ranker(self, request: Request) -> wire.Signed:
        """Take a ranker that a restored database lacks; gives the one from which the group goes on."""
        device, asked = self._asked(request, wire.RankerReturn)
        with writing(self.engine) as connection:
            enrolment.active_member(connection, device, now=self.clock())
            newest = vouching.take_back_ranker(connection, self.forgetter, asked, now=self.clock())
        self._expectations.forget()
        return self._document("model", newest)

    def invite(self, request: Request) -> wire.Invited:
        device, asked = self._asked(request, wire.InviteOffer)
        with writing(self.engine) as connection:
            return vouching.invite(connection, device, asked, now=self.clock())

    def vouch(self, request: Request) -> wire.Signed:
        """Take a member's word for another."""
        device, asked = self._asked(request, wire.Vouching)
        with writing(self.engine) as connection:
            page = vouching.vouch(connection, device, asked, now=self.clock())
        return self._document("roster", page)

    def shared(self, request: Request) -> wire.Accepted:
        """Take a shared update whose proof holds."""
        device, sent = self._asked(request, wire.SharedUpdate)
        with reading(self.engine) as connection:
            found = inbox.offered(self._desk(connection), device, sent)
        false = bool(false_claims(found.terms, found.claims))  # a tenth of a second and more: under no lock
        with writing(self.engine) as connection:
            kept = inbox.keep_shared(self._desk(connection), sent, found.message, false=false)
        return self._kept(kept)

    def noise(self, request: Request) -> wire.Coins:
        """Take a commitment to a device's noise, and tell its coins once it is on disk."""
        device, sent = self._asked(request, wire.NoiseCommitment)
        with writing(self.engine) as connection:
            return inbox.keep_noise(self._desk(connection), device, sent)

    def task(self, request: Request) -> wire.SumTask:
        """What a member of the committee is to add up."""
        self._signed(request)
        with reading(self.engine) as connection:
            return inbox.task(self._desk(connection), request.credentials.device)

    def answer(self, request: Request) -> wire.Accepted:
        """Take what a member of the committee added up."""
        device, sent = self._asked(request, wire.CommitteeAnswer)
        with writing(self.engine) as connection:
            kept = inbox.keep_answer(self._desk(connection), device, sent)
        return self._kept(kept)

    def complaint(self, request: Request) -> wire.Accepted:
        """Take a committee member's proof that a message is false."""
        device, sent = self._asked(request, wire.Complaint)
        with writing(self.engine) as connection:
            kept = inbox.keep_complaint(self._desk(connection), device, sent, self.policy.schedule)
        return self._kept(kept)

    def _desk(self, connection: Connection) -> inbox.Desk:
        return inbox.Desk(connection, self.sealed, self.vault, self.clock())

    def _kept(self, kept: wire.Accepted | Refused) -> wire.Accepted:
        """What a committee member said is stored, even if it was a lie."""
        self._go_on(self.tick)
        if isinstance(kept, Refused):
            raise kept
        return kept

    def _go_on(self, step: Callable[[], object]) -> None:
        """What was just kept may have made the round due."""
        try:
            step()
        except Exception as error:  # what was sent is kept and acknowledged, and `tick` is called every second
            log.error("a round could not be closed: %s", error_text(error))

    def _admit(self, connection: Connection, request: Request, group_id: str) -> None:
        """The sender is a member of this group, and asks for the first time; nobody else comes or goes meanwhile."""
        group.lock(connection)
        enrolment.active_member(connection, request.credentials.device, now=self.clock())
        spend_nonce(connection, request.credentials)
        if group_id != group.terms(connection).group_id:
            raise Refused("wrong-group")

    def make_depot(self, request: Request) -> wire.DepotPage:
        """Keep what a member's computers exchange from now on."""
        device, asked = self._asked(request, wire.DepotRequest)
        with writing(self.engine) as connection:
            self._admit(connection, request, asked.group_id)
            return depots.make(connection, device, asked, self.settings.limits)

    def depot(self, request: Request) -> wire.DepotPage:
        with self._depot(request) as (connection, depot):
            return depots.page(connection, depot)

    def depot_files(self, request: Request, names: Sequence[str]) -> wire.DepotFiles:
        with self._depot(request) as (connection, depot):
            return depots.files(connection, depot, names)

    def change_depot(self, request: Request) -> wire.DepotPage:
        """Write, remove, or let a new key take the place of this one."""
        asked = _decoded(request.body, wire.DepotChange)
        with self._depot(request) as (_, depot):
            name = depot.name
        with writing(self.engine) as connection:
            spend_nonce(connection, request.credentials)
            depot = depots.found(connection, name, now=self.clock(), lock=True)
            return depots.change(connection, depot, asked, self.settings.limits)

    @contextmanager
    def _depot(self, request: Request) -> Iterator[tuple[Connection, depots.Depot]]:
        """The depot whose key signed the request lately."""
        with reading(self.engine) as connection:
            found = depots.found(connection, request.credentials.device, now=self.clock())
            self._check(request, found.key)
            yield connection, found

    def farewell(self, request: Request) -> wire.Signed:
        """A member leaves; with `forget` what it sent is erased and its influence is unlearned."""
        device, asked = self._asked(request, wire.Farewell)
        with writing(self.engine) as connection:
            self._admit(connection, request, asked.group_id)
            found = None if asked.at_once else summing.hands_without(connection, device, now=self.clock())
            if found is not None and found.n_left < found.needed:
                told = f"{found.n_left} others are left to add up round {found.round}, {found.needed} are needed"
                raise Refused("needed", told)
            roster_book.leave(connection, device, asked.roster_signature)
            if asked.forget:
                receipt = forgetting.forget(connection, self.forgetter, device, now=self.clock())
            else:
                receipt = forgetting.leave(connection, device, now=self.clock())
        self._keys.pop(device, None)
        self._expectations.forget()
        if asked.forget:
            self._scrub()
        return self._document("receipt", receipt)

    def receipt(self, name: str) -> wire.Signed:
        """How far a forget-me request has come; its random name is the only key to it."""
        if not REQUEST.fullmatch(name):
            raise Refused("not-found", "no such request")
        with reading(self.engine) as connection:
            found = forgetting.receipt(connection, name)
        return self._document("receipt", found)

    def journal(self, name: str, after: str) -> wire.Signed:
        """The journal's entries after a position, for anybody who knows the name of a receipt in it."""
        if not (REQUEST.fullmatch(name) and after.isdecimal() and len(after) < 12):
            raise Refused("not-found", "no such receipt")
        with reading(self.engine) as connection:
            if not tombstones.is_request(connection, name):
                raise Refused("not-found", "no such receipt")
            page = group.journal_page(connection, group.terms(connection).group_id, after=int(after))
        return self._document("journal", page)

    def moved(self) -> wire.Signed:
        """Where the server is to be found from now on; anyone may know."""
        with reading(self.engine) as connection:
            found = group.move_of(connection)
        if found is None:
            raise Refused("not-found", "the server has not moved")
        return found

    def largest_body(self) -> int:
        """Bytes of the largest body that makes sense: a sealed update in base64 with its envelope, and some room."""
        if self.settings.limits.body_bytes:
            return self.settings.limits.body_bytes
        with reading(self.engine) as connection:
            agreed = group.terms(connection)
            boxes = 0 if agreed.mode == "open" else inbox.largest_message(agreed)
            return 4096 + 2 * payload_size(group.method_of(agreed)) + boxes

    def _document(self, kind: str, record: wire.Record | bytes) -> wire.Signed:
        """A record, or the JSON of one, with the server's signature."""
        return sign_document(self.vault.identity, kind, record)

    def _asked(self, request: Request, kind: type[wire.R]) -> tuple[str, wire.R]:
        """Whose signed request it is, and the record in its body."""
        self._signed(request)
        return request.credentials.device, _decoded(request.body, kind)

    def _signed(self, request: Request) -> None:
        """The holder of the pseudonym's key signed it lately. Whether it is still a member, the database is asked."""
        self._check(request, self._device_key(request.credentials.device))

    def _device_key(self, device: str) -> bytes:
        """The key that a pseudonym is the hash of: it never changes, so it is read once."""
        known = self._keys.get(device)
        if known is None:
            with reading(self.engine) as connection:
                known = enrolment.active_member(connection, device, now=self.clock()).device_key
            if len(self._keys) >= LARGEST_KEYS:
                self._keys.clear()
            self._keys[device] = known
        return known

    def _check(self, request: Request, device_key: bytes) -> None:
        check_signature(request, device_key, now=self.clock())

    def _keep(self, offers: Sequence[intake.Offer]) -> Sequence[wire.Accepted | Refused]:
        with writing(self.engine) as connection:
            return intake.keep(connection, self.vault, offers, now=self.clock())

    def _close_if_enough(self, answers: Sequence[wire.Accepted | Refused]) -> None:
        """Right after the update that makes a round due: no request waits for it but those that come next."""
        if any(isinstance(answer, wire.Accepted) and answer.received >= self._least for answer in answers):
            self._go_on(self.close)

    def _scrub(self) -> None:
        """Take erased rows out of the files; what hinders it now is tried again by `clean`."""
        try:
            database.scrub(self.engine)
        except SQLAlchemyError as error:
            log.warning("erased rows are not out of the files yet: %s", error_text(error))


def _decoded(body: bytes, kind: type[wire.R]) -> wire.R:
    try:
        return wire.decode(body, kind)
    except RecordError as error:
        raise Refused("malformed", str(error)) from error
