"""Whether a learned weight is more than chance: what different queries agree on counts, what one of them says does not.

    learned_j = sum over queries q of s_qj        s_q: the steps of all lessons of q added up, each fading
    error_j   = sqrt(sum over q of s_qj^2)        (the cluster-robust standard error of that sum, Liang and Zeger 1986)

A weight counts while |learned_j| > gate * error_j, where a doubt that is there from the beginning adds to the error
(`app.learning.pace.DOUBT`). Of n queries that agree equally the ratio is sqrt(n), so at a gate of 2 it takes at least
five; one query asked a thousand times has a ratio of 1. The squares travel with the model; the steps of each query
stand in state.sqlite under the keyed hashes of its words.
"""

from __future__ import annotations

import numpy as np

from app.learning.models import PersonalModel
from app.store import Store
from foltr.arrays import FloatVector

MAX_QUERIES = 5_000
"""of which the steps are kept; the one whose last lesson is longest ago goes first, and would count as another"""


def steps_of(store: Store, model: PersonalModel, query: bytes, *, keep: float) -> FloatVector:
    """What the lessons of this query have taught so far, as faded as it is by now `[n_features]`; zeros for nothing."""
    found = store.rows(
        "SELECT lesson, steps FROM query_steps WHERE ranker = ? AND manifest_hash = ? AND query = ?",
        (model.ranker.name, model.manifest_hash, query),
    )
    if not (query and found):
        return np.zeros(len(model.feature_names))
    lesson, steps = found[0]
    faded: FloatVector = np.frombuffer(steps, "<f4").astype(np.float64) * float(keep) ** max(model.n_pages - lesson, 0)
    return faded


def keep_steps(store: Store, model: PersonalModel, query: bytes, steps: FloatVector) -> None:
    """Keep what the lessons of this query have taught up to the model's last one; nothing where it has no name."""
    if not query:
        return
    with store.transaction() as db:
        row = (model.ranker.name, query, model.manifest_hash, model.n_pages, steps.astype("<f4").tobytes())
        db.execute("INSERT OR REPLACE INTO query_steps VALUES (?, ?, ?, ?, ?)", row)
        (n,) = db.execute("SELECT count(*) FROM query_steps").fetchone()
        if n > MAX_QUERIES:
            oldest = "SELECT ranker, query FROM query_steps ORDER BY lesson LIMIT ?"
            db.execute(f"DELETE FROM query_steps WHERE (ranker, query) IN ({oldest})", (n - MAX_QUERIES * 9 // 10,))


def forget_steps(store: Store, ranker: str) -> None:
    """Let every query begin anew: the model is another one now."""
    with store.transaction() as db:
        db.execute("DELETE FROM query_steps WHERE ranker = ?", (ranker,))


def squares_after(squares: FloatVector, before: FloatVector, after: FloatVector, *, keep: float) -> FloatVector:
    """The sum of squares once one query's steps, faded to now, went from `before` to `after`, each `[n_features]`."""
    return np.maximum(keep**2 * squares - before**2 + after**2, 0.0)
