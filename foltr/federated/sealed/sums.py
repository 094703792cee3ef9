"""The sum of a round of which nobody sees a part: the steps of devices, committee and server.

    device      clipped change -> steps, secret bits of noise; a commitment to these  `draft_update`, `noise_commitment`
    server      keeps the commitment, then draws the coins                            federation_server.sealed.inbox
    device      steps + noise -> commitments, shares, boxes, a proof, a signature     `prove_update`
    server      takes messages whose proof holds, fixes one list, signs it            `check_shared`, `make_list`
    committee   opens its boxes of the listed messages; complains, or adds up         `opened_shares`, `answer`
    server      checks each answer by the commitments; any t give the sum             `check_answer`, `combine_answers`

Each device adds noise of variance (z clip)^2 / n_honest, of coins, in whole steps of one grid, so the sum holds at
least the noise of the ledger, exactly, and adding up rounds nothing. A message is bound twice to its round, roster,
committee and terms: in each box's key, and under its signature. It proves to the server, which reads neither, that its
signal is within the clip, its noise what coins made of bits fixed before (foltr.federated.sealed.note_proof).

A member that sends a share other than the committed one is named by a complaint that everybody checks
(foltr.federated.sealed.complaints), and its message is left out. That spends nobody else's note: the list stays the one
list of the round, and a member may answer it once more without the messages that are proved false, because the
difference of two such answers tells only of liars. A member that adds up falsely is named by its answer alone.

What it costs: a member of the committee sees who answered, and t of them with the server, or t with the boxes, could
open what single devices sent (their share of the noise remains). What it makes impossible: looking at one update, so no
rule on single updates, no guard, no FedEraser.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property

import msgspec
import numpy as np

from foltr.arrays import FloatVector, Int64Vector
from foltr.errors import FoltrError, RecordError, ShapeError
from foltr.federated.envelope import Identity, SignatureError, verify
from foltr.federated.sealed import note_proof
from foltr.federated.sealed.boxes import (
    BOX_BYTES,
    OPENING_BYTES,
    Box,
    box_hashes,
    box_point,
    check_opening,
    is_box,
    open_box,
    own_key,
    sealed_boxes,
)
from foltr.federated.sealed.committee import Cohort
from foltr.federated.sealed.points import SIZE, PointError, check_points, cut
from foltr.federated.sealed.verifiable_sharing import (
    Scalars,
    Sharing,
    SharingError,
    add_commitments,
    add_shares,
    is_share,
    random_scalars,
    read_share,
    reconstruct,
    share,
    share_bytes,
)
from foltr.federated.wire import CommitteeAnswer, ListedBox, NoiseCommitment, SharedUpdate, ShareList, SumTask, digest
from foltr.privacy.mechanisms import Gaussian

SHARES, ANSWER = b"foltr shares 2", b"foltr answer 2"
HASH_BYTES = 32


class SealedSumError(RecordError):
    """A message, a list or an answer is not one of this round, or does not hold together; the message says why."""


class FalseAnswerError(SealedSumError):
    """A member of the committee has signed sums that are not those of its shares."""


class Occasion(msgspec.Struct, frozen=True, dict=True):
    """One round of one group: what all its messages are bound to."""

    group_id: str
    lineage: int
    round: int
    model_hash: str
    cohort: Cohort
    n_numbers: int
    """of an update"""
    privacy: Gaussian
    """of the sum"""

    @cached_property
    def part(self) -> Gaussian:
        """What each device does to its change, and its ledger writes down: its part of the sum's noise."""
        return self.privacy.shared_out(self.cohort.n_honest)

    @cached_property
    def note_terms(self) -> note_proof.NoteTerms:
        return note_proof.NoteTerms(self.n_numbers, self.part.coins, self.part.most)

    def context(self, device: str) -> str:
        """Hash of all that a message of this device belongs to."""
        terms = self.n_numbers, msgspec.json.encode(self.privacy), len(self.cohort.parts)
        here = (*self.named().values(), device, *terms)
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
    def share_bytes(self) -> int:
        return (self.n_numbers + 1) * SIZE

    @cached_property
    def owners(self) -> tuple[bytes, ...]:
        """The points of the committee's box keys, in its order."""
        return tuple(box_point(member.box_key) for member in self.cohort.committee)


def randomness(occasion: Occasion, device: str, change: FloatVector) -> bytes:
    """What keyed noise and polynomials must be derived from, together with the device's secret.

    It covers everything that goes into the message: two messages that differ in anything have different generators, and
    a message made twice is the same. (The same noise on another grid, or the same polynomial with another threshold,
    would give the update away.)
    """
    return occasion.context(device).encode() + np.ascontiguousarray(change, dtype="<f8").tobytes()


