"""How fast and how large: indexing, rescanning, following a change, and answering queries.

    python -m benchmarks speed CORPUS [--queries FILE.tsv] [--titles known_items.json] [--runs 3] [--keep FOLDER]

Everything runs in a separate data folder. Times are of the processor, children included, except how long after its
change a file is found while `watch` runs, which is the time a person waits. Whoosh's own search over the same texts
answers each query in turn with ours. Recoll and other engines are beside ours in `python -m benchmarks peers`.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import load, whoosh_plain
from benchmarks.processes import PROGRAM, run
from benchmarks.running import arguments
from benchmarks.tables import machine

Milliseconds = np.ndarray[tuple[int], np.dtype[np.float64]]


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, corpus=Path, queries=None, titles=None, runs=3, keep=None)
    start = load.moment()
    heading()
    with tempfile.TemporaryDirectory(prefix="foltr-speed-") as temporary:
        folder = options.keep or Path(temporary)
        paths, env = own_folders(folder)
        indexing(options.corpus, paths, env, runs=options.runs)
        following(options.corpus, paths, env)
        queries = read_queries(options.queries, options.titles)
        if queries:
            answering(paths, queries)
        command(env, queries[0] if queries else "test", runs=options.runs)
    print(f"\n{load.since(start)}")


def own_folders(folder: Path) -> tuple[Paths, dict[str, str]]:
    """Folders of a program of its own below `folder`, and the environment that names them; no vectors are made."""
    paths = Paths(folder / "config", folder / "data")
    paths.config_dir.mkdir(parents=True, exist_ok=True)
    (paths.config_dir / "config.toml").write_text("[meaning]\nenabled = false\n")
    return paths, {"FOLTR_CONFIG_DIR": str(paths.config_dir), "FOLTR_DATA_DIR": str(paths.data_dir)}


def read_queries(tsv: Path | None, titles: Path | None) -> list[str]:
    """The queries of both files, in order."""
    queries = [line.split("\t", 1)[1] for line in tsv.read_text().splitlines() if "\t" in line] if tsv else []
    return queries + ([title for title, _ in json.loads(titles.read_text())] if titles else [])


def heading() -> None:
    """The machine, and the head of the table that `row` goes on with."""
    print(f"{machine()}\n\n| | measured | aim |\n| --- | --- | --- |", flush=True)


def row(name: str, value: str, aim: str = "") -> None:
    """A line of the table as soon as it is known."""
    print(f"| {name} | {value} | {aim} |", flush=True)


def indexing(corpus: Path, paths: Paths, env: dict[str, str], *, runs: int) -> None:
    """Full index from nothing, then a rescan of the unchanged tree; medians of `runs`."""
    files = [path.stat().st_size for path in corpus.rglob("*") if path.is_file()]
    row("files; megabytes", f"{len(files):,}; {sum(files) / 1e6:.0f}")
    full = [run((*PROGRAM, "index", "--rebuild", str(corpus)), env) for _ in range(runs)]
    again = [run((*PROGRAM, "index"), env) for _ in range(runs)]
    size = sum(path.stat().st_size for path in paths.data_dir.rglob("*") if path.is_file())
    median = statistics.median
    row("full index with extraction, CPU-s", f"{median(r.cpu for r in full):.1f}", "at most 150")
    row("peak memory of all processes, MB", f"{max(r.peak_mb for r in full):.0f}", "at most 400")
    row("index and texts on disk, MB", f"{size / 1e6:.0f}")
    row("over the source", f"{size / sum(files):.2f}", "at most .70")
    row("rescan of the unchanged tree, the whole command, CPU-s", f"{median(r.cpu for r in again):.2f}", "at most 1")


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
        row(
            "one changed file searchable while `watch` runs, s of the clock",
            f"{statistics.median(seconds):.2f}",
            "at most 1",
        )
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


def timed(queries: Sequence[str], *sides: Callable[[str], object]) -> list[Milliseconds]:
    """Processor milliseconds for each query, `[n_queries]` for each side; the sides take turns."""
    taken: list[list[float]] = [[] for _ in sides]
    for query in queries:
        for times, ask in zip(taken, sides, strict=True):
            started = time.process_time()
            ask(query)
            times.append((time.process_time() - started) * 1e3)
    return [np.array(times) for times in taken]


def answering(paths: Paths, queries: list[str]) -> None:
    """Retrieval, features and ranking of 100 candidates, beside Whoosh's bare search."""
    search = Search(Settings(), paths)
    try:
        search.search(SearchRequest("warm up"))
        beside_whoosh(paths, queries, lambda query: search.search(SearchRequest(query)))
        (again,) = timed(queries, lambda query: search.search(SearchRequest(query)))
        row("the same queries again", _percentiles(again))
        pages = [search.search(SearchRequest(q)) for q in queries[:50]]
        snippets = [(p, h) for p in pages for h in p.hits[:10]]
        started = time.process_time()
        for page, hit in snippets:
            search.snippet(page, hit)
        each = (time.process_time() - started) / max(len(snippets), 1)
        row("ten snippets, CPU ms", f"{each * 1e4:.1f}")
    finally:
        search.close()


def beside_whoosh(paths: Paths, queries: list[str], ours: Callable[[str], object]) -> None:
    """The same texts and queries with Whoosh alone, query by query in turn with ours."""
    with tempfile.TemporaryDirectory(prefix="foltr-whoosh-") as folder:
        index = Path(folder) / "w"
        row("Whoosh alone, indexing the extracted texts, CPU-s", f"{whoosh_plain.build(paths.catalogue, index):.0f}")
        bare = [whoosh_plain.searcher(index, every_word=every) for every in (True, False)]
        first, *others = timed(queries, ours, *bare)
        aim = "p95 below 50; of 100,000 files below 250"
        row(f"an answer to {len(queries)} queries, each for the first time, CPU ms p50 / p95", _percentiles(first), aim)
        for words, their in zip(("all words", "any word"), others, strict=True):
            row(f"Whoosh alone, {words}, the same in turns", _percentiles(their))
            row("ratio of medians, ours over it", f"{np.median(first) / np.median(their):.2f}")


def _percentiles(values: Milliseconds) -> str:
    return f"{np.percentile(values, 50):.1f} / {np.percentile(values, 95):.1f}"


def command(env: dict[str, str], query: str, *, runs: int) -> None:
    """`foltr-search search` as a whole process."""
    for what, words in (("`foltr-search search`", query), ("the same, nothing found", "qvxzzyplomtrick")):
        found = [run((*PROGRAM, "search", words), env, fine=(0, 1)).cpu for _ in range(max(runs, 5))]
        row(f"{what}, the whole command, CPU-s", f"{statistics.median(found):.2f}")
