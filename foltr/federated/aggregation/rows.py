"""The checks and distances that all rules share.

rows [n_clients, n_params] are what the devices sent in one round: weights, or differences of weights. A rule gives
[n_params]. A row with NaN or infinity is refused before any rule sees it; a server drops such rows by `usable`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.arithmetic import dots, table
from foltr.arrays import BoolVector, FloatArray, FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError

LARGEST = 1e100
"""of a number in a row; the squares of larger ones could overflow"""
NEARLY_EQUAL = 1e-6
"""Squared distances below this share of the squared lengths have lost digits and are computed again."""


class RuleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="rule"):
    """What the settings of all rules are: strict records that name themselves in the field `rule`.

    `combine(rows, weights)` makes one vector `[n_params]` from `rows` `[n_clients, n_params]`. `weights` `[n_clients]`
    say how much each row counts, None that all count alike; rules that select or sort rows do not use them, because a
    device could lie about its weight. The two clipping rules clip towards 0, so their rows must be differences.
    """

    @property
    def least_rows(self) -> int:
        """How many rows it takes."""
        return 1


def usable(rows: FloatMatrix) -> BoolVector:
    """Which rows `[n_clients]` hold only finite numbers up to 1e100 in size."""
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(rows) <= LARGEST).all(axis=1))


def check_rows(rows: npt.ArrayLike) -> FloatMatrix:
    """`rows` as `[n_clients, n_params]` float64; ShapeError, or ValueRangeError naming the row that is not usable."""
    matrix = np.asarray(rows, dtype=np.float64)
    if matrix.ndim != 2 or not len(matrix):
        raise ShapeError(f"rows must be [n_clients, n_params] with at least one client, not {list(matrix.shape)}")
    if not np.abs(matrix).max(initial=0.0) <= LARGEST:
        bad = np.flatnonzero(~usable(matrix))
        raise ValueRangeError(f"row {bad[0]} of {len(matrix)} holds a number that is not finite, or above {LARGEST:g}")
    return matrix


def middle_of(values: FloatArray) -> FloatArray:
    """`np.median` along the first axis, to the bit, of numbers that are no NaN.

    Checking for NaN takes numpy ten times as long for the few numbers of a round, and loads masked arrays. Sorting them
    all is no slower than partitioning, and twice as fast where they lie side by side in memory.
    """
    ordered, half = values.T.copy(), len(values) // 2
    ordered.sort()
    middle: FloatArray = ordered[..., half] if len(values) % 2 else (ordered[..., half - 1] + ordered[..., half]) / 2
    return middle.T


class Spread(NamedTuple):
    """Rows and how they lie around their median."""

    rows: FloatMatrix
    """[n_clients, n_params]"""
    middle: FloatVector
    """[n_params]"""
    apart: FloatMatrix
    """[n_clients, n_params] the rows less their median"""
    squares: FloatVector
    """[n_clients] ||apart||^2"""

    @classmethod
    def of(cls, rows: FloatMatrix) -> Spread:
        """What is worked out about the rows once, however often it is asked for."""
        middle = middle_of(rows)
        apart = rows - middle
        return cls(rows, middle, apart, dots(apart, apart))


def shares(weights: npt.ArrayLike | None, n_clients: int) -> FloatVector:
    """`weights` divided by their sum, `[n_clients]`; 1 / n_clients each for None."""
    if weights is None:
        return np.full(n_clients, 1.0 / n_clients)
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n_clients,):
        raise ShapeError(f"weights must be [{n_clients}], one for each row, not {list(w.shape)}")
    if not (w.min() >= 0 and 0 < w.sum() < np.inf):
        raise ValueRangeError("weights must be finite, none negative, and not all 0")
    total: FloatVector = w / w.sum()
    return total


def require(rule: str, n_clients: int, *, at_least: int, n_malicious: int) -> None:
    """ValueRangeError when the rule cannot withstand so many malicious clients among so few."""
    if n_malicious < 0:
        raise ValueRangeError(f"n_malicious of {rule} must not be negative, and is {n_malicious}")
    if n_clients < at_least:
        raise ValueRangeError(
            f"{rule} against {n_malicious} malicious clients needs at least {at_least} rows, not {n_clients}"
        )


def squared_distances(rows: FloatMatrix) -> FloatMatrix:
    """||x_i - x_j||^2, `[n_clients, n_clients]`, with about 10 correct digits each; 0 exactly between equal rows.

    By one matrix product: |x|^2 + |y|^2 - 2 x.y of the rows less their median, so that far rows cost the near ones no
    digits. Pairs that are much closer to one another than to the median are subtracted number by number instead.
    """
    return np.concatenate([distances for _, distances in distance_blocks(Spread.of(rows))])


def distance_blocks(spread: Spread) -> Iterator[tuple[slice, FloatMatrix]]:
    """`squared_distances` some rows at a time, `[n_block, n_clients]`: memory grows with the rows, not their square."""
    x, squares = spread.apart, spread.squares
    for block in blocks(len(x)):
        both = squares[block, None] + squares
        distances: FloatMatrix = np.maximum(both - 2.0 * table(x[block], x), 0.0)
        close = distances <= NEARLY_EQUAL * both
        of_itself(distances, block)[:] = 0.0
        of_itself(close, block)[:] = False
        for row in np.flatnonzero(close.any(axis=1)):
            near = np.flatnonzero(close[row])
            difference = x[near] - x[block.start + row]
            distances[row, near] = dots(difference, difference)
        yield block, distances


BLOCK = 256
"""rows whose pairs with all others are held at once"""


def blocks(n: int) -> Iterator[slice]:
    """Some of n rows at a time."""
    for start in range(0, n, BLOCK):
        yield slice(start, min(start + BLOCK, n))


def of_itself(pairs: npt.NDArray[Any], block: slice) -> npt.NDArray[Any]:
    """A view `[n_block]` of each row's pair with itself, among all pairs of a block `[n_block, n_clients]`."""
    return pairs.reshape(-1)[block.start :: pairs.shape[1] + 1]


def scores_by_distance(between: FloatMatrix, *, n_neighbours: int, block: slice = slice(0)) -> FloatVector:
    """For each row of a block the sum of its `n_neighbours` smallest distances to others, `[n_block]`."""
    others = between.copy()
    of_itself(others, block)[:] = np.inf
    others.sort(axis=1)
    scores: FloatVector = others[:, :n_neighbours].sum(axis=1)
    return scores


def in_order(scores: FloatVector, rows: FloatMatrix) -> IntVector:
    """Row indices by rising score; equal scores by the rows' numbers, so that no row gains by coming first."""
    order = np.argsort(scores, kind="stable")
    ties = np.split(order, np.flatnonzero(np.diff(scores[order])) + 1)
    sorted_ties = [t if len(t) == 1 else np.array(sorted(t, key=lambda i: rows[i].tolist()), np.intp) for t in ties]
    return np.concatenate(sorted_ties)
