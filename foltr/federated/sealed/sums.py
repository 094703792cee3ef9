"""The sum of a round without anyone seeing a part of it: what devices, the committee and the server do.

    device      noised steps -> shares, one box for each member of the committee, one signature      `shared`
    server      takes messages (`check_shared`), fixes one list, signs it                            `make_list`
    committee   opens its boxes of the listed messages, adds up, signs                               `answer`
    server      any t answers give the sum (`combined`), whose mean moves the ranker         foltr.federated.joining

Each device adds discrete Gaussian noise of variance (z clip)^2 / n_honest in whole steps of one grid, so the sum holds
at least the noise of the ledger, exactly, and adding up rounds nothing. A message is bound to its round, its roster and
its committee twice: in each box, and under its signature. What it costs: a member of the committee sees who answered,
and t of them with the server, or t with the boxes, could open what single devices sent (their share of the noise
remains). What it makes impossible: looking at one update, so no rule on single updates, no guard, no FedEraser; and a
member can send numbers of any size. All the server can do about that is to refuse a mean that is longer than honest
members can make it (`foltr.federated.joining.longest_mean`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from foltr.arrays import FloatVector, Int64Vector
from foltr.errors import FoltrError, RecordError, ShapeError, ValueRangeError
from foltr.federated.envelope import KEY_BYTES, SEAL_BYTES, Identity, SignatureError, seal_with, unseal, verify
from foltr.federated.sealed import secret_sharing
from foltr.federated.sealed.committee import Cohort
from foltr.federated.sealed.secret_sharing import ELEMENT_BYTES, Elements
from foltr.federated.wire import (
    CommitteeAnswer,
    ListedBox,
    Share,
    SharedUpdate,
    ShareList,
    SumTask,
    decode,
    digest,
    encode,
)
from foltr.privacy.mechanisms import Gaussian

SHARES, ANSWER = b"foltr shares 1", b"foltr answer 1"
HASH_BYTES = 32


class SealedSumError(RecordError):
    """A message, a list or an answer is not one of this round, or does not hold together; the message says why."""


@dataclass(frozen=True, slots=True)
class Occasion:
    """One round of one group: what all its messages are bound to."""

    group_id: str
    lineage: int
    round: int
    model_hash: str
    cohort: Cohort
    n_numbers: int
    """of an update"""

    def context(self, device: str) -> str:
        """Hash of all that a message of this device belongs to."""
        here = (*self.named().values(), device, self.n_numbers)
        return hashlib.blake2b("\n".join(map(str, here)).encode(), digest_size=HASH_BYTES).hexdigest()

    def named(self) -> dict[str, str | int]:
        """The fields that every message of the round repeats."""
        return {
            "group_id": self.group_id,
            "lineage": self.lineage,
            "round": self.round,
            "model_hash": self.model_hash,
            "roster_head": self.cohort.roster_head,
            "committee": self.cohort.committee_hash,
        }

    @property
    def box_bytes(self) -> int:
        """Length of each box."""
        empty = Share(context="0" * 2 * HASH_BYTES, numbers=bytes(self.n_numbers * ELEMENT_BYTES))
        return len(encode(empty)) + SEAL_BYTES


def mechanism_of(privacy: Gaussian, cohort: Cohort) -> Gaussian:
    """What each device of the cohort does to its change, and its ledger writes down: its part of the sum's noise."""
    return msgspec.structs.replace(privacy, distributed=True, n_clients=cohort.n_honest)


def randomness(occasion: Occasion, device: str, change: FloatVector) -> bytes:
    """What keyed noise and polynomials must be derived from, together with the device's secret.

    Everything that goes into the message is in it: for two messages that differ in anything the generator differs, and
    a message made twice is the same. (The same noise on another grid, or the same polynomial with another threshold,
    would give the update away.)
    """
    return occasion.context(device).encode() + np.ascontiguousarray(change, dtype="<f8").tobytes()


def noised_steps(privacy: Gaussian, occasion: Occasion, change: FloatVector, rng: np.random.Generator) -> Int64Vector:
    """The device's clipped change `[n_numbers]` with its part of the noise, in steps of the cohort's grid."""
    return mechanism_of(privacy, occasion.cohort).release_steps(change, rng)


