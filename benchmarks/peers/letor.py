"""LETOR text to arrays: scikit-learn's `load_svmlight_file` on the same file, with the file in the system's memory."""

from __future__ import annotations

import importlib
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from benchmarks.letor_speed import SAMPLE, repeat, sources
from benchmarks.peers.pairs import AbsentError, Bench, Measure, Sample
from simulation.data.letor import parse_file

NAME = "scikit-learn"
MEGABYTES = 100


def scikit_learn() -> ModuleType:
    """The package; AbsentError where it is not."""
    try:
        return importlib.import_module("sklearn.datasets")
    except ModuleNotFoundError as missing:
        raise AbsentError("pip install scikit-learn") from missing


def versions() -> list[str]:
    """Where it is there: "scikit-learn 1.9.1"."""
    try:
        scikit_learn()
    except AbsentError:
        return []
    return [f"{NAME} {importlib.import_module('sklearn').__version__}"]


def measure(bench: Bench, *, megabytes: int = MEGABYTES) -> None:
    """Read a file of the given size in megabytes, made of the MSLR sample if present, else of the bundled one."""
    if not bench.present(NAME, scikit_learn):
        return
    with tempfile.TemporaryDirectory(prefix="foltr-peers-") as folder:
        path = Path(folder) / "data.txt"
        repeat(sources(), path, megabytes * 1_000_000)
        # It takes whole numbers as query ids: those of the repetitions run on, so that no two queries become one.
        text = re.sub(rb"qid:(\d+)-(\d+)", lambda found: b"qid:%d" % _joined(found), path.read_bytes())
        path.write_bytes(text)
        parse_file(SAMPLE / "Fold1_test.txt")  # compiled from here on
        data = parse_file(path)
        work = f"LETOR text, {len(text) / 1e6:.0f} MB ({len(data.grades):,} x {data.n_features})"
        load = scikit_learn().load_svmlight_file
        bench.compare(work, seconds(lambda: parse_file(path)), {NAME: seconds(lambda: load(str(path), query_id=True))})


def _joined(found: re.Match[bytes]) -> int:
    return int(found[1]) * 10**9 + int(found[2])


def seconds(call: Callable[[], object]) -> Measure:
    """Processor seconds of this process, and what the clock said."""

    def once() -> Sample:
        wall, processor = time.perf_counter(), time.process_time()
        call()
        return {"CPU-s": time.process_time() - processor, "wall s": time.perf_counter() - wall}

    return once
