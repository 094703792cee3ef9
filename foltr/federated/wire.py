"""The records that a device and a server exchange: a device sends a server nothing else.

Each is a strict, versioned JSON object: an unknown field, a wrong type or another version is an error. docs/privacy.md
lists them from these definitions, and a test compares the two.

A device sends Enrolment (once) and Farewell (leave, or leave and be forgotten); in an open group one Update a round,
sealed to the server; in a sealed one SharedUpdate, in boxes that members of the committee open, and for the committee
CommitteeAnswer, or a Complaint. InviteOffer and Vouching say whom its owner knows. DepotRequest and DepotChange carry
what its owner's computers exchange, sealed. A server sends Enrolled, Announcement, ModelRecord, RosterPage, ShareList,
Receipt, JournalPage, ServerMove (each as Signed), SumTask, Invited, DepotPage, DepotFiles, Accepted and Refusal.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np

from foltr.arrays import FloatVector
from foltr.errors import RecordError, ShapeError, ValueRangeError

WIRE_VERSION, SUMS_VERSION = 2, 4
"""versions of all records but those of sealed sums, and of those"""
Number = Annotated[int, msgspec.Meta(ge=-(1 << 37), le=1 << 37)]
"""that calendars and databases can store: as seconds since 1970 up to the year 6325"""


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of all records: strict, immutable, versioned."""

    version: Number = WIRE_VERSION
    """of this format"""


class GroupRecord(Record, frozen=True):
    """The base of records that belong to one group."""

    group_id: str
    """the group's random name"""


class SumRecord(Record, frozen=True, kw_only=True):
    """The base of records of sealed sums."""

    version: Number = SUMS_VERSION


class MemberSum(SumRecord, frozen=True):
    """The base of what a member sends in a sealed round."""

    group_id: str
    """the group's random name"""
    lineage: Number
    """of the round"""
    round: Number
    """that it belongs to"""
    device: str
    """the member's pseudonym"""


class InviteVoucher(Record, frozen=True):
    """What a member tells a newcomer about the group, in the invite: the server cannot show it another group."""

    device_key: bytes
    """Ed25519 public key [32] of the member who invites"""
    roster_number: Number
    """entries of the roster that this member has verified"""
    roster_head: str
    """hash of the last of them"""
    members: str
    """hash of the members that these entries give"""


class Invite(Record, frozen=True):
    """What an invite link carries, from the administrator to one person."""

    address: str
    """where the server answers, such as https://host:8421"""
    fingerprint: str
    """of the server's identity key: lower-case hex of its BLAKE2b-256"""
    token: str
    """single-use secret of an Ed25519 key (federated.sealed.roster.invite_identity); the server never sees it"""
    group_id: str
    """the group's random name"""
    certificate: str = ""
    """lower-case hex of the SHA-256 of a self-signed certificate's public key, "" when the usual authorities vouch"""
    voucher: InviteVoucher | None = None
    """of the member who invites; None for an invite of the administrator, who is on no roster"""


class Enrolment(GroupRecord, frozen=True):
    """A device asks to join, with the key of its invite."""

    device_key: bytes
    """Ed25519 public key [32], made on the device for this group alone"""
    box_key: bytes
    """X25519 public key [32], made likewise; shares of others' updates are sealed to it while it is in the committee"""
    invite_key: bytes
    """Ed25519 public key [32] derived from the invite's secret"""
    proof: bytes
    """signature [64] by the invite's key over the group and the device's two keys: the sender has the invite"""
    own_proof: bytes
    """signature [64] by the device's key over the same"""


class Enrolled(Record, frozen=True):
    """The answer: the device is a member."""

    group: str
    """the group's name, for people"""
    group_id: str
    """random, for signatures"""
    device: str
    """the member's pseudonym: a hash of its key"""
    server_key: bytes
    """the server's Ed25519 public key [32]; its fingerprint must be the invite's"""