class Draft(msgspec.Struct, frozen=True):
    """A note before its coins are known: all that its sender can choose."""

    signal: Int64Vector
    """[n_numbers]"""
    noise: note_proof.SecretNoise
    committed: bytes
    """to the noise"""


def draft_update(occasion: Occasion, change: FloatVector, rng: np.random.Generator) -> Draft:
    """The device's clipped change `[n_numbers]` in steps, and the secret bits of its part of the noise."""
    signal, noise = occasion.part.signal_steps(change, rng), note_proof.drawn_noise(occasion.note_terms, rng)
    return Draft(signal, noise, noise.commitment(occasion.note_terms))


def noise_commitment(occasion: Occasion, draft: Draft, device: str) -> NoiseCommitment:
    """What is sent first: the coins are drawn after it."""
    here = {"group_id": occasion.group_id, "lineage": occasion.lineage, "round": occasion.round}
    return NoiseCommitment(device=device, point=draft.committed, **here)  # type: ignore[arg-type]


def note_of(occasion: Occasion, draft: Draft, seed: bytes) -> Int64Vector:
    """The signal with its noise `[n_numbers]`, in steps, once the coins' seed is known."""
    terms = occasion.note_terms
    return draft.signal + note_proof.noise_of_coins(terms, draft.noise.bits, note_proof.coins_of(terms, seed))


def prove_update(
    occasion: Occasion, draft: Draft, seed: bytes, identity: Identity, device: str, rng: np.random.Generator
) -> SharedUpdate:
    """The device's one message of the round; all its randomness is drawn from `rng`."""
    sent, made = in_shares(occasion, note_of(occasion, draft, seed), identity, device, rng)
    stated = _statement(occasion, sent, draft.committed, seed)
    proof = note_proof.prove(occasion.note_terms, stated, draft.signal, draft.noise, made.blinding, rng)
    return msgspec.structs.replace(sent, proof=proof)


def claim_of(occasion: Occasion, update: SharedUpdate, committed: bytes, seed: bytes) -> note_proof.NoteClaim:
    """What a message claims of its note, by the commitment that was kept before the coins were drawn."""
    return note_proof.NoteClaim(_statement(occasion, update, committed, seed), update.proof)


def _statement(occasion: Occasion, update: SharedUpdate, committed: bytes, seed: bytes) -> note_proof.Statement:
    context = occasion.context(update.device).encode()
    return note_proof.Statement(
        context, committed, note_proof.coins_of(occasion.note_terms, seed), update.commitments[:SIZE]
    )


def in_shares(
    occasion: Occasion, steps: Int64Vector, identity: Identity, device: str, rng: np.random.Generator
) -> tuple[SharedUpdate, Sharing]:
    """A message of any numbers, of which nothing is proved yet: no server takes it."""
    if steps.shape != (occasion.n_numbers,):
        raise ShapeError(f"an update of this group has {occasion.n_numbers} numbers, not {list(steps.shape)}")
    cohort, context = occasion.cohort, occasion.context(device)
    made = share(steps, n_shares=len(cohort.committee), threshold=cohort.threshold, rng=rng)
    contents = [share_bytes(one) for one in made.shares]
    opening, boxes = sealed_boxes(context.encode(), occasion.owners, contents, *random_scalars(2, rng))
    commitments = b"".join(made.commitments)
    text = signed_text(context, commitments=commitments, opening=opening, hashes=box_hashes(boxes))
    sent = SharedUpdate(
        device=device,
        commitments=commitments,
        opening=opening,
        boxes=b"".join(boxes),
        signature=identity.sign(SHARES, text),
        proof=b"",
        **occasion.named(),  # type: ignore[arg-type]
    )
    return sent, made


def check_shared(occasion: Occasion, update: SharedUpdate) -> str:
    """The message's hash, by which a list names it; SealedSumError unless a member of the cohort sent it this round.

    What the boxes hold nobody sees but the committee.
    """
    _check_named(occasion, update)
    size = occasion.share_bytes + BOX_BYTES
    if len(update.boxes) != size * len(occasion.cohort.committee):
        raise SealedSumError("the update's boxes have another length than this round's")
    return check_message(occasion, listed_box(occasion, update, 1))


def listed_box(occasion: Occasion, update: SharedUpdate, point: int) -> ListedBox:
    """The part of a message that the committee's member of this point gets."""
    boxes = cut(update.boxes, occasion.share_bytes + BOX_BYTES)
    return ListedBox(
        device=update.device,
        commitments=update.commitments,
        opening=update.opening,
        box=boxes[point - 1],
        hashes=box_hashes(boxes),
        signature=update.signature,
    )


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
    _check_enough(occasion, devices)


