"""What grows with the number of documents: the corpus is cut into short files, indexed, changed and searched.

    python -m benchmarks large CORPUS [--n 1000 10000 50000 100000] [--queries FILE.tsv] [--titles known_items.json]
        [--keep FOLDER]

Each size has a separate index; its figures are printed as soon as they are known. When the corpus ends before `n`,
it is cut again at other words. 100,000 files need about 1 GB of temporary disk, a million 10 GB and an hour or more
of the processor. It is freed at the end, or kept in FOLDER, where another run makes nothing again.
"""

from __future__ import annotations

import itertools
import os
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from app.following.indexing import crawl_rules
from app.paths import Paths
from app.resident.local_socket import index_socket_path
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Settings
from benchmarks import load
from benchmarks.processes import PROGRAM, run, tree_cpu
from benchmarks.running import arguments
from benchmarks.speed import Milliseconds, own_folders, read_queries, timed
from benchmarks.tables import machine
from indexer.confined.pool import WorkerPool
from indexer.extract.source import Limits
from indexer.prepare import PreparedFile, prepare_file
from indexer.storage.catalogue import Catalogue
from indexer.update import Job, Updater

WORDS = 150
"""words of each short file, about a long paragraph"""
NOWHERE = "qvxzzyplomtrick"
"""a word that no document holds"""
HOURS = 6.0
"""after which an indexing is given up"""


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, corpus=Path, n=[1_000, 10_000, 50_000, 100_000], queries=None, titles=None, keep=None)
    queries = read_queries(options.queries, options.titles) or ["test"]
    print(machine())
    for n in options.n:
        start = load.moment()
        with tempfile.TemporaryDirectory(prefix="foltr-large-") as temporary:
            folder = options.keep / str(n) if options.keep else Path(temporary)
            measure(options.corpus, folder, n, queries)
        print(f"\n{load.since(start)}", flush=True)


def row(name: str, value: str) -> None:
    """A line of the table as soon as it is known."""
    print(f"| {name} | {value} |", flush=True)


def measure(corpus: Path, folder: Path, n: int, queries: list[str]) -> None:
    """Everything for one size, in `folder`."""
    files = folder / "files"
    n = write_pieces(corpus, files, n) if not files.exists() else n
    print(f"\n| documents | {n:,} |\n| --- | --- |", flush=True)
    paths, env = own_folders(folder)
    if not paths.catalogue.exists():
        indexing(files, env, n)
    size = sum(path.stat().st_size for path in paths.data_dir.rglob("*") if path.is_file())
    row("index and texts on disk, MB; over the source", f"{size / 1e6:.0f}; {size / source_bytes(files):.2f}")
    indexing_again(files, env)
    indexing_handed_over(files, env, paths)
    row("update of one changed path in a process that stays, CPU ms", f"{one_path(files, paths):.0f}")
    asking(paths, queries)
    for what, words in (("`foltr-search search`", queries[0]), ("the same, nothing found", NOWHERE)):
        found = [run((*PROGRAM, "search", words), env, fine=(0, 1)) for _ in range(5)]
        cpu, peak = statistics.median(one.cpu for one in found), max(one.peak_mb for one in found)
        row(f"{what}, the whole command, CPU-s; peak MB", f"{cpu:.2f}; {peak:.0f}")


def indexing(files: Path, env: dict[str, str], n: int) -> None:
    """The first index of all files."""
    full = run((*PROGRAM, "index", "--quiet", str(files)), env, timeout=HOURS * 3600)
    row("full index, CPU-s; ms a document", f"{full.cpu:.1f}; {full.cpu / n * 1e3:.2f}")
    row("peak memory of all processes, MB: proportional; anonymous", f"{full.peak_mb:.0f}; {full.anonymous_mb:.0f}")
    largest = f"{full.largest_resident_mb:.0f}; {full.largest_anonymous_mb:.0f}"
    row("of the largest process, MB: resident; anonymous", largest)


def indexing_again(files: Path, env: dict[str, str]) -> None:
    """`foltr-search index` with nothing changed, and with one file changed; medians of five."""
    again = [run((*PROGRAM, "index"), env) for _ in range(5)]
    changed = []
    for i in range(5):
        some_file(files).write_text(f"changed for the time number {i}")
        changed.append(run((*PROGRAM, "index"), env))
    for what, runs in (("nothing changed", again), ("one file changed", changed)):
        cpu, peak = statistics.median(one.cpu for one in runs), max(one.peak_mb for one in runs)
        row(f"{what}, the whole command, CPU-s; peak MB", f"{cpu:.2f}; {peak:.0f}")


