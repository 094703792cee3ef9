"""The group's server as the device sees it: one method for each address, and every answer checked.

Nothing that the server says is believed unchecked: each function takes the bytes of an answer and returns its record if
the signature is the pinned server's, the group this device's, and the numbers fit this program; else Distrusted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec
import numpy as np

from app.federation.failures import Declined, Distrusted, FederationError
from app.federation.membership import KeptReceipt, Membership, Standing
from app.federation.transport import Transport
from app.learning.model_versions import LARGEST_WEIGHT
from app.settings import FederationSettings
from console.wording import iso_minute
from foltr.arrays import FloatVector
from foltr.errors import RecordError, ShapeError, ValueRangeError
from foltr.federated import wire
from foltr.federated.envelope import SignatureError, box_public, fingerprint, open_document
from foltr.federated.sealed import roster as chain
from foltr.federated.wire import R, decode, decode_vector, digest, encode
from foltr.ranking.rankers import make_ranker
from indexer.retrieval.features import MANIFEST_HASH, NAMES

CLOCK_SECONDS = 300
"""how far the server's clock may be from this device's: the same as the server's own rule"""


def read_enrolled(answer: bytes, applicant: Membership, invite: wire.Invite) -> wire.Enrolled:
    """Checks that the server enrolled this very device and is the server of the invite."""
    signed = _decode(answer, wire.Signed)
    key = _decode(signed.body, wire.Enrolled).server_key
    if fingerprint(key) != applicant.fingerprint:
        raise Distrusted("the server has another identity key than the invite names; do not join by this link")
    found = opened(key, signed, "enrolled", wire.Enrolled)
    if found.device != applicant.device or found.group_id != invite.group_id:
        raise Distrusted("the server's answer is for another device or group")
    return found


def read_announcement(answer: bytes, member: Membership, standing: Standing, *, now: int) -> wire.Announcement:
    """The present round; checks its group, its time, that it is not older than seen before, and its terms."""
    announced = opened(member.server_key, _decode(answer, wire.Signed), "announcement", wire.Announcement)
    if announced.terms.group_id != member.group_id:
        raise Distrusted("the server announced a round of another group")
    if abs(announced.server_time - now) > CLOCK_SECONDS:
        raise Distrusted(
            f"the announcement is of another time (the server's clock says {iso_minute(announced.server_time)}, this "
            f"device's {iso_minute(now)}): an old one sent again, or one of the clocks is wrong"
        )
    if (announced.lineage, announced.round) < (standing.lineage, standing.round):
        raise Distrusted(
            f"the server went back from round {standing.round} of lineage {standing.lineage} to round "
            f"{announced.round} of lineage {announced.lineage}"
        )
    if announced.lineage == standing.lineage and standing.terms and announced.terms != standing.agreed_terms:
        raise Distrusted("the server changed the group's terms without beginning a new lineage")
    check_terms(announced.terms)
    if announced.terms.mode != "open" and announced.sums != wire.SUMS_VERSION:
        raise FederationError(
            f"the group's server adds up by version {announced.sums} of sealed sums, this program by version "
            f"{wire.SUMS_VERSION}: update the older one; nothing is sent until then"
        )
    return announced


def check_terms(terms: wire.Terms) -> None:
    """FederationError unless this program has the group's features and ranker."""
    if terms.manifest_hash != MANIFEST_HASH or terms.n_features != len(NAMES):
        raise FederationError(
            f"the group ranks by other features ({terms.n_features}, manifest {terms.manifest_hash}) than this program "
            f"({len(NAMES)}, {MANIFEST_HASH}); both need the same version of foltr-search"
        )
    if make_ranker(terms.ranker, terms.n_features).n_params != terms.n_params:
        raise Distrusted(f"a {terms.ranker} ranker of {terms.n_features} features has no {terms.n_params} parameters")


def model(
    answer: bytes, member: Membership, announced: wire.Announcement, *, wanted: str | None = None
) -> wire.ModelRecord:
    """A common ranker of this group's present lineage; with `wanted`, the one of that hash."""
    signed, terms = _decode(answer, wire.Signed), announced.terms
    found = opened(member.server_key, signed, "model", wire.ModelRecord)
    if wanted is not None and digest(signed.body) != wanted:
        raise Distrusted("the server sent another model than it announced")
    if found.group_id != member.group_id:
        raise Distrusted("the server sent the model of another group")
    if found.lineage < announced.lineage or (found.lineage == announced.lineage and found.round < announced.round - 1):
        raise Distrusted(f"the server sent an old model (lineage {found.lineage}, round {found.round})")
    if (found.method, found.ranker, found.manifest_hash) != (terms.method, terms.ranker, terms.manifest_hash):
        raise Distrusted("the server sent a model that does not fit its own terms")
    theta_of(found)
    return found


