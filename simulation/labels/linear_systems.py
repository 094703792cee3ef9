"""Least squares and symmetric systems, solved with the same last digits on every processor.

A linear algebra library adds in an order that depends on the processor, and where features nearly depend on each other
its rounding errors decide. Here the shapes alone decide in which order numbers are added: sums of products are those of
`foltr.arithmetic` and `simulation.batched.simd_sums`, reflections and rotations take columns from first to last.
"""

from __future__ import annotations

import math

import numpy as np

from foltr.arithmetic import dots, weighted_sum
from foltr.arrays import FloatMatrix, FloatVector
from simulation.batched import compiled
from simulation.batched.simd_sums import dot

_ROUNDING = 2.0**-52
_SWEEPS = 40
"""at most; columns are orthogonal after some ten"""


def shortest_solution(columns: FloatMatrix, y: FloatVector) -> FloatVector:
    """The shortest theta `[p]` that minimises ||X theta - y||_2, of the columns of X `[p, n]` and y `[n]`.

        X = Q R,   R V = U S,   theta = sum over j of v_j (u_j . Q^T y) / s_j

    Q by Householder's reflections (Golub and Van Loan 2013, Algorithm 5.2.1), V by rotations of two columns at a time
    until all are orthogonal (Hestenes 1958; Golub and Van Loan, Section 8.6). A singular value s_j of at most
    max(n, p) 2^-52 of the largest is none: columns that are alike share their weight, one of zeros has none. Without
    rows, or where all is zero, theta is zeros.
    """
    p, n = columns.shape
    table, rows = np.vstack([columns, y]), min(n, p)
    _reflect(table)
    scaled, turns = np.ascontiguousarray(np.tril(table[:p, :rows])), np.eye(p)
    _make_orthogonal(scaled, turns)
    squares = dots(scaled, scaled)
    kept = np.sqrt(squares) > max(n, p) * _ROUNDING * np.sqrt(squares.max(initial=0.0))
    return weighted_sum(dots(scaled[kept], table[p, :rows]) / squares[kept], turns[kept])


@compiled()
def _reflect(columns: FloatMatrix) -> None:
    """Make R of all columns but the last, on and above the diagonal, and Q^T y of the last one, y."""
    last, n = len(columns) - 1, columns.shape[1]
    for k in range(min(n, last)):
        mirror = columns[k, k:]
        length, first = math.sqrt(dot(mirror, mirror)), mirror[0]
        if length == 0.0:
            continue
        reflected = -math.copysign(length, first)
        mirror[0] = first - reflected
        half_square = length * (length + abs(first))
        for j in range(k + 1, last + 1):
            other = columns[j, k:]
            share = dot(mirror, other) / half_square
            for i in range(len(mirror)):
                other[i] -= share * mirror[i]
        mirror[0] = reflected


@compiled()
def _make_orthogonal(columns: FloatMatrix, turns: FloatMatrix) -> None:
    """Rotate columns `[p, n]` pair by pair until they are u_j s_j; the same rotations make V's columns of `turns`."""
    p = len(columns)
    for _ in range(_SWEEPS):
        orthogonal = True
        for i in range(p):
            for j in range(i + 1, p):
                a, b = columns[i], columns[j]
                across, first, second = dot(a, b), dot(a, a), dot(b, b)
                if abs(across) <= p * _ROUNDING * math.sqrt(first) * math.sqrt(second):
                    continue
                orthogonal = False
                apart = (second - first) / (2.0 * across)
                tangent = math.copysign(1.0, apart) / (abs(apart) + math.sqrt(1.0 + apart * apart))
                cosine = 1.0 / math.sqrt(1.0 + tangent * tangent)
                _rotate(a, b, cosine, cosine * tangent)
                _rotate(turns[i], turns[j], cosine, cosine * tangent)
        if orthogonal:
            return


@compiled()
def _rotate(a: FloatVector, b: FloatVector, cosine: float, sine: float) -> None:
    for i in range(len(a)):
        first, second = a[i], b[i]
        a[i] = cosine * first - sine * second
        b[i] = sine * first + cosine * second


@compiled()
def positive_solution(matrix: FloatMatrix, y: FloatVector) -> FloatVector:
    """The x `[p]` with A x = y `[p]`, of a symmetric positive definite A `[p, p]`, whose lower half is read.

    Cholesky's L L^T = A, row by row (Golub and Van Loan 2013, Section 4.2). Where a row depends on those before it, so
    that its pivot is at most p 2^-52 of its diagonal, its unknown is 0 and its equation is left out; without rows x is
    empty.
    """
    p = len(y)
    factor, x = np.zeros((p, p)), np.zeros(p)
    for i in range(p):
        for j in range(i):
            if factor[j, j] > 0.0:
                factor[i, j] = (matrix[i, j] - dot(factor[i, :j], factor[j, :j])) / factor[j, j]
        pivot = matrix[i, i] - dot(factor[i, :i], factor[i, :i])
        if pivot > p * _ROUNDING * matrix[i, i]:
            factor[i, i] = math.sqrt(pivot)
            x[i] = (y[i] - dot(factor[i, :i], x[:i])) / factor[i, i]
    for i in range(p - 1, -1, -1):
        if factor[i, i] > 0.0:
            x[i] /= factor[i, i]
            for j in range(i):
                x[j] -= factor[i, j] * x[i]
    return x
