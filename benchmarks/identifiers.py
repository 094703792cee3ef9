"""Identifiers: do documents with a word as it is written rank before all others?

    python -m benchmarks identifiers CORPUS [--index FOLDER] [--seed 0] [--ordinary]

Thirty words of each kind are drawn at random from the texts of the corpus, each in 1 to 200 documents: in any case,
with no letter, digit or underline beside it, in the text, the title or the path. Precision@10 is the share of the first
min(10, such documents) results that are such documents. `--index` keeps the index in FOLDER; `--ordinary` asks an
ordinary BM25 (benchmarks/ordinary_bm25.py) the same; another `--seed` draws other words.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from app.following.indexing import update_index
from app.paths import Paths
from app.search.results import Hit, SearchRequest
from app.settings import Settings
from benchmarks import ordinary_bm25
from benchmarks.collections import Document
from benchmarks.devices import device
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict
from indexer.storage.catalogue import Catalogue

AIM = 0.99
N_OF_KIND = 30
MOST_HOLDERS = 200
CUTOFF = 10

KINDS = {
    "snake_case": r"[A-Za-z]+(?:_[A-Za-z0-9]+)+",
    "camelCase": r"[A-Za-z]?[a-z]+(?:[A-Z][a-z]+)+",
    "dotted.name": r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*){1,4}",
    "--option": r"(?<!-)--[a-z][a-z0-9]*(?:-[a-z0-9]+)*",
    "version": r"[0-9]+\.[0-9]+\.[0-9]+(?:[-~+][0-9a-z]+)?",
    "/path": r"(?<![/~.])(?:/[A-Za-z0-9._-]+){1,4}/[A-Za-z0-9._-]*[A-Za-z0-9]",
    "error code": r"E[A-Z]{4,9}|SIG[A-Z]{3,5}|[A-Z]{1,4}-?[0-9]{3,5}",
    "address": r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[a-z][a-z0-9._-]*@[a-z0-9-]+(?:\.[a-z]+)+",
    "hex": r"0x[0-9A-Fa-f]{1,16}|(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,31}",
    "joined::name": r"[A-Za-z_]\w*(?:(?:::|->)[A-Za-z_]\w*)+",
    "name()": r"[A-Za-z_]\w*\(\)",
    "__name__": r"__[a-z]\w*__",
    "-flag": r"(?<!-)-(?:[fWm][a-zA-Z][\w-]*\w|[OlDI]\w+)",
}
"""what the words of each kind look like"""

Texts = dict[int, str]
"""document -> its title and text"""


def titles_and_texts(catalogue: Catalogue) -> Texts:
    """What the words are drawn from."""
    rows = catalogue.documents(sorted(catalogue.doc_ids()))
    return {i: f"{row.title}\n{catalogue.text(i)}" for i, row in rows.items()}


def holders(word: str, texts: Texts) -> frozenset[int]:
    """The documents that hold the word as it is written; `texts` are in lower case, with their paths."""
    low = word.lower()
    alone = re.compile(rf"(?<!\w){re.escape(low)}(?!\w)")
    return frozenset(i for i, text in texts.items() if low in text and alone.search(text))


def draw(originals: Texts, texts: Texts, *, seed: int) -> dict[str, list[tuple[str, frozenset[int]]]]:
    """kind -> the words drawn and who holds each; a random document, then one of its words."""
    rng = np.random.default_rng(seed)
    ids = list(originals)
    drawn: dict[str, list[tuple[str, frozenset[int]]]] = {}
    for kind, look in KINDS.items():
        pattern = re.compile(rf"(?<![\w@])(?:{look})(?!\w)")
        own: dict[str, tuple[str, frozenset[int]]] = {}
        for i in rng.permutation(len(ids)).tolist():
            words = sorted({match.group() for match in pattern.finditer(originals[ids[i]])})
            if not words:
                continue
            word = words[rng.integers(len(words))]
            if word.lower() not in own and 1 <= len(held := holders(word, texts)) <= MOST_HOLDERS:
                own[word.lower()] = (word, held)
            if len(own) == N_OF_KIND:
                break
        drawn[kind] = list(own.values())
    return drawn


def precision(found: Sequence[frozenset[int]], held: frozenset[int]) -> float:
    """The share of the first min(10, n_held) results that hold the word.

    A result is all documents of its row; a row of several holders leaves fewer rows to be found.
    """
    hidden = sum(max(len(row & held) - 1, 0) for row in found[:CUTOFF])
    k = min(CUTOFF, len(held) - hidden)
    return sum(bool(row & held) for row in found[:k]) / k


def main() -> None:
    """Index the corpus, print the table and every word that fell short."""
    wanted = arguments(
        __doc__, corpus=Path, index=None, seed=0, ordinary=False, quiet=Option(False, "do not list what fell short")
    )
    settings = Settings()
    with tempfile.TemporaryDirectory(prefix="foltr-benchmark-") as folder:
        own = (wanted.index or Path(folder)).resolve()
        paths = Paths(own / "config", own / "data")
        update_index(settings, paths, roots=(str(wanted.corpus.resolve()),), holder="benchmark")
        catalogue = Catalogue.open(paths.catalogue)
        originals = titles_and_texts(catalogue)
        names = {i: row.path for i, row in catalogue.documents(originals).items()}
        texts = {i: f"{names[i]}\n{text}".lower() for i, text in originals.items()}
        drawn = draw(originals, texts, seed=wanted.seed)
        ordinary = _ordinary(originals) if wanted.ordinary else None
        by_path = {path: frozenset(catalogue.doc_ids_of(path)) for path in catalogue.paths()}
        catalogue.close()
        table, failures = _report(paths, settings, drawn, ordinary, by_path)
    print(machine(), f"{sum(map(len, drawn.values()))} words, precision@{CUTOFF}, seed {wanted.seed}", sep="; ")
    print(f"\n{table}")
    if not wanted.quiet:
        print("", *failures, sep="\n")


def _ordinary(originals: Texts) -> Callable[[str], list[frozenset[int]]]:
    search = ordinary_bm25.ranking([Document(str(i), "", text) for i, text in originals.items()])
    return lambda word: [frozenset({int(name)}) for name in search(word)]


def _report(
    paths: Paths, settings: Settings, drawn: dict[str, list[tuple[str, frozenset[int]]]],
    ordinary: Callable[[str], list[frozenset[int]]] | None, by_path: dict[str, frozenset[int]],
) -> tuple[Table, list[str]]:  # fmt: skip
    table = Table(("kind", "words", "ordinary BM25", "our BM25F", "shipped ranker", "CPU ms", "aim"))
    failures: list[str] = []
    rows: list[tuple[float, float, float, float]] = []

    def rows_of(hit: Hit) -> frozenset[int]:
        """The documents of a row: the result's own, and those of the copies and other formats that it stands for."""
        return frozenset({hit.doc_id}).union(*(by_path[path] for path in (*hit.copies, *hit.twins)))

    with device(paths, settings) as search:
        for kind, words in drawn.items():
            own: list[tuple[float, float, float, float]] = []
            for word, held in words:
                reference = precision(ordinary(word), held) if ordinary else float("nan")
                begun = time.process_time()
                page = search.search(SearchRequest(word, explore=False))
                seconds = time.process_time() - begun
                plain = search.search(SearchRequest(word, order="bm25"))
                ours, shipped = (precision([rows_of(hit) for hit in p.hits[:CUTOFF]], held) for p in (plain, page))
                own.append((reference, ours, shipped, 1000 * seconds))
                if shipped < 1:
                    failures.append(f"{shipped:.1f} of {len(held)} {kind}: {word}")
            table.add(kind, len(own), *np.mean(own, axis=0).tolist(), "")
            rows += own
    means = np.mean(rows, axis=0).tolist()
    table.add("all", len(rows), *means, f">= {AIM} {verdict(means[2] >= AIM)}")
    return table, failures
