"""The long answer to why a result ranks where it does: against the row above it, part by part and by feature."""

from __future__ import annotations

from app.search.reasons import LEAST, PARTS, Reasons
from app.search.results import Contrast, Contribution, Explanation, Hit, Part, ResultPage
from indexer.retrieval.features import FEATURES


def explanation(page: ResultPage, hit: Hit) -> Explanation:
    """Why a hit of a page ranks where it does, and what sets it apart from the row above it."""
    reasons = page.reasons
    if reasons is None:
        orders = {"bm25": "by their words alone", "modified": "newest first", "name": "by name"}
        order = orders.get(page.request.order, "newest first, as the query has no words")
        return Explanation(hit, hit.score, (), f"These results stand {order}.")
    place = hit.rank - 1
    contributions, summary = _contributions(reasons, place), _summary(reasons, hit)
    return Explanation(hit, hit.score, contributions, summary, contrast(page, hit), _ranked_as(reasons))


def _ranked_as(reasons: Reasons) -> str:
    if reasons.kind is None or reasons.kind.share == 1.0:
        return reasons.kind.called if reasons.kind else ""
    return f"{reasons.kind.called} by {100 * reasons.kind.share:.0f} %, as text by the rest"


def contrast(page: ResultPage, hit: Hit) -> Contrast | None:
    """A hit against the one in the row above (the first hit: the row below), their points part by part."""
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
    if (kind := reasons.kind) is not None:
        told += [
            Contribution(feature.name, feature.description, float(value), float(points), 0.0)
            for feature, value, points in zip(kind.features, kind.values[row], kind.points[row], strict=True)
            if abs(points) >= LEAST
        ]
    return tuple(sorted(told, key=lambda c: -abs(c.prior + c.learned)))


def _summary(reasons: Reasons, hit: Hit) -> str:
    place = hit.rank - 1
    if hit.by_meaning:
        where = f", in {hit.foreign}" if hit.foreign else ""
        return f"It holds none of the words; it stands at {hit.rank} because it says something close in meaning{where}."
    if hit.rank == hit.bm25_rank:
        return f"It stands at {hit.rank}, where its words alone would put it."
    why, causes = reasons.words(place, hit.type), reasons.causes(place)
    why = why or (PARTS[causes[0]] if causes else _in_sum(reasons, hit))
    return f"Its words alone would put it at {hit.bm25_rank}; it stands at {hit.rank}: {why}."


def _in_sum(reasons: Reasons, hit: Hit) -> str:
    """What moved a result where no part alone did."""
    pulls = abs(reasons.pulls(hit.rank - 1)).tolist()
    text, points = max(zip(PARTS.values(), pulls, strict=True), key=lambda part: part[1])
    if points >= LEAST:
        return f"several things together, most of all {text}"
    return "others rose past it" if hit.rank > hit.bm25_rank else "others fell below it"