class Terms(GroupRecord, frozen=True):
    """What every member of a group computes in the same way; fixed for a lineage."""

    method: str
    """a name in foltr.federated.registry.METHODS"""
    settings: dict[str, Any]
    """of the method, checked strictly by foltr.federated.registry; its privacy mechanism is in them"""
    ranker: Literal["linear", "neural"]
    n_features: Number
    n_params: Number
    manifest_hash: str
    """of the feature manifest: the same numbers must mean the same on every device"""
    n_local: Annotated[int, msgspec.Meta(ge=1, le=1 << 37)]
    """how many of the device's newest interactions are replayed in a round, at most"""
    n_unlearn: Number
    """the same for a round that forgets (n' of FedEraser)"""
    floor: Annotated[int, msgspec.Meta(ge=1, le=1 << 37)]
    """a round never closes with fewer updates"""
    mode: Literal["open", "sealed", "grouped"] = "open"
    """open: the server opens each update; sealed: it learns only their sum; grouped: several sums"""
    n_rounds: Annotated[int, msgspec.Meta(ge=0, le=10_000)] = 0
    """rounds in a period, after which the group rests; 0: no limit"""
    period_days: Number = 365
    """the period that rounds and privacy budget are counted over"""


class Announcement(Record, frozen=True):
    """The present round, signed by the server's identity key."""

    terms: Terms
    lineage: Number
    """rises to an unused number when someone is forgotten, the ranker rolled back or the server restored"""
    round: Number
    purpose: Literal["learn", "forget"]
    """forget: remaining members help to calibrate (FedEraser)"""
    model_hash: str
    """of the ModelRecord that devices begin from; see `digest`"""
    round_key: bytes
    """X25519 public key [32]; its private half is destroyed when the round closes"""
    deadline: Number
    """seconds since 1970"""
    opened: Number
    """seconds since 1970; with the deadline it says when a device answers"""
    server_time: Number
    """seconds since 1970"""
    phase: Literal["collect", "sum", "rest"] = "collect"
    """collect: updates are taken; sum: the committee adds them up; rest: no round is open"""
    opens: Number = 0
    """when a resting group opens its next round, in seconds since 1970; 0 while it does not rest"""
    answered: Number = 0
    """rounds of the group for which the server has had an update of the device that asks"""
    roster_number: Number = 0
    """entries of the roster when the round opened: they say who takes part in a sealed one"""
    roster_head: str = ""
    """hash of the last of them"""
    list_hash: str = ""
    """in phase sum: of the ShareList that the committee adds up"""
    group: str = ""
    """the group's present name, for people"""
    wanted: Number = 0
    """updates that close the round at once; at its deadline the terms' floor is enough"""
    received: bool = False
    """whether the server has an update of the device that asks for this very round"""
    carried: tuple[Number, ...] = ()
    """lineages whose updates are part of this one: their pages have been learned from"""
    moved: Signed | None = None
    """a ServerMove record: the server's new address; None if it has not moved"""
    sums: Number = WIRE_VERSION
    """version of the records of sealed sums that the server speaks"""


Loss = Literal["", "gone", "silent", "false", "impossible"]
"""too many members had left; too few added up in time; too few true notes were left; no honest notes make such a sum"""


class ModelRecord(GroupRecord, frozen=True):
    """A published common ranker."""

    lineage: Number
    round: Number
    """how many rounds of this lineage led to it, and of the one before where a restore had lost its ranker"""
    method: str
    ranker: Literal["linear", "neural"]
    manifest_hash: str
    theta: bytes
    """[n_params] float64, little-endian"""
    noise: float = 0.0
    """standard deviation of the members' noise in each shared weight, added up since the lineage began"""
    previous: str = ""
    """hash of the ranker that the last round began from, "" for the first of a lineage: they are a chain"""
    list_hash: str = ""
    """of the one ShareList of that round, also of one that was lost; "" where none was fixed"""
    lost: Loss = ""
    """why that round was lost, so that the ranker is the one before; "" where it was not. Nobody is named"""


class Update(GroupRecord, frozen=True):
    """A device's update in one round; sent encrypted to the round's key."""

    lineage: Number
    """of the round that it answers; rises when someone was forgotten or the ranker was rolled back"""
    round: Number
    """that it answers"""
    device: str
    """the member's pseudonym: nobody else can pass the box off as their own"""
    model_hash: str
    """of the model it began from"""
    manifest_hash: str
    """of the feature manifest: which features the weights belong to"""
    payload: bytes
    """the method's message (foltr.federated.registry), already clipped and noised"""


class Sealed(Record, frozen=True):
    """An Update, encrypted so that only the round's key opens it."""

    round: Number
    """whose key opens the box"""
    lineage: Number
    """of that round"""
    box: bytes
    """the Update, encrypted: an ephemeral X25519 public key [32], then the ciphertext"""


