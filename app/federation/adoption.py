"""Whether a new common ranker is taken over: not when it serves this device's own user significantly worse.

Each stored page is ranked again by both rankers. What a ranking is worth counts the opened results by where it puts
them, each weighted by the inverse of the chance that its user looked where it was shown:

    utility = sum over opened d of  min(rank shown, 10) * 1 / log2(1 + new rank of d)

(inverse propensity scoring with p = 1 / rank, clipped at 1/10: what was found far down counts for more, because most
like it were never seen.) The differences over pages are tested by flipping their signs at random: one-sided, at 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from foltr.arrays import FloatVector
from foltr.online.ips import clipped_propensities, position_propensities
from foltr.ranking.interaction import Interaction

FEWEST_PAGES = 20
"""with fewer the test could hardly find anything: the ranker is taken over on trust, or not at all"""
MOST_PAGES = 500
"""the newest, for time's sake"""
SMALLEST_PROPENSITY = 0.1
SIGNIFICANCE = 0.05
N_FLIPS = 2000


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the test found."""

    adopt: bool
    n_pages: int
    difference: float
    """mean utility of the new ranker less that of the present one"""
    p_value: float
    """of so bad a difference where both serve alike; 1 where nothing was tested"""

    @property
    def sentence(self) -> str:
        """One line for a person."""
        if self.n_pages < FEWEST_PAGES:
            untested = f"only {self.n_pages} of your pages to test it on"
            if self.adopt:
                return f"adopted the group's ranker ({untested})"
            return f"kept the present ranker: the group's may be mostly noise ({untested})"
        tested = f"on {self.n_pages} of your pages, utility {self.difference:+.3f}, p = {self.p_value:.3f}"
        if self.adopt:
            return f"adopted the group's ranker ({tested})"
        return f"kept the present ranker: the group's new one would serve you worse ({tested})"


def utility(page: Interaction, scores: FloatVector) -> float:
    """What ranking the page's documents by `scores` `[n_docs]` would have been worth to its user."""
    ranks = np.empty(page.n_docs)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1.0, page.n_docs + 1.0)
    opened = ranks[page.ranking[page.clicks]]
    propensities = clipped_propensities(position_propensities(1.0, k=len(page.clicks)), smallest=SMALLEST_PROPENSITY)
    return float((1.0 / propensities[page.clicks] / np.log2(1.0 + opened)).sum())


def judged(
    pages: Sequence[Interaction], new: Sequence[FloatVector], present: Sequence[FloatVector], *, trusted: bool = True
) -> Verdict:
    """Compare two rankers by their scores of each page `[n_docs]`; with too few pages the new one must be trusted."""
    if len(pages) < FEWEST_PAGES:
        return Verdict(adopt=trusted, n_pages=len(pages), difference=0.0, p_value=1.0)
    scored = zip(pages, new, present, strict=True)
    differences = np.array([utility(page, n) - utility(page, p) for page, n, p in scored])
    p_value = worse_p_value(differences)
    return Verdict(p_value >= SIGNIFICANCE, len(pages), float(differences.mean()), p_value)


def worse_p_value(differences: FloatVector) -> float:
    """The chance of a sum as low as this one, or lower, if each difference `[n]` had either sign alike.

    Fisher's randomisation test with (1 + hits) / (1 + flips), which is never too small. The flips are the same every
    time, so that the same pages always give the same answer.
    """
    signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(N_FLIPS, len(differences)))
    hits = int(np.count_nonzero(signs @ differences <= differences.sum() + 1e-12))
    return (1 + hits) / (1 + N_FLIPS)
