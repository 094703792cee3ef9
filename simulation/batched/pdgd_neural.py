"""PDGD on a net with one hidden layer, compiled: what every client does in a round.

Here the hidden layer's weights lie feature by feature, `[n_features, n_hidden]`, so that the innermost loops run over
hidden units without adding across them: they are vectorised as they stand, and no library's threads change a digit.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from foltr.arrays import FloatMatrix
from simulation.batched.pages import next_query
from simulation.batched.pdgd import hold_within, new_sheet, visit


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


@njit(cache=True, error_model="numpy")
def layers(theta, n_hidden):  # type: ignore[no-untyped-def]
    """W `[n_features, n_hidden]`, b `[n_hidden]` and v `[n_hidden]`, views into theta."""
    n_weights = len(theta) - 2 * n_hidden
    w = theta[:n_weights].reshape(n_weights // n_hidden, n_hidden)
    return w, theta[n_weights : n_weights + n_hidden], theta[n_weights + n_hidden :]


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def hidden_sums(features, first, last, w, b, hidden):  # type: ignore[no-untyped-def]
    """hidden[d] = W x_d + b for the rows `first` to `last` - 1, before the rectifier.

    Two documents and four features at a time, so that weights and sums are loaded once for several products. `hidden`
    has room for one document more than there are: an odd one is paired with itself.
    """
    n_features, n_hidden = w.shape
    for row in range(first, last, 2):
        x, y = features[row], features[min(row + 1, last - 1)]
        sums_x, sums_y = hidden[row - first], hidden[row - first + 1]
        sums_x[:] = b
        sums_y[:] = b
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


@njit(cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def output_scores(hidden, n_docs, v, scale, scores):  # type: ignore[no-untyped-def]
    """scores[d] = scale * v . relu(hidden[d]); returns the largest."""
    top = -np.inf
    for d in range(n_docs):
        product = v.dtype.type(0)
        for h in range(len(v)):
            product += v[h] * max(hidden[d, h], v.dtype.type(0))
        scores[d] = scale * product
        top = max(top, scores[d])
    return top


@njit(cache=True, error_model="numpy", fastmath={"contract"})
def ascend(theta, v, features, first, hidden, sheet, seen, rate, by_hidden, slope):  # type: ignore[no-untyped-def]
    """theta += rate * sum over the seen ranks of wanted[r] * (gradient of the score of the document there).

    `v` is the output layer that the page was ranked by; `by_hidden` `[k, n_hidden]` and `slope` `[n_hidden]` are room.
    """
    n_hidden = len(v)
    to_w, to_b, to_v = layers(theta, n_hidden)
    for r in range(seen):
        row, weight = sheet.ranking[r], rate * sheet.wanted[r]
        for h in range(n_hidden):
            active = hidden[row, h] > 0.0
            by_hidden[r, h] = weight * v[h] if active else 0.0
            to_b[h] += by_hidden[r, h]
            to_v[h] += weight * hidden[row, h] if active else 0.0
    for f in range(len(to_w)):
        slope[:] = 0.0
        for r in range(seen):
            x = features[first + sheet.ranking[r], f]
            for h in range(n_hidden):
                slope[h] += x * by_hidden[r, h]
        for h in range(n_hidden):
            to_w[f, h] += slope[h]


@njit(cache=True, error_model="numpy")
def neural_round(pages, n_hidden, thetas, states, n_local, rate, scale, each, radius, sums):  # type: ignore[no-untyped-def]
    """As `simulation.batched.pdgd.linear_round`, with thetas laid out by `feature_by_feature`."""
    sheet = new_sheet(pages.longest, len(pages.discounts))
    precision = pages.features.dtype
    hidden = np.empty((pages.longest + 1, n_hidden), precision)
    by_hidden = np.empty((len(pages.discounts), n_hidden), precision)
    slope = np.empty(n_hidden, precision)
    ranker = np.empty(thetas.shape[1], precision)
    w, b, v = layers(ranker, n_hidden)
    for client in range(len(thetas)):
        theta, state = thetas[client], states[client]
        ranker[:] = theta
        for _ in range(n_local[client]):
            query = next_query(pages, client, state)
            first, last = pages.offsets[query], pages.offsets[query + 1]
            hidden_sums(pages.features, first, last, w, b, hidden)
            top = output_scores(hidden, last - first, v, scale, sheet.scores)
            seen = visit(pages, sheet, client, query, top, state, sums)
            if seen < 0:
                return False
            if seen > 0:
                ascend(theta, v, pages.features, first, hidden, sheet, seen, rate * scale, by_hidden, slope)
            if each and (seen > 0 or radius < np.inf):
                hold_within(theta, radius)
                ranker[:] = theta
        if not each:
            hold_within(theta, radius)
    return True
