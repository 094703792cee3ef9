"""Sums of products, exponentials and logarithms with the same last digits on every processor.

A library's dot product adds in an order that depends on the width of the processor's vectors, and its logarithm may end
in another digit where the processor multiplies and adds in one step. What is learned from clicks must depend on
neither: one click that turns out differently changes all that comes after. Here each result is a fixed sequence of
additions and products, which IEEE 754 rounds in one way; sums are numpy's own, in the order of its pairwise summation.

`log`, `log1p`, `exp` and `waves` take a number or an array, and the laboratory compiles the same lines. Their largest
errors are measured in tests/foltr/test_arithmetic.py: below 1.5 units in the last place, and 2e-16 for `waves`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatArray, FloatMatrix, FloatVector

LOG2_E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""ln 2 in two parts, the first with so few digits that its product with a power of two is exact"""
ROUND = 6755399441055744.0
"""1.5 * 2^52: adding it rounds a number to an integer, which then stands in the lowest bits"""
SMALLEST, LARGEST = -700.0, 709.0
"""between them `exp` is exact to the last place; below it is 0, above it stays at e^LARGEST"""
_BIAS = np.int64(1023)
_ROOT_HALF = np.int64(0x3FE6A09E667F3BCD)
"""the bits of the square root of 1/2"""
_MANTISSA = np.int64(52)
_ODD, _BACK = np.int64(1), np.int64(2)
_TWO_PI = 6.283185307179586
_FACTORIALS = tuple(1.0 / float(f) for f in np.cumprod(np.arange(1.0, 17.0)))
_C1, _C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13, _C14, _C15, _C16 = _FACTORIALS


def dots(x: FloatArray, y: FloatArray) -> Any:
    """The sums of x * y over the last axis, of arrays that numpy can broadcast: `[n, m]` and `[m]` make `[n]`."""
    return np.multiply(x, y, order="C").sum(axis=-1)


def length(x: FloatVector) -> float:
    """||x||_2."""
    return float(np.sqrt(dots(x, x)))


def lengths(rows: FloatMatrix) -> FloatVector:
    """||x||_2 of each row, `[n]`."""
    found: FloatVector = np.sqrt(dots(rows, rows))
    return found


def weighted_sum(weights: FloatVector, rows: FloatMatrix) -> FloatVector:
    """sum over i of weights[i] * rows[i], `[m]`."""
    total: FloatVector = dots(rows.T, weights)
    return total


def table(x: FloatMatrix, y: FloatMatrix) -> FloatMatrix:
    """The dot product of each row of x `[n, k]` with each of y `[m, k]`: `[n, m]`, by numpy's own loops."""
    products: FloatMatrix = np.einsum("ik,jk->ij", x, y)
    return products


def power_of_e(x: Any) -> Any:
    """e^x for x from `SMALLEST` to `LARGEST`.

    e^x = 2^n e^r with n = round(x / ln 2) and |r| <= ln(2) / 2, e^r by its Taylor series to r^13 / 13!, whose remainder
    is below 1e-17.
    """
    rounded = x * LOG2_E + ROUND
    n = rounded - ROUND
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = _C10 + r * (_C11 + r * (_C12 + r * _C13))
    p = _C6 + r * (_C7 + r * (_C8 + r * (_C9 + r * p)))
    p = _C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * p)))
    p = 1.0 + r * (_C1 + r * p)
    return p * np.int64((np.float64(rounded).view(np.int64) + _BIAS) << _MANTISSA).view(np.float64)


def exp(x: Any) -> Any:
    """e^x; 0 below `SMALLEST`, and e^LARGEST above `LARGEST`."""
    return power_of_e(np.minimum(np.maximum(x, SMALLEST), LARGEST)) * (x >= SMALLEST)


def sigmoid(x: FloatArray) -> FloatArray:
    """1 / (1 + e^-x) without overflow."""
    small: FloatArray = exp(-np.abs(x))
    return np.where(x >= 0, 1.0, small) / (1.0 + small)


