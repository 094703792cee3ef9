"""The group of the proofs: products are those of the textbook, and nothing from outside the group passes."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from nacl.bindings import crypto_core_ed25519_add

from foltr.federated.sealed.points import (
    BASE,
    IDENTITY,
    ORDER,
    ORDER_TWO,
    PointError,
    UnsoundLibraryError,
    add,
    challenge,
    check_library,
    check_points,
    combine,
    generator,
    generators,
    multiply,
    read_scalars,
    scalar_bytes,
)
from tests.foltr.federated.sealed import slow_curve

ORDER_EIGHT = bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a")
"""a point of order 8 (Bernstein et al., the table of libsodium's blocklist)"""


def test_products_and_sums_are_those_of_the_textbook() -> None:
    """Of random scalars, 0, 1, q - 1 and numbers past q, on the base point and on others: byte by byte."""
    rng = np.random.default_rng(1)
    bases = (BASE, *generators("number", 3))
    scalars = [0, 1, ORDER - 1, ORDER + 5, -7, *(int.from_bytes(rng.bytes(32), "little") for _ in range(3))]
    for scalar in scalars:
        assert [multiply(scalar, base) for base in bases] == [slow_curve.total([scalar], [base]) for base in bases]
    assert combine(scalars[2:6], bases) == slow_curve.total(scalars[2:6], bases)
    assert add(multiply(3, BASE), multiply(-3, BASE)) == IDENTITY
    assert multiply(5, IDENTITY) == IDENTITY


def test_generators_are_hashed_to_the_group() -> None:
    """As Elligator 2 by hand gives them; all different, and the first one is this (a change would part old and new)."""
    seed = hashlib.sha256(b"foltr generator 1\nnumber\n0").digest()
    assert generator("number", 0) == slow_curve.hashed_to_group(seed)
    assert generator("number", 0).hex() == FIRST
    every = [*generators("number", 40), *generators("blinding", 1), *generators("bit", 40)]
    assert len({*every, BASE}) == 82
    check_points(every)


FIRST = "d00a363b9c8d40f3fd809693bafe022c228862840ddf708e2f9f4f0593c026d4"


def mixed(order: bytes) -> bytes:
    return crypto_core_ed25519_add(multiply(12345, BASE), order)


@pytest.mark.parametrize(
    "bad",
    [IDENTITY, ORDER_TWO, ORDER_EIGHT, mixed(ORDER_TWO), mixed(ORDER_EIGHT), bytes(32), b"\xff" * 32, BASE[:31], b""],
)
def test_points_from_outside_the_group_are_refused(bad: bytes) -> None:
    """The identity, points of order 2 and 8, such mixed with a good one, other bytes; the textbook agrees."""
    with pytest.raises(PointError):
        check_points([BASE, bad])
    assert len(bad) != 32 or not slow_curve.is_in_group(bad)
    if bad not in (IDENTITY, b"", BASE[:31]):
        with pytest.raises(PointError):
            multiply(3, bad)


def test_a_library_that_takes_a_point_of_order_two_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """CVE-2025-69277: nothing is checked by it."""
    check_library.cache_clear()
    monkeypatch.setattr("nacl.bindings.crypto_core_ed25519_is_valid_point", lambda point: True)
    with pytest.raises(UnsoundLibraryError, match="CVE-2025-69277"):
        check_points([BASE])
    monkeypatch.undo()
    check_points([BASE])


def test_scalars_have_one_encoding() -> None:
    """Bytes come back as they went; a number from q on, and a broken length, are refused."""
    assert read_scalars(scalar_bytes(-1) + scalar_bytes(ORDER + 3)) == (ORDER - 1, 3)
    for bad in (ORDER.to_bytes(32, "little"), b"\xff" * 32, bytes(33)):
        with pytest.raises(PointError):
            read_scalars(bad)


def test_a_challenge_hangs_on_every_byte_and_where_it_stands() -> None:
    """As hashed by hand; moved between two parts, or said for another purpose, the same bytes give another."""
    assert challenge(b"one", b"ab", b"c") == slow_curve.asked(b"one", b"ab", b"c")
    others = [(b"one", b"a", b"bc"), (b"two", b"ab", b"c"), (b"one", b"abc"), (b"one", b"ab", b"c", b"")]
    assert len({challenge(b"one", b"ab", b"c"), *(challenge(*said) for said in others)}) == 5
