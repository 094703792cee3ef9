"""How many documents that matter are still unread, by how they thinned out along the reading.

Where the learner leads, what matters comes first, and then ever less of it. The x-th document read matters at the rate

    rate(x) = a (1 + x / s)^-k

a Poisson process along the ranks (Sneyd and Stevenson 2021, "Stopping methods for technology assisted reviews based on
point processes"), which goes on over the unread. s and k are not fitted but averaged over a grid, each pair by how well
it tells what was read, with 1 / a as the prior of a: then the unread that matter are, for r read ones that do,

    P(m | s, k) = (m + r - 1 over m) (H / (H + T))^r (T / (H + T))^m,   P(s, k) ~ prod_i (1 + x_i / s)^-k / H^r

H and T the sums of (1 + x / s)^-k over the read and the unread. This is an estimate, no guarantee: documents that
matter and share no word with those found may wait at the end. How often it held is in docs/benchmarks.md.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from indexer.postings import Floats, Mask

SURE = 0.975
"""how probable it is, where the rates are of that form, that no more are left than `Estimate.most_left`"""
FALLS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""values of k, each twice the one before"""
N_SCALES = 24
"""values of s, from 1 to the number of documents"""
FARTHEST = 60
"""the counts of unread ones that are looked at: up to so many, and five times what was found; beyond, all may matter"""
LEAST_FOUND = 3
"""with fewer there is no estimate"""


class Estimate(Struct, frozen=True):
    """What is found of how much."""

    n_found: int
    n_read: int
    n_documents: int
    n_left: int
    """about so many of the unread matter: the median, or the mean where that is more than is counted"""
    most_left: int
    """and surely no more than so many"""

    @property
    def sure_share(self) -> float:
        """The share of what matters that is surely found; 0 while nothing is."""
        return self.n_found / max(self.n_found + self.most_left, 1)


def estimate(matters: Mask, n_documents: int) -> Estimate:
    """What `matters` [n_read], in the order of reading, says of all `n_documents`."""
    n_read, n_found = matters.size, int(matters.sum())
    n_unread = n_documents - n_read
    if n_found < LEAST_FOUND or not n_unread:
        return Estimate(n_found, n_read, n_documents, n_unread, n_unread)
    share, odds = _curves(matters, n_documents)
    left = np.arange(min(n_unread, 5 * n_found + FARTHEST))
    steps = np.append(0.0, np.cumsum(np.log((left + n_found) / (left + 1))))
    chances = n_found * np.log1p(-odds)[:, None] + steps + np.arange(steps.size) * np.log(odds)[:, None]
    below = np.cumsum(share @ np.exp(chances))
    median, most = np.searchsorted(below, (0.5, SURE)).tolist()
    if median >= below.size:
        median = round(n_found * float(share @ (odds / (1 - odds))))
    most = most if most < below.size else n_unread
    return Estimate(n_found, n_read, n_documents, min(median, n_unread), min(most, n_unread))


def _curves(matters: Mask, n_documents: int) -> tuple[Floats, Floats]:
    """Of each pair (s, k): how probable it is by what was read, and T / (H + T) [n_pairs]."""
    places = np.arange(1.0, n_documents + 1)
    likely, odds = [], []
    for scale in np.geomspace(1, n_documents, N_SCALES):
        depth = float(np.log1p(places[: matters.size][matters] / scale).sum())
        rates = (1 + places / scale) ** -FALLS[0]
        for fall in FALLS:
            read, unread = float(rates[: matters.size].sum()), float(rates[matters.size :].sum())
            likely.append(-fall * depth - int(matters.sum()) * np.log(read))
            odds.append(max(unread / (read + unread), 1e-12))
            rates *= rates  # of twice the fall
    share = np.exp(np.array(likely) - max(likely))
    return share / share.sum(), np.array(odds)
