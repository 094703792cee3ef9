"""The long answer to why a result stands where it stands: against the row above it, part by part and by feature."""

from __future__ import annotations

from app.search.reasons import LEAST, PARTS, Reasons
from app.search.results import Contrast, Contribution, Explanation, Hit, Part, ResultPage
from indexer.retrieval.features import FEATURES


def explanation(page: ResultPage, hit: Hit) -> Explanation:
    """Why a hit of a page stands where it stands, and what sets it apart from the row above it."""
    reasons = page.reasons
    if reasons is None:
        return Explanation(hit, hit.score, (), _in_another_order(page))
    place = hit.rank - 1
    return Explanation(hit, hit.score, _contributions(reasons, place), _summary(reasons, hit), contrast(page, hit))


def contrast(page: ResultPage, hit: Hit) -> Contrast | None:
    """A hit and the one in the row above, the first one and the one below: their points part by part."""
    reasons = page.reasons
    if reasons is None or len(page.hits) < 2:
        return None
    place = hit.rank - 1
    other = page.hits[place - 1 if place else 1]
    mine, theirs = reasons.parts[place], reasons.parts[other.rank - 1]
    parts = [Part(name, text, mine[i], mine[i] - theirs[i]) for i, (name, text) in enumerate(PARTS.items())]
    told = sorted((part for part in parts if part.points or part.ahead), key=lambda part: -abs(part.ahead))
    return Contrast(other, tuple(told))


def _contributions(reasons: Reasons, place: int) -> tuple[Contribution, ...]:
    """What each feature did to the result at `place`, the strongest first."""
    row = reasons.shown[place]
    shipped, learned = (points[row] for points in reasons.contributions)
    values = reasons.features[row]
    told = [
        Contribution(feature.name, feature.description, float(values[i]), float(shipped[i]), float(learned[i]))
        for i, feature in enumerate(FEATURES)
        if abs(shipped[i]) >= LEAST or abs(learned[i]) >= LEAST
    ]
    return tuple(sorted(told, key=lambda c: -abs(c.prior + c.learned)))


def _summary(reasons: Reasons, hit: Hit) -> str:
    place = hit.rank - 1
    if hit.by_meaning:
        return f"It holds none of the words; it stands at {hit.rank} because it says something close in meaning."
    if hit.rank == hit.bm25_rank:
        return f"It stands at {hit.rank}, where its words alone (BM25) would put it."
    why = reasons.words(place, hit.type)
    causes = reasons.causes(place)
    if not why and causes:
        why = PARTS[causes[0]]
    elif not why:
        why = "others rose past it" if hit.rank > hit.bm25_rank else "small things together"
    return f"Its words alone (BM25) would put it at {hit.bm25_rank}; it stands at {hit.rank}: {why}."


def _in_another_order(page: ResultPage) -> str:
    orders = {"bm25": "by their words alone (BM25)", "modified": "newest first", "name": "by name"}
    return f"These results stand {orders.get(page.request.order, 'newest first, for no words were asked for')}."
