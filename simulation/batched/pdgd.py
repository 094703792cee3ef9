"""PDGD on a linear ranker, compiled: what every client does in a round."""

from __future__ import annotations

import numpy as np
from numba import njit

from simulation.batched.pages import next_query
from simulation.batched.visit import new_sheet, visit


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def linear_scores(features, first, last, theta, scale, scores):  # type: ignore[no-untyped-def]
    """scores[d] = scale * theta . x_d for the rows `first` to `last` - 1; returns the largest.

    The products are added up in the precision of `features` and `theta`.
    """
    top = -np.inf
    for row in range(first, last):
        product = features.dtype.type(0)
        for f in range(len(theta)):
            product += features[row, f] * theta[f]
        scores[row - first] = scale * product
        top = max(top, scores[row - first])
    return top


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def ascend(theta, slope, features, first, ranking, wanted, seen, rate):  # type: ignore[no-untyped-def]
    """theta += rate * sum over the seen ranks of wanted[r] * x_r; `slope` is room for it, of the features' type."""
    slope[:] = 0.0
    for r in range(seen):
        row, weight = first + ranking[r], features.dtype.type(wanted[r])
        for f in range(len(theta)):
            slope[f] += weight * features[row, f]
    for f in range(len(theta)):
        theta[f] += rate * slope[f]


@njit(cache=True, error_model="numpy")
def hold_within(theta, radius):  # type: ignore[no-untyped-def]
    """theta <- theta * min(1, radius / ||theta||_2); inf bounds nothing."""
    if radius < np.inf:
        norm = np.sqrt(np.sum(theta * theta))
        if norm > radius:
            theta *= radius / norm


@njit(cache=True, error_model="numpy")
def linear_round(pages, thetas, states, n_local, rate, scale, each, radius, sums):  # type: ignore[no-untyped-def]
    """n_local interactions of every client, from its row of `thetas` `[n_clients, n_features]` and of `states`.

    `rate` is the learning rate and `scale` 1 / temperature. With `each` every page is ranked and learned from by the
    theta of the moment, held within `radius`; else by the round's first, and the sum of the steps is held within it.
    False when scores stopped being finite.
    """
    sheet = new_sheet(pages.longest, len(pages.discounts))
    slope = np.empty(thetas.shape[1], pages.features.dtype)
    ranker = np.empty_like(slope)
    for client in range(len(thetas)):
        theta, state = thetas[client], states[client]
        ranker[:] = theta
        for _ in range(n_local):
            query = next_query(pages, state)
            first, last = pages.offsets[query], pages.offsets[query + 1]
            top = linear_scores(pages.features, first, last, ranker, scale, sheet.scores)
            seen = visit(pages, sheet, client, query, top, state, sums)
            if seen < 0:
                return False
            if seen > 0:
                ascend(theta, slope, pages.features, first, sheet.ranking, sheet.wanted, seen, rate * scale)
            if each and (seen > 0 or radius < np.inf):
                hold_within(theta, radius)
                ranker[:] = theta
        if not each:
            hold_within(theta, radius)
    return True