def log(x: Any) -> Any:
    """ln x of a normal positive number; for 0 a finite number far below all others.

    x = 2^n m with m between the roots of 1/2 and 2, and ln m = 2 artanh((m - 1) / (m + 1)) by its series.
    """
    bits = np.float64(x).view(np.int64)
    n = (bits - _ROOT_HALF) >> _MANTISSA
    m = np.int64(bits - (n << _MANTISSA)).view(np.float64)
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    p = 2.0 / 15.0 + z * (2.0 / 17.0 + z * (2.0 / 19.0 + z * (2.0 / 21.0 + z * (2.0 / 23.0))))
    p = z * (
        2.0 / 3.0 + z * (2.0 / 5.0 + z * (2.0 / 7.0 + z * (2.0 / 9.0 + z * (2.0 / 11.0 + z * (2.0 / 13.0 + z * p)))))
    )
    half = 0.5 * f * f
    return n * LN2_HIGH - ((half - (s * (half + p) + n * LN2_LOW)) - f)


def log1p(x: Any) -> Any:
    """ln(1 + x) for x above -1."""
    u = 1.0 + x
    return log(u) + (x - (u - 1.0)) / u


def power(x: npt.ArrayLike, exponent: npt.ArrayLike) -> FloatArray:
    """x^exponent of positive numbers, exponents from 0: whole powers by products alone, the rest by `exp` and `log`."""
    left = np.floor(exponent)
    raised, square = exp((exponent - left) * log(x)), np.asarray(x, dtype=np.float64)
    while np.any(left > 0):
        raised, square, left = np.where(left % 2 == 1, raised * square, raised), square * square, left // 2
    found: FloatArray = raised
    return found


def waves(turns: Any) -> tuple[Any, Any]:
    """cos(2 pi turns) and sin(2 pi turns) for turns from 0 to 1."""
    rounded = 4.0 * turns + ROUND
    quarter = np.float64(rounded).view(np.int64)
    a = _TWO_PI * (turns - 0.25 * (rounded - ROUND))
    z = a * a
    even = _C8 - z * (_C10 - z * (_C12 - z * (_C14 - z * _C16)))
    even = 1.0 - z * (_C2 - z * (_C4 - z * (_C6 - z * even)))
    odd = _C9 - z * (_C11 - z * (_C13 - z * _C15))
    odd = a * (1.0 - z * (_C3 - z * (_C5 - z * (_C7 - z * odd))))
    across, back = quarter & _ODD, np.float64(_ODD - (quarter & _BACK))
    along = 1.0 - across
    return back * (along * even - across * odd), back * (along * odd + across * even)


def normals(rng: np.random.Generator, *shape: int) -> FloatArray:
    """Independent standard normal numbers of that shape, from twice as many of `rng.random()` (Box and Muller 1958).

    numpy's own normals use the library's logarithm where they are large.
    """
    u, turns = rng.random((2, *shape))
    drawn: FloatArray = np.sqrt(-2.0 * log(1.0 - u)) * waves(turns)[0]
    return drawn


def log_sum(x: FloatArray) -> Any:
    """ln of the sum of e^x over the last axis, where -inf is the logarithm of nothing."""
    return _log_sum(x, x.max(axis=-1, keepdims=True))


def log_sums(x: FloatArray) -> FloatArray:
    """ln of the cumulative sums of e^x along the last axis, shaped as x."""
    n = x.shape[-1]
    so_far = np.where(np.arange(n) <= np.arange(n)[:, None], x[..., None, :], -np.inf)
    found: FloatArray = _log_sum(so_far, np.maximum.accumulate(x, axis=-1)[..., None])
    return found


def _log_sum(x: FloatArray, top: FloatArray) -> Any:
    """`log_sum`, given the largest x in `top`, `[..., 1]`."""
    known = np.maximum(top, -1e300)  # inf less inf is no number
    return top[..., 0] + log(exp(x - known).sum(axis=-1))
