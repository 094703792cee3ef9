"""Least squares and symmetric systems: by hand, and beside numpy's, which need not end in the same digits."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.arrays import FloatMatrix
from simulation.labels.linear_systems import positive_solution, shortest_solution


def _of_rank(rank: int, n: int, p: int, seed: int) -> FloatMatrix:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p))


def test_a_line_and_a_plane_by_hand() -> None:
    """3 theta = 3, 4 theta = 9 has (9 + 36) / 25; x + y = 2 has the shortest solution (1, 1)."""
    assert shortest_solution(np.array([[3.0, 4.0]]), np.array([3.0, 9.0])) == pytest.approx([45 / 25])
    assert shortest_solution(np.array([[1.0], [1.0]]), np.array([2.0])) == pytest.approx([1, 1])


@pytest.mark.parametrize(("n", "p"), [(60, 7), (9, 9), (40, 33), (5, 12), (300, 1), (1, 4)])
@pytest.mark.parametrize("missing", [0, 1, 4])
def test_the_shortest_solution_is_that_of_numpy(n: int, p: int, missing: int) -> None:
    """Of full rank and of less, more rows than columns and fewer."""
    for seed in range(5):
        x = _of_rank(max(1, min(n, p) - missing), n, p, seed)
        y = np.random.default_rng(seed + 100).normal(size=n)
        theirs = np.linalg.lstsq(x, y, rcond=None)[0]
        ours = shortest_solution(np.ascontiguousarray(x.T), y)
        assert ours == pytest.approx(theirs, rel=1e-7, abs=1e-9 * np.abs(theirs).max())


def test_columns_of_very_different_sizes() -> None:
    """Singular values far apart, but above rounding, all count."""
    x = _of_rank(6, 50, 6, 3) * 10.0 ** np.arange(-4, 2)
    theta = np.arange(1.0, 7.0)
    assert shortest_solution(np.ascontiguousarray(x.T), x @ theta) == pytest.approx(theta, rel=1e-7)


def test_columns_that_are_alike_share_their_weight() -> None:
    """A column three times over has a third each; all else is as before."""
    x, y = _of_rank(4, 30, 4, 1), np.random.default_rng(2).normal(size=30)
    once = shortest_solution(np.ascontiguousarray(x.T), y)
    thrice = shortest_solution(np.ascontiguousarray(x[:, [0, 1, 2, 3, 1, 1]].T), y)
    assert thrice[[0, 2, 3]] == pytest.approx(once[[0, 2, 3]])
    assert thrice[[1, 4, 5]] == pytest.approx([once[1] / 3] * 3)


def test_what_is_zero_or_absent_has_no_weight() -> None:
    """Columns of zeros anywhere, nothing but zeros, no rows, no columns."""
    x, y = _of_rank(3, 20, 3, 4), np.random.default_rng(5).normal(size=20)
    wide = np.zeros((5, 20))
    wide[[1, 3, 4]] = x.T
    assert shortest_solution(wide, y) == pytest.approx(np.insert(np.linalg.lstsq(x, y)[0], [0, 1], 0.0))
    assert shortest_solution(np.zeros((3, 20)), y).tolist() == [0, 0, 0]
    assert shortest_solution(np.zeros((2, 0)), np.zeros(0)).tolist() == [0, 0]
    assert shortest_solution(np.zeros((0, 4)), np.zeros(4)).tolist() == []


def test_a_positive_system_by_hand() -> None:
    """4 x + 2 y = 10, 2 x + 5 y = 13: (1.5, 2); what is above the diagonal is not read."""
    assert positive_solution(np.array([[4.0, np.nan], [2.0, 5.0]]), np.array([10.0, 13.0])) == pytest.approx([1.5, 2])


@pytest.mark.parametrize("p", [1, 2, 16, 17, 46])
def test_positive_systems_are_solved_as_by_numpy(p: int) -> None:
    """Whatever the units of the unknowns."""
    rng, x = np.random.default_rng(p), _of_rank(p, 2 * p, p, p)
    units = 10.0 ** rng.integers(-6, 7, p)
    matrix, y = (np.eye(p) + x.T @ x) * np.outer(units, units), rng.normal(size=p) * units
    assert positive_solution(matrix, y) * units == pytest.approx(
        np.linalg.solve(matrix, y) * units, rel=1e-9, abs=1e-12
    )


def test_unknowns_that_depend_on_others_are_left_out() -> None:
    """The same unknown twice: the first has it all, and a row of zeros has nothing; no rows, no unknowns."""
    matrix, y = np.array([[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [0.0, 0.0, 0.0]]), np.array([8.0, 8.0, 0.0])
    assert positive_solution(matrix, y).tolist() == [2, 0, 0]
    assert positive_solution(np.zeros((0, 0)), np.zeros(0)).tolist() == []
