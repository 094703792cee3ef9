"""The laboratory from Python."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import simulation
from simulation import PresetError, Results, presets, run
from simulation.cells.preset_tables import overridden, parse_assignment
from simulation.errors import SimulationError
from simulation.run_folder import hold
from simulation.verification import EQUAL, verify
from tests.simulation.small_study import STUDY

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sign_pdgd.py"


def test_a_study_is_run_and_its_rows_are_columns(tmp_path: Path) -> None:
    """Two users on two folds with two seeds: arrays of one length, kept where it is asked for, and verified."""
    results = run(STUDY, {"federation.rounds": 2, "federation.evaluate_every": 1}, folder=tmp_path / "run")
    assert {len(column) for column in results.columns.values()} == {2 * 2 * 2 * 3}
    assert results["offline_ndcg"].dtype == np.float64
    assert np.isnan(results["online_ndcg"][results["round"] == 0]).all()
    assert set(results["users.clicks"]) == {"perfect", "pbm"}
    assert results.last["round"].tolist() == [2] * 8
    assert (results.failed, Results.read(tmp_path / "run").rows) == ({}, results.rows)
    assert verify(str(tmp_path / "run"), root=None, sample=1, say=print) == EQUAL
    with pytest.raises(KeyError, match="no column 'ndcg'; there are users"):
        results["ndcg"]


def test_ones_own_is_run_beside_others() -> None:
    """A file's method in a list of values to try; a preset by its name; what does not fit is an error."""
    few = {"data.dataset": "sample", "data.folds": [[1]], "federation.rounds": 2, "users.clicks": "perfect"}
    results = run("quick/fpdgd", few | {"method.name": ["sign-pdgd", "fpdgd"]}, with_=[EXAMPLE])
    assert set(results.last["method.name"]) == {"sign-pdgd", "fpdgd"}
    with pytest.raises(PresetError, match=r"users.clicks: 'x' is none of"):
        run("quick/fpdgd", few | {"users.clicks": "x"})
    assert "quick/fpdgd" in presets()


def test_one_file_may_be_named_alone_and_no_value_is_no_study(tmp_path: Path) -> None:
    """A path where a list is wanted is that one file; an empty list to try is refused; so is a folder without a run."""
    few = {"data.dataset": "sample", "data.folds": [1], "federation.rounds": 1, "users.clicks": "perfect"}
    for alone in (EXAMPLE, str(EXAMPLE)):
        assert len(run("quick/fpdgd", few | {"method.name": "sign-pdgd"}, with_=alone).last.rows) == 1
    with pytest.raises(PresetError, match=r"federation.rounds: expected int, got array"):
        run("quick/fpdgd", few | {"federation.rounds": []})
    for place in (tmp_path, EXAMPLE):
        with pytest.raises(SimulationError, match="holds no run"):
            Results.read(place)


def test_an_interrupted_run_can_be_gone_on_with_at_once(tmp_path: Path) -> None:
    """While the error is kept, as a notebook does, nothing holds its folder: SimulationError where something does."""
    changes = {"federation.rounds": 10_000_000, "users.clicks": "perfect", "seeds": [1], "data.folds": [1]}
    interrupt = threading.Timer(3.0, os.kill, (os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
    try:
        interrupt.start()
        with pytest.raises(KeyboardInterrupt) as kept:
            run("quick/fpdgd", changes | {"data.dataset": "sample"}, folder=tmp_path / "run")
    finally:
        signal.signal(signal.SIGINT, before)
    assert kept.value.__traceback__ is not None
    with hold(tmp_path / "run"):
        pass


def test_numbers_of_numpy_ranges_and_paths_are_values_like_others(tmp_path: Path) -> None:
    """As a notebook has them: an array is tried number by number; what can be no value is named with its key."""
    few = {"data.dataset": Path("sample"), "data.folds": range(1, 2), "users.clicks": "perfect"}
    rates = {"method.learning_rate": np.array([0.1, 0.2]), "federation.rounds": np.int64(1)}
    assert set(run("quick/fpdgd", few | rates).last["method.learning_rate"]) == {0.1, 0.2}
    rates["method.learning_rate"] = [*np.linspace(0.1, 0.2, 2)]
    tables = {**STUDY, "method": {"name": "fpdgd", "learning_rate": np.float64(0.3)}, "sweep": {}}
    assert set(run("quick/fpdgd", few | rates).last["method.learning_rate"]) == {0.1, 0.2}
    assert len(run(tables, {"federation.rounds": 1}).last.rows) == 2 * 2
    with pytest.raises(PresetError, match=r"method.learning_rate: wanted a number.* got <object"):
        run("quick/fpdgd", few | {"method.learning_rate": object()})


def test_a_list_of_seeds_or_folds_says_which_and_is_not_tried_number_by_number() -> None:
    """Else the rows of the first seed would be there once for each number, and count as often in a mean."""
    changes = {"federation.rounds": 1, "users.clicks": "perfect", "seeds": [7], "data.folds": [1, 2]}
    last = run("quick/fpdgd", changes | {"data.dataset": "sample"}).last
    assert list(zip(last["fold"].tolist(), last["seed"].tolist(), strict=True)) == [(1, 7), (2, 7)]
    with pytest.raises(PresetError, match="seeds"):
        run("quick/fpdgd", {"seeds": []})
    key, values = parse_assignment("seeds=1,7")
    assert overridden({}, {key: values}) == {"seeds": [1, 7], "sweep": {}}


def test_results_are_shown_in_one_line() -> None:
    """A notebook prints what a cell ends with: how much there is and under which names, and not every number."""
    results = run(STUDY, {"federation.rounds": 1})
    assert repr(results) == f"16 rows of 8 cells: {', '.join(results.columns)}"


DBN = {"model": "dbn", "attraction": [0.1, 0.5, 0.9], "satisfaction": [0.0, 0.3, 0.8], "perseverance": 0.9}


def test_a_key_that_some_cells_lack_is_a_column_of_one_kind() -> None:
    """Numbers with NaN, words with None; a frame of polars can filter both."""
    results = run(STUDY, {"federation.rounds": 1, "users.clicks": ["perfect", DBN]})
    own = results["users.clicks.perseverance"]
    assert (own.dtype, np.nanmin(own), int(np.isnan(own).sum())) == (np.float64, 0.9, len(own) // 2)
    assert set(results["users.clicks.model"]) == {"dbn", None}
    polars = pytest.importorskip("polars")
    assert results.to_polars().schema["users.clicks.model"] == polars.String


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_rows_are_a_frame_where_the_library_is_installed(library: str) -> None:
    """The same columns."""
    pytest.importorskip(library)
    results = run(STUDY, {"federation.rounds": 1})
    assert list(getattr(results, f"to_{library}")().columns) == list(results.columns)


def test_every_name_of_the_interface_is_there() -> None:
    """Each is loaded when it is asked for; the package alone loads no numpy, for the command sets threads before."""
    assert all(getattr(simulation, name) for name in simulation.__all__)
    assert set(simulation.__all__) <= set(dir(simulation))
    with pytest.raises(AttributeError, match="has no 'walk'; it has AttackSettings"):
        _ = simulation.walk
    alone = "import sys, simulation; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", alone], check=False).returncode == 0
