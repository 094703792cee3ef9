"""Malicious clients' messages, compiled: simulation.attacks for loops over rounds, from the same attackers' stream.

Means and extremes are taken in the order of the rows, as numpy does, since an attack depends on the sign of a mean.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, Int64Vector
from simulation.attacks.fang import LEAST_STRENGTH, REACH
from simulation.batched import kernel
from simulation.batched.random_numbers import uniform
from simulation.batched.rules import smallest_sum
from simulation.batched.simd_sums import squared_distance

NONE, OPPOSED, LIE, FANG_KRUM, FANG_TRIMMED = range(5)
FULL, PARTIAL, OWN_EXTREMES = range(3)


class Attack(NamedTuple):
    """An attack by the last clients, with room to work in."""

    kind: int
    n_malicious: int
    z: float
    """of OPPOSED and LIE"""
    ddof: int
    """of LIE"""
    knowledge: int
    """of Fang's: FULL, PARTIAL or OWN_EXTREMES"""
    squared: bool
    """distances of FANG_KRUM"""
    places: Int64Vector
    """[n_sent] the column that each weight has where it is learned: numbers are drawn in the order of the message"""
    mean: FloatVector
    """[n_params] room"""
    side: FloatVector
    """[n_params] room"""
    edges: FloatVector
    """[n_params] room"""
    between: FloatMatrix
    """[n_clients + 1, n_clients + 1] room for distances"""
    nearest: FloatVector
    """[2 n_clients + 1] room"""


@kernel()
def send(attack, start, thetas, state):  # type: ignore[no-untyped-def]
    """Put what malicious clients send into their rows of `thetas`, the last; `start` `[n_sent]` is the common ranker.

    `state` is that of the attackers' stream.
    """
    first = len(thetas) - attack.n_malicious
    if attack.kind == OPPOSED:
        for i in range(first, len(thetas)):
            for f in range(len(start)):
                thetas[i, f] = start[f] + (-attack.z * (thetas[i, f] - start[f]) - (attack.z + 1.0) * start[f])
    elif attack.kind == LIE:
        mean_of(thetas, first, attack.mean[: len(start)])
        _send_beside_the_mean(attack, first, start, thetas)
    elif attack.kind != NONE:
        mean_of(thetas, 0 if attack.knowledge == FULL else first, attack.mean[: len(start)])
        for f in range(len(start)):
            attack.side[f] = -np.sign(attack.mean[f] - start[f])
        if attack.kind == FANG_KRUM:
            _send_against_krum(attack, first, start, thetas)
        else:
            _send_beyond_the_extremes(attack, first, start, thetas, state)


@kernel()
def mean_of(rows, first, mean):  # type: ignore[no-untyped-def]
    """The mean of the rows from `first` on, of as many columns as `mean` has."""
    for f in range(len(mean)):
        mean[f] = rows[first, f]
    for i in range(first + 1, len(rows)):
        for f in range(len(mean)):
            mean[f] += rows[i, f]
    for f in range(len(mean)):
        mean[f] /= len(rows) - first


@kernel()
def _deviation(rows, first, f, mean, ddof):  # type: ignore[no-untyped-def]
    """The standard deviation of column f of the rows from `first` on; 0 of a single one."""
    n = len(rows) - first
    if n == 1:
        return 0.0
    square = 0.0
    for i in range(first, len(rows)):
        square += (rows[i, f] - mean) * (rows[i, f] - mean)
    return math.sqrt(square / (n - ddof))


@kernel()
def _send_beside_the_mean(attack, first, start, thetas):  # type: ignore[no-untyped-def]
    for f in range(len(start)):
        sent = attack.mean[f] - attack.z * _deviation(thetas, first, f, attack.mean[f], attack.ddof)
        for i in range(first, len(thetas)):
            thetas[i, f] = sent


