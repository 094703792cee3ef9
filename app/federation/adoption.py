"""Whether a new common ranker is taken over: not when it serves this device's own user significantly worse.

Each stored page is ranked again by both rankers. What a ranking is worth counts the opened results by where it puts
them, each weighted by the inverse of the chance that its user looked where it was shown:

    utility = sum over opened d of  min(rank shown, 10) * 1 / log2(1 + new rank of d)

(inverse propensity scoring with p = 1 / rank, clipped at 1/10: what was found far down counts for more, because most
like it were never seen.) The differences over pages are tested by flipping their signs at random: one-sided, at 5 %.

The one taken over is then weighed against the personal ranker (`app.learning.blend`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.federation import group_ranker, membership
from app.federation.replay import newest_pages
from app.federation.server import theta_of
from app.federation.terms import protection_of
from app.learning.learner import Learner, theta_prior
from app.learning.pace import Pace
from app.settings import Settings
from app.store import Store
from foltr.arrays import FloatVector
from foltr.federated.wire import ModelRecord, Terms, digest
from foltr.online.ips import clipped_propensities, position_propensities
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import make_ranker
from indexer.retrieval.features import MANIFEST_HASH, NAMES

FEWEST_PAGES = 20
"""with fewer the test could hardly find anything: the ranker is taken over on trust, or not at all"""
MOST_PAGES = 500
"""the newest, for time's sake"""
SMALLEST_PROPENSITY = 0.1
SIGNIFICANCE = 0.05
N_FLIPS = 2000
ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class AdoptionVerdict:
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


def judge(
    pages: Sequence[Interaction], new: Sequence[FloatVector], present: Sequence[FloatVector], *, trusted: bool = True
) -> AdoptionVerdict:
    """Compare two rankers by their scores of each page `[n_docs]`; with too few pages the new one must be trusted."""
    if len(pages) < FEWEST_PAGES:
        return AdoptionVerdict(adopt=trusted, n_pages=len(pages), difference=0.0, p_value=1.0)
    scored = zip(pages, new, present, strict=True)
    differences = np.array([utility(page, n) - utility(page, p) for page, n, p in scored])
    p_value = worse_p_value(differences)
    return AdoptionVerdict(p_value >= SIGNIFICANCE, len(pages), float(differences.mean()), p_value)


def worse_p_value(differences: FloatVector) -> float:
    """The chance of a sum as low as this one, or lower, if each difference `[n]` had either sign alike.

    Fisher's randomisation test with (1 + hits) / (1 + flips), which is never too small. The flips are the same every
    time, so that the same pages always give the same answer.
    """
    signs = np.random.default_rng(0).choice((-1.0, 1.0), size=(N_FLIPS, len(differences)))
    hits = int(np.count_nonzero(signs @ differences <= differences.sum() + 1e-12))
    return (1 + hits) / (1 + N_FLIPS)


def consider(store: Store, settings: Settings, terms: Terms, offered: ModelRecord, *, now: int) -> str:
    """Adopt the group's newest ranker, or keep the present one, and blend anew; a sentence, "" for nothing new.

    Where the noise in the mean may be longer than all that devices can say, no ranker is taken over untested.
    """
    present = group_ranker.load(store)
    seen = newest_pages(store, MANIFEST_HASH, n=MOST_PAGES)
    pages = seen.interactions
    sentence, chosen = "", present.record if present else None
    if digest(offered) != membership.load_standing(store).tested:
        noise = protection_of(terms).relative_noise
        verdict = compare(pages, offered, chosen, trusted=noise is None or noise < 1.0)
        sentence = verdict.sentence
        membership.note_standing(store, tested=digest(offered), verdict=sentence)
        chosen = offered if verdict.adopt else chosen
    if chosen is None:
        return sentence
    rehearsed = list(learner_of(store, settings).rehearsed(pages, seen.queries))
    alpha = chosen_alpha(pages, common_scores(chosen, pages), rehearsed)
    if present is None or (present.hash, present.alpha) != (digest(chosen), alpha):
        group_ranker.save(store, chosen, alpha=alpha, now=now)
    return sentence


def compare(
    pages: Sequence[Interaction], offered: ModelRecord, present: ModelRecord | None, *, trusted: bool
) -> AdoptionVerdict:
    """The test of `offered` against the adopted ranker, or against the shipped one where none was adopted."""
    return judge(pages, common_scores(offered, pages), common_scores(present, pages), trusted=trusted)


def common_scores(model: ModelRecord | None, pages: Sequence[Interaction]) -> list[FloatVector]:
    """The scores of each page's documents by a common ranker; None stands for the shipped one."""
    if model is None:
        prior = theta_prior()
        return [page.features @ prior for page in pages]
    ranker, theta = make_ranker(model.ranker, len(NAMES)), theta_of(model)
    return [ranker.score(theta, page.features) for page in pages]


def learner_of(store: Store, settings: Settings) -> Learner:
    """This device's personal ranker, without a group."""
    return Learner(
        store,
        theta0=theta_prior(),
        feature_names=NAMES,
        manifest_hash=MANIFEST_HASH,
        settings=settings.learning,
        pace=Pace.shipped(NAMES),
    )


def chosen_alpha(pages: Sequence[Interaction], common: Sequence[FloatVector], personal: Sequence[FloatVector]) -> float:
    """The alpha of the blend that serves best on these pages, given both rankers' scores of each `[n_docs]`.

    Scores of the personal ranker are those that it had before it learned from the page, so that it is not judged on
    what it has learned by heart. The smallest of equals: what many have learned. With fewer than FEWEST_PAGES pages: 0
    where this device has learned nothing, else one half.
    """
    if len(pages) < FEWEST_PAGES:
        return 0.5 if pages else 0.0

    def served(alpha: float) -> float:
        scored = zip(pages, common, personal, strict=True)
        return sum(utility(page, (1.0 - alpha) * c + alpha * p) for page, c, p in scored)

    return max(ALPHAS, key=lambda alpha: (served(alpha), -alpha))
