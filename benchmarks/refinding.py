"""Re-finding: a query that is asked again and again for the same document.

For each of many queries one document is wanted, from rank 1 to 10 of plain BM25F (and exactly at rank 8). A person
asks, opens what they want, and asks again: the mean reciprocal rank of the wanted document before and after 1, 3 and 5
picks, without exploration. Then: how fast it falls back when another document is picked instead, and what one stray
click does.

    python -m benchmarks refinding
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from app.search.results import ResultPage, SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections
from benchmarks.devices import Library, device, libraries
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict

PICKS = (0, 1, 2, 3, 5, 8)
MRR_AFTER_2, MRR_AFTER_3 = 0.95, 0.999
RANK = 8
SEED = 5

Wanted = list[tuple[str, int]]
"""(query text, document id)"""


def ask(search: Search, text: str, *, order: str = "learned") -> ResultPage:
    """The page of a query, as it is without exploration."""
    return search.search(SearchRequest(text, order=order, explore=False))


def rank_of(page: ResultPage, doc_id: int) -> int:
    """The document's rank from 1; one below the last when it is not there."""
    return next((hit.rank for hit in page.hits if hit.doc_id == doc_id), len(page.hits) + 1)


def pick(search: Search, text: str, doc_id: int) -> None:
    """Ask and open the document, wherever it stands."""
    page = ask(search, text)
    for hit in page.hits:
        if hit.doc_id == doc_id:
            search.opened(page, hit)
    search.leave(page)


def choose(search: Search, library: Library, n: int, place: Callable[[], int]) -> Wanted:
    """`n` queries of the collection, each with the document that BM25F puts at the place that was drawn."""
    rng = np.random.default_rng(SEED)
    texts = list(library.collection.queries.values())
    wanted: Wanted = []
    for i in rng.permutation(len(texts)).tolist():
        hits, rank = ask(search, texts[i], order="bm25").hits, place()
        if len(hits) >= rank and len(wanted) < n:
            wanted.append((texts[i], hits[rank - 1].doc_id))
    return wanted


def after_picks(search: Search, wanted: Wanted) -> list[list[int]]:
    """The wanted documents' ranks after each number in PICKS, `[len(PICKS)][n]`; all people's picks on one device."""
    ranks = [[rank_of(ask(search, text), doc) for text, doc in wanted]]
    for picks in range(1, max(PICKS) + 1):
        for text, doc in wanted:
            pick(search, text, doc)
        if picks in PICKS:
            ranks.append([rank_of(ask(search, text), doc) for text, doc in wanted])
    return ranks


def drift(search: Search, wanted: Wanted) -> list[list[int]]:
    """After many picks, another document of the page is picked instead: ranks of the former one after 0 to 8 times."""
    others = [next(h.doc_id for h in ask(search, t, order="bm25").hits if h.doc_id != d) for t, d in wanted]
    ranks = [[rank_of(ask(search, text), doc) for text, doc in wanted]]
    for _ in range(8):
        for (text, _doc), other in zip(wanted, others, strict=True):
            pick(search, text, other)
        ranks.append([rank_of(ask(search, text), doc) for text, doc in wanted])
    return ranks


def stray(library: Library, settings: Settings, n: int) -> tuple[float, float]:
    """One click on rank 8, on a device that knows nothing else: its mean rank afterwards, and how often it leads."""
    ranks: list[int] = []
    with device(library.paths, settings) as search:
        for text, doc in choose(search, library, n, lambda: RANK):
            pick(search, text, doc)
            ranks.append(rank_of(ask(search, text), doc))
    return float(np.mean(ranks)), float(np.mean(np.array(ranks) == 1))


def mrr(ranks: Sequence[int]) -> float:
    """Mean reciprocal rank, 0 below rank 10."""
    return float(np.mean([1 / rank if rank <= 10 else 0.0 for rank in ranks]))


def report(found: dict[str, Library], settings: Settings, n: int) -> list[Table]:
    """The tables of the three questions."""
    rng = np.random.default_rng(SEED)
    anywhere = Table(("wanted at BM25F rank 1-10: MRR", *(f"{p} picks" for p in PICKS)))
    eighth = Table(("wanted at BM25F rank 8: median (worst) rank, share in top 3", *(f"{p} picks" for p in PICKS)))
    back = Table(("picked 8 times, then another one is: median rank", *(f"{i}" for i in range(9))))
    single = Table(("one stray click on rank 8", "mean rank after", "leads its query"))
    any_ranks: list[list[int]] = [[] for _ in PICKS]
    eighth_ranks: list[list[int]] = [[] for _ in PICKS]
    for name, library in found.items():
        with device(library.paths, settings) as search:
            own = after_picks(search, choose(search, library, n, lambda: int(rng.integers(1, 11))))
        anywhere.add(name, *(mrr(ranks) for ranks in own))
        any_ranks = [a + b for a, b in zip(any_ranks, own, strict=True)]
        with device(library.paths, settings) as search:
            wanted = choose(search, library, n, lambda: RANK)
            own = after_picks(search, wanted)
            back.add(name, *(f"{np.median(ranks):.0f}" for ranks in drift(search, wanted)))
        eighth.add(name, *map(_ranks, own))
        eighth_ranks = [a + b for a, b in zip(eighth_ranks, own, strict=True)]
        single.add(name, *stray(library, settings, n))
    anywhere.add("all", *(mrr(ranks) for ranks in any_ranks))
    met = [verdict(mrr(any_ranks[i]) >= aim) for i, aim in ((2, MRR_AFTER_2), (3, MRR_AFTER_3))]
    anywhere.add("aim", "", "", f">= {MRR_AFTER_2} {met[0]}", f">= {MRR_AFTER_3} {met[1]}", "", "")
    eighth.add("all", *map(_ranks, eighth_ranks))
    top, first = max(eighth_ranks[3]) <= 3, max(eighth_ranks[-1]) == 1
    eighth.add("aim", "", "", "", f"top 3: {verdict(top)}", "", f"rank 1: {verdict(first)}")
    return [anywhere, eighth, back, single]


def _ranks(ranks: Sequence[int]) -> str:
    return f"{np.median(ranks):.0f} ({max(ranks)}) {np.mean(np.array(ranks) <= 3):.2f}"


def main() -> None:
    """Print the tables."""
    wanted = arguments(
        __doc__,
        queries=Option(30, "queries of each collection"),
        collections=Option(collections.NAMES, choices=collections.NAMES),
    )
    settings = Settings()
    with libraries(settings, tuple(wanted.collections)) as found:
        print(machine(), *report(found, settings, wanted.queries), sep="\n\n")
