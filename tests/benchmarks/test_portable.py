"""The same rows on a processor without AVX and FMA: really run, with library and compiler cut to it."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.portable import TARGETS, drawn, short

ROOT = Path(__file__).parents[2]
CELLS = """
from benchmarks.portable import run_here
from simulation.cli import one_thread_each
one_thread_each()
from tests.simulation.small_study import cells_of, preset

few = dict(seeds=1, sweep={}, data={"dataset": "sample", "folds": [1]}, users={"clicks": "informational"})
noise = {"mechanism": "fpdgd-paper", "sensitivity": 3.0, "epsilon": 4.5, "n_clients": 3}
methods = {
    "fpdgd": {"name": "fpdgd", "learning_rate": 0.1, "privacy": noise},
    "foltr-es": {"name": "foltr-es"},
    "coltr": {"name": "coltr", "n_candidates": 20},
}
run_here([(name, cell) for name, method in methods.items() for cell in cells_of(preset(method=method, **few))], None)
"""
THETAS = """
import json
import numpy as np
from simulation.labels.label_rankers import LABEL_RANKERS
from tests.simulation.judged_queries import random_queries

for name in ("least-squares", "ranksvm"):
    theta = LABEL_RANKERS[name]().fit(random_queries(), np.random.default_rng(0))
    print(json.dumps([name, theta.tobytes().hex(), False]))
"""


def digests(target: str, lines_of: str = CELLS) -> dict[str, str]:
    """What three small cells, or other lines, give on a target."""
    done = subprocess.run(
        [sys.executable, "-c", lines_of],
        env={**os.environ, **TARGETS[target]},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert not any(failed for *_, failed in lines), lines
    return {name: digest for name, digest, _ in lines}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the targets are of x86-64")
def test_rows_are_those_of_a_processor_of_2010() -> None:
    """FPDGD with noise, FOLtR-ES and COLTR: every byte of every row but seconds, here and on `bare`."""
    found = digests("native")
    assert len(found) == 3
    assert found == digests("bare")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the targets are of x86-64")
def test_what_is_solved_ends_in_the_same_digits_on_a_processor_of_2010() -> None:
    """Least squares and the ranking SVM: every bit of theta, here and on `bare`."""
    found = digests("native", THETAS)
    assert len(found) == 2
    assert found == digests("bare", THETAS)


def test_cells_are_drawn_by_lot_and_made_short() -> None:
    """The same for the same seed, of presets that can run without anybody's data, each cell once."""
    first = drawn(None, n=6, seed=3, rounds=5, only="synthetic")
    assert [(name, cell.id) for name, cell in first] == [
        (name, cell.id) for name, cell in drawn(None, n=6, seed=3, rounds=5, only="synthetic")
    ]
    assert len({(name, cell.id) for name, cell in first}) == 6
    assert all(cell.preset.federation.rounds <= 5 and cell.preset.federation.clients <= 100 for _, cell in first)
    assert short(first[0][1], 2).id == first[0][1].id