def theta_of(record: wire.ModelRecord) -> FloatVector:
    """theta `[n_params]` of a model over this program's features; Distrusted for wrong length or size."""
    n_params = make_ranker(record.ranker, len(NAMES)).n_params
    try:
        theta = decode_vector(record.theta, n_params)
    except (ShapeError, ValueRangeError) as error:
        raise Distrusted(f"the server sent a model that is not valid: {error}") from error
    if not (np.abs(theta) <= LARGEST_WEIGHT).all() or not 0.0 <= record.noise <= LARGEST_WEIGHT:
        raise Distrusted(f"the server sent a model with a weight or noise beyond {LARGEST_WEIGHT:g}")
    return theta


def read_receipt(answer: bytes, server_key: bytes, group_id: str) -> tuple[wire.Signed, wire.Receipt]:
    """What the server says it erased, with its signature as proof."""
    signed = _decode(answer, wire.Signed)
    found = opened(server_key, signed, "receipt", wire.Receipt)
    if found.group_id != group_id:
        raise Distrusted("the receipt is of another group")
    return signed, found


def _decode(answer: bytes, kind: type[R]) -> R:
    try:
        return decode(answer, kind)
    except RecordError as error:
        raise Distrusted(f"the server's answer makes no sense: {error}") from error


def opened(key: bytes, signed: wire.Signed, kind: str, record: type[R], what: str = "the server's answer") -> R:
    """The record inside; Distrusted unless the group's server signed it."""
    try:
        return open_document(key, signed, kind, record)
    except SignatureError as error:
        raise Distrusted(f"{what} is not signed by the group's server: {error}") from error
    except RecordError as error:
        raise Distrusted(f"{what} makes no sense: {error}") from error


Answer = wire.Sealed | wire.SharedUpdate | wire.CommitteeAnswer | wire.Complaint
"""an update, plain or in shares; or from the committee, what was added up or a proof against a message"""
PLACES: Mapping[type[Answer], str] = {
    wire.Sealed: "/v1/updates", wire.SharedUpdate: "/v1/shares",
    wire.CommitteeAnswer: "/v1/answers", wire.Complaint: "/v1/complaints",
}  # fmt: skip

Connect = Callable[[Membership, FederationSettings], Transport]
"""makes the connection to a member's server; tests put in one that does not sleep"""