class OpenedShares(msgspec.Struct, frozen=True):
    """What a member of the committee finds in its boxes."""

    shares: Mapping[str, Scalars]
    """by pseudonym, of those that hold together"""
    bad: tuple[str, ...]
    """pseudonyms whose shares are not what they have committed to"""


def opened_shares(
    occasion: Occasion, task: SumTask, listed: ShareList, device: str, box_private: bytes, *, without: Sequence[str]
) -> OpenedShares:
    """The device's shares of all listed messages but those left out; SealedSumError for a task that must not be.

    Shares whose sum fits the sum of the commitments are as good as right: only the sum is ever told.
    """
    check_list(occasion, listed)
    point = occasion.cohort.point(device)
    if point is None:
        raise SealedSumError("this device is not in the round's committee")
    if tuple(box.device for box in task.boxes) != tuple(listed.messages):
        raise SealedSumError("the boxes are not those of the list")
    boxes = {box.device: box for box in task.boxes}
    for box in task.boxes:
        check_box(occasion, box, listed, point)
    keys = {one: own_key(box_of(occasion, box, point), box_private) for one, box in boxes.items() if one not in without}
    found = {one: share_in(occasion, boxes[one], point, key) for one, key in keys.items()}
    held: dict[str, Scalars] = {}
    for part in occasion.cohort.parts:
        read = {one: numbers for one, numbers in found.items() if one in part and numbers is not None}
        held |= _held(read, point, {one: cut(boxes[one].commitments) for one in read})
    return OpenedShares(held, tuple(sorted(found.keys() - held.keys())))


def _held(read: dict[str, Scalars], point: int, commitments: Mapping[str, list[bytes]]) -> dict[str, Scalars]:
    """Of the shares of one sum, those that fit what was committed to."""
    if read and is_share(add_shares(list(read.values())), point, add_commitments([commitments[one] for one in read])):
        return read
    return {one: numbers for one, numbers in read.items() if is_share(numbers, point, commitments[one])}


def check_box(occasion: Occasion, box: ListedBox, listed: ShareList, point: int) -> None:
    """SealedSumError unless it is the one that this point's owner was sent in the listed message."""
    if not is_box(box.box, point, box.hashes):
        raise SealedSumError(f"the box of {box.device} is not the one that it sent")
    if check_message(occasion, box) != listed.messages.get(box.device):
        raise SealedSumError(f"the message of {box.device} is not the listed one")


def share_in(occasion: Occasion, box: ListedBox, point: int, key: bytes) -> Scalars | None:
    """The numbers in a box that this key opens, unless it is rubbish."""
    try:
        return read_share(open_box(box_of(occasion, box, point), key), occasion.n_numbers)
    except (PointError, SharingError):
        return None


def box_of(occasion: Occasion, box: ListedBox, point: int) -> Box:
    """A listed box as `open_box` takes it, for the committee member at `point`."""
    return Box(occasion.context(box.device).encode(), point, box.opening, box.box)


def answer(
    occasion: Occasion, listed: ShareList, identity: Identity, device: str, found: OpenedShares, without: Sequence[str]
) -> CommitteeAnswer:
    """A committee member's answer, from shares that all hold together; SealedSumError where too few are left.

    The caller has checked the list's signature, noted its hash durably, and found each message left out proved false.
    """
    left = listed.messages.keys() - set(without)
    if found.bad or found.shares.keys() != left:
        raise SealedSumError("a listed message does not hold together")
    _check_enough(occasion, frozenset(left))
    sums = [add_shares([found.shares[one] for one in sorted(part & left)]) for part in occasion.cohort.parts]
    said = CommitteeAnswer(
        group_id=occasion.group_id,
        lineage=occasion.lineage,
        round=occasion.round,
        device=device,
        list_hash=digest(listed),
        without=tuple(sorted(without)),
        sums=b"".join(map(share_bytes, sums)),
        signature=b"",
    )
    return msgspec.structs.replace(said, signature=identity.sign(ANSWER, answer_text(occasion, said)))


class ListedSum(msgspec.Struct, frozen=True):
    """What the answers to a list are checked against."""

    list_hash: str
    without: tuple[str, ...]
    commitments: tuple[tuple[bytes, ...], ...]
    """to the sum of each part's updates and polynomials `[n_parts, threshold]`"""


def listed_sum(
    occasion: Occasion, listed: ShareList, commitments: Mapping[str, bytes], without: Sequence[str]
) -> ListedSum:
    """Of the listed messages' commitments, but for those left out."""
    left = listed.messages.keys() - set(without)
    parts = (sorted(part & left) for part in occasion.cohort.parts)
    sums = tuple(add_commitments([cut(commitments[one]) for one in part]) for part in parts)
    return ListedSum(digest(listed), tuple(sorted(without)), sums)


