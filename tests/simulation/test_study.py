"""What is shown of a study that did not come to its end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from simulation import study
from simulation.cells.preset import ExpectedValue
from simulation.experiment import Experiment, prepare
from simulation.run_folder import CELLS, ROWS, Row, hold
from simulation.study import _reached
from tests.simulation.small_study import preset


def row(clicks: str, round_number: int) -> Row:
    return Row(
        cell=clicks,
        settings={"users.clicks": clicks},
        fold=1,
        seed=1,
        round=round_number,
        interactions=round_number,
        offline_ndcg=0.5,
    )


def test_the_papers_last_number_is_not_drawn_at_the_end_of_an_unfinished_curve() -> None:
    """A number of the end stays only where every curve that it speaks of is finished; one of a round always stays."""
    finished, unfinished = row("perfect", 10), row("informational", 4)
    numbers = [
        ExpectedValue(metric="offline_ndcg", value=0.5, where={"users.clicks": clicks}, at=at)
        for clicks in ("perfect", "informational")
        for at in ("end", 4)
    ]
    of_all = ExpectedValue(metric="offline_ndcg", value=0.5)
    kept = _reached([*numbers, of_all], [finished, unfinished], whole=[finished])
    assert [(number.where["users.clicks"], number.at) for number in kept] == [
        ("perfect", "end"),
        ("perfect", 4),
        ("informational", 4),
    ]
    assert _reached([*numbers, of_all], [finished], whole=[finished]) == [*numbers, of_all]


LIMITED = """
import resource, sys
from simulation.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 1 << 40))
words = "sample --folds 1 --clicks perfect,pbm --rounds 20 --evaluate-every 1 --clients 2 --jobs 1 --out".split()
sys.exit(main([*words, sys.argv[1]]))
"""


def test_rows_that_cannot_be_written_end_a_run_that_can_be_gone_on_with(tmp_path: Path) -> None:
    """As on a full disk: finished cells stay, and the line that says why says how to go on."""
    folder = tmp_path / "run"
    done = subprocess.run([sys.executable, "-c", LIMITED, str(folder)], capture_output=True, text=True, timeout=300)
    assert (done.returncode, len((folder / CELLS).read_text().splitlines())) == (1, 1), done.stderr
    assert done.stderr.splitlines()[-1].startswith("foltr-search: File too large; to go on: foltr-search")
    assert len((folder / ROWS).read_text().splitlines()) > 21


def test_a_folder_is_let_go_of_at_the_end_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where something still refers to the run, as the traceback of an error does that a library has kept."""
    kept: list[Experiment] = []

    def prepared(*given: Any, **named: Any) -> Experiment:
        kept.append(prepare(*given, **named))
        return kept[-1]

    monkeypatch.setattr(study, "prepare", prepared)
    folder, shared = tmp_path / "run", {"root": None, "jobs": 1, "engine": "local", "command": ["x"], "again": "x"}
    assert study.run_study(preset(seeds=1, sweep={}), folder=folder, resume=False, **shared) == 0  # type: ignore[arg-type]
    hold(folder).close()