def indexing_handed_over(files: Path, env: dict[str, str], paths: Paths) -> None:
    """`foltr-search index` after one file changed while `watch` runs; the median of five, the first not counted."""
    watch = subprocess.Popen([*PROGRAM, "watch", "--quiet"], env={**os.environ, **env}, stdin=subprocess.DEVNULL)
    try:
        while not Path(index_socket_path(str(paths.data_dir))).exists():
            time.sleep(0.1)
        run((*PROGRAM, "index"), env)
        taken = []
        for i in range(6):
            before = tree_cpu(watch.pid)
            some_file(files).write_text(f"changed for the time number {i}, and followed")
            command = run((*PROGRAM, "index"), env).cpu
            taken.append((command, command + tree_cpu(watch.pid) - before))
    finally:
        watch.kill()
        watch.wait()
    command, both = (statistics.median(values) for values in zip(*taken[1:], strict=True))
    row(
        "one file changed while `watch` runs, CPU-s: the command; with what `watch` takes", f"{command:.2f}; {both:.2f}"
    )


def one_path(files: Path, paths: Paths) -> float:
    """CPU milliseconds of an update of one changed path, its reading included; the mean of ten."""
    catalogue = Catalogue.open(paths.catalogue)
    job = Job(paths.index, catalogue, (str(files),), crawl_rules(Settings(), paths), "a benchmark", "1")
    try:
        with WorkerPool[PreparedFile](prepare_file, n_workers=1, seconds=60, memory_mb=1000, limits=Limits()) as pool:
            updater, path = Updater(job, pool), some_file(files)
            for i in range(11):
                if i == 1:  # the first starts the worker
                    started = tree_cpu(os.getpid())
                path.write_text(f"changed once more, number {i}")
                updater.update([str(path)])
            return (tree_cpu(os.getpid()) - started) / 10 * 1e3
    finally:
        catalogue.close()


def asking(paths: Paths, queries: list[str]) -> None:
    """Opening the index, each query for the first time and again, and a word that is nowhere."""
    began = time.process_time()
    search = Search(Settings(), paths)
    try:
        search.search(SearchRequest("warm up"))
        row("opening the index and the first answer, CPU ms", f"{(time.process_time() - began) * 1e3:.0f}")
        for what in ("first time", "again"):
            (taken,) = timed(queries, lambda query: search.search(SearchRequest(query)))
            row(f"{len(queries)} queries, {what}, CPU ms p50 / p95 / most", percentiles(taken))
        (taken,) = timed([NOWHERE, NOWHERE[::-1]], lambda query: search.search(SearchRequest(query)))
        row("nothing found, first and second time, CPU ms", " / ".join(f"{value:.1f}" for value in taken))
    finally:
        search.close()


def percentiles(values: Milliseconds) -> str:
    """Median, 95th percentile and maximum."""
    return f"{np.percentile(values, 50):.1f} / {np.percentile(values, 95):.1f} / {values.max():.1f}"


def some_file(files: Path) -> Path:
    """The last file of the last folder."""
    return sorted(sorted(files.iterdir())[-1].iterdir())[-1]


def source_bytes(folder: Path) -> int:
    """The size of all files below `folder`."""
    return sum(os.lstat(os.path.join(root, name)).st_size for root, _, names in os.walk(folder) for name in names)


def write_pieces(corpus: Path, folder: Path, n: int) -> int:
    """Cut the corpus into `n` files of WORDS words, a thousand a folder; gives how many were written."""
    everything = itertools.chain.from_iterable(pieces(corpus, first) for first in range(0, WORDS, 7))
    written = 0
    for written, piece in enumerate(itertools.islice(everything, n), start=1):
        target = folder / f"{written // 1000:03d}"
        if written % 1000 in (0, 1):
            target.mkdir(parents=True, exist_ok=True)
        (target / f"{written:06d}.txt").write_text(piece)
    return written


def pieces(corpus: Path, first: int = 0) -> Iterator[str]:
    """Runs of words of each file from word `first` on, markup taken out; files that hold no text are passed over."""
    for root, _, names in sorted(os.walk(corpus)):
        for name in sorted(names):
            text = (Path(root) / name).read_text(errors="replace")
            if text.startswith("%PDF") or "\0" in text:
                continue
            words = re.sub(r"<[^>]*>", " ", text).split()
            for i in range(first, len(words), WORDS):
                yield " ".join(words[i : i + WORDS])
