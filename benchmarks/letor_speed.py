"""How fast LETOR text becomes arrays; `python -m benchmarks peers --only letor` has scikit-learn beside it.

    python -m benchmarks letor_speed [--megabytes 100] [--runs 5] [--source FILE ...]

The file is the MSLR sample of the shared folder (else the bundled sample), repeated under other query ids in a
temporary folder until it has the size. Times are medians, after compilation, with the file in the system's memory.
"""

from __future__ import annotations

import itertools
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import load
from benchmarks.collections import shared_folder
from benchmarks.running import Option, arguments
from simulation.data.cache import content_hash, load_file
from simulation.data.letor import parse_file
from simulation.data.queries import NORMALISATIONS, normalise_queries

SAMPLE = Path(__file__).resolve().parents[1] / "simulation" / "samples" / "letor-60"


class Taken(NamedTuple):
    """Seconds."""

    wall: float
    processor: float
    """this process alone: what other programs do meanwhile counts little"""


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, megabytes=100, runs=5, source=Option((), kind=Path))
    start = load.moment()
    with tempfile.TemporaryDirectory(prefix="foltr-letor-") as temporary:
        path = Path(temporary) / "data.txt"
        repeat(options.source or sources(), path, options.megabytes * 1_000_000)
        measure(path, Path(temporary) / "cache", options.runs)
    print(load.since(start))


def sources() -> list[Path]:
    """The MSLR sample where it is, else the sample that comes with the program."""
    try:
        found = sorted((shared_folder() / "data" / "letor" / "MSLR-sample" / "Fold1").glob("*.txt"))
    except FileNotFoundError:
        found = []
    return found or sorted(SAMPLE.glob("*.txt"))


def repeat(files: Iterable[Path], path: Path, size: int) -> None:
    """Write the lines of `files` again and again until `path` has `size` bytes, with new query ids each time."""
    texts = [file.read_bytes() for file in files]
    with path.open("wb") as stream:
        for time_round, text in ((n // len(texts), texts[n % len(texts)]) for n in itertools.count()):
            if stream.tell() >= size:
                return
            stream.write(re.sub(rb"qid:(\S+)", rb"qid:%d-\1" % time_round, text))


def measure(path: Path, cache: Path, runs: int) -> None:
    """Parse, hash, load from the cache and normalise."""
    parse_file(SAMPLE / "Fold1_test.txt")
    data = parse_file(path)
    megabytes = path.stat().st_size / 1e6
    print(f"{megabytes:.0f} MB, {data.n_queries} queries, {len(data.grades)} documents, {data.n_features} features")
    print(f"{'median':<46}{'wall':>9}   {'processor':>9}")
    parse = row("parse", runs, lambda: parse_file(path))
    print(f"{'':<46}{megabytes / parse.wall:>7.0f} MB/s{megabytes / parse.processor:>7.0f} MB/s")
    row("hash, when the source is new or has changed", runs, lambda: content_hash(path))
    row("first load, cache written", 1, lambda: load_file(path, cache=cache))
    time.sleep(2.1)  # a source that changed within two seconds is hashed again
    load_file(path, cache=cache)
    row("load from the cache", runs, lambda: load_file(path, cache=cache))
    row("load from the cache and add up all features", runs, lambda: np.sum(load_file(path, cache=cache).features))
    for how in NORMALISATIONS:
        row(f"normalise: {how}", runs, lambda how=how: normalise_queries(data, how))  # type: ignore[misc]


def row(name: str, runs: int, call: Callable[[], object]) -> Taken:
    """Print and give the median times of a call."""
    walls, processors = [], []
    for _ in range(runs):
        wall, processor = time.perf_counter(), time.process_time()
        call()
        walls.append(time.perf_counter() - wall)
        processors.append(time.process_time() - processor)
    taken = Taken(statistics.median(walls), statistics.median(processors))
    print(f"{name:<46}{taken.wall * 1e3:>9.1f} ms{taken.processor * 1e3:>9.1f} ms", flush=True)
    return taken
