"""Why a result stands where it stands, in numbers and in one sentence."""

from __future__ import annotations

from app.learner import Learner
from app.results import Contribution, Explanation, Hit, ResultPage
from indexer.retrieval.features import FEATURES, USAGE_NAMES

LEAST = 0.005
"""points; contributions smaller than this are left out"""


def explanation(learner: Learner, page: ResultPage, hit: Hit) -> Explanation:
    """The contributions of all features to one hit of a page, largest first."""
    prior, learned = learner.contributions(page.features, hit.rank - 1)
    values = page.features[hit.rank - 1]
    contributions = [
        Contribution(feature.name, feature.description, float(values[i]), float(prior[i]), float(learned[i]))
        for i, feature in enumerate(FEATURES)
        if abs(prior[i]) >= LEAST or abs(learned[i]) >= LEAST
    ]
    contributions.sort(key=lambda c: -abs(c.prior + c.learned))
    return Explanation(hit, hit.score, tuple(contributions), _summary(hit, contributions))


def _summary(hit: Hit, contributions: list[Contribution]) -> str:
    from_picks = sum(c.prior + c.learned for c in contributions if c.feature in USAGE_NAMES)
    learned = sum(c.learned for c in contributions if c.feature not in USAGE_NAMES)
    if hit.rank == hit.bm25_rank:
        place = f"Here at {hit.rank}, as plain BM25 would have it"
    else:
        place = f"Plain BM25 would put this at {hit.bm25_rank}, here it is at {hit.rank}"
    parts = [place]
    if abs(from_picks) >= LEAST:
        parts.append(f"your picks move it by {from_picks:+.2f} points")
    if abs(learned) >= LEAST:
        parts.append(f"what was learned moves it by {learned:+.2f}")
    return "; ".join(parts) + "."