class RosterBody(Record, frozen=True):
    """What an entry of the roster says about a person; it can be erased."""

    device_key: bytes = b""
    """Ed25519 public key [32] of the one who joins"""
    box_key: bytes = b""
    """X25519 public key [32] of the one who joins"""
    invite_key: bytes = b""
    """Ed25519 public key [32] of the invite"""
    proof: bytes = b""
    """of Enrolment"""
    own_proof: bytes = b""
    """of Enrolment"""
    voucher: Number = -1
    """number of the entry by which the member who signs below joined; -1: nobody"""
    signature: bytes = b""
    """[64] by that member: over the invite's key (join), the joined keys (vouch), or the joining entry (leave)"""


class RosterEntry(Record, frozen=True):
    """One link of the chain of a group's members; see foltr.federated.sealed.roster."""

    number: Number
    """from 0"""
    previous: str
    """hash of the entry before, or of the group's name"""
    kind: Literal["join", "vouch", "leave"]
    about: Number
    """number of the entry by which the member it is about joined"""
    vouched: bool
    """whether that member is vouched for from now on"""
    body_hash: str
    """of the body"""
    body: RosterBody | None
    """None where it was erased, because the member asked to be forgotten"""


class RosterPage(GroupRecord, frozen=True):
    """Entries of the roster, in order."""

    number: Number
    """number of all entries"""
    head: str
    """hash of the last of all"""
    entries: tuple[RosterEntry, ...]
    """from the requested one on; perhaps not all"""


class RosterReturn(GroupRecord, frozen=True):
    """A device returns roster entries that a restored server lacks, possibly its own."""

    device_key: bytes
    """Ed25519 public key [32] of the sender"""
    seen: Signed
    """the server's own RosterPage, whose number and head these entries lead to"""
    entries: tuple[RosterEntry, ...]
    """in order, at least from the first that the server lacks; bodies of members that left may be missing"""


class RankerReturn(GroupRecord, frozen=True):
    """A device returns the newest ranker it knows, which a restored server may have lost."""

    ranker: Signed
    """the server's own ModelRecord"""


class InviteOffer(GroupRecord, frozen=True):
    """A member invites someone: the public half of the invite, so the server accepts the holder of its secret."""

    invite_key: bytes
    """Ed25519 public key [32] of the new invite"""
    signature: bytes
    """[64] by the member's device key over group and invite's key: it vouches for the person who uses it"""


class Invited(Record, frozen=True):
    """The server takes an invite."""

    expires: Number
    """seconds since 1970"""


class Vouching(GroupRecord, frozen=True):
    """A member vouches for another whom nobody invited, or removes one who is gone from the roster."""

    about: Number
    """roster entry with which that member joined"""
    leaves: bool
    """whether the member is removed rather than vouched for"""
    signature: bytes
    """[64] by the sender's device key"""
    heir: Number = -1
    """roster entry with which the same person joined again, -1 for nobody"""


class NoiseCommitment(MemberSum, frozen=True):
    """A device fixes its secret noise bits for a round, before it learns the coins added to them."""

    point: bytes
    """[32] a commitment: it hides the bits, and fits no others"""


class Coins(SumRecord, frozen=True):
    """The coins of one device's noise; the same commitment gets the same coins again."""

    round: Number
    seed: bytes
    """[32] from which they are drawn"""


class SharedUpdate(MemberSum, frozen=True):
    """A device's update in one round of a sealed group, in shares that nobody can add up alone."""

    model_hash: str
    """of the model it began from"""
    roster_head: str
    """hash of the roster that the device knows"""
    committee: str
    """hash of the committee's keys, as the device drew it"""
    commitments: bytes
    """points [threshold, 32]: to the update and to the random polynomials; they hide both, and every share is checked
    by them"""
    opening: bytes
    """[96] point that gives the boxes' keys, with a proof that the sender made it"""
    boxes: bytes
    """one box for each member of the committee, in its order: the value of a random polynomial for each number of the
    update and one to check them by, 32 bytes each; alone they tell nothing"""
    signature: bytes
    """[64] by the device's key over commitments, opening, the hashes of all boxes, and what the message belongs to"""
    proof: bytes
    """that the update is within the clip, and its noise made of the round's coins; it reveals nothing else"""


class ShareList(GroupRecord, frozen=True):
    """Whose updates are added up in a round: one list a round, signed by the server's identity key."""

    lineage: Number
    round: Number
    model_hash: str
    roster_head: str
    committee: str
    messages: dict[str, str]
    """hash of the message by pseudonym, in the order of the pseudonyms"""


class ListedBox(SumRecord, frozen=True):
    """One listed update, as one member of the committee gets it."""

    device: str
    commitments: bytes
    opening: bytes
    box: bytes
    """for this member"""
    hashes: bytes
    """of all boxes of the message, [32] each, in the committee's order"""
    signature: bytes
    """of the SharedUpdate"""


