"""Some of the random steps of many_hands.py, which has the promises; 10,000 are run by hand (docs/benchmarks.md)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.whole.many_hands import ManyHands
from tests.whole.power_cut import COMPILER

N_STEPS = 80
SEED = 3


@pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="wanted a C compiler and Linux for power cuts")
def test_each_acknowledged_step_is_there_afterwards(tmp_path: Path) -> None:
    """Screen, `serve`, `watch` and commands at once, with kills and power cuts: nothing is lost, and all agree."""
    with ManyHands(tmp_path / "hands", SEED) as hands:
        for _ in range(N_STEPS):
            hands.step()
