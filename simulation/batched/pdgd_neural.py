"""PDGD on a net with one hidden layer, compiled: what every client does in a round.

Here the hidden layer's weights lie feature by feature, `[n_features, n_hidden]`, so that the innermost loops run over
hidden units without adding across them: they are vectorised as they stand, and no library's threads change a digit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector
from simulation.batched import kernel
from simulation.batched.pages import Pages
from simulation.batched.pdgd_linear import copy_to
from simulation.batched.simd_sums import dot


def feature_by_feature(thetas: FloatMatrix, n_hidden: int) -> FloatMatrix:
    """foltr's thetas `[n_clients, n_params]` with W transposed, from `[n_hidden, n_features]`."""
    return _transposed(thetas, n_hidden, thetas.shape[1] // n_hidden - 2)


def unit_by_unit(thetas: FloatMatrix, n_hidden: int) -> FloatMatrix:
    """The inverse of `feature_by_feature`."""
    return _transposed(thetas, thetas.shape[1] // n_hidden - 2, n_hidden)


def _transposed(thetas: FloatMatrix, n_rows: int, n_columns: int) -> FloatMatrix:
    n_weights = n_rows * n_columns
    turned = thetas[:, :n_weights].reshape(-1, n_rows, n_columns).transpose(0, 2, 1).reshape(-1, n_weights)
    return np.ascontiguousarray(np.concatenate([turned, thetas[:, n_weights:]], axis=1))


@kernel(inlined=True)
def layers(theta, n_hidden):  # type: ignore[no-untyped-def]
    """W `[n_features, n_hidden]`, b `[n_hidden]` and v `[n_hidden]`, views into theta."""
    n_weights = len(theta) - 2 * n_hidden
    w = theta[:n_weights].reshape(n_weights // n_hidden, n_hidden)
    return w, theta[n_weights : n_weights + n_hidden], theta[n_weights + n_hidden :]


@kernel(inlined=True)
def hidden_sums(features, first, last, w, b, hidden):  # type: ignore[no-untyped-def]
    """hidden[d] = W x_d + b for the rows `first` to `last` - 1, before the rectifier.

    Two documents and four features at a time, so that weights and sums are loaded once for several products. `hidden`
    has room for one document more than there are: an odd one is paired with itself.
    """
    n_features, n_hidden = w.shape
    for row in range(first, last, 2):
        x, y = features[row], features[min(row + 1, last - 1)]
        sums_x, sums_y = hidden[row - first], hidden[row - first + 1]
        copy_to(sums_x, b)
        copy_to(sums_y, b)
        whole = n_features - n_features % 4
        for f in range(0, whole, 4):
            x0, x1, x2, x3 = x[f], x[f + 1], x[f + 2], x[f + 3]
            y0, y1, y2, y3 = y[f], y[f + 1], y[f + 2], y[f + 3]
            for h in range(n_hidden):
                w0, w1, w2, w3 = w[f, h], w[f + 1, h], w[f + 2, h], w[f + 3, h]
                sums_x[h] += (x0 * w0 + x1 * w1) + (x2 * w2 + x3 * w3)
                sums_y[h] += (y0 * w0 + y1 * w1) + (y2 * w2 + y3 * w3)
        for f in range(whole, n_features):
            for h in range(n_hidden):
                sums_x[h] += x[f] * w[f, h]
                sums_y[h] += y[f] * w[f, h]


@kernel(inlined=True)
def neural_scores(features, first, last, room, scale, scores):  # type: ignore[no-untyped-def]
    """scores[d] = scale * v . relu(W x_d + b) for the rows `first` to `last` - 1; returns the largest.

    What the rectifier lets through stays in `room.hidden`.
    """
    w, b, v = layers(room.ranker, len(room.slope))
    hidden, top, zero = room.hidden, -np.inf, v.dtype.type(0)
    hidden_sums(features, first, last, w, b, hidden)
    for d in range(last - first):
        for h in range(len(v)):
            hidden[d, h] = max(hidden[d, h], zero)
        scores[d] = scale * dot(v, hidden[d])
        top = max(top, scores[d])
    return top


@kernel(inlined=True)
def neural_ascend(theta, features, first, sheet, seen, rate, room):  # type: ignore[no-untyped-def]
    """theta += rate * sum over the seen ranks of wanted[r] * (gradient of the score of the document there).

    `room` is as `neural_scores` left it.
    """
    n_hidden, hidden, by_hidden, slope = len(room.slope), room.hidden, room.by_hidden, room.slope
    (_, _, v), (to_w, to_b, to_v) = layers(room.ranker, n_hidden), layers(theta, n_hidden)
    for r in range(seen):
        row, weight = sheet.ranking[r], rate * sheet.wanted[r]
        for h in range(n_hidden):
            active = hidden[row, h] > 0.0
            by_hidden[r, h] = weight * v[h] if active else 0.0
            to_b[h] += by_hidden[r, h]
            to_v[h] += weight * hidden[row, h] if active else 0.0
    for f in range(len(to_w)):
        for h in range(n_hidden):
            slope[h] = 0.0
        for r in range(seen):
            x = features[first + sheet.ranking[r], f]
            for h in range(n_hidden):
                slope[h] += x * by_hidden[r, h]
        for h in range(n_hidden):
            to_w[f, h] += slope[h]


class NeuralRoom(NamedTuple):
    """Room for one client, used again for each; in the precision of the features but for `start`."""

    ranker: npt.NDArray[np.floating[Any]]
    """[n_params] theta"""
    hidden: npt.NDArray[np.floating[Any]]
    """[longest + 1, n_hidden]"""
    by_hidden: npt.NDArray[np.floating[Any]]
    """[k, n_hidden]"""
    slope: npt.NDArray[np.floating[Any]]
    """[n_hidden]"""
    start: FloatVector
    """[n_params] what the client began with"""


def neural_room(pages: Pages, n_hidden: int) -> NeuralRoom:
    precision, n_params = pages.features.dtype, n_hidden * (pages.features.shape[1] + 2)
    return NeuralRoom(
        np.empty(n_params, precision),
        np.empty((pages.longest + 1, n_hidden), precision),
        np.empty((len(pages.discounts), n_hidden), precision),
        np.empty(n_hidden, precision),
        np.empty(n_params),
    )
