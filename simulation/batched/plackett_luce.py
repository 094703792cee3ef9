"""foltr.ranking.plackett_luce.draw for compiled code: the same ranking from the same numbers.

The weights are kept in blocks of 4 with their sums, so that a rank costs a pass over the sums and one block.

The numbers are those of numpy's SFC64, the generator of the simulated streams, from the same states:

    out = a + b + w;  w <- w + 1;  a <- b ^ (b >> 11);  b <- c + (c << 3);  c <- rotl(c, 24) + out     (mod 2^64)

(Chris Doty-Humphrey, PractRand). A state is a row `[4]` of uint64 in numpy's order a, b, c, w, advanced in place.
"""

from __future__ import annotations

import numpy as np
from numba import njit

_STEP, _SHIFT, _ELEVEN = np.uint64(1), np.uint64(3), np.uint64(11)
_ROTATE, _BACK = np.uint64(24), np.uint64(40)


@njit(cache=True)
def uniform(state):  # type: ignore[no-untyped-def]
    """The next number in [0, 1) as `Generator.random()` gives it: the upper 53 bits times 2^-53."""
    a, b, c, w = state[0], state[1], state[2], state[3]
    out = a + b + w
    state[0] = b ^ (b >> _ELEVEN)
    state[1] = c + (c << _SHIFT)
    state[2] = ((c << _ROTATE) | (c >> _BACK)) + out
    state[3] = w + _STEP
    return np.int64(out >> _ELEVEN) * 1.1102230246251565e-16


BLOCK = 4
_NONE, _ONE, _TWO, _THREE = np.uint64(0), np.uint64(1), np.uint64(2), np.uint64(3)
_EXHAUSTED = 1e-100
_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""ln 2 in two parts, the first with so few digits that its product with a power of two is exact"""
_ROUND = 6755399441055744.0
"""1.5 * 2^52: adding it rounds a number to an integer, which then stands in the lowest bits"""
_BIAS = np.int64(1023)
_FACTORIALS = tuple(1.0 / float(f) for f in np.cumprod(np.arange(1.0, 14.0)))
_C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = _FACTORIALS


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def exponentials(scores, zero, n_docs, weights, powers):  # type: ignore[no-untyped-def]
    """weights[d] = e^(scores[d] - zero) for scores up to `zero`, zeros to the end of the last block.

    e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln(2) / 2, e^r by its Taylor series to r^13 / 13!, whose
    remainder is below 1e-17. Written out because a loop around the library's exp is not vectorised. `powers` is room
    for the 2^n.
    """
    bits = powers.view(np.int64)
    for d in range(n_docs):
        powers[d] = max(scores[d] - zero, -700.0) * _LOG2_E + _ROUND
    for d in range(n_docs):
        n = powers[d] - _ROUND
        x = max(scores[d] - zero, -700.0)
        r = (x - n * _LN2_HIGH) - n * _LN2_LOW
        p = _C10 + r * (_C11 + r * (_C12 + r * _C13))
        p = _C6 + r * (_C7 + r * (_C8 + r * (_C9 + r * p)))
        p = _C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * p)))
        weights[d] = 1.0 + r * (_C1 + r * p)
    for d in range(n_docs):
        bits[d] = (bits[d] + _BIAS) << 52
    for d in range(n_docs):
        weights[d] = weights[d] * powers[d] if scores[d] - zero > -700.0 else 0.0
    for d in range(n_docs, -(-n_docs // BLOCK) * BLOCK):
        weights[d] = 0.0


@njit(cache=True, error_model="numpy")
def _block_sum(weights, start):  # type: ignore[no-untyped-def]
    """The sum of the block that begins at row `start`, unsigned."""
    return (weights[start] + weights[start + _ONE]) + (weights[start + _TWO] + weights[start + _THREE])


@njit(cache=True, error_model="numpy")
def _sum_blocks(weights, n_blocks, sums):  # type: ignore[no-untyped-def]
    for block in range(n_blocks):
        sums[block] = _block_sum(weights, np.uint64(block * BLOCK))


@njit(cache=True, error_model="numpy")
def _sum_up(sums, n_blocks, before):  # type: ignore[no-untyped-def]
    """The sum of the blocks; `before[b]` is that of the blocks before b."""
    total = 0.0
    for block in range(n_blocks):
        before[block] = total
        total += sums[block]
    return total


@njit(cache=True, error_model="numpy")
def _row_at(weights, before, n_blocks, target):  # type: ignore[no-untyped-def]
    """The first row, unsigned, whose running sum exceeds `target`.

    Counting the sums that do not exceed it takes the same time wherever the row lies: no branch to be guessed wrong.
    Indices are unsigned since signed ones are tested for counting from the end, which is a sixth of all the time here.
    """
    block = _NONE
    for b in range(1, n_blocks):
        block += np.uint64(before[b] <= target)
    start, within = block << _TWO, target - before[block]
    first = weights[start]
    second = first + weights[start + _ONE]
    third = second + weights[start + _TWO]
    row = start + (np.uint64(first <= within) + (np.uint64(second <= within) + np.uint64(third <= within)))
    # The running sum may differ from the block's in the last digit; then a row with a weight stands before.
    while not weights[row] > 0.0 and row > _NONE:
        row -= _ONE
    return row


@njit(cache=True, error_model="numpy")
def _begin_again(scores, n_docs, weights, powers, ranking, rank):  # type: ignore[no-untyped-def]
    """Weights measured from the largest score that is not yet placed."""
    for r in range(rank):
        weights[ranking[r]] = -1.0
    zero = -np.inf
    for d in range(n_docs):
        if weights[d] >= 0.0:
            zero = max(zero, scores[d])
    for d in range(n_docs):
        powers[d] = min(scores[d], zero)
    exponentials(powers.copy(), zero, n_docs, weights, powers)
    for r in range(rank):
        weights[ranking[r]] = 0.0


@njit(cache=True, error_model="numpy")
def draw(scores, n_docs, k, state, weights, powers, sums, before, ranking, placed):  # type: ignore[no-untyped-def]
    """Draw k <= n_docs rows into `ranking`, their weights into `placed`; return the sum of all weights left over.

    `weights` holds those of `exponentials` on entry; `powers` as it, `sums` and `before` `[blocks]` are room. -1 when
    the weights had to be measured anew on the way, so that those of `placed` are not on one scale; NaN when the scores
    were not finite (the ranking then means nothing).
    """
    n_blocks = (n_docs + BLOCK - 1) // BLOCK
    anew = False
    _sum_blocks(weights, n_blocks, sums)
    total = _sum_up(sums, n_blocks, before)
    if not total > 0.0:
        return np.nan
    for rank in range(k):
        if total < _EXHAUSTED:
            anew = True
            _begin_again(scores, n_docs, weights, powers, ranking, rank)
            _sum_blocks(weights, n_blocks, sums)
            total = _sum_up(sums, n_blocks, before)
        row = _row_at(weights, before, n_blocks, uniform(state) * total)
        ranking[rank], placed[rank] = row, weights[row]
        weights[row] = 0.0
        sums[row >> _TWO] = _block_sum(weights, row >> _TWO << _TWO)
        total = _sum_up(sums, n_blocks, before)
    return -1.0 if anew else total
