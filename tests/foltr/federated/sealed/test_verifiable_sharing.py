"""Pedersen's sharing: exact, hiding below the threshold, and every false share is told."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.sealed.points import ORDER, PointError, generator, generators, multiply
from foltr.federated.sealed.verifiable_sharing import (
    SharingError,
    add_commitments,
    add_shares,
    commit,
    is_share,
    random_scalars,
    read_share,
    reconstruct,
    share,
    share_bytes,
)
from tests.foltr.federated.sealed import slow_curve

LARGEST = (1 << 63) - 1


def test_any_threshold_of_shares_give_the_numbers_back() -> None:
    """Every choice of 4 of 6 shares gives the largest, the smallest and small numbers of both signs; three are few."""
    values = np.array([0, 1, -1, LARGEST, -LARGEST, 123_456_789], dtype=np.int64)
    made = share(values, n_shares=6, threshold=4, rng=np.random.default_rng(1))
    for points in combinations(range(1, 7), 4):
        assert reconstruct({point: made.shares[point - 1] for point in points}, 4).tolist() == values.tolist()
    with pytest.raises(SharingError, match="3 shares are too few; 4"):
        reconstruct({point: made.shares[point - 1] for point in (1, 2, 3)}, 4)
    with pytest.raises(ValueRangeError):
        share(values, n_shares=3, threshold=4, rng=np.random.default_rng(1))


def test_commitments_and_shares_are_what_the_textbook_says() -> None:
    """C_0 opens to the numbers with g(0), and the equation of a share holds by the textbook's curve, too."""
    made = share(np.array([5, -6]), n_shares=4, threshold=3, rng=np.random.default_rng(2))
    bases = (*generators("number", 2), generator("blinding", 0))
    blinding = sum(weight * made.shares[i][2] for i, weight in enumerate((3, -3, 1))) % ORDER  # g(0) = 3 g(1) - ...
    assert made.commitments[0] == slow_curve.total((5, -6, blinding), bases)
    for point, one in enumerate(made.shares, 1):
        assert slow_curve.total(one, bases) == slow_curve.total((1, point, point**2), made.commitments)


def test_every_false_share_is_told() -> None:
    """One number off by one, the blinding off, another point's share, two numbers exchanged, commitments exchanged, or
    one left out: the polynomial has the degree that it should have."""
    made = share(np.array([7, 8]), n_shares=5, threshold=3, rng=np.random.default_rng(3))
    right = made.shares[1]
    assert all(is_share(one, point, made.commitments) for point, one in enumerate(made.shares, 1))
    for place in range(3):
        off = tuple(number + (at == place) for at, number in enumerate(right))
        assert not is_share(off, 2, made.commitments)
    assert not is_share(made.shares[2], 2, made.commitments)
    assert not is_share((right[1], right[0], right[2]), 2, made.commitments)
    assert not is_share(right, 2, (made.commitments[1], made.commitments[0], made.commitments[2]))
    assert not is_share(right, 2, made.commitments[:2])
    higher = share(np.array([7, 8]), n_shares=5, threshold=4, rng=np.random.default_rng(3))
    assert not any(is_share(one, point, higher.commitments[:3]) for point, one in enumerate(higher.shares, 1))


def test_shares_of_a_sum_are_sums_of_shares() -> None:
    """Added point by point, with the commitments, across zero; an unequal sum is told by the sums alone."""
    rows = [np.array(row, dtype=np.int64) for row in ([7, -5], [-9, -5], [1, 4])]
    made = [share(row, n_shares=5, threshold=4, rng=np.random.default_rng(seed)) for seed, row in enumerate(rows)]
    sums = {point: add_shares([one.shares[point - 1] for one in made]) for point in range(1, 6)}
    committed = add_commitments([one.commitments for one in made])
    assert all(is_share(one, point, committed) for point, one in sums.items())
    assert reconstruct({point: sums[point] for point in (1, 3, 4, 5)}, 4).tolist() == [-1, -6]
    assert not is_share(add_shares([one.shares[0] for one in made[:2]]), 1, committed)


def test_two_that_cancel_each_other_are_as_good_as_nothing() -> None:
    """A sender that copies another's commitments with their sign turned: the sums are the identity, and nothing
    breaks."""
    made = share(np.array([7]), n_shares=3, threshold=2, rng=np.random.default_rng(4))
    turned = [multiply(-1, one) for one in made.commitments]
    committed = add_commitments([made.commitments, turned])
    assert is_share((0, 0), 1, committed)
    assert not is_share((1, 0), 1, committed)


def test_numbers_that_nobody_shares_honestly_are_no_sum() -> None:
    """1/2 modulo the order, as a liar may send it where nothing else is proved, is no number."""
    half = pow(2, -1, ORDER)
    with pytest.raises(SharingError, match="no honest member"):
        reconstruct({1: (half, 0), 2: (half, 0)}, 2)


def test_a_commitment_binds_number_and_place() -> None:
    """No two of a few vectors and blindings have the same one."""
    made = {commit(values, blinding) for values in [(0, 0), (1, 0), (0, 1), (-1, 0)] for blinding in (0, 1)}
    assert len(made) == 8


def test_a_share_is_uniform_whatever_the_secret() -> None:
    """The top three bits of one share, of a secret 0 and of a large one, are spread evenly: chi-square below the
    value that 7 degrees exceed once in a million times (39.8)."""
    for secret in (0, LARGEST):
        values, counts = np.full(20, secret), Counter[int]()
        for seed in range(100):
            made = share(values, n_shares=2, threshold=2, rng=np.random.default_rng(seed)) if seed < 1 else None
            row = made.shares[0] if made else random_scalars(20, np.random.default_rng(secret % 1000 + seed))
            counts.update(min(number * 8 // ORDER, 7) for number in row[:20])
        assert sum((counts[cell] - 250) ** 2 / 250 for cell in range(8)) < 39.8


def test_what_is_drawn_follows_its_generator() -> None:
    """The same generator gives the same sharing, byte for byte, another gives another."""
    values = np.array([3, 4])
    one, same, other = (share(values, n_shares=3, threshold=2, rng=np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == same
    assert not set(one.commitments) & set(other.commitments)


def test_shares_are_checked() -> None:
    """Bytes come back as they went; another number of scalars, and one that is not reduced, are refused."""
    assert read_share(share_bytes((1, ORDER - 1, 5)), 2) == (1, ORDER - 1, 5)
    with pytest.raises(SharingError):
        read_share(share_bytes((1, 2)), 2)
    with pytest.raises(PointError):
        read_share(b"\xff" * 96, 2)