@kernel()
def _send_beyond_the_extremes(attack, first, start, thetas, state):  # type: ignore[no-untyped-def]
    """As simulation.attacks.fang. The edges are found first, since own rows are written over."""
    n = len(thetas)
    begin, end = (0, first) if attack.knowledge == FULL else (first, n)
    edges = attack.edges
    for f in range(len(start)):
        if attack.knowledge == PARTIAL:
            edges[f] = _deviation(thetas, first, f, attack.mean[f], 0)
        else:
            edge = thetas[begin, f]
            for i in range(begin + 1, end):
                edge = max(edge, thetas[i, f]) if attack.side[f] > 0.0 else min(edge, thetas[i, f])
            edges[f] = edge
    for i in range(first, n):
        for f in attack.places[: len(start)]:
            drawn, side, edge = uniform(state), attack.side[f], edges[f]
            if attack.knowledge == PARTIAL:
                thetas[i, f] = attack.mean[f] + side * (3.0 + drawn) * edge
            elif side == 0.0:
                thetas[i, f] = attack.mean[f]
            else:
                far = REACH * edge if side * edge > 0.0 else edge / REACH
                thetas[i, f] = edge + drawn * (far - edge)


@kernel()
def _send_against_krum(attack, first, start, thetas):  # type: ignore[no-untyped-def]
    """As simulation.attacks.fang."""
    m, n = attack.n_malicious, len(thetas)
    if attack.knowledge == FULL:
        strength = _strongest(attack, start, thetas, 0, first, m, n - m - 2)
    else:
        q = max(1, m - 2)
        strength, n_copies = 0.0, 0
        while strength < LEAST_STRENGTH and n_copies < q + 1:
            n_copies += 1
            strength = _strongest(attack, start, thetas, first, n, n_copies, q)
    for i in range(first, n):
        for f in range(len(start)):
            thetas[i, f] = start[f] + strength * attack.side[f]


@kernel()
def _strongest(attack, start, thetas, begin, end, n_copies, n_neighbours):  # type: ignore[no-untyped-def]
    """simulation.attacks.fang.strongest among the rows `begin` to `end` - 1."""
    between, nearest, crafted, n = attack.between, attack.nearest, attack.edges, end - begin
    least, farthest = np.inf, 0.0
    for i in range(n):
        farthest = max(farthest, _apart(thetas[begin + i], start, len(start)))
        for j in range(i):
            between[i, j] = between[j, i] = _apart(thetas[begin + i], thetas[begin + j], len(start))
    for i in range(n):
        least = min(least, _score(between, i, n, 0, min(n_neighbours, n - 1), nearest))
    strength = (least / max(1, n_neighbours - n_copies + 1) + farthest) / math.sqrt(len(start))
    if attack.squared:
        for i in range(n):
            for j in range(n):
                between[i, j] *= between[i, j]
    while strength >= LEAST_STRENGTH:
        for f in range(len(start)):
            crafted[f] = start[f] + strength * attack.side[f]
        for i in range(n):
            far = _apart(thetas[begin + i], crafted, len(start))
            between[n, i] = between[i, n] = far * far if attack.squared else far
        own = _score(between, n, n, n_copies - 1, n_neighbours, nearest)
        chosen = True
        for i in range(n):
            chosen = chosen and own < _score(between, i, n, n_copies, n_neighbours, nearest)
        if chosen:
            break
        strength /= 2.0
    return strength


@kernel()
def _score(between, row, n, n_copies, n_neighbours, nearest):  # type: ignore[no-untyped-def]
    """The sum of the `n_neighbours` smallest distances from a row to the n others and to copies of the crafted row n.

    The crafted row itself is at no distance from its copies.
    """
    count = 0
    for j in range(n):
        if j != row:
            nearest[count] = between[row, j]
            count += 1
    for _ in range(n_copies):
        nearest[count] = between[row, n] if row < n else 0.0
        count += 1
    return smallest_sum(nearest, count, min(n_neighbours, count))


@kernel()
def _apart(one, other, n_sent):  # type: ignore[no-untyped-def]
    """||one - other||_2 over the first `n_sent` numbers."""
    return math.sqrt(squared_distance(one[:n_sent], other[:n_sent]))
