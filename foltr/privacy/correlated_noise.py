"""Gaussian noise that remembers: what was added in a round is partly taken back in later ones (DP-FTRL).

    noise of T rounds = C^-1 Z,  Z: T independent rows;      C lower triangular, every diagonal constant:
    c_0 = 1,  c_i = sum over buffers j of  scale_j decay_j^(i-1),  i >= 1

(a Buffered Linear Toeplitz matrix: Dvijotham et al., FOCS 2024, arXiv 2404.16706; McMahan, Xu and Zhang, arXiv
2408.08868.) Rounds U of updates and their noise, U + C^-1 Z = C^-1 (C U + Z), tell what C U + Z tells: the Gaussian
mechanism on C U. So all rounds together guarantee as much as one release with noise `sensitivity` times weaker: mu =
sensitivity / z. What it buys are cleaner prefix sums, A C^-1 Z with A the lower triangle of ones.

Whoever adds the noise must have been there when the former noise was added. A server that is trusted to add it is; a
device that adds its own noise can correlate only its own rounds, and it takes part in every one of those: separation 1.
Then no C beats independent noise on the last sum (Cauchy-Schwarz), nor any of these on the mean of all sums.

The noise is made of floats: it measures a mechanism and protects nobody (foltr.privacy.noise says why).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from foltr.arithmetic import dots, power
from foltr.arrays import FloatArray, FloatVector
from foltr.errors import ShapeError, ValueRangeError


class Correlation(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The first column of C, and how often one person takes part; the default is independent noise.

    ValueRangeError unless decays lie within [0, 1), and scales are not negative and add up to at most 1: then c falls
    from 1 and is never negative, as `sensitivity` requires.
    """

    decays: tuple[float, ...] = ()
    """[n_buffers] theta"""
    scales: tuple[float, ...] = ()
    """[n_buffers] omega"""
    separation: int = 1
    """b: at least b - 1 other rounds lie between two of one person"""

    def __post_init__(self) -> None:
        if len(self.decays) != len(self.scales):
            raise ValueRangeError(f"as many decays as scales: {len(self.decays)} and {len(self.scales)} came")
        if not all(0 <= decay < 1 for decay in self.decays):
            raise ValueRangeError(f"decays must lie within [0, 1), not {self.decays}")
        if not (all(scale >= 0 for scale in self.scales) and sum(self.scales) <= 1):
            raise ValueRangeError(f"scales must not be negative and add up to at most 1, not {self.scales}")
        if self.separation < 1:
            raise ValueRangeError(f"separation must be at least 1, not {self.separation}")

    def column(self, n_rounds: int) -> FloatVector:
        """The first column of C, `[n_rounds]`."""
        later = np.arange(max(n_rounds - 1, 0), dtype=np.float64)
        powers = power(np.array(self.decays)[:, None], later)
        return np.concatenate([np.ones(min(n_rounds, 1)), dots(powers.T, np.array(self.scales))])

    def participations(self, n_rounds: int) -> int:
        """How many of the rounds one person can be in, k."""
        return -(-n_rounds // self.separation)

    def sensitivity(self, n_rounds: int) -> float:
        """How far one person, with updates of length 1, moves C U: the length of  sum over j < k of column j b  of C.

        No other rounds and no other directions move it further, because c is not negative and does not grow (Kalinin
        and Lampert, NeurIPS 2024, Theorem 2). sqrt(k) for independent noise.
        """
        column, moved = self.column(n_rounds), np.zeros(n_rounds)
        for first in range(0, n_rounds, self.separation):
            moved[first:] += column[: n_rounds - first]
        return math.sqrt(float(dots(moved, moved)))

    def excess(self, n_rounds: int) -> float:
        """What the noise must be multiplied by for all rounds to guarantee what independent noise guarantees."""
        return self.sensitivity(n_rounds) / math.sqrt(self.participations(n_rounds)) if n_rounds else 1.0

    def memory(self, *shape: int) -> FloatArray:
        """What is remembered before the first round, `[n_buffers, *shape]` for noise of that shape."""
        return np.zeros((len(self.decays), *shape))

    def next(self, fresh: FloatArray, memory: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The next row of C^-1 Z from the next row of Z, of any shape, and the memory after it.

            x = z - sum over j of scale_j s_j;    s_j <- decay_j s_j + x

        by which C x = z row by row; the memory does not grow. ShapeError for a memory of another shape.
        """
        if memory.shape != (len(self.decays), *fresh.shape):
            raise ShapeError(f"memory must be {[len(self.decays), *fresh.shape]}, not {list(memory.shape)}")
        noise = fresh - dots(np.moveaxis(memory, 0, -1), np.array(self.scales))
        decays = np.array(self.decays).reshape(-1, *[1] * fresh.ndim)
        return noise, decays * memory + noise