def shared(
    occasion: Occasion, steps: Int64Vector, identity: Identity, device: str, rng: np.random.Generator
) -> SharedUpdate:
    """The device's one message of the round; all its randomness is drawn from `rng`."""
    if steps.shape != (occasion.n_numbers,):
        raise ShapeError(f"an update of this group has {occasion.n_numbers} numbers, not {list(steps.shape)}")
    cohort, context = occasion.cohort, occasion.context(device)
    shares = secret_sharing.share(steps, n_shares=len(cohort.committee), threshold=cohort.threshold, rng=rng)
    contents = [encode(Share(context=context, numbers=secret_sharing.to_bytes(one))) for one in shares]
    boxes = [
        seal_with(rng.bytes(KEY_BYTES), member.box_key, content)
        for member, content in zip(cohort.committee, contents, strict=True)
    ]
    signature = identity.sign(SHARES, _signed_text(context, _hashes(boxes)))
    return SharedUpdate(device=device, boxes=b"".join(boxes), signature=signature, **occasion.named())  # type: ignore[arg-type]


def check_shared(occasion: Occasion, update: SharedUpdate) -> str:
    """The message's hash, by which a list names it; SealedSumError unless a member of the cohort sent it this round.

    What the boxes hold nobody sees but the committee.
    """
    _check_named(occasion, update)
    if len(update.boxes) != occasion.box_bytes * len(occasion.cohort.committee):
        raise SealedSumError("the update's boxes have another length than this round's")
    return _check_message(occasion, update.device, _hashes(_cut(update.boxes, occasion.box_bytes)), update.signature)


def listed_box(occasion: Occasion, update: SharedUpdate, point: int) -> ListedBox:
    """The part of a message that the committee's member of this point gets."""
    boxes = _cut(update.boxes, occasion.box_bytes)
    return ListedBox(device=update.device, box=boxes[point - 1], hashes=_hashes(boxes), signature=update.signature)


def make_list(occasion: Occasion, messages: Mapping[str, str]) -> ShareList:
    """The list of these messages (hash by pseudonym); SealedSumError when they are too few."""
    made = ShareList(messages=dict(sorted(messages.items())), **occasion.named())  # type: ignore[arg-type]
    check_list(occasion, made)
    return made


def check_list(occasion: Occasion, found: ShareList) -> None:
    """SealedSumError unless it lists enough members of the cohort, and nobody else, for this very round."""
    _check_named(occasion, found)
    devices = frozenset(found.messages)
    strangers = devices - occasion.cohort.by_device.keys()
    if strangers:
        raise SealedSumError(f"the list names {len(strangers)} keys that no member vouched for")
    if not occasion.cohort.has_enough(devices):
        raise SealedSumError(
            f"the list holds {len(devices)} updates; fewer than {occasion.cohort.n_least} would not hide one another"
        )


def answer(
    occasion: Occasion, task: SumTask, listed: ShareList, identity: Identity, device: str, box_private: bytes
) -> CommitteeAnswer:
    """What a member of the committee says; SealedSumError when anything in the task is not as it must be.

    `listed` is the list inside, its signature checked by `envelope.open_document`; the caller has noted its hash
    durably before, and never answers another list for the round.
    """
    check_list(occasion, listed)
    point = occasion.cohort.point(device)
    if point is None:
        raise SealedSumError("this device is not in the round's committee")
    if tuple(box.device for box in task.boxes) != tuple(listed.messages):
        raise SealedSumError("the boxes are not those of the list")
    numbers = {box.device: _opened(occasion, box, listed, point, box_private) for box in task.boxes}
    sums = [
        secret_sharing.add([numbers[one] for one in sorted(part & numbers.keys())]) for part in occasion.cohort.parts
    ]
    told = digest(listed), b"".join(secret_sharing.to_bytes(one) for one in sums)
    return CommitteeAnswer(
        group_id=occasion.group_id,
        lineage=occasion.lineage,
        round=occasion.round,
        device=device,
        list_hash=told[0],
        sums=told[1],
        signature=identity.sign(ANSWER, _answer_text(occasion, device, *told)),
    )