def check_answer(occasion: Occasion, found: CommitteeAnswer, wanted: ListedSum) -> int:
    """The point whose sums it holds; SealedSumError unless a member of the committee signed it for this list.

    FalseAnswerError, if a member has signed anything else than the sums of its shares.
    """
    if (found.group_id, found.lineage, found.round) != (occasion.group_id, occasion.lineage, occasion.round):
        raise SealedSumError("the answer is for another round")
    if (found.list_hash, found.without) != (wanted.list_hash, wanted.without):
        raise SealedSumError("the answer adds up another list")
    member, point = occasion.cohort.by_device.get(found.device), occasion.cohort.point(found.device)
    if member is None or point is None:
        raise SealedSumError("the answer is of a device outside the committee")
    try:
        verify(member.device_key, ANSWER, answer_text(occasion, found), found.signature)
    except FoltrError as error:
        raise SealedSumError(f"the answer does not hold: {error}") from error
    try:
        sums = _sums(occasion, found)
    except FoltrError as error:
        raise FalseAnswerError(f"the answer does not hold: {error}") from error
    if not all(is_share(one, point, part) for one, part in zip(sums, wanted.commitments, strict=True)):
        raise FalseAnswerError("the answer's sums are not those of its shares")
    return point


def combine_answers(occasion: Occasion, answers: Sequence[CommitteeAnswer]) -> tuple[Int64Vector, ...]:
    """The sum of each part's updates `[n_numbers]`, from answers that `check_answer` has let pass.

    SharingError for fewer than the threshold, and for numbers that no honest member sends.
    """
    sums = {occasion.cohort.point(one.device) or 0: _sums(occasion, one) for one in answers}
    return tuple(
        reconstruct({point: parts[place] for point, parts in sums.items()}, occasion.cohort.threshold)
        for place in range(len(occasion.cohort.parts))
    )


def check_message(occasion: Occasion, box: ListedBox) -> str:
    """The hash of the message that it is of; SealedSumError unless its sender signed it, and all points are points."""
    member = occasion.cohort.by_device.get(box.device)
    if member is None:
        raise SealedSumError("the update is of a device that no member vouched for")
    context = occasion.context(box.device)
    text = signed_text(context, commitments=box.commitments, opening=box.opening, hashes=box.hashes)
    try:
        verify(member.device_key, SHARES, text, box.signature)
    except SignatureError as error:
        raise SealedSumError(f"the message of {box.device} was altered, or made under other terms") from error
    cohort = occasion.cohort
    if (len(box.commitments), len(box.opening)) != (cohort.threshold * SIZE, OPENING_BYTES):
        raise SealedSumError(f"the message of {box.device} has not the {cohort.threshold} commitments of this round")
    try:
        check_points(cut(box.commitments))
        check_opening(context.encode(), box.opening)
    except PointError as error:
        raise SealedSumError(f"the message of {box.device} does not hold: {error}") from error
    return hashlib.blake2b(text, digest_size=HASH_BYTES).hexdigest()


def _check_named(occasion: Occasion, found: SharedUpdate | ShareList) -> None:
    for name, wanted in occasion.named().items():
        if getattr(found, name) != wanted:
            raise SealedSumError(f"it is of another {name.replace('_', ' ')} than this round's")


def _check_enough(occasion: Occasion, devices: frozenset[str]) -> None:
    if not occasion.cohort.has_enough(devices):
        raise SealedSumError(
            f"the list holds {len(devices)} updates; fewer than {occasion.cohort.n_least} would not hide one another"
        )


def _sums(occasion: Occasion, found: CommitteeAnswer) -> list[Scalars]:
    """By part; ShapeError for another number of them."""
    n_parts = len(occasion.cohort.parts)
    if len(found.sums) != occasion.share_bytes * n_parts:
        raise ShapeError(f"an answer holds {n_parts} sums of {occasion.n_numbers} numbers")
    return [read_share(one, occasion.n_numbers) for one in cut(found.sums, occasion.share_bytes)]


def signed_text(context: str, *, commitments: bytes, opening: bytes, hashes: bytes) -> bytes:
    """What a sender signs of its message: the parts, and the lengths that keep them apart."""
    return f"{context}\n{len(commitments)}\n{len(opening)}\n".encode() + commitments + opening + hashes


def answer_text(occasion: Occasion, said: CommitteeAnswer) -> bytes:
    """What a member of the committee signs."""
    told = (occasion.context(said.device), said.list_hash, *said.without)
    return "\n".join(told).encode() + b"\n\n" + said.sums
