"""Shamir's sharing: exact, hiding below the threshold, and a false share is named."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.sealed.secret_sharing import (
    PRIME,
    SharingError,
    add,
    from_bytes,
    from_elements,
    random_elements,
    reconstruct,
    share,
    split,
    to_bytes,
    to_elements,
)

SMALL = 7


def test_shares_lie_on_the_polynomial() -> None:
    """5 + 3x + 2x^2 over GF(7) at 1, 2, 3, 4 is 3, 5, 4, 0 (by hand), and a second number is shared beside it."""
    shares = split([5, 0], [[3, 1], [2, 0]], 4, SMALL)
    assert shares == ((3, 1), (5, 2), (4, 3), (0, 4))


def test_any_threshold_of_shares_give_the_numbers_back() -> None:
    """Every choice of 4 of 6 shares gives the largest, the smallest and small numbers of both signs."""
    values = np.array([0, 1, -1, PRIME // 2, -(PRIME // 2), 123_456_789], dtype=np.int64)
    shares = share(values, n_shares=6, threshold=4, rng=np.random.default_rng(1))
    for points in combinations(range(1, 7), 4):
        found = reconstruct({point: shares[point - 1] for point in points}, 4)
        assert from_elements(found.values).tolist() == values.tolist()
        assert found.liars == ()


def test_shares_of_a_sum_are_sums_of_shares() -> None:
    """Added point by point, the shares of three vectors are shares of their sum, across zero and the field's end."""
    rows = [np.array(row, dtype=np.int64) for row in ([7, -5], [-9, -5], [1, 4])]
    shared = [share(row, n_shares=5, threshold=4, rng=np.random.default_rng(seed)) for seed, row in enumerate(rows)]
    sums = {point: add([one[point - 1] for one in shared]) for point in (1, 3, 4, 5)}
    assert from_elements(reconstruct(sums, 4).values).tolist() == [-1, -6]


@pytest.mark.parametrize("threshold", [2, 3, 4])
def test_fewer_shares_than_the_threshold_tell_nothing(threshold: int) -> None:
    """Over GF(7) each view of t - 1 of 5 shares comes from exactly as many polynomials whatever the secret is."""
    for points in combinations(range(5), threshold - 1):
        views = []
        for secret in range(SMALL):
            polynomials = product(range(SMALL), repeat=threshold - 1)
            seen: Counter[tuple[int, ...]] = Counter()
            for coefficients in polynomials:
                shares = split([secret], [[c] for c in coefficients], 5, SMALL)
                seen[tuple(shares[point][0] for point in points)] += 1
            views.append(seen)
        assert all(view == views[0] for view in views)
        assert set(views[0].values()) == {1}
        assert len(views[0]) == SMALL ** (threshold - 1)


def test_colluders_and_the_sum_tell_the_sum_alone() -> None:
    """Two honest secrets over GF(5), t = 2: whatever one holder of shares sees of both and all sums, it is as likely
    for every pair of secrets with that sum, and impossible for another."""
    prime, holders, threshold = 5, 3, 2
    for point in range(holders):
        views: dict[tuple[int, int], Counter[tuple[int, ...]]] = {}
        for first, second in product(range(prime), repeat=2):
            seen: Counter[tuple[int, ...]] = Counter()
            for a, b in product(range(prime), repeat=threshold):
                mine, other = split([first], [[a]], holders, prime), split([second], [[b]], holders, prime)
                sums = tuple(add([one, two], prime)[0] for one, two in zip(mine, other, strict=True))
                seen[(mine[point][0], other[point][0], *sums)] += 1
            views[first, second] = seen
        for pair, other_pair in combinations(views, 2):
            if sum(pair) % prime == sum(other_pair) % prime:
                assert views[pair] == views[other_pair]
            else:
                assert not views[pair].keys() & views[other_pair].keys()


def test_a_share_in_the_real_field_is_uniform_whatever_the_secret() -> None:
    """The top three bits of one share, of a secret 0 and of a large one, are spread evenly: chi-square below the
    value that 7 degrees exceed once in a million times (39.8)."""
    for secret in (0, PRIME // 3):
        values = np.full(4000, secret, dtype=np.int64)
        first = share(values, n_shares=5, threshold=4, rng=np.random.default_rng(secret % 1000))[0]
        counts = Counter(element >> 58 for element in first)
        assert sum((counts[cell] - 500) ** 2 / 500 for cell in range(8)) < 39.8


def test_false_shares_are_named_while_enough_are_honest() -> None:
    """With k >= t + 2e every set of e liars is named and the numbers are right, also when a lie is in one number."""
    values = np.array([11, -12], dtype=np.int64)
    shares = dict(enumerate(share(values, n_shares=8, threshold=4, rng=np.random.default_rng(2)), 1))
    for liars in [(), *combinations(shares, 1), *combinations(shares, 2)]:
        told = {point: (s[0], (s[1] + point) % PRIME) if point in liars else s for point, s in shares.items()}
        found = reconstruct(told, 4)
        assert found.liars == liars
        assert from_elements(found.values).tolist() == [11, -12]


def test_a_lie_is_noticed_where_it_cannot_be_named() -> None:
    """With one share above the threshold a liar is noticed, not named; with three liars of eight nothing is claimed;
    too few shares are refused."""
    shares = dict(enumerate(share(np.array([5]), n_shares=8, threshold=4, rng=np.random.default_rng(3)), 1))
    five = {point: shares[point] for point in range(1, 6)}
    with pytest.raises(SharingError, match="contradict"):
        reconstruct({**five, 2: (shares[2][0] ^ 1,)}, 4)
    with pytest.raises(SharingError, match="contradict"):
        reconstruct({**shares, 1: (1,), 2: (2,), 3: (9,)}, 4)
    with pytest.raises(SharingError, match="3 shares are too few; 4"):
        reconstruct({point: shares[point] for point in (1, 2, 3)}, 4)


def test_one_liar_per_number_still_counts_together() -> None:
    """Two liars in different numbers of six shares (one could be named in each) are more than can be told."""
    shares = dict(enumerate(share(np.array([5, 6]), n_shares=6, threshold=4, rng=np.random.default_rng(3)), 1))
    told = {**shares, 1: (shares[1][0] ^ 1, shares[1][1]), 2: (shares[2][0], shares[2][1] ^ 1)}
    with pytest.raises(SharingError, match="too many"):
        reconstruct(told, 4)


def test_elements_are_checked() -> None:
    """Bytes come back as they went; a broken length, the prime itself and a number beyond half of it are refused."""
    assert from_bytes(to_bytes((0, 1, PRIME - 1))) == (0, 1, PRIME - 1)
    with pytest.raises(ShapeError):
        from_bytes(b"123456789")
    with pytest.raises(ValueRangeError):
        from_bytes(to_bytes((PRIME,)))
    with pytest.raises(ValueRangeError):
        to_elements(np.array([PRIME // 2 + 1]))
    with pytest.raises(ValueRangeError):
        split([1], [[1], [1], [1]], 3)


def test_random_elements_follow_their_generator() -> None:
    """The same generator gives the same elements, another gives others, all within the field."""
    one, same, other = (random_elements(100, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == same
    assert not set(one) & set(other)
    assert all(0 <= element < PRIME for element in one)
