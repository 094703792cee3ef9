"""Cells in engines: the same rows everywhere, failures apart from each other, runs taken up where they stopped."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foltr.errors import FoltrError
from simulation.cells.preset import preset_tables
from simulation.data.known_datasets import dataset_place
from simulation.engines import CellFailed, Event, Finished, InProcess, Reported, Started
from simulation.errors import SimulationError
from simulation.experiment import prepare, work_with
from simulation.run_folder import CELLS, ROWS, begin_run, read_run
from tests.simulation.small_study import cells_of, preset


def test_a_cell_that_fails_says_why_and_the_others_go_on(tmp_path: Path) -> None:
    """An error inside a cell is an event, not an exception."""
    cells = cells_of(preset(seeds=1, sweep={}, data={"dataset": "sample", "folds": [1, 99]}))
    events = list(InProcess().run(cells, work_with(None)))
    failures = [event for event in events if isinstance(event, CellFailed)]
    assert [event.cell for event in failures] == [cells[1].id]
    assert "fold 99" in failures[0].message
    assert [event.cell for event in events if isinstance(event, Finished)] == [cells[0].id]


def test_an_interrupt_keeps_what_was_done(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a cell: rows so far are kept, the outcome says so."""

    def interrupt(event: Event) -> None:
        if isinstance(event, Reported) and event.row.round == 2:
            raise KeyboardInterrupt

    experiment = prepare(preset(), root=None, folder=tmp_path, resume=False)
    outcome = experiment.run(InProcess(), work_with(None), tell=interrupt)
    assert (outcome.interrupted, outcome.finished) == (True, ())
    assert [row.round for row in read_run(tmp_path).rows] == [0, 2]


def test_a_run_is_taken_up_where_it_stopped(tmp_path: Path) -> None:
    """Finished cells are not run again, a partial one begins anew, and the rows are those of one whole run."""
    whole = prepare(preset(), root=None, folder=tmp_path / "whole", resume=False)
    whole.run(InProcess(), work_with(None), tell=lambda event: None)
    lines = (tmp_path / "whole" / ROWS).read_bytes().splitlines(keepends=True)

    begin_run(tmp_path / "cut", preset_tables(preset()))
    (tmp_path / "cut" / ROWS).write_bytes(b"".join(lines[:5]) + lines[5][:20])
    first = (tmp_path / "whole" / CELLS).read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "cut" / CELLS).write_bytes(first)
    again = prepare(preset(), root=None, folder=tmp_path / "cut", resume=True)
    assert again.finished == {whole.cells[0].id}
    started: list[Event] = []
    outcome = again.run(InProcess(), work_with(None), tell=started.append)
    assert outcome.finished == whole.cells[1:]
    assert sum(isinstance(event, Started) for event in started) == len(whole.cells) - 1
    with_no_time = [[msgspec.structs.replace(row, seconds=0) for row in run.rows()] for run in (again, whole)]
    assert with_no_time[0] == with_no_time[1]


def test_only_the_same_study_is_taken_up(tmp_path: Path) -> None:
    """Another value is named; a folder that holds a run is not written over; one without a run is no run."""
    with pytest.raises(SimulationError, match="no run to go on with"):
        prepare(preset(), root=None, folder=tmp_path, resume=True)
    prepare(preset(), root=None, folder=tmp_path, resume=False)
    with pytest.raises(SimulationError, match=r"begun with seeds = 2, now it is seeds = 3"):
        prepare(preset(seeds=3), root=None, folder=tmp_path, resume=True)
    with pytest.raises(SimulationError, match="holds a run already"):
        prepare(preset(), root=None, folder=tmp_path, resume=False)


def test_a_fold_that_is_gone_is_named(tmp_path: Path) -> None:
    """Where a run on all folds is taken up without one of them."""
    folds = tmp_path / "data"
    shutil.copytree(dataset_place("sample"), folds)
    study = preset(data={"dataset": str(folds)}, seeds=1, federation={"rounds": 1, "clients": 2})
    begun = prepare(study, root=None, folder=tmp_path / "run", resume=False)
    with begun.held:
        begun.run(InProcess(), work_with(None), tell=lambda event: None)
    (folds / "Fold2_test.txt").rename(tmp_path / "away")
    with pytest.raises(SimulationError, match="it has rows of fold 2, which is not there any more"):
        prepare(study, root=None, folder=tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"method": {"name": "fpdg"}}, "there is no method 'fpdg'; there are pdgd, fpdgd"),
        ({"federation": {"aggregation": {"rule": "krum"}}}, "settings of fpdgd: aggregation: n_malicious is missing"),
        ({"method": {"name": "fpdgd", "eta": 1}}, "settings of fpdgd: .*eta.*; there are learning_rate, temperature"),
        ({"seeds": [1, 1]}, "seeds: a number is given twice: 1, 1"),
        ({"data": {"dataset": "sample", "folds": [2, 2]}}, "data.folds: a number is given twice: 2, 2"),
        ({"method": {"name": "fpdgd", "learning_rate": -1}}, "learning_rate must be positive"),
        ({"method": {"name": "fpdgd", "ranker": "tree"}}, "no ranker 'tree'"),
        (
            {"method": {"name": "foltr-es"}, "federation": {"aggregation": {"rule": "median"}}},
            "federation.aggregation: the server of foltr-es has no such setting",
        ),
        ({"method": {"name": "fedips"}, "federation": {"guard": True}}, "federation.guard: the server of fedips"),
        ({"federation": {"optimizer": {"optimizer": "nix"}}}, "no optimizer 'nix'; there are sgd, momentum"),
        ({"method": {"name": "ranksvm", "ranker": "neural"}}, "ranksvm decides what it learns: it is not 'neural'"),
        ({"users": {"logging_share": 0.01}}, "users.logging_share: fpdgd shows the pages of what it learns"),
        ({"data": {"dataset": "sample", "folds": [9]}}, "fold 9 is not there"),
        ({"data": {"dataset": "samples"}}, "neither a data set"),
        ({"data": {"dataset": "mq2008"}}, "--data DIR or FOLTR_DATASETS names the folder; `synthetic` needs no data"),
    ],
)
def test_mistakes_are_found_before_anything_runs(tables: dict[str, Any], message: str, tmp_path: Path) -> None:
    """Method, settings, ranker, rule, data set and folds are checked first, and no folder is made."""
    with pytest.raises(FoltrError, match=message):
        prepare(preset(**tables), root=None, folder=tmp_path / "out", resume=False)
    assert not (tmp_path / "out").exists()
