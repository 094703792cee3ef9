"""A deterministic page in compiled code: score the candidates, show the best."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def linear_scores(features, first, last, theta, scores):  # type: ignore[no-untyped-def]
    """scores[d] = theta . x_d for the rows `first` to `last` - 1, in the precision of `features` and `theta`."""
    for row in range(first, last):
        product = features.dtype.type(0)
        for f in range(len(theta)):
            product += features[row, f] * theta[f]
        scores[row - first] = product


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def neural_scores(features, first, last, theta, n_hidden, scores, unit):  # type: ignore[no-untyped-def]
    """scores[d] = v . relu(W x_d + b), theta laid out as foltr.ranking.rankers.Neural; `unit` is room as `scores`."""
    n_features = features.shape[1]
    biases, output = n_hidden * n_features, n_hidden * (n_features + 1)
    zero = features.dtype.type(0)
    n_docs = last - first
    scores[:n_docs] = zero
    for h in range(n_hidden):
        weights = theta[h * n_features : (h + 1) * n_features]
        linear_scores(features, first, last, weights, unit)
        for d in range(n_docs):
            scores[d] += theta[output + h] * max(unit[d] + theta[biases + h], zero)


@njit(cache=True)
def best_first(scores, n_docs, k, ranking, placed):  # type: ignore[no-untyped-def]
    """Fill `ranking` with the k best of the first n_docs, equal ones later first; `placed` `[k]` are their scores.

    False when a score is not a number.
    """
    filled = 0
    for d in range(n_docs):
        score = scores[d]
        if filled == k and score < placed[k - 1]:
            continue
        if np.isnan(score):
            return False
        rank = filled if filled < k else k - 1
        while rank > 0 and placed[rank - 1] <= score:
            placed[rank], ranking[rank] = placed[rank - 1], ranking[rank - 1]
            rank -= 1
        placed[rank], ranking[rank] = score, d
        filled = min(filled + 1, k)
    return True