class Correspondence:
    """The requests of one member."""

    def __init__(self, member: Membership, transport: Transport, *, clock: Callable[[], float] = time.time) -> None:
        self.member, self._transport, self._clock = member, transport, clock

    def enrol(self, invite: wire.Invite) -> wire.Enrolled:
        """Ask to be taken in; asking again with the same keys gives the same answer."""
        asked = chain.enrolment(invite.group_id, invite.token, self.member.identity, box_public(self.member.box_key))
        return read_enrolled(self._transport.post("/v1/members", encode(asked)), self.member, invite)

    def announcement(self, standing: Standing) -> wire.Announcement:
        answer = self._transport.get("/v1/round")
        return read_announcement(answer, self.member, standing, now=int(self._clock()))

    def announced_model(self, announced: wire.Announcement) -> wire.ModelRecord:
        answer = self._transport.get(f"/v1/models/{announced.model_hash}")
        return model(answer, self.member, announced, wanted=announced.model_hash)

    def past_model(self, wanted: str) -> tuple[wire.Signed, wire.ModelRecord]:
        """The ranker of this hash, of any round, with its signature as proof."""
        signed = _decode(self._transport.get(f"/v1/models/{wanted}"), wire.Signed)
        found = opened(self.member.server_key, signed, "model", wire.ModelRecord)
        if (digest(signed.body), found.group_id) != (wanted, self.member.group_id):
            raise Distrusted("the server sent another model than was asked for")
        return signed, found

    def newest_model(self, announced: wire.Announcement) -> tuple[wire.Signed, wire.ModelRecord]:
        """The common ranker of this moment, which may be newer than the announcement, with its signature."""
        answer = self._transport.get("/v1/models/newest")
        return _decode(answer, wire.Signed), model(answer, self.member, announced)

    def hand_back_ranker(self, ranker: wire.Signed) -> wire.ModelRecord:
        """Give a restored server a ranker that it signed; returns the one from which the group goes on."""
        asked = wire.RankerReturn(group_id=self.member.group_id, ranker=ranker)
        answer = _decode(self._transport.post("/v1/models", encode(asked)), wire.Signed)
        return opened(self.member.server_key, answer, "model", wire.ModelRecord)

    def roster(self, after: int) -> tuple[wire.Signed, wire.RosterPage]:
        """Entries of the roster from this number on, unverified but for the server's signature."""
        return self._page(self._transport.get(f"/v1/roster?after={after}"))

    def hand_back(
        self, seen: wire.Signed, entries: tuple[wire.RosterEntry, ...]
    ) -> tuple[wire.Signed, wire.RosterPage]:
        """Give a restored server the entries that lead to a page it once signed; returns what `roster` does."""
        key, group_id = self.member.identity.public, self.member.group_id
        asked = wire.RosterReturn(group_id=group_id, device_key=key, seen=seen, entries=entries)
        return self._page(self._transport.post("/v1/roster", encode(asked)))

    def offer_invite(self, token: str) -> wire.Invited:
        """Have the server accept whoever holds this secret, as somebody this device vouches for."""
        key, group_id = chain.invite_identity(token).public, self.member.group_id
        signature = self.member.identity.sign(chain.INVITE, chain.invite_text(group_id, key))
        asked = wire.InviteOffer(group_id=group_id, invite_key=key, signature=signature)
        return _decode(self._transport.post("/v1/invites", encode(asked)), wire.Invited)

    def vouch(self, about: chain.RosterMember, *, leaves: bool, heir: int = -1) -> wire.RosterPage:
        """Vouch for a member, or take one off the roster who is no longer there; the entries from its own on.

        `heir` is the number of the entry by which the one who is taken off joined again.
        """
        group_id = self.member.group_id
        purpose, text = (
            (chain.LEAVE, chain.leave_text(group_id, about.number))
            if leaves
            else (chain.VOUCH, chain.vouch_text(group_id, about))
        )
        signature = self.member.identity.sign(purpose, text)
        asked = wire.Vouching(group_id=group_id, about=about.number, leaves=leaves, heir=heir, signature=signature)
        return self._page(self._transport.post("/v1/vouchers", encode(asked)))[1]

    def commit_noise(self, committed: wire.NoiseCommitment) -> bytes:
        """The seed of the coins of this device's noise, which the server draws once it has the commitment."""
        found = _decode(self._transport.post("/v1/noise", encode(committed)), wire.Coins)
        if found.round != committed.round:
            raise Distrusted(f"the server drew coins for round {found.round}, not {committed.round}")
        return found.seed

    def send(self, body: bytes, kind: type[Answer]) -> wire.Accepted:
        """Send an answer to the round as stored in the outbox, or what this member of the committee has to say."""
        found, sent = _decode(self._transport.post(PLACES[kind], body), wire.Accepted), decode(body, kind)
        if found.round != sent.round:
            raise Distrusted(f"the server acknowledged round {found.round}, not {sent.round}")
        return found

    def list_task(self) -> wire.SumTask:
        return _decode(self._transport.get("/v1/list"), wire.SumTask)

    def _page(self, answer: bytes) -> tuple[wire.Signed, wire.RosterPage]:
        signed = _decode(answer, wire.Signed)
        found = opened(self.member.server_key, signed, "roster", wire.RosterPage)
        if found.group_id != self.member.group_id:
            raise Distrusted("the server sent the roster of another group")
        return signed, found

    def farewell(
        self, *, forget: bool, number: int | None = None, at_once: bool = False
    ) -> tuple[wire.Signed, wire.Receipt]:
        """Leave the group; `number` is that of this device's entry in the roster, which its signature ends."""
        group_id = self.member.group_id
        signature = (
            b"" if number is None else self.member.identity.sign(chain.LEAVE, chain.leave_text(group_id, number))
        )
        asked = wire.Farewell(group_id=group_id, forget=forget, roster_signature=signature, at_once=at_once)
        answer = self._transport.post("/v1/farewell", encode(asked))
        return read_receipt(answer, self.member.server_key, group_id)

    def receipt(self, request: str) -> tuple[wire.Signed, wire.Receipt]:
        """How far a forget-me request is; needs no membership."""
        answer = self._transport.get(f"/v1/receipts/{request}", signed=False)
        signed, found = read_receipt(answer, self.member.server_key, self.member.group_id)
        if found.request != request:
            raise Distrusted("the server sent the receipt of another request")
        return signed, found

    def journal(self, request: str, *, after: int) -> wire.JournalPage:
        """The server's journal after a position; only who names a receipt in it may read it."""
        answer = self._transport.get(f"/v1/log?after={after}&receipt={request}", signed=False)
        found = opened(self.member.server_key, _decode(answer, wire.Signed), "journal", wire.JournalPage)
        if (found.group_id, found.after) != (self.member.group_id, after):
            raise Distrusted("the journal is of another group, or not what was asked for")
        return found

    def moved(self) -> wire.Signed | None:
        """The record of the server's newest move, unchecked; None where it never moved."""
        try:
            return _decode(self._transport.get("/v1/moved", signed=False), wire.Signed)
        except Declined:
            return None


class Reach(msgspec.Struct, frozen=True):
    """How this device reaches a group's server."""

    settings: FederationSettings
    by: Connect = Transport
    clock: Callable[[], float] = time.time

    @contextmanager
    def talk(self, member: Membership) -> Iterator[Correspondence]:
        """Talk to a member's server, then hang up."""
        transport = self.by(member, self.settings)
        try:
            yield Correspondence(member, transport, clock=self.clock)
        finally:
            transport.close()

    @property
    def once(self) -> Reach:
        """The same, but without a second attempt where nobody answers."""
        return msgspec.structs.replace(self, settings=msgspec.structs.replace(self.settings, retries=0))


def former_member(kept: KeptReceipt) -> Membership:
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
