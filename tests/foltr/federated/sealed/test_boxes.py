"""Boxes: only the owner opens one, and can show what is in it without showing any other."""

from __future__ import annotations

import pytest

from foltr.federated.envelope import box_public, new_box_key
from foltr.federated.sealed.boxes import (
    Box,
    BoxError,
    box_hashes,
    box_point,
    box_scalar,
    check_opening,
    check_shown,
    is_box,
    open_box,
    own_key,
    sealed_boxes,
    shown_key,
)
from foltr.federated.sealed.points import BASE, IDENTITY, ORDER, PointError, multiply, scalar_bytes
from tests.foltr.federated.sealed import slow_curve

KEYS = [bytes([number]) * 32 for number in (1, 2, 3)]
OWNERS = [box_point(box_public(key)) for key in KEYS]
CONTENTS = [b"for one", b"for two", b"for three"]
OPENING, BOXES = sealed_boxes(b"here", OWNERS, CONTENTS, 123456789, 987654321)


def box(place: int, *, context: bytes = b"here", opening: bytes = OPENING, content: bytes = b"") -> Box:
    return Box(context, place, opening, content or BOXES[place - 1])


def test_a_box_key_is_a_point_and_its_secret_a_scalar() -> None:
    """Of any X25519 key: x B is the point, by the textbook's curve; y = (u - 1) / (u + 1)."""
    for key in [*KEYS, *(new_box_key() for _ in range(8))]:
        point, u = box_point(box_public(key)), int.from_bytes(box_public(key), "little")
        assert slow_curve.total([box_scalar(key)], [BASE]) == point
        assert slow_curve.decoded(point)[1] * (u + 1) % slow_curve.P == (u - 1) % slow_curve.P


@pytest.mark.parametrize("bad", [bytes(32), (1).to_bytes(32, "little"), (2).to_bytes(32, "little"), b"\xff" * 32, b"x",
                                 (slow_curve.P - 1).to_bytes(32, "little")])  # fmt: skip
def test_box_keys_of_no_point_of_the_group_are_refused(bad: bytes) -> None:
    """0, 1 and -1 have small order, 2 lies on the twist, another is too large."""
    with pytest.raises(PointError):
        box_point(bad)


def test_each_owner_opens_its_own_box_alone() -> None:
    """In its own context, at its own place, and not altered."""
    check_opening(b"here", OPENING)
    for place, key in enumerate(KEYS, 1):
        assert open_box(box(place), own_key(box(place), key)) == CONTENTS[place - 1]
    for wrong in (box(2), box(1, context=b"there"), box(1, content=BOXES[0][:-1] + b"!"), box(1, content=b"short")):
        with pytest.raises(BoxError):
            open_box(wrong, own_key(wrong, KEYS[0]))


def test_who_makes_a_message_knows_its_point() -> None:
    """A point that was taken from another's message, for another context, or altered, is refused."""
    other, _ = sealed_boxes(b"there", OWNERS, CONTENTS, 123456789, 55)
    for bad in (
        other,
        OPENING[:32] + other[32:],
        multiply(3, BASE) + OPENING[32:],
        OPENING[:-1] + bytes([OPENING[-1] ^ 1]),
        IDENTITY + OPENING[32:],
        OPENING[:64],
        OPENING[:64] + (ORDER + 1).to_bytes(32, "little"),
    ):
        with pytest.raises(PointError):
            check_opening(b"here", bad)


def test_a_shown_key_opens_one_box_for_everybody() -> None:
    """The owner's proof holds for this box; another's key, another box, context, or an altered proof do not."""
    shown = shown_key(box(1), KEYS[0])
    assert open_box(box(1), check_shown(box(1), OWNERS[0], shown)) == b"for one"
    by_another = shown_key(box(1), KEYS[1])
    for where, owner, told in (
        (box(1), OWNERS[1], shown),
        (box(1), OWNERS[0], by_another),
        (box(1), OWNERS[0], by_another[:32] + shown[32:]),
        (box(1), OWNERS[0], shown[:-1] + bytes([shown[-1] ^ 1])),
        (box(1), OWNERS[0], shown[:64]),
        (box(1), OWNERS[0], IDENTITY + shown[32:]),
        (box(1, context=b"there"), OWNERS[0], shown),
        (box(1, content=BOXES[1]), OWNERS[0], shown),
        (box(2), OWNERS[0], shown),
    ):
        with pytest.raises(PointError):
            check_shown(where, owner, told)


def test_a_shown_key_opens_nothing_else() -> None:
    """Neither another's box of the message, nor the owner's of any other message."""
    other, again = sealed_boxes(b"here", OWNERS, CONTENTS, 1234, 55)
    key = check_shown(box(1), OWNERS[0], shown_key(box(1), KEYS[0]))
    for closed in (box(2), box(3), box(1, opening=other, content=again[0])):
        with pytest.raises(BoxError):
            open_box(closed, key)


def test_equal_arguments_give_equal_bytes_and_a_proof_shows_no_secret() -> None:
    """A message made twice is the same; of two nonces the answers differ by their difference, as they must."""
    assert sealed_boxes(b"here", OWNERS, CONTENTS, 123456789, 987654321) == (OPENING, BOXES)
    asked, answer = OPENING[32:64], OPENING[64:]
    assert answer == scalar_bytes(987654321 + int.from_bytes(asked, "little") * 123456789)
    said = (b"ephemeral", b"here", BASE, OPENING[:32], multiply(987654321, BASE))
    assert int.from_bytes(asked, "little") == slow_curve.asked(*said)


def test_hashes_name_each_box_and_its_place() -> None:
    """The right one at its own place, and no other."""
    hashes = box_hashes(BOXES)
    assert is_box(BOXES[1], 2, hashes)
    assert not is_box(BOXES[1], 1, hashes)
    assert not is_box(BOXES[1], 4, hashes)
