"""How fast and how large: indexing, rescanning, following a change, and answering queries.

    python -m benchmarks.speed CORPUS [--queries FILE.tsv] [--titles known_items.json] [--runs 3] [--keep FOLDER]

Everything runs in a data folder of its own. The reference for queries is Whoosh's own search over the same index in the
same minutes; the reference for indexing is the table of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import whoosh_plain
from benchmarks.processes import run

PROGRAM = (sys.executable, "-m", "app.cli")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--queries", type=Path, help="lines of KIND<tab>QUERY")
    parser.add_argument("--titles", type=Path, help="JSON list of [title, path]: the titles are queries too")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--keep", type=Path, help="use this data folder and leave it there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="foltr-speed-") as temporary:
        folder = options.keep or Path(temporary)
        paths = Paths(folder / "config", folder / "data")
        env = {"FOLTR_CONFIG_DIR": str(paths.config_dir), "FOLTR_DATA_DIR": str(paths.data_dir)}
        indexing(options.corpus, paths, env, runs=options.runs)
        following(options.corpus, paths, env)
        queries = read_queries(options.queries, options.titles)
        if queries:
            answering(paths, queries)
        command(env, queries[0] if queries else "test", runs=options.runs)


def read_queries(tsv: Path | None, titles: Path | None) -> list[str]:
    """The queries of both files, in order."""
    queries = [line.split("\t", 1)[1] for line in tsv.read_text().splitlines() if "\t" in line] if tsv else []
    return queries + ([title for title, _ in json.loads(titles.read_text())] if titles else [])


def row(name: str, value: str, aim: str = "") -> None:
    print(f"{name:<52} {value:>24}   {aim}", flush=True)


def indexing(corpus: Path, paths: Paths, env: dict[str, str], *, runs: int) -> None:
    """Full index from nothing, then a rescan of the unchanged tree; medians of `runs`."""
    source = sum(path.stat().st_size for path in corpus.rglob("*") if path.is_file())
    full = [run((*PROGRAM, "index", "--rebuild", str(corpus)), env) for _ in range(runs)]
    again = [run((*PROGRAM, "index"), env) for _ in range(runs)]
    size = sum(path.stat().st_size for path in paths.data_dir.rglob("*") if path.is_file())
    median = statistics.median
    row("full index, CPU-s", f"{median(r.cpu for r in full):.1f}", "at most 150 (Recoll about 100, bare Whoosh 135)")
    row("full index, wall s", f"{median(r.wall for r in full):.1f}")
    row("full index, peak memory of all processes, MB", f"{max(r.peak_mb for r in full):.0f}", "at most 400")
    row("index and texts on disk, MB", f"{size / 1e6:.0f}", "Recoll 407")
    row("index and texts over source", f"{size / source:.2f}", "at most 0.70")
    row("rescan of the unchanged tree, whole process, s", f"{median(r.wall for r in again):.2f}", "at most 1")


def following(corpus: Path, paths: Paths, env: dict[str, str]) -> None:
    """From the change of one file to the moment a search finds it, with `watch` running; median of five."""
    marker = corpus / "benchmark-change.txt"
    watcher = subprocess.Popen(
        (*PROGRAM, "watch", "--events"), env={**os.environ, **env}, stdout=subprocess.PIPE, text=True
    )
    search = Search(Settings(), paths)
    try:
        stream = watcher.stdout
        if stream is None or not any('"watching"' in line or '"polling"' in line for line in stream):
            raise RuntimeError("`watch` ended before it watched")
        seconds = [_until_found(search, marker, f"benchmarkword{time.time_ns()}") for _ in range(5)]
        row("one changed file searchable, s", f"{statistics.median(seconds):.2f}", "at most 1")
    finally:
        search.close()
        watcher.terminate()
        watcher.wait(20)
        marker.unlink(missing_ok=True)
    run((*PROGRAM, "index"), env)


def _until_found(search: Search, marker: Path, word: str) -> float:
    time.sleep(1.5)
    marker.write_text(word)
    started = time.perf_counter()
    while time.perf_counter() - started < 30:
        search.refresh()
        if search.search(SearchRequest(word)).hits:
            return time.perf_counter() - started
        time.sleep(0.02)
    raise RuntimeError("the change was not found within 30 s")


def timed(queries: Sequence[str], ask: Callable[[str], object]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Milliseconds for each query."""
    taken = []
    for query in queries:
        started = time.perf_counter()
        ask(query)
        taken.append((time.perf_counter() - started) * 1e3)
    return np.array(taken)


def answering(paths: Paths, queries: list[str]) -> None:
    """Retrieval, features and ranking of 100 candidates, beside Whoosh's bare search."""
    search = Search(Settings(), paths)
    try:
        search.search(SearchRequest("warm up"))
        first = timed(queries, lambda q: search.search(SearchRequest(q)))
        again = timed(queries, lambda q: search.search(SearchRequest(q)))
        row(f"answer to {len(queries)} queries, ms p50 / p95", _percentiles(first), "p95 under 50 (250 at 100,000)")
        row("the same queries again", _percentiles(again))
        beside_whoosh(paths, queries, first)
        pages = [search.search(SearchRequest(q)) for q in queries[:50]]
        snippets = [(p, h) for p in pages for h in p.hits[:10]]
        started = time.perf_counter()
        for page, hit in snippets:
            search.snippet(page, hit)
        each = (time.perf_counter() - started) / max(len(snippets), 1)
        row("ten snippets, ms", f"{each * 1e4:.1f}", "Whoosh's highlighter 64")
    finally:
        search.close()


def beside_whoosh(paths: Paths, queries: list[str], ours: np.ndarray[tuple[int], np.dtype[np.float64]]) -> None:
    """The same texts and queries with Whoosh alone."""
    with tempfile.TemporaryDirectory(prefix="foltr-whoosh-") as folder:
        row(
            "Whoosh alone, indexing the extracted texts, CPU-s",
            f"{whoosh_plain.build(paths.catalogue, Path(folder) / 'w'):.0f}",
        )
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        row("Whoosh alone, index on disk, MB", f"{size / 1e6:.0f}", "without the texts")
        for words, every in (("all words", True), ("any word", False)):
            bare = timed(queries, whoosh_plain.searcher(Path(folder) / "w", every_word=every))
            row(f"Whoosh alone, {words}, ms p50 / p95", _percentiles(bare))
            row("  ratio of medians, this program over it", f"{np.median(ours) / np.median(bare):.2f}")


def _percentiles(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> str:
    return f"{np.percentile(values, 50):.1f} / {np.percentile(values, 95):.1f}"


def command(env: dict[str, str], query: str, *, runs: int) -> None:
    """`foltr-search search` as a whole process."""
    walls = [run((*PROGRAM, "search", query), env).wall for _ in range(max(runs, 5))]
    row("`foltr-search search`, whole process, s", f"{statistics.median(walls):.2f}")


if __name__ == "__main__":
    main()
