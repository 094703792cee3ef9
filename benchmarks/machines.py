"""One collection on two machines: is the page of both as good as that of one index of all?

    python -m benchmarks machines [--names medline cranfield cisi] [--queries 100]

The documents are divided between two machines at random; one of them asks the other as `search --on` does, through a
child process in the place of ssh. nDCG@10 of the page of both, of one index of all, and of reciprocal rank fusion (k =
60) of what each finds by itself; how many pages of both are that of one index, place by place; and how long the page of
both takes, its first connection left out.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np

from app.paths import Paths
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import DevicesSettings, Settings
from benchmarks import collections
from benchmarks.collections import Collection
from benchmarks.devices import device, indexed
from benchmarks.judged import CUTOFF, ndcg
from benchmarks.running import Option, arguments
from benchmarks.tables import Table, change, machine

SEED = 27
K = 60
ALL, HALVES = "m0", ("m1", "m2")
"""folders, and the names of the machines: no words of a query"""
IN_PLACE_OF_SSH = """
import os, sys
folder = sys.argv[1] + "/" + sys.argv[sys.argv.index("--") + 1]
os.environ.update(FOLTR_DATA_DIR=folder + "/data", FOLTR_CONFIG_DIR=folder + "/config")
os.execv(sys.executable, [sys.executable, "-m", "app", "devices", "answer"])
"""


def dealt(collection: Collection, folder: Path, settings: Settings) -> dict[str, str]:
    """Index all of it below `folder`, and each half; file -> document id."""
    files = {
        str(Path(path).relative_to(folder / ALL / "files")): document
        for path, document in collections.write_files(collection, folder / ALL / "files").items()
    }
    lots = np.random.default_rng(SEED).integers(2, size=len(files)).tolist()
    for name, lot in zip(files, lots, strict=True):
        half = folder / HALVES[lot] / "files" / name
        half.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(folder / ALL / "files" / name, half)
    for name in (ALL, *HALVES):
        indexed(folder / name / "files", folder / name, settings)
    return files


def found(search: Search, files: dict[str, str], text: str, on: tuple[str, ...] = ()) -> list[str]:
    """The documents of a page, best first."""
    page = search.search(SearchRequest(text, explore=False, on=on))
    if page.unasked:
        raise SystemExit(page.unasked[0])
    return [files[hit.path.partition("/files/")[2]] for hit in page.hits]


def fused(rankings: Sequence[Sequence[str]]) -> list[str]:
    """Reciprocal rank fusion: 1 / (K + rank), added up."""
    points: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, start=1):
            points[name] = points.get(name, 0.0) + 1 / (K + rank)
    return sorted(points, key=lambda name: -points[name])


def measure(collection: Collection, settings: Settings) -> tuple[object, ...]:
    """One line of the table."""
    with tempfile.TemporaryDirectory(prefix="foltr-machines-") as base:
        folder = Path(base)
        files = dealt(collection, folder, settings)
        ssh = shlex.join([sys.executable, "-c", IN_PLACE_OF_SSH, base])
        asking = msgspec.structs.replace(settings, devices=DevicesSettings(ssh=ssh, ask_seconds=60.0))
        paths = {name: _paths(folder / name) for name in (ALL, *HALVES)}
        with (
            device(paths[ALL], settings) as every, device(paths[HALVES[0]], asking) as here,
            device(paths[HALVES[1]], settings) as there,
        ):  # fmt: skip
            found(here, files, "warm up", HALVES[1:])
            columns, n_same, seconds = [], 0, []
            for query, text in collection.queries.items():
                started = time.perf_counter()
                both = found(here, files, text, HALVES[1:])
                seconds.append(time.perf_counter() - started)
                one, apart = found(every, files, text), [found(here, files, text), found(there, files, text)]
                n_same += both[:CUTOFF] == one[:CUTOFF]
                grades = collection.grades[query]
                columns.append([_ndcg(ranking, grades) for ranking in (one, both, fused(apart), apart[0])])
    of_one, of_both, of_fusion, of_half = np.mean(columns, axis=0).tolist()
    share = f"{100 * n_same / len(columns):.0f} %"
    took = f"{1000 * float(np.median(seconds)):.0f} ms"
    return (
        collection.name, len(columns), of_one, of_both, change(of_both, of_one), share, of_fusion,
        change(of_fusion, of_one), of_half, took,
    )  # fmt: skip


def _paths(folder: Path) -> Paths:
    return Paths(folder / "config", folder / "data")


def _ndcg(ranking: Sequence[str], grades: dict[str, int]) -> float:
    return ndcg(np.array([float(grades.get(name, 0)) for name in ranking[:CUTOFF]]), grades.values())


def main() -> None:
    """Print the table."""
    wanted = arguments(__doc__, names=Option(["medline", "cranfield", "cisi"]), queries=100)
    table = Table((
        "collection", "queries", "one index", "both machines", "change", "same first ten", "fusion of ranks",
        "fusion, change", "one half alone", "median page of both",
    ))  # fmt: skip
    for name in wanted.names:
        table.add(*measure(collections.sampled(collections.read(name), wanted.queries), Settings()))
    print(machine(), table, sep="\n\n")
