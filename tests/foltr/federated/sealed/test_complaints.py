"""Complaints: whoever sends what does not hold together is named to everybody, and whoever complains without reason."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from foltr.federated.sealed.boxes import box_hashes, sealed_boxes
from foltr.federated.sealed.complaints import (
    FalseComplaintError,
    check_complaint,
    complaint,
    left_out,
)
from foltr.federated.sealed.points import ORDER, cut
from foltr.federated.sealed.sums import SHARES, SealedSumError, listed_box, opened_shares, signed_text
from foltr.federated.sealed.verifiable_sharing import random_scalars, share, share_bytes
from foltr.federated.wire import Complaint, ListedComplaint, SharedUpdate, ShareList, SumTask
from tests.foltr.federated.sealed.sealed_groups import (
    Person,
    answers,
    by_device,
    list_of,
    make_occasion,
    make_roster,
    messages,
    shared,
    summed,
    task_of,
)

STATE, _, PEOPLE = make_roster(7)
OCCASION = make_occasion(STATE)
SENT = {one.device: np.array([place, -place, 100 + place], dtype=np.int64) for place, one in enumerate(PEOPLE)}
LIAR = PEOPLE[3]
Contents = list[bytes]


def forged(change: Callable[[Contents], Contents], who: Person = LIAR) -> SharedUpdate:
    """A message of a liar's, well signed, whose boxes hold something else."""
    context, rng = OCCASION.context(who.device), np.random.default_rng(9)
    made = share(SENT[who.device], n_shares=7, threshold=OCCASION.cohort.threshold, rng=rng)
    contents = change([share_bytes(one) for one in made.shares])
    opening, boxes = sealed_boxes(context.encode(), OCCASION.owners, contents, *random_scalars(2, rng))
    told = {"commitments": b"".join(made.commitments), "opening": opening}
    signature = who.identity.sign(SHARES, signed_text(context, **told, hashes=box_hashes(boxes)))
    named = OCCASION.named()
    return SharedUpdate(device=who.device, boxes=b"".join(boxes), signature=signature, proof=b"", **told, **named)  # type: ignore[arg-type]


def off(place: int, by: int = 1) -> Callable[[Contents], Contents]:
    """The first number of one box is another."""

    def change(contents: Contents) -> Contents:
        one = contents[place]
        first = (int.from_bytes(one[:32], "little") + by) % ORDER
        return [*contents[:place], first.to_bytes(32, "little") + one[32:], *contents[place + 1 :]]

    return change


def rubbish(place: int) -> Callable[[Contents], Contents]:
    """One box holds no numbers below the order."""
    return lambda all_: [b"\xff" * len(one) if at == place else one for at, one in enumerate(all_)]


def whose(point: int) -> Person:
    return by_device(PEOPLE)[OCCASION.cohort.committee[point - 1].device]


def received_with(message: SharedUpdate) -> dict[str, SharedUpdate]:
    return {**messages(OCCASION, SENT, PEOPLE), LIAR.device: message}


def complained(received: dict[str, SharedUpdate], point: int, about: str) -> tuple[Complaint, ShareList, SumTask]:
    who, listed = whose(point), list_of(OCCASION, received)
    task = task_of(OCCASION, received, listed, point)
    box = next(one for one in task.boxes if one.device == about)
    return complaint(OCCASION, box, listed, who.identity, who.device, who.box), listed, task


@pytest.mark.parametrize("change", [off(1), rubbish(1)])
def test_a_bad_share_and_a_bad_box_name_their_sender(change: Callable[[Contents], Contents]) -> None:
    """Whose box is bad finds it, and nobody else does; the complaint convinces everybody, and the six others' sum is
    theirs to the last step."""
    received = received_with(forged(change))
    for point in range(1, 8):
        who, listed = whose(point), list_of(OCCASION, received)
        task = task_of(OCCASION, received, listed, point)
        found = opened_shares(OCCASION, task, listed, who.device, who.box, without=())
        assert found.bad == ((LIAR.device,) if point == 2 else ())
    told, listed, task = complained(received, 2, LIAR.device)
    box = listed_box(OCCASION, received[LIAR.device], 2)
    check_complaint(OCCASION, told, listed, box)
    proved = ListedComplaint(complaint=told, box=box.box)
    third = msgspec.structs.replace(task_of(OCCASION, received, listed, 5), complaints=(proved,))
    assert left_out(OCCASION, third, listed) == (LIAR.device,)
    said = answers(OCCASION, received, PEOPLE, range(1, 7), without=(LIAR.device,))
    total = sum(steps for device, steps in SENT.items() if device != LIAR.device)
    assert (summed(OCCASION, received, said)[0] == total).all()


def test_two_lies_that_cancel_are_found_as_soon_as_one_is_gone() -> None:
    """What is told is a sum: while it is right nothing is wrong with it; without the one the other stands out."""
    other = PEOPLE[5]
    received = {**received_with(forged(off(1))), other.device: forged(off(1, by=-1), other)}
    assert opened_bad(received, ()) == ()
    assert opened_bad(received, (LIAR.device,)) == (other.device,)
    assert opened_bad(received, (LIAR.device, other.device)) == ()
    received[other.device] = forged(off(1, by=1), other)
    assert opened_bad(received, ()) == tuple(sorted((LIAR.device, other.device)))


