"""SQLite FTS5, tantivy and bm25s over the same plain text files: index and queries.

The files are 150 words each, cut from the corpus, so there is nothing to extract. The work is similar, not equal: the
engines match and score one field, ours also finds titles, names, folders, dates and languages, computes the features of
100 candidates, ranks them by the learned ranker and counts facets. An engine answers with document numbers or paths.
Each is opened anew for each turn and warmed up by one query; then every query is asked once.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import MeaningSettings, Settings
from benchmarks.large import write_pieces
from benchmarks.peers import engine_indexes
from benchmarks.peers.engine_indexes import open_bm25s, open_fts5, open_tantivy
from benchmarks.peers.pairs import AbsentError, Bench, Measure, Sample
from benchmarks.processes import BY_WORDS, PROGRAM, run

NAMES = {"fts5": "SQLite FTS5", "tantivy": "tantivy", "bm25s": "bm25s"}
"""engine -> as the table names it"""
THERE: dict[str, Callable[[], object]] = {
    "fts5": engine_indexes.fts5_there, "tantivy": engine_indexes.tantivy, "bm25s": engine_indexes.bm25s,
}  # fmt: skip
Opened = Callable[[], AbstractContextManager[engine_indexes.Ask]]


def versions(names: set[str]) -> list[str]:
    """Of those that are there."""
    found = [f"SQLite {sqlite3.sqlite_version}"] if "fts5" in names else []
    for name in sorted(names & {"tantivy", "bm25s"}):
        try:
            THERE[name]()
        except AbsentError:
            continue
        found.append(f"{name} {version(name)}")
    return found


def measure(bench: Bench, names: set[str], corpus: Path | None, *, n_documents: int, queries: Sequence[str]) -> None:
    """Index `n_documents` files and ask all queries."""
    there = [engine for engine in NAMES if engine in names and bench.present(NAMES[engine], THERE[engine])]
    if not there:
        return
    if corpus is None or not corpus.is_dir():
        bench.remarks.append("FTS5, tantivy, bm25s: nothing to index: --corpus DIR, a folder of real documents")
        return
    with tempfile.TemporaryDirectory(prefix="foltr-peers-") as temporary:
        folder = Path(temporary)
        n = write_pieces(corpus, folder / "files", n_documents)
        peers: dict[str, Measure] = {NAMES[engine]: partial(theirs_built, bench, folder, engine) for engine in there}
        bench.compare(f"index of {n:,} text files of 150 words", partial(ours_built, bench, folder), peers)
        work = f"{len(queries)} queries over {n:,} files"
        for kind, opened in ways(folder, there).items():
            engine, how = kind
            if NAMES[engine] not in bench.failed:
                asked = {NAMES[engine]: partial(theirs_asked, opened, queries)}
                bench.compare(f"{work}; {how}", partial(ours_asked, folder, queries), asked)


def ways(folder: Path, engines: Sequence[str]) -> dict[tuple[str, str], Opened]:
    """(engine, which documents it looks for) -> how to open it."""
    found: dict[tuple[str, str], Opened] = {
        ("fts5", "all words"): partial(open_fts5, folder / "fts5", every_word=True),
        ("fts5", "any word"): partial(open_fts5, folder / "fts5", every_word=False),
        ("tantivy", "all words"): partial(open_tantivy, folder / "tantivy", every_word=True),
        ("tantivy", "any word"): partial(open_tantivy, folder / "tantivy", every_word=False),
        ("bm25s", "any word"): partial(open_bm25s, folder / "bm25s"),
    }
    return {kind: opened for kind, opened in found.items() if kind[0] in engines}


def ours_built(bench: Bench, folder: Path) -> Sample:
    """`foltr-search index` from nothing."""
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    env = {"FOLTR_CONFIG_DIR": str(folder / "config"), "FOLTR_DATA_DIR": str(data)} | BY_WORDS
    done = run((*PROGRAM, "index", "--quiet", str(folder / "files")), env, timeout=bench.patience())
    return {"CPU-s": done.cpu, "peak memory, MB": done.peak_mb, "on disk, MB": size_of(data) / 1e6}


def theirs_built(bench: Bench, folder: Path, engine: str) -> Sample:
    """A process that reads the files and builds the index."""
    index = folder / engine
    shutil.rmtree(index, ignore_errors=True)
    command = (sys.executable, "-m", "benchmarks.peers.engine_indexes", engine, str(folder / "files"), str(index))
    done = run(command, {}, timeout=bench.patience())
    return {"CPU-s": done.cpu, "peak memory, MB": done.peak_mb, "on disk, MB": size_of(index) / 1e6}


def size_of(folder: Path) -> int:
    """Bytes of all files below."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def ours_asked(folder: Path, queries: Sequence[str]) -> Sample:
    """Every query once, through `app.search`."""
    search = Search(Settings(meaning=MeaningSettings(enabled=False)), Paths(folder / "config", folder / "data"))
    try:
        return asked(lambda text: search.search(SearchRequest(text)), queries)
    finally:
        search.close()


def theirs_asked(opened: Opened, queries: Sequence[str]) -> Sample:
    """Every query once."""
    with opened() as ask:
        return asked(ask, queries)


def asked(ask: Callable[[str], object], queries: Sequence[str]) -> Sample:
    """Processor milliseconds of a query, median and 95th percentile."""
    ask("warm up")
    taken = []
    for query in queries:
        started = time.process_time()
        ask(query)
        taken.append((time.process_time() - started) * 1e3)
    return {"CPU ms, p50": float(np.percentile(taken, 50)), "CPU ms, p95": float(np.percentile(taken, 95))}
