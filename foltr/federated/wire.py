"""The records that cross between a device and a server: nothing else leaves a device.

Each is a strict, versioned JSON object: an unknown field, a wrong type or another version is an error. docs/privacy.md
lists them from these definitions, and a test compares the two.

A device sends Enrolment (once), Update (one a round, sealed) and Farewell (leave, or leave and be forgotten). A server
sends Enrolled, Announcement, ModelRecord, Receipt (each as Signed) and Refusal.
"""

from __future__ import annotations

import hashlib
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np

from foltr.arrays import FloatVector
from foltr.errors import RecordError, ShapeError, ValueRangeError

WIRE_VERSION = 2


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The root: strict, immutable, versioned."""

    version: int = WIRE_VERSION
    """of this format"""


class Invite(Record, frozen=True):
    """What an invite link carries, from the administrator to one person."""

    address: str
    """where the server answers, such as https://host:8421"""
    fingerprint: str
    """of the server's identity key: lower-case hex of its BLAKE2b-256"""
    token: str
    """single-use secret; the server keeps only its hash"""
    certificate: str = ""
    """lower-case hex of the SHA-256 of a self-signed TLS certificate, "" when the usual authorities vouch"""


class Enrolment(Record, frozen=True):
    """A device asks to become a member."""

    token: str
    """from the invite"""
    device_key: bytes
    """Ed25519 public key [32], made on the device for this group alone"""


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


class Terms(Record, frozen=True):
    """What every member of a group computes in the same way; fixed for a lineage."""

    group_id: str
    method: str
    """a name in foltr.federated.registry.METHODS"""
    settings: dict[str, Any]
    """of the method, checked strictly by foltr.federated.registry; its privacy mechanism is in them"""
    ranker: Literal["linear", "neural"]
    n_features: int
    n_params: int
    manifest_hash: str
    """of the feature manifest: the same numbers must mean the same on every device"""
    n_local: int
    """at most so many of the device's newest interactions are replayed in a round"""
    n_unlearn: int
    """so many in a round that forgets (n' of FedEraser)"""
    floor: int
    """a round never closes with fewer updates"""
    mode: Literal["open", "sealed", "grouped"] = "open"
    """open: the server opens each update; sealed: it learns their sum alone; grouped: several sums"""
    n_rounds: int = 0
    """so many rounds in a period, after which the group rests; 0: no end"""
    period_days: int = 365
    """the period that rounds and privacy budget are counted over"""


class Announcement(Record, frozen=True):
    """The present round, signed by the server's identity key."""

    terms: Terms
    lineage: int
    """rises when someone was forgotten, the model was rolled back or the server restored; never seen before"""
    round: int
    purpose: Literal["learn", "forget"]
    """forget: remaining members help to calibrate (FedEraser)"""
    model_hash: str
    """of the ModelRecord that devices begin from; see `digest`"""
    round_key: bytes
    """X25519 public key [32]; its private half is destroyed when the round closes"""
    deadline: int
    """seconds since 1970"""
    server_time: int
    """seconds since 1970"""
    phase: Literal["collect", "sum", "rest"] = "collect"
    """collect: updates are taken; sum: the committee adds them up; rest: no round is open"""
    opens: int = 0
    """when a resting group opens its next round, in seconds since 1970; 0 while it does not rest"""
    answered: int = 0
    """rounds of the group for which the server has had an update of the device that asks"""
    received: bool = False
    """whether the server has an update of the device that asks for this very round"""
    carried: tuple[int, ...] = ()
    """lineages whose updates live on in this one: pages that taught them have taught this one"""
    moved: Signed | None = None
    """a Moved record: where the server is to be found from now on; None for where it always was"""


class ModelRecord(Record, frozen=True):
    """A published common ranker."""

    group_id: str
    lineage: int
    round: int
    """how many rounds of this lineage led to it"""
    method: str
    ranker: Literal["linear", "neural"]
    manifest_hash: str
    theta: bytes
    """[n_params] float64, little-endian"""


class Update(Record, frozen=True):
    """What a device reports in one round; travels sealed to the round's key."""

    group_id: str
    """the group's random name, so that no other group's server can use it"""
    lineage: int
    """of the round that it answers; rises when someone was forgotten or the ranker was rolled back"""
    round: int
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
    """An Update in an anonymous box that only the round's key opens."""

    round: int
    """whose key opens the box"""
    lineage: int
    """of that round"""
    box: bytes
    """the Update, encrypted: an ephemeral X25519 public key [32], then the ciphertext"""


class Accepted(Record, frozen=True):
    """The server has kept an update; the same answer again for the same update."""

    round: int
    received: int
    """updates so far"""


class Farewell(Record, frozen=True):
    """A member leaves. With `forget`, what it sent is erased and its influence unlearned."""

    group_id: str
    """the group's random name"""
    forget: bool
    """whether to be forgotten, too"""


class Receipt(Record, frozen=True):
    """What was erased for a member that asked to be forgotten, signed by the server's identity key."""

    group_id: str
    request: str
    """random name of the request, for asking how far it is"""
    state: Literal["erased", "unlearning", "done"]
    erased: dict[str, int]
    """rows erased, by table"""
    method: Literal["none", "noise", "rollback", "federaser", "reaggregate"]
    approximate: bool
    """whether influence may remain by the method's own definition"""
    progress: str
    """such as "40 of 100 rounds" """
    time: int
    """seconds since 1970"""
    position: int = 0
    """of its entry in the server's journal; 0 for a member that only left"""
    chain: str = ""
    """hash of the journal up to and with that entry"""


class JournalEntry(Record, frozen=True):
    """One line of what a server did with the group's rankers; nobody is named (foltr.federated.journal)."""

    kind: Literal["lineage", "list", "receipt"]
    """a lineage began; a round was joined from these participants; a member was forgotten"""
    time: int
    """seconds since 1970"""
    lineage: int = 0
    """that began, or that the round belongs to"""
    round: int = 0
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


class JournalPage(Record, frozen=True):
    """A part of the journal, and its end."""

    group_id: str
    after: int
    """the entries follow this position"""
    size: int
    """entries in all"""
    head: str
    """hash of the whole journal"""
    entries: tuple[bytes, ...]
    """the JSON of JournalEntry records, as they were hashed"""


class Moved(Record, frozen=True):
    """The server answers elsewhere, or with another certificate; signed by the identity that devices pinned."""

    group_id: str
    address: str
    """where the server answers from now on"""
    certificate: str
    """lower-case hex of the SHA-256 of its self-signed certificate, "" when the usual authorities vouch"""
    serial: int
    """rises with every move: an older record is worth nothing"""


class Signed(Record, frozen=True):
    """A server's document with its signature."""

    kind: Literal["enrolled", "announcement", "model", "receipt", "journal", "moved"]
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


DEVICE_RECORDS: tuple[type[Record], ...] = (Enrolment, Sealed, Update, Farewell)
"""everything that a device sends, besides the signature headers"""

R = TypeVar("R", bound=Record)


def encode(record: Record) -> bytes:
    """The JSON of a record; equal records give equal bytes."""
    return msgspec.json.encode(record)


def decode(data: bytes, kind: type[R]) -> R:
    """The record in these bytes; RecordError when they are anything else."""
    try:
        record = msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"this is no {kind.__name__}: {error}") from error
    if record.version != WIRE_VERSION:
        raise RecordError(f"{kind.__name__} of wire version {record.version}; this program speaks {WIRE_VERSION}")
    return record


def digest(record: Record) -> str:
    """Lower-case hex of the BLAKE2b-256 of the record's JSON."""
    return hashlib.blake2b(encode(record), digest_size=32).hexdigest()


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
