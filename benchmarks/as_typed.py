"""Is a word found as it is typed, and are well-typed queries left as they are?

    python -m benchmarks as_typed [--collections cranfield ...] [--words 150] [--queries 1000]

*As typed*: random words of four to eight letters that occur in 3 to 40 documents, each as a query; the share of the
first min(10, documents) rows that have the word in the form that was typed, and how often the first row does.
*Corrections*: of a random sample of the judged queries, equally many from each collection, how many were searched for
in another spelling, and for how many another is offered; each is listed, because some queries are really misspelt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections
from benchmarks.devices import device, libraries
from benchmarks.identifiers import Texts
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict

SHARE, OFFERED = 0.98, 0.01
"""the aims: rows as typed; well-typed queries for which another spelling is offered"""
LEAST_HOLDERS, MOST_HOLDERS = 3, 40


def words_by_lot(texts: Texts, n: int) -> dict[str, frozenset[int]]:
    """Words of letters, each with the documents that hold it."""
    held: dict[str, set[int]] = {}
    for doc_id, text in texts.items():
        for word in set(re.findall(r"(?<!\w)[a-z]{4,8}(?!\w)", text)):
            held.setdefault(word, set()).add(doc_id)
    fitting = sorted(word for word, own in held.items() if LEAST_HOLDERS <= len(own) <= MOST_HOLDERS)
    chosen = np.random.default_rng(0).permutation(len(fitting))[:n].tolist()
    return {fitting[i]: frozenset(held[fitting[i]]) for i in chosen}


def as_typed(search: Search, word: str, held: frozenset[int]) -> list[bool]:
    """Whether each of the first rows holds the word as it was typed."""
    hits = search.search(SearchRequest(word, explore=False)).hits
    n_rows = len({hit.doc_id for hit in hits} & held)  # copies share a row
    return [hit.doc_id in held for hit in hits[: min(10, n_rows)]]


def respelt(search: Search, queries: list[str]) -> Iterator[tuple[str, str, bool]]:
    """(query, other spelling, whether it was searched for unasked) of those that were not left as they are."""
    for query in queries:
        page = search.search(SearchRequest(query, explore=False))
        if page.searched or page.suggestion:
            yield query, page.searched or page.suggestion, bool(page.searched)


def main() -> None:
    """Print both tables, and every other spelling."""
    every = Option(collections.ALL, choices=collections.ALL)
    wanted, settings = arguments(__doc__, collections=every, words=150, queries=1000), Settings()
    n_each = -(-wanted.queries // len(wanted.collections))
    table = Table(("collection", "words", "rows as typed", "first row", "queries", "replaced", "offered"))
    listed, rows = list[str](), list[tuple[float, ...]]()
    with libraries(settings, tuple(wanted.collections), n_queries=n_each) as made:
        for name, library in made.items():
            with device(library.paths, settings) as search:
                texts = {i: text.lower() for i, text in search.catalogue.written(search.catalogue.doc_ids())}
                found = [as_typed(search, *word) for word in words_by_lot(texts, wanted.words).items()]
                queries = list(library.collection.queries.values())
                others = list(respelt(search, queries))
            share = float(np.mean([held for own in found for held in own]))
            n_replaced = sum(unasked for _, _, unasked in others)
            n_offered = len(others) - n_replaced
            first = float(np.mean([own[0] for own in found if own]))
            table.add(name, len(found), share, first, len(queries), n_replaced, n_offered)
            rows.append((share, len(queries), n_replaced, n_offered))
            for query, other, unasked in others:
                changed = [f"{a} -> {b}" for a, b in zip(query.split(), other.split(), strict=False) if a != b]
                listed.append(f"{name}, {'searched for' if unasked else 'offered'}: {', '.join(changed)}")
    shares, n_queries, n_replaced, n_offered = np.array(rows).T
    table.add("all", "", float(shares.mean()), "", int(n_queries.sum()), int(n_replaced.sum()), int(n_offered.sum()))
    few = n_offered.sum() <= OFFERED * n_queries.sum()
    table.add(
        "aim", "", f">= {SHARE} {verdict(bool(shares.mean() >= SHARE))}", "", "", "", f"<= 1 % {verdict(bool(few))}"
    )
    print(machine(), table, "\n".join(listed), sep="\n\n")