def opened_bad(received: dict[str, SharedUpdate], without: tuple[str, ...]) -> tuple[str, ...]:
    listed, who = list_of(OCCASION, received), whose(2)
    task = task_of(OCCASION, received, listed, 2)
    return opened_shares(OCCASION, task, listed, who.device, who.box, without=without).bad


def test_who_complains_of_a_right_share_is_named_alone() -> None:
    """Signed and with the right key, or with another one: the member who complains has lied."""
    received = messages(OCCASION, SENT, PEOPLE)
    told, listed, _ = complained(received, 2, LIAR.device)
    box = listed_box(OCCASION, received[LIAR.device], 2)
    with pytest.raises(FalseComplaintError, match="right"):
        check_complaint(OCCASION, told, listed, box)
    other_key = signed(msgspec.structs.replace(told, shown=complained(received, 3, LIAR.device)[0].shown))
    for lie in (other_key, signed(msgspec.structs.replace(told, shown=told.shown[:40]))):
        with pytest.raises(FalseComplaintError, match="another key"):
            check_complaint(OCCASION, lie, listed, box)


def signed(told: Complaint) -> Complaint:
    text = f"{OCCASION.context(told.about)}\n{told.device}\n{told.message}\n".encode() + told.shown
    return msgspec.structs.replace(told, signature=whose(2).identity.sign(b"foltr complaint 1", text))


def test_nobody_is_blamed_for_what_somebody_else_made_up() -> None:
    """A complaint in another's name, of another round, about another message or box: refused, and nobody named."""
    received = received_with(forged(off(1)))
    told, listed, _ = complained(received, 2, LIAR.device)
    box = listed_box(OCCASION, received[LIAR.device], 2)
    check_complaint(OCCASION, told, listed, box)
    elsewhere = listed_box(OCCASION, received[PEOPLE[0].device], 2)
    for changes, where in (
        ({"device": whose(3).device}, box),
        ({"device": "f" * 32}, box),
        ({"round": 2}, box),
        ({"group_id": "another"}, box),
        ({"about": PEOPLE[0].device}, box),
        ({"about": PEOPLE[0].device, "message": listed.messages[PEOPLE[0].device]}, elsewhere),
        ({"message": listed.messages[PEOPLE[0].device]}, box),
        ({"shown": bytes(96)}, box),
        ({}, listed_box(OCCASION, received[LIAR.device], 3)),
        ({}, elsewhere),
    ):
        with pytest.raises(SealedSumError) as raised:
            check_complaint(OCCASION, msgspec.structs.replace(told, **changes), listed, where)
        assert not isinstance(raised.value, FalseComplaintError)


def test_nobody_can_have_anothers_box_opened() -> None:
    """Anna's point in a message of the liar's, so that a complaint about it would show Anna's key: refused as it
    comes, for the liar does not know its logarithm."""
    received = messages(OCCASION, SENT, PEOPLE)
    anna, mine = received[PEOPLE[0].device], forged(off(1))
    stolen = msgspec.structs.replace(mine, opening=anna.opening)
    text = signed_text(
        OCCASION.context(LIAR.device),
        commitments=stolen.commitments,
        opening=stolen.opening,
        hashes=box_hashes(cut(stolen.boxes, OCCASION.share_bytes + 16)),
    )
    stolen = msgspec.structs.replace(stolen, signature=LIAR.identity.sign(SHARES, text))
    with pytest.raises(SealedSumError, match="does not hold"):
        list_of(OCCASION, {**received, LIAR.device: stolen})


def test_a_message_of_another_degree_or_with_a_point_from_outside_is_refused() -> None:
    """One commitment more or less than the threshold, a point of order 2 for one, one that is no point."""
    good = messages(OCCASION, SENT, PEOPLE)[LIAR.device]
    order_two = (2**255 - 20).to_bytes(32, "little")
    for commitments in (
        good.commitments[32:],
        good.commitments + good.commitments[:32],
        order_two + good.commitments[32:],
        b"\xff" * 32 + good.commitments[32:],
    ):
        hashes = box_hashes(cut(good.boxes, OCCASION.share_bytes + 16))
        text = signed_text(OCCASION.context(LIAR.device), commitments=commitments, opening=good.opening, hashes=hashes)
        bad = msgspec.structs.replace(good, commitments=commitments, signature=LIAR.identity.sign(SHARES, text))
        with pytest.raises(SealedSumError):
            list_of(OCCASION, {LIAR.device: bad})


def test_another_rounds_message_is_another_context() -> None:
    """The same numbers and randomness in the next round have other boxes; hashes name what was signed."""
    later, rng = make_occasion(STATE, round=2), np.random.default_rng(1)
    here = shared(OCCASION, SENT[LIAR.device], LIAR.identity, LIAR.device, np.random.default_rng(1))
    there = shared(later, SENT[LIAR.device], LIAR.identity, LIAR.device, rng)
    assert hashlib.sha256(here.boxes).digest() != hashlib.sha256(there.boxes).digest()