class Complaint(MemberSum, frozen=True):
    """A committee member shows that its box of one message differs from what the sender committed to."""

    about: str
    """the sender's pseudonym"""
    message: str
    """hash of the message"""
    shown: bytes
    """[96] the key of this one box, with a proof: anybody can open this box, and no other"""
    signature: bytes
    """[64] by the device's key over all of this"""


class ListedComplaint(SumRecord, frozen=True):
    """A valid complaint, with what it is about, for the committee to check."""

    complaint: Complaint
    box: bytes
    """of the member who complains"""


class SumTask(SumRecord, frozen=True):
    """What a member of the committee is to add up."""

    signed_list: Signed
    """a ShareList"""
    boxes: tuple[ListedBox, ...]
    """in the order of the list"""
    complaints: tuple[ListedComplaint, ...] = ()
    """whose messages are left out, in the order of the pseudonyms"""


class CommitteeAnswer(MemberSum, frozen=True):
    """A committee member has added up its shares of everyone's updates."""

    list_hash: str
    """of the ShareList: whose updates are in the sum"""
    without: tuple[str, ...]
    """listed pseudonyms that are not: their messages do not hold together"""
    sums: bytes
    """the sum of the shares (in a grouped group: of each part's): one for each number of the update and one to check
    them by, 32 bytes each"""
    signature: bytes
    """[64] by the device's key over all of this"""


class Accepted(Record, frozen=True):
    """The server has stored an update; the same update gets the same answer again."""

    round: Number
    received: Number
    """updates so far"""


class Farewell(GroupRecord, frozen=True):
    """A member leaves. With `forget`, what it sent is erased, and its influence unlearned."""

    forget: bool
    """whether to be forgotten, too"""
    roster_signature: bytes = b""
    """[64] by the device's key: takes the member off the roster (foltr.federated.sealed.roster.leave_text)"""
    at_once: bool = False
    """whether even while a round cannot be added up without this device"""


DEPOT_SIZES = frozenset(4096 << k for k in range(11))
"""bytes of a file in a depot, up to 4 MiB"""
DEPOT_FILES, DEPOT_ASKED, DEPOT_NAME = 10_000, 100, re.compile("[0-9a-f]{32}")
"""most files in a depot, and in one request; the form of a file's random name"""


class DepotRequest(GroupRecord, frozen=True):
    """A member asks the server to keep the sealed files that its owner's computers exchange."""

    depot_key: bytes
    """Ed25519 public key [32] derived from the computers' code; only this key reaches the files"""
    replaces: bool = False
    """whether the member's former files are deleted"""


class DepotChange(Record, frozen=True):
    """One of the computers writes a file, deletes some, or replaces their key."""

    name: str = ""
    """of the file that is written: 32 random hex digits; "" for none"""
    content: bytes = b""
    """the file: sealed, 4,096 bytes times a power of two"""
    handed_on: bool = False
    """whether it is a key for one computer, which may still have the former one"""
    removed: tuple[str, ...] = ()
    """names of files to delete"""
    successor: bytes = b""
    """Ed25519 public key [32] derived from the next code, after a computer was removed; b"" for none"""


class DepotPage(Record, frozen=True):
    """What a depot holds for the key that asks."""

    files: dict[str, Number]
    """bytes of each, by name"""
    is_former: bool
    """whether another key has replaced this one, which now sees only keys that are handed on"""


class DepotFiles(Record, frozen=True):
    """Files of a depot."""

    files: dict[str, bytes]
    """by name; of those that are there as many as fit into one answer, the first at least"""


class Receipt(GroupRecord, frozen=True):
    """What was erased for a member that asked to be forgotten, signed by the server's identity key."""

    request: str
    """random name of the request, for asking how far it is"""
    state: Literal["waiting", "erased", "unlearning", "done"]
    erased: dict[str, int]
    """rows erased, by table"""
    method: Literal["none", "noise", "rollback", "federaser", "reaggregate"]
    approximate: bool
    """whether influence may remain by the method's own definition"""
    progress: str
    """such as "40 of 100 rounds" """
    time: Number
    """seconds since 1970"""
    position: Number = 0
    """of its entry in the server's journal; 0 for a member that only left"""
    chain: str = ""
    """hash of the journal up to and with that entry"""