def check_answer(occasion: Occasion, found: CommitteeAnswer, list_hash: str) -> int:
    """The point whose sums it holds; SealedSumError unless a member of the committee signed it for this list."""
    if (found.group_id, found.lineage, found.round) != (occasion.group_id, occasion.lineage, occasion.round):
        raise SealedSumError("the answer is for another round")
    if found.list_hash != list_hash:
        raise SealedSumError("the answer adds up another list")
    member, point = occasion.cohort.by_device.get(found.device), occasion.cohort.point(found.device)
    if member is None or point is None:
        raise SealedSumError("the answer is of a device outside the committee")
    try:
        verify(member.device_key, ANSWER, _answer_text(occasion, found.device, list_hash, found.sums), found.signature)
        _sums(occasion, found)
    except FoltrError as error:
        raise SealedSumError(f"the answer does not hold: {error}") from error
    return point


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """What the answers give."""

    steps: tuple[Int64Vector, ...]
    """the sum of each part's updates `[n_numbers]`"""
    liars: tuple[str, ...]
    """pseudonyms of members of the committee whose answers do not lie on the others' polynomials"""


def combined(occasion: Occasion, answers: Sequence[CommitteeAnswer]) -> Combined:
    """The sums from answers that `check_answer` has let pass.

    secret_sharing.SharingError for fewer than the threshold, or when it cannot be told which of them lie.
    """
    points = {check_answer(occasion, one, one.list_hash): one for one in answers}
    cohort = occasion.cohort
    flat = {point: [number for part in _sums(occasion, one) for number in part] for point, one in points.items()}
    found = secret_sharing.reconstruct(flat, cohort.threshold)
    values = secret_sharing.from_elements(found.values)
    return Combined(
        tuple(values.reshape(len(cohort.parts), occasion.n_numbers)),
        tuple(cohort.committee[point - 1].device for point in found.liars),
    )


def _opened(occasion: Occasion, box: ListedBox, listed: ShareList, point: int, box_private: bytes) -> Elements:
    """The numbers in one box `[n_numbers]`."""
    hashes = _cut(box.hashes, HASH_BYTES)
    if len(hashes) != len(occasion.cohort.committee) or hashes[point - 1] != _hash(box.box):
        raise SealedSumError(f"the box of {box.device} is not the one that it sent")
    if _check_message(occasion, box.device, box.hashes, box.signature) != listed.messages[box.device]:
        raise SealedSumError(f"the message of {box.device} is not the listed one")
    try:
        inside = decode(unseal(box_private, box.box), Share)
        numbers = secret_sharing.from_bytes(inside.numbers)
    except (SignatureError, RecordError, ShapeError, ValueRangeError) as error:
        raise SealedSumError(f"the box of {box.device} cannot be opened: {error}") from error
    if inside.context != occasion.context(box.device) or len(numbers) != occasion.n_numbers:
        raise SealedSumError(f"the box of {box.device} is of another round, or of somebody else")
    return numbers


def _check_message(occasion: Occasion, device: str, hashes: bytes, signature: bytes) -> str:
    member = occasion.cohort.by_device.get(device)
    if member is None:
        raise SealedSumError("the update is of a device that no member vouched for")
    text = _signed_text(occasion.context(device), hashes)
    try:
        verify(member.device_key, SHARES, text, signature)
    except SignatureError as error:
        raise SealedSumError(f"the message of {device} was altered") from error
    return hashlib.blake2b(text, digest_size=HASH_BYTES).hexdigest()


def _check_named(occasion: Occasion, found: SharedUpdate | ShareList) -> None:
    for name, wanted in occasion.named().items():
        if getattr(found, name) != wanted:
            raise SealedSumError(f"it is of another {name.replace('_', ' ')} than this round's")


def _sums(occasion: Occasion, found: CommitteeAnswer) -> list[Elements]:
    """By part; ShapeError for another number of them."""
    size, n_parts = occasion.n_numbers * ELEMENT_BYTES, len(occasion.cohort.parts)
    if len(found.sums) != size * n_parts:
        raise ShapeError(f"an answer holds {n_parts} sums of {occasion.n_numbers} numbers")
    return [secret_sharing.from_bytes(one) for one in _cut(found.sums, size)]


def _signed_text(context: str, hashes: bytes) -> bytes:
    return context.encode() + b"\n" + hashes


def _answer_text(occasion: Occasion, device: str, list_hash: str, sums: bytes) -> bytes:
    return f"{occasion.context(device)}\n{list_hash}\n".encode() + sums


def _hash(box: bytes) -> bytes:
    return hashlib.blake2b(box, digest_size=HASH_BYTES).digest()


def _hashes(boxes: Sequence[bytes]) -> bytes:
    return b"".join(_hash(box) for box in boxes)


def _cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]
