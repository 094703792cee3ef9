"""What the judged documents have in common: logistic regression over their words, which orders all the others.

As in AutoTAR (Cormack and Grossman 2015, "Autonomy and reliability of continuous active learning"): the query is the
first document that matters, and as many as `N_PRESUMED` documents drawn from those not judged are presumed not to. Both
sides weigh the same:

    f(w) = 1/2 mean_{i matters} ln(1 + exp(-w.x_i)) + 1/2 mean_{i does not} ln(1 + exp(w.x_i)) + PENALTY / 2 |w|^2
"""

from __future__ import annotations

import numpy as np

from app.review.word_table import WordTable
from indexer.postings import Floats, Mask

PENALTY = 0.03
N_PRESUMED = 300
STEPS = 25
"""of the descent: what is left of its distance is about a ten-thousandth"""


def fit(table: WordTable, matters: Mask) -> Floats:
    """The weights [n_columns] that minimise f for rows of which `matters` [n_rows] says which do.

    Nesterov's descent for a function whose curvature lies between PENALTY and `steepest` (Introductory Lectures on
    Convex Optimization, 2004, 2.2.11).
    """
    side = np.where(matters, 1.0, -1.0)
    share = np.where(matters, 0.5 / max(matters.sum(), 1), 0.5 / max((~matters).sum(), 1))
    columns, values, rows = table.columns, table.values.astype(np.float64), np.arange(side.size).repeat(table.sizes)
    steepest = 0.25 * float(share @ np.bincount(rows, values**2, side.size)) + PENALTY
    momentum = (1 - (PENALTY / steepest) ** 0.5) / (1 + (PENALTY / steepest) ** 0.5)
    weights = ahead = np.zeros(table.n_columns)
    for _ in range(STEPS):
        lead = side * np.bincount(rows, values * ahead[columns], side.size)
        pull = np.bincount(columns, values * (share * side / (1 + np.exp(lead)))[rows], table.n_columns)
        before, weights = weights, ahead + (pull - PENALTY * ahead) / steepest
        ahead = weights + momentum * (weights - before)
    return weights
