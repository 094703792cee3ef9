"""A linear combination of two rankers' scores, and the weight at which it ranks best.

    s(q, d) = (1 - alpha) s_1(q, d) + alpha s_2(q, d)

(merging paper, 2024, Section 4, for two clients): raw scores, alpha = 0, .01, ..., 1, the alpha with the highest nDCG
on the client's D_merge. The higher alpha, the more the second ranker has to say.

A device does the same with its group's ranker as s_1 and its personal one as s_2 (`app.learning.blend`): there the grid
is 0, .25, .5, .75, 1, and alpha is chosen by what its user opened, not by labels (`app.federation.adoption`).
"""

from __future__ import annotations

import numpy as np

from foltr.arrays import FloatVector
from simulation.evaluation import Evaluation, Judged

ALPHAS: FloatVector = np.arange(101) / 100.0


def combined(alpha: float, first: FloatVector, second: FloatVector) -> FloatVector:
    """The combined scores `[n_docs]`; those of one ranker untouched where alpha is 0 or 1."""
    if alpha in (0.0, 1.0):
        return second if alpha else first
    return (1.0 - alpha) * first + alpha * second


def alpha_curve(judged: Judged, first: FloatVector, second: FloatVector) -> list[Evaluation]:
    """How well each alpha of ALPHAS ranks the judged queries, given both rankers' scores of their documents."""
    return [judged.evaluate_scores(combined(float(alpha), first, second)) for alpha in ALPHAS]


def chosen_alpha(judged: Judged, first: FloatVector, second: FloatVector) -> float:
    """The alpha of ALPHAS with the highest nDCG on the judged queries; the smallest of equals, as on a device."""
    return float(ALPHAS[np.argmax([each.ndcg for each in alpha_curve(judged, first, second)])])
