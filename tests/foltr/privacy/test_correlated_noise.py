"""Noise that remembers is C^-1 Z to the last digit, and guarantees what its sensitivity says."""

from __future__ import annotations

from itertools import combinations, pairwise, product

import numpy as np
import pytest

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.privacy.accounting import Ledger, gaussian_epsilon
from foltr.privacy.correlated_noise import Correlation
from foltr.privacy.mechanisms import Gaussian

TWO = Correlation(decays=(0.9, 0.4), scales=(0.25, 0.5))


def dense(correlation: Correlation, n_rounds: int) -> FloatMatrix:
    """C as it is written down."""
    c = correlation.column(n_rounds)
    return np.array([[c[i - j] if i >= j else 0.0 for j in range(n_rounds)] for i in range(n_rounds)])


def test_the_column_is_as_defined() -> None:
    """1, .25 + .5, .25 * .9 + .5 * .4, .25 * .81 + .5 * .16; no column of no rounds."""
    np.testing.assert_allclose(TWO.column(4), [1, 0.75, 0.425, 0.2825], rtol=1e-15)
    assert len(TWO.column(0)) == 0
    np.testing.assert_array_equal(Correlation().column(3), [1, 0, 0])


@pytest.mark.parametrize("correlation", [Correlation(), Correlation(decays=(0.7,), scales=(1.0,)), TWO])
def test_a_stream_of_noise_is_the_dense_matrix(correlation: Correlation) -> None:
    """40 rounds for three devices of five numbers, one after another, and C^-1 times all of them at once."""
    fresh = np.random.default_rng(1).normal(size=(40, 3, 5))
    memory, streamed = correlation.memory(3, 5), []
    for row in fresh:
        noise, memory = correlation.next(row, memory)
        streamed.append(noise)
        assert memory.shape == (len(correlation.decays), 3, 5)
    whole = np.linalg.solve(dense(correlation, 40), fresh.reshape(40, 15)).reshape(40, 3, 5)
    np.testing.assert_allclose(streamed, whole, atol=1e-12)


@pytest.mark.parametrize("separation", [1, 2, 3, 5])
def test_sensitivity_is_the_largest_over_all_that_one_person_can_do(separation: int) -> None:
    """Every set of rounds at least b apart, every sign; and directions in three dimensions never reach further."""
    n_rounds, rng = 6, np.random.default_rng(2)
    correlation = Correlation(decays=TWO.decays, scales=TWO.scales, separation=separation)
    matrix, largest = dense(correlation, n_rounds), 0.0
    sets = [s for k in range(1, n_rounds + 1) for s in combinations(range(n_rounds), k)]
    for rounds in (s for s in sets if all(b - a >= separation for a, b in pairwise(s))):
        for signs in product((-1.0, 1.0), repeat=len(rounds)):
            largest = max(largest, float(np.linalg.norm(matrix[:, list(rounds)] @ np.array(signs))))
        for _ in range(20):
            way = rng.normal(size=(len(rounds), 3))
            way /= np.linalg.norm(way, axis=1, keepdims=True)
            assert np.linalg.norm(matrix[:, list(rounds)] @ way) <= correlation.sensitivity(n_rounds) + 1e-12
    assert correlation.sensitivity(n_rounds) == pytest.approx(largest, rel=1e-12)


def test_one_round_of_a_person_is_a_column() -> None:
    """Taking part once, the sensitivity is the length of the first column: sqrt(1 + .5625 + .180625 + .07980625)."""
    once = Correlation(decays=TWO.decays, scales=TWO.scales, separation=4)
    assert once.sensitivity(4) == pytest.approx(np.sqrt(1.82293125), rel=1e-12)
    assert once.participations(4) == 1
    assert [once.participations(n) for n in (0, 5, 8, 9)] == [0, 2, 2, 3]


def prefix_errors(correlation: Correlation, n_rounds: int) -> FloatVector:
    """Deviation of the noise in the sum of the first 1, 2, ... rounds, `[n_rounds]`, where that of Z is 1."""
    row, memory, sums = np.zeros(n_rounds), correlation.memory(1), 0.0
    for t in range(n_rounds):
        noise, memory = correlation.next(np.array([float(t == 0)]), memory)
        sums += float(noise[0])
        row[t] = sums
    errors: FloatVector = np.sqrt(np.cumsum(row * row))
    return errors


