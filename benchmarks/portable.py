"""Random cells of all presets on four kinds of processor, compared byte by byte.

    python -m benchmarks portable --data DIR [--cells 50] [--seed 1] [--rounds 40] [--targets native bare]

native  this processor, as it is
avx2    compiled for one with AVX2 and FMA
sse2    compiled for any of the architecture
bare    the same, and the C library, numpy and OpenBLAS cut to a processor without AVX and FMA, as of 2010

Each target is one process that runs the cells one after another. A cell is shortened to `--rounds`, thousands of
clients to a hundred, and makes three rows; a preset whose data are not in DIR is not drawn from. What is compared are
all fields of all rows but seconds.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.running import Option, arguments
from benchmarks.tables import Table, machine, verdict
from simulation.cells.cell import Cell, expand
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import load_tables, preset_names
from simulation.cells.trial import cell_events
from simulation.cli import one_thread_each
from simulation.data.known_datasets import folds_present
from simulation.engines import CellFailed, Reported
from simulation.errors import DatasetError
from simulation.verification import rows_digest

TARGETS: dict[str, dict[str, str]] = {
    "native": {},
    "avx2": {"NUMBA_CPU_NAME": "skylake", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma,+sse4.2,+ssse3,+bmi,+bmi2,+popcnt"},
    "sse2": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "bare": {
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX,-AVX512F",
        "OPENBLAS_CORETYPE": "Nehalem",
        "NPY_DISABLE_CPU_FEATURES": "X86_V4 X86_V3 AVX512_ICL",
    },
}
MOST_CLIENTS = 100
LONGEST = 600.0
"""seconds that a target has at most"""


def drawn(root: Path | None, *, n: int, seed: int, rounds: int, only: str) -> list[tuple[str, Cell]]:
    """`n` cells of presets that can run: first a random preset, then one of its cells."""
    luck, names = random.Random(seed), [name for name in preset_names() if only in name]
    luck.shuffle(names)
    known = {name: cells for name in names if (cells := shortened(name, root, rounds))}
    found: list[tuple[str, Cell]] = []
    while known and len(found) < n:
        for name, cells in list(known.items()):
            if len(found) < n:
                found.append((name, cells.pop(luck.randrange(len(cells)))))
            if not cells:
                del known[name]
    return found


def shortened(name: str, root: Path | None, rounds: int) -> list[Cell]:
    """The cells of a preset, made short; [] where its data are not here."""
    try:
        cells = expand(decode_preset(load_tables(name), source=name), folds_of=partial(folds_present, root=root))
        here = {cell.preset.data.dataset: folds_present(cell.preset.data.dataset, root) for cell in cells}
    except DatasetError:
        return []
    return [short(cell, rounds) for cell in cells if cell.fold in here[cell.preset.data.dataset]]


def short(cell: Cell, rounds: int) -> Cell:
    """The cell with as many rounds and clients as are played soon."""
    federation = cell.preset.federation
    few = max(1, min(rounds, federation.rounds))
    changed: dict[str, Any] = {"rounds": few, "evaluate_every": max(1, few // 2)}
    changed["clients"] = min(federation.clients, MOST_CLIENTS)
    changed["forgotten_from"] = min(federation.forgotten_from, few)
    short_one = msgspec.structs.replace(federation, **changed)
    return Cell(
        cell.id, cell.settings, msgspec.structs.replace(cell.preset, federation=short_one), cell.fold, cell.seed
    )


def run_here(cells: Sequence[tuple[str, Cell]], root: Path | None) -> None:
    """Run them in this process and print the digest of each; what fails has its message instead."""
    for name, cell in cells:
        events = list(cell_events(cell, root=root))
        failed = [event.message for event in events if isinstance(event, CellFailed)]
        found = failed[0] if failed else rows_digest([event.row for event in events if isinstance(event, Reported)])
        print(json.dumps([f"{name} {cell.id}", found, bool(failed)]), flush=True)


def on(target: str, words: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """By cell, its digest on that target, and whether it failed."""
    command = [sys.executable, "-m", "benchmarks.portable", *words, "--here"]
    done = subprocess.run(
        command, env={**os.environ, **TARGETS[target]}, stdout=subprocess.PIPE, text=True, timeout=LONGEST, check=True
    )
    return {name: (found, failed) for name, found, failed in map(json.loads, done.stdout.splitlines())}


def main() -> int:
    """Run and compare."""
    options = arguments(
        __doc__,
        data=None,
        cells=50,
        seed=1,
        rounds=40,
        only="",
        targets=Option(tuple(TARGETS), choices=tuple(TARGETS)),
        keep=Option(kind=Path, help="a folder for what each target found, and to find it in"),
        here=Option(False, "run in this process and print digests"),
    )
    one_thread_each()
    if options.here:
        cells = drawn(options.data, n=options.cells, seed=options.seed, rounds=options.rounds, only=options.only)
        run_here(cells, options.data)
        return 0
    shared = ("data", "cells", "seed", "rounds", "only")
    words = [word for name in shared if getattr(options, name) for word in (f"--{name}", str(getattr(options, name)))]
    found = {target: kept_or_run(target, words, options.keep) for target in options.targets}
    table = Table(("cell", *(f"{target} as {options.targets[0]}" for target in options.targets[1:])))
    first, *others = found.values()
    equal = 0
    for cell, (digest, failed) in first.items():
        same = [other[cell][0] == digest for other in others]
        equal += all(same) and not failed
        table.add(cell, *(("failed" if failed else "equal") if one else "NOT EQUAL" for one in same))
    print(machine(), table, f"{equal} of {len(first)} cells equal on all: {verdict(equal == len(first))}", sep="\n\n")
    return 0 if equal == len(first) else 1


def kept_or_run(target: str, words: Sequence[str], folder: Path | None) -> dict[str, tuple[str, bool]]:
    """What the target found, from the folder where it is there."""
    path = folder / f"{target}.json" if folder else None
    if path and path.exists():
        return dict(json.loads(path.read_text(encoding="utf-8")))
    found = on(target, words)
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(found), encoding="utf-8")
    return found


if __name__ == "__main__":
    sys.exit(main())
