"""A review to the end: documents read for 80 and 95 % of what is relevant, and whether the promise at stopping holds.

Topics with ten relevant documents or more; each is read through `app.review` as a person would, every answer right,
until 95 % are found and the program has said that one may stop (surely more than 90 %). Beside it the order of
`--order bm25` to the end, and AutoTAR (benchmarks/autotar.py). The constants of the learner were chosen on topics of
cranfield and cisi, that of the estimate on cranfield; medline and time were not used for that.

    python -m benchmarks review [--collections medline time] [--topics 30] [--seconds 3600]
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from app.review.review import GOAL, Review, is_enough
from app.search.search import Search
from app.settings import Settings
from benchmarks import autotar, collections
from benchmarks.collections import Collection
from benchmarks.devices import Library, device, libraries
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict

LEAST_RELEVANT = 10
SHARES = (0.8, 0.95)
SURE_TOPICS = 0.95
"""the aim: share of topics in which the promise is kept"""


class Reading(Struct, frozen=True):
    """One topic, read."""

    costs: tuple[tuple[int, ...], ...]
    """[3][2] documents read for each share: BM25F, AutoTAR, ours"""
    n_stop: int
    """documents read when the program said that one may stop"""
    recall: float
    """of the relevant ones, then"""
    seconds: float
    """of the processor, for one reorder"""


def cost(relevant: Sequence[bool], n_relevant: int, share: float) -> int:
    """How many are read in this order until the share is found; all where it never is."""
    found = np.cumsum(relevant)
    return int(np.searchsorted(found, np.ceil(share * n_relevant))) + 1


def topics(collection: Collection, n: int) -> Collection:
    """The topics with enough relevant documents, at most `n` of them, at random."""
    kept = {q: text for q, text in collection.queries.items() if len(collection.grades[q]) >= LEAST_RELEVANT}
    return collections.sampled(Collection(collection.name, collection.documents, kept, collection.grades), n)


def read_topic(search: Search, library: Library, query: str, texts: autotar.Texts) -> Reading:
    """One topic in three orders."""
    collection = library.collection
    review = Review.of_query(search, collection.queries[query])
    ids = search.reading.snapshot.documents["doc_id"][review.population.docs].tolist()
    rows = search.catalogue.documents(ids)
    names = [library.files[rows[i].path] for i in ids]
    is_wanted = {name: name in collection.grades[query] for name in names}
    n_relevant = sum(is_wanted.values())
    by_words = [names[i] for i in np.argsort(-review.population.answers, kind="stable").tolist()]
    plain = np.array([is_wanted.get(document.id, False) for document in collection.documents])
    orders = [
        [is_wanted[name] for name in by_words],
        plain[autotar.order(texts, collection.queries[query], plain, share=SHARES[-1])].tolist(),
    ]
    began, own, stopped = time.process_time(), [], (0, 0.0)
    while (shown := review.next()) is not None:
        own.append(is_wanted[library.files[shown.hit.path]])
        review.answer(shown, "yes" if own[-1] else "no")
        if not stopped[0] and is_enough(review.progress):
            stopped = len(own), sum(own) / n_relevant
        if stopped[0] and sum(own) >= np.ceil(SHARES[-1] * n_relevant):
            break
    costs = tuple(tuple(cost(one, n_relevant, share) for share in SHARES) for one in (*orders, own))
    return Reading(costs, *stopped, (time.process_time() - began) / len(own))


def readings(library: Library, settings: Settings, seconds: float) -> Iterator[Reading]:
    """The topics of a collection in random order, until the seconds of the clock are over."""
    end, queries = time.monotonic() + seconds, list(library.collection.queries)
    texts = autotar.Texts([f"{document.title} {document.text}" for document in library.collection.documents])
    with device(library.paths, settings) as search:
        for i in np.random.default_rng(1).permutation(len(queries)).tolist():
            if time.monotonic() < end:
                yield read_topic(search, library, queries[i], texts)


def medians(found: Sequence[Reading]) -> npt.NDArray[np.float64]:
    """[3, 2] the median over topics of `Reading.costs`."""
    return np.asarray(np.median([one.costs for one in found], axis=0))


def main() -> None:
    wanted = arguments(
        __doc__,
        collections=Option(("medline", "time"), "names in data/text, or folders in the same form"),
        topics=30,
        seconds=Option(3600.0, "of the clock, for each collection"),
    )
    settings = Settings()
    costs = Table(("collection", "documents", "topics", "BM25F, 80 / 95 %", "AutoTAR", "review", "aim: <= AutoTAR"))
    stops = Table((
        "collection", "topics", "told to stop after", "recall then", "least", f"more than {GOAL:.0%} reached",
        f"aim: >= {SURE_TOPICS:.0%}", "CPU-s a reorder",
    ))  # fmt: skip
    every: list[Reading] = []
    with libraries(settings, tuple(wanted.collections)) as found:
        for name, library in found.items():
            chosen = with_topics(library, wanted.topics)
            own = list(readings(chosen, settings, wanted.seconds))
            every += own
            _add(costs, stops, name, len(chosen.collection.documents), own)
    if len(wanted.collections) > 1:
        _add(costs, stops, "all", 0, every)
    print(machine(), "medians over topics", sep="; ")
    print(f"\n{costs}\n\n{stops}")


def with_topics(library: Library, n: int) -> Library:
    """The library with the topics that are read."""
    return Library(topics(library.collection, n), library.files, library.paths)


def _add(costs: Table, stops: Table, name: str, n_documents: int, own: Sequence[Reading]) -> None:
    cells = [f"{a:,.0f} / {b:,.0f}" for a, b in medians(own).tolist()]
    rivals, ours = medians(own)[1:].tolist()
    is_met = all(mine <= rival for mine, rival in zip(ours, rivals, strict=True))
    costs.add(name, f"{n_documents:,}" if n_documents else "", len(own), *cells, verdict(is_met))
    recalls = [one.recall for one in own]
    reached = float(np.mean([recall > GOAL for recall in recalls]))
    stops.add(
        name, len(own), f"{np.median([one.n_stop for one in own]):,.0f}", float(np.median(recalls)), min(recalls),
        f"{reached:.1%}", verdict(reached >= SURE_TOPICS), float(np.median([one.seconds for one in own])),
    )  # fmt: skip
