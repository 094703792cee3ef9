"""The server's rules, compiled: what foltr.federated.aggregation makes of the clients' rows, for loops over rounds.

The mean, the trimmed mean, the median (the trimmed mean that drops all but the middle one or two), Krum and Multi-Krum.
Sums over clients are taken in the order of their rows, as numpy takes them, so trimmed means and medians have the same
bits. Squared distances are sums of squared differences, exact where foltr's lose digits to a product of matrices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, Int64Vector
from foltr.federated.aggregation.rows import LARGEST
from simulation.batched import kernel
from simulation.batched.simd_sums import squared_distance

MEAN, TRIMMED, KRUM = range(3)


class Rule(NamedTuple):
    """A rule of the server for a number of clients, with room to work in."""

    kind: int
    """MEAN, TRIMMED or KRUM"""
    shares: FloatVector
    """[n_clients] of the mean"""
    n_dropped: int
    """values that each end of a parameter loses"""
    n_neighbours: int
    """distances that a row's score adds up"""
    n_kept: int
    """rows with the smallest scores that are averaged"""
    squared: bool
    """whether distances are squared"""
    between: FloatMatrix
    """[n_clients, n_clients] room for distances; empty unless of KRUM"""
    scores: FloatVector
    """[n_clients] room"""
    order: Int64Vector
    """[n_clients] the rows by rising score; as they come unless of KRUM"""


@kernel()
def usable(rows, n_sent):  # type: ignore[no-untyped-def]
    """Whether the first `n_sent` numbers of every row are finite and up to `LARGEST`."""
    beyond = 0
    for i in range(len(rows)):
        for f in range(n_sent):
            beyond += not abs(rows[i, f]) <= LARGEST
    return beyond == 0


@kernel()
def join(rule, theta, thetas):  # type: ignore[no-untyped-def]
    """Move `theta` `[n_sent]` on by the rule of what the clients sent, which is lost.

    That is the first `n_sent` columns of `thetas`. False, and theta as it was, when a number is not usable.
    """
    if not usable(thetas, len(theta)):
        return False
    if rule.kind == MEAN:
        weighted_mean(thetas, rule.shares, theta)
        return True
    for i in range(len(thetas)):
        for f in range(len(theta)):
            thetas[i, f] -= theta[f]
    if rule.kind == TRIMMED:
        sort_columns(thetas, len(theta))
        add_mean(thetas, rule.order, rule.n_dropped, len(thetas) - rule.n_dropped, theta)
    else:
        krum_scores(thetas, len(theta), rule)
        put_in_order(rule.scores, thetas, len(theta), rule.order)
        add_mean(thetas, rule.order, 0, rule.n_kept, theta)
    return True


@kernel()
def weighted_mean(rows, shares, mean):  # type: ignore[no-untyped-def]
    """mean = sum of shares[i] * rows[i]."""
    for f in range(len(mean)):
        mean[f] = 0.0
    for i in range(len(rows)):
        for f in range(len(mean)):
            mean[f] += shares[i] * rows[i, f]


@kernel()
def add_mean(rows, order, start, stop, theta):  # type: ignore[no-untyped-def]
    """theta += the mean of the rows `order[start:stop]`, added up in this order in the first of them."""
    total = order[start]
    for place in range(start + 1, stop):
        for f in range(len(theta)):
            rows[total, f] += rows[order[place], f]
    for f in range(len(theta)):
        theta[f] += rows[total, f] / (stop - start)


@kernel()
def sort_columns(rows, n_sent):  # type: ignore[no-untyped-def]
    """Each parameter's values by size: n^2 / 2 exchanges of neighbours, but each for all parameters at once."""
    for last in range(len(rows) - 1, 0, -1):
        for i in range(last):
            for f in range(n_sent):
                one, other = rows[i, f], rows[i + 1, f]
                sorted_already = one < other
                rows[i, f], rows[i + 1, f] = one if sorted_already else other, other if sorted_already else one


@kernel()
def krum_scores(rows, n_sent, rule):  # type: ignore[no-untyped-def]
    """rule.scores[i] = the sum of the distances from row i to its `rule.n_neighbours` nearest others."""
    squared_distances(rows, n_sent, rule.between)
    if not rule.squared:
        for i in range(len(rows)):
            for j in range(len(rows)):
                rule.between[i, j] = np.sqrt(rule.between[i, j])
    for i in range(len(rows)):
        rule.scores[i] = nearest_sum(rule.between, i, len(rows), rule.n_neighbours)


@kernel()
def squared_distances(rows, n_sent, between):  # type: ignore[no-untyped-def]
    """between[i, j] = ||rows_i - rows_j||^2 of the first `n_sent` columns."""
    for i in range(len(rows)):
        between[i, i] = 0.0
        for j in range(i):
            between[i, j] = between[j, i] = squared_distance(rows[i, :n_sent], rows[j, :n_sent])


@kernel()
def nearest_sum(between, i, n, n_neighbours):  # type: ignore[no-untyped-def]
    """The sum of the distances from i to its nearest of n - 1 others; row i of `between` is lost."""
    between[i, i] = np.inf
    return smallest_sum(between[i], n, n_neighbours)


@kernel()
def smallest_sum(values, n, n_smallest):  # type: ignore[no-untyped-def]
    """The sum of the smallest of the first n values, added up as they rise; the values are lost."""
    total = 0.0
    for place in range(n_smallest):
        least = place
        for j in range(place + 1, n):
            least = j if values[j] < values[least] else least
        total += values[least]
        values[least] = values[place]
    return total


@kernel()
def put_in_order(scores, rows, n_sent, order):  # type: ignore[no-untyped-def]
    """`order` = the rows by rising score; equal scores by the rows' numbers, as foltr has it."""
    for i in range(len(order)):
        place = i
        while place > 0 and _comes_before(scores, rows, n_sent, i, order[place - 1]):
            order[place] = order[place - 1]
            place -= 1
        order[place] = i


@kernel()
def _comes_before(scores, rows, n_sent, i, j):  # type: ignore[no-untyped-def]
    if scores[i] != scores[j]:
        return scores[i] < scores[j]
    for f in range(n_sent):
        if rows[i, f] != rows[j, f]:
            return rows[i, f] < rows[j, f]
    return False
