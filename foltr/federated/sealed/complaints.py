"""Complaints: how a member of the committee proves to everybody that a message does not hold together.

    who complains shows the key of its own box of that message, and that it is the key (foltr.federated.sealed.boxes)
    whoever looks opens the box: the share in it is the committed one       -> who complains has lied
                                 it is not, or there is no share            -> who sent the message has lied

Either of them is named with certainty, for the box, the commitments and the complaint are signed; nothing of any other
box is shown. An honest sender is never named, and an honest member never complains without reason.
"""

from __future__ import annotations

import msgspec

from foltr.errors import FoltrError
from foltr.federated.envelope import Identity, verify
from foltr.federated.sealed.boxes import OPENING_BYTES, check_shown, shown_key
from foltr.federated.sealed.points import cut
from foltr.federated.sealed.sums import Occasion, SealedSumError, box_of, check_box, share_in
from foltr.federated.sealed.verifiable_sharing import is_share
from foltr.federated.wire import Complaint, ListedBox, ShareList, SumTask

COMPLAINT = b"foltr complaint 1"


class FalseComplaintError(SealedSumError):
    """A member has signed a complaint that is not true."""


def complaint(
    occasion: Occasion, box: ListedBox, listed: ShareList, identity: Identity, device: str, box_private: bytes
) -> Complaint:
    """A committee member's complaint about its box of a listed message."""
    made = Complaint(
        group_id=occasion.group_id,
        lineage=occasion.lineage,
        round=occasion.round,
        device=device,
        about=box.device,
        message=listed.messages[box.device],
        shown=shown_key(box_of(occasion, box, _point(occasion, device)), box_private),
        signature=b"",
    )
    return msgspec.structs.replace(made, signature=identity.sign(COMPLAINT, _text(occasion, made)))


def check_complaint(occasion: Occasion, found: Complaint, listed: ShareList, box: ListedBox) -> None:
    """Returns if the sender has lied; `box` is the complaining member's, of that message.

    SealedSumError for a complaint that nobody can be blamed for, FalseComplaintError where its signer is to blame.
    """
    member, point = occasion.cohort.by_device.get(found.device), _point(occasion, found.device)
    if member is None or (found.group_id, found.lineage, found.round) != _place(occasion):
        raise SealedSumError("the complaint is of another round, or of nobody in it")
    if found.about != box.device or listed.messages.get(found.about) != found.message:
        raise SealedSumError("the complaint is about no listed message")
    try:
        verify(member.device_key, COMPLAINT, _text(occasion, found), found.signature)
    except FoltrError as error:
        raise SealedSumError(f"the complaint does not hold: {error}") from error
    check_box(occasion, box, listed, point)
    try:
        key = _shown(occasion, found, box, point)
    except FoltrError as error:
        raise FalseComplaintError(f"the complaint shows another key: {error}") from error
    share = share_in(occasion, box, point, key)
    if share is not None and is_share(share, point, cut(box.commitments)):
        raise FalseComplaintError("the complaint is about a share that is right")


def left_out(occasion: Occasion, task: SumTask, listed: ShareList) -> tuple[str, ...]:
    """Pseudonyms whose messages the task proves false; SealedSumError for a complaint in it that does not hold."""
    boxes = {box.device: box for box in task.boxes}
    for one in task.complaints:
        box = boxes.get(one.complaint.about)
        if box is None:
            raise SealedSumError("a complaint is about no listed message")
        check_complaint(occasion, one.complaint, listed, msgspec.structs.replace(box, box=one.box))
    return tuple(sorted({one.complaint.about for one in task.complaints}))


def _shown(occasion: Occasion, found: Complaint, box: ListedBox, point: int) -> bytes:
    if len(found.shown) != OPENING_BYTES:
        raise SealedSumError("it has another length")
    return check_shown(box_of(occasion, box, point), occasion.owners[point - 1], found.shown)


def _point(occasion: Occasion, device: str) -> int:
    point = occasion.cohort.point(device)
    if point is None:
        raise SealedSumError("the complaint is of a device outside the committee")
    return point


def _place(occasion: Occasion) -> tuple[str, int, int]:
    return occasion.group_id, occasion.lineage, occasion.round


def _text(occasion: Occasion, made: Complaint) -> bytes:
    """What is signed: the sender's message, by the hash that the list names, and what is shown."""
    return f"{occasion.context(made.about)}\n{made.device}\n{made.message}\n".encode() + made.shown