class JournalEntry(Record, frozen=True):
    """One line of what a server did with the group's rankers; nobody is named (foltr.federated.journal)."""

    kind: Literal["lineage", "list", "receipt"]
    """a lineage began; a round was joined from these participants; a member was forgotten"""
    time: Number
    """seconds since 1970"""
    lineage: Number = 0
    """that began, or that the round belongs to"""
    round: Number = 0
    """of a list"""
    parent: tuple[int, int] | None = None
    """lineage and round of the ranker that a lineage began from; None for the first of all"""
    reason: str = ""
    """why a lineage began"""
    participants: bytes = b""
    """of a list: sorted hashes [n, 16] of pseudonym, lineage and round"""
    request: str = ""
    """of a receipt: a hash of the request's name"""
    method: str = ""
    """of a receipt"""


class JournalPage(GroupRecord, frozen=True):
    """A part of the journal, and its end."""

    after: Number
    """the entries follow this position"""
    size: Number
    """entries in all"""
    head: str
    """hash of the whole journal"""
    entries: tuple[bytes, ...]
    """the JSON of JournalEntry records, as they were hashed"""


class ServerMove(GroupRecord, frozen=True):
    """The server answers elsewhere, or with another certificate; signed by the identity that devices pinned."""

    address: str
    """where the server answers from now on"""
    certificate: str
    """lower-case hex of the SHA-256 of its self-signed certificate's public key, "" when the usual authorities vouch"""
    serial: Number
    """rises with every move: an older record is ignored"""


class Signed(Record, frozen=True):
    """A server's document with its signature."""

    kind: Literal["enrolled", "announcement", "model", "receipt", "roster", "list", "journal", "moved"]
    body: bytes
    """the JSON of the record"""
    signature: bytes
    """Ed25519 [64] over kind and body; see foltr.federated.envelope"""


class Refusal(Record, frozen=True):
    """Why a request was refused."""

    reason: str
    """a code that programs know"""
    message: str
    """a sentence for a person"""


DEVICE_RECORDS: tuple[type[Record], ...] = (
    Enrolment,
    Sealed,
    Update,
    NoiseCommitment,
    SharedUpdate,
    Complaint,
    CommitteeAnswer,
    InviteOffer,
    Vouching,
    RosterReturn,
    RankerReturn,
    DepotRequest,
    DepotChange,
    Farewell,
)
"""everything that a device sends, besides the signature headers"""

R = TypeVar("R", bound=Record)


def encode(record: Record) -> bytes:
    """The JSON of a record; equal records give equal bytes."""
    return msgspec.json.encode(record)


def decode(data: bytes, kind: type[R]) -> R:
    """The record in these bytes; RecordError when they are anything else, or of another version, which it names."""
    wanted = _version(kind)
    try:
        record = msgspec.json.decode(data, type=kind)
        version = record.version
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        version = _version_inside(data, wanted)
        if version == wanted:
            newer = " (is the other side of a newer version?)" * ("unknown field" in str(error))
            raise RecordError(f"this is no {kind.__name__}: {error}{newer}") from error
    if version != wanted:
        raise RecordError(f"{kind.__name__} of wire version {version}; this program speaks {wanted}")
    return record


@cache
def _version(kind: type[Record]) -> int:
    return next(int(field.default) for field in msgspec.structs.fields(kind) if field.name == "version")


class _Versioned(msgspec.Struct):
    """Any record, of which nothing else is known."""

    version: Number


def _version_inside(data: bytes, otherwise: int) -> int:
    try:
        return msgspec.json.decode(data, type=_Versioned).version
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return otherwise


def digest(record: Record | bytes) -> str:
    """Lower-case hex of the BLAKE2b-256 of a record's JSON, as it was received if given as bytes."""
    body = record if isinstance(record, bytes) else encode(record)
    return hashlib.blake2b(body, digest_size=32).hexdigest()


def encode_vector(theta: FloatVector) -> bytes:
    """A vector `[n_params]` as float64, little-endian."""
    return np.ascontiguousarray(theta, dtype="<f8").tobytes()


def decode_vector(data: bytes, n_params: int) -> FloatVector:
    """The vector that `encode_vector` stored; ShapeError for another length, ValueRangeError when not finite."""
    if len(data) != 8 * n_params:
        raise ShapeError(f"a vector of {n_params} parameters is {8 * n_params} bytes, not {len(data)}")
    theta = np.frombuffer(data, dtype="<f8").astype(np.float64)
    if not np.isfinite(theta).all():
        raise ValueRangeError("a vector holds a number that is not finite")
    return theta
