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
import hashlib
import json
import numpy as np
from foltr.privacy.correlated_noise import Correlation
from foltr.privacy.noise import gamma_shares
from foltr.ranking.metrics import discounts, gains
from simulation.data.queries import signed_log
from simulation.data.synthetic import MSLR_SHAPE, make_queries, make_world
from simulation.labels.label_rankers import LABEL_RANKERS
from simulation.merging.splits import k_means
from tests.simulation.judged_queries import random_queries

rng = np.random.default_rng(0)
values = np.ldexp(rng.random((3_000, 46)), rng.integers(-20, 40, (3_000, 46)))
found = {name: LABEL_RANKERS[name]().fit(random_queries(), np.random.default_rng(0)) for name in LABEL_RANKERS}
found["logarithms"] = signed_log(values)
found["powers"] = Correlation(decays=(0.9, 0.99), scales=(0.4, 0.5)).column(1_000)
found["centres"], _ = k_means(rng.random((200, 46)).round(1), 4, rng)
found["made up"] = make_queries(MSLR_SHAPE, make_world(MSLR_SHAPE, 1), 20, key=(1,)).features
found["shares"] = gamma_shares(1.0, 3, 5_000, rng)
found["metrics"] = np.concatenate([discounts(1_000), gains(np.arange(5))])
for name, numbers in found.items():
    print(json.dumps([name, hashlib.sha256(numbers.tobytes()).hexdigest(), False]))
"""


def digests(target: str) -> dict[str, str]:
    """What three small cells and what is solved give on a target, in one process."""
    done = subprocess.run(
        [sys.executable, "-c", CELLS + THETAS],
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
def test_digits_are_those_of_a_processor_of_2010() -> None:
    """FPDGD with noise, FOLtR-ES and COLTR, every byte of every row but seconds; theta of label rankers, and what data,
    groups, noise and metrics are made of, every bit: here and on `bare`."""
    found = digests("native")
    assert len(found) >= 3 + 2 + 5
    assert found == digests("bare")


def test_cells_are_drawn_by_lot_and_made_short() -> None:
    """The same for the same seed, of presets that can run without anybody's data, each cell once."""
    first = drawn(None, n=6, seed=3, rounds=5, only="synthetic")
    assert [(name, cell.id) for name, cell in first] == [
        (name, cell.id) for name, cell in drawn(None, n=6, seed=3, rounds=5, only="synthetic")
    ]
    assert len({(name, cell.id) for name, cell in first}) == 6
    assert all(cell.preset.federation.rounds <= 5 and cell.preset.federation.clients <= 100 for _, cell in first)
    assert short(first[0][1], 2).id == first[0][1].id