def test_errors_of_prefix_sums_are_those_of_the_dense_matrix() -> None:
    """The lengths of the rows of A C^-1; sqrt(t) for independent noise."""
    rows = np.cumsum(np.linalg.inv(dense(TWO, 30)), axis=0)
    np.testing.assert_allclose(prefix_errors(TWO, 30), np.linalg.norm(rows, axis=1), rtol=1e-12)
    np.testing.assert_allclose(prefix_errors(Correlation(), 9), np.sqrt(np.arange(1, 10)), rtol=1e-15)


def test_the_same_epsilon_as_independent_noise() -> None:
    """Noise stronger by `excess` guarantees over 50 rounds what the ledger counts for 50 independent rounds."""
    ledger = Ledger(46).spend(Gaussian(clip=0.5, noise_multiplier=7.0), 50)
    z = 7.0 * TWO.excess(50)
    assert gaussian_epsilon(TWO.sensitivity(50) / z, 1e-5) == pytest.approx(ledger.epsilon(1e-5), rel=1e-9)
    assert Correlation().excess(50) == 1.0
    assert TWO.excess(0) == 1.0


def test_the_epsilon_holds_for_the_joint_law() -> None:
    """mu^2 = u' K^-1 u with K the covariance of all rounds' noise, at the worst updates: the same in every round."""
    inverse = np.linalg.inv(dense(TWO, 12))
    covariance = inverse @ inverse.T
    same = np.ones(12)
    assert same @ np.linalg.solve(covariance, same) == pytest.approx(TWO.sensitivity(12) ** 2, rel=1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_in_every_round_nothing_beats_independent_noise_on_the_last_sum(seed: int) -> None:
    """Separation 1: at the same guarantee any correlation leaves as much noise in the last sum, or more."""
    rng = np.random.default_rng(seed)
    some = Correlation(decays=tuple(rng.uniform(0, 0.99, 2)), scales=tuple(rng.dirichlet([1, 1, 1])[:2]))
    for n_rounds in (1, 4, 60):
        assert some.excess(n_rounds) * prefix_errors(some, n_rounds)[-1] >= np.sqrt(n_rounds) * (1 - 1e-12)


def mean_square(correlation: Correlation, n_rounds: int) -> float:
    """Of the noise in all prefix sums, at the guarantee of independent noise of multiplier 1."""
    errors = correlation.excess(n_rounds) * prefix_errors(correlation, n_rounds)
    return float(np.mean(errors**2))


@pytest.mark.parametrize(("separation", "ratio"), [(1, 1.0), (10, 0.1938), (100, 0.1124)])
def test_correlation_pays_where_people_come_back_rarely(separation: int, ratio: float) -> None:
    """The best one buffer over 100 rounds: nothing in every round, a fifth of the noise's square in every tenth."""
    from scipy.optimize import minimize  # loads slowly

    def noise(x: FloatVector) -> float:
        decay, scale = 1 / (1 + np.exp(-np.clip(x, -30, 30)))
        return mean_square(Correlation(decays=(decay,), scales=(scale,), separation=separation), 100)

    best = min(minimize(noise, start, method="Nelder-Mead").fun for start in ([0.0, -3.0], [2.0, 0.0]))
    assert best / mean_square(Correlation(separation=separation), 100) == pytest.approx(ratio, abs=2e-4)


def test_what_does_not_fit_is_refused() -> None:
    """Lengths, ranges, and a memory of another shape."""
    with pytest.raises(ValueRangeError, match="as many decays as scales: 1 and 0 came"):
        Correlation(decays=(0.5,))
    with pytest.raises(ValueRangeError, match="decays must lie within"):
        Correlation(decays=(1.0,), scales=(0.5,))
    for scales in ((-0.1, 0.2), (0.6, 0.5)):
        with pytest.raises(ValueRangeError, match="scales must not be negative and add up to at most 1"):
            Correlation(decays=(0.5, 0.5), scales=scales)
    with pytest.raises(ValueRangeError, match="separation must be at least 1, not 0"):
        Correlation(separation=0)
    with pytest.raises(ShapeError, match=r"memory must be \[2, 3\], not \[1, 3\]"):
        TWO.next(np.zeros(3), np.zeros((1, 3)))
