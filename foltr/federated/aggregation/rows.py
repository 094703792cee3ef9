"""What every rule checks first, and the distances they share.

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


def by_size(values: FloatArray) -> FloatArray:
    """`np.sort` along the first axis; numbers that lie side by side are sorted in half the time."""
    ordered = values.T.copy()
    ordered.sort()
    return ordered.T


def middle_of(values: FloatArray) -> FloatArray:
    """`np.median` along the first axis, to the bit, of numbers that are no NaN.

    To ask whether they are takes numpy ten times as long for the few numbers of a round, and loads masked arrays; to
    sort them all is no slower than to part them.
    """
    ordered, half = by_size(values), len(values) // 2
    middle: FloatArray = ordered[half] if len(values) % 2 else (ordered[half - 1] + ordered[half]) / 2
    return middle


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
        """What has to be known of the rows once, however often it is asked for."""
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
    total = w.sum()
    if not (0 < total < np.inf and w.min() >= 0):
        raise ValueRangeError("weights must be finite, none negative, and not all 0")
    found: FloatVector = w / total
    return found


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
    _, _, x, squares = Spread.of(rows)
    both = squares[:, None] + squares
    distances: FloatMatrix = np.maximum(both - 2.0 * table(x, x), 0.0)
    close = np.triu(distances <= NEARLY_EQUAL * both, k=1)
    for i in np.flatnonzero(close.any(axis=1)):
        others = np.flatnonzero(close[i])
        difference = x[others] - x[i]
        distances[i, others] = dots(difference, difference)
        distances[others, i] = distances[i, others]
    np.fill_diagonal(distances, 0.0)
    return distances


BLOCK = 256
"""rows whose distances to all others are held at once"""


def distance_blocks(spread: Spread) -> Iterator[tuple[slice, FloatMatrix]]:
    """`squared_distances` some rows at a time, `[n_block, n_clients]`: memory grows with the rows, not their square."""
    x, squares = spread.apart, spread.squares
    for start in range(0, len(x), BLOCK):
        block = slice(start, min(start + BLOCK, len(x)))
        both = squares[block, None] + squares
        distances: FloatMatrix = np.maximum(both - 2.0 * table(x[block], x), 0.0)
        close = distances <= NEARLY_EQUAL * both
        of_itself(distances, start)[:] = 0.0
        of_itself(close, start)[:] = False
        for row in np.flatnonzero(close.any(axis=1)):
            near = np.flatnonzero(close[row])
            difference = x[near] - x[start + row]
            distances[row, near] = dots(difference, difference)
        yield block, distances


def of_itself(block: npt.NDArray[Any], start: int) -> npt.NDArray[Any]:
    """A view of what rows from `start` on have with themselves in their block `[n_block, n_clients]`: `[n_block]`."""
    return block.reshape(-1)[start :: block.shape[1] + 1]


def nearest_sums(distances: FloatMatrix, start: int, n_neighbours: int) -> FloatVector:
    """For each row of a block the sum of its smallest distances to others `[n_block]`; the block is lost."""
    of_itself(distances, start)[:] = np.inf
    distances.sort(axis=1)
    total: FloatVector = distances[:, :n_neighbours].sum(axis=1)
    return total


def in_order(scores: FloatVector, rows: FloatMatrix) -> IntVector:
    """Row indices by rising score; equal scores by the rows' numbers, so that no row gains by coming first."""
    order = np.argsort(scores, kind="stable")
    ties = np.split(order, np.flatnonzero(np.diff(scores[order])) + 1)
    sorted_ties = [t if len(t) == 1 else np.array(sorted(t, key=lambda i: rows[i].tolist()), np.intp) for t in ties]
    return np.concatenate(sorted_ties)
