"""Cells in engines: the same rows everywhere, failures apart from each other, runs taken up where they stopped."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from foltr.errors import FoltrError
from foltr.federated.registry import METHODS
from simulation.cell import Cell, expand
from simulation.engines import (
    CellFailed,
    Engine,
    Event,
    Finished,
    InProcess,
    Processes,
    RayCluster,
    Reported,
    Started,
    make_engine,
)
from simulation.errors import SimulationError
from simulation.experiment import prepare, run_cells, work_with
from simulation.federation import Shown
from simulation.label_rankers import LABEL_RANKERS
from simulation.preset import Preset, decode_preset, preset_tables
from simulation.results import CELLS, ROWS, Row, RowWriter, begin_run, read_run
from simulation.trial import DISCOUNT, Tally

STUDY: dict[str, Any] = {
    "seeds": 2,
    "data": {"dataset": "sample", "folds": [1, 2]},
    "federation": {"clients": 3, "local": 2, "rounds": 4, "evaluate_every": 2},
    "method": {"name": "fpdgd", "learning_rate": 0.1},
    "sweep": {"users.clicks": ["perfect", "pbm"]},
}


def preset(**tables: Any) -> Preset:
    return decode_preset({**STUDY, **tables}, source="study")


def cells_of(study: Preset) -> tuple[Cell, ...]:
    return expand(study, folds_of=lambda dataset: (1,))


def rows_of(events: Iterable[Event]) -> list[Row]:
    """Without the time they took, in an order that no engine has a say in."""
    rows = [msgspec.structs.replace(e.row, seconds=0.0) for e in events if isinstance(e, Reported)]
    return sorted(rows, key=lambda row: (row.cell, row.round))


def one_of_three_dies(cell: Cell) -> Iterator[Event]:
    """Work whose second cell takes its process with it, and whose third fails."""
    yield Started(cell.id)
    if cell.seed == 2:
        os._exit(7)
    yield CellFailed(cell.id, "as arranged") if cell.seed == 3 else Finished(cell.id)


def test_rows_do_not_depend_on_the_number_of_workers() -> None:
    """One process and two give bit-identical rows."""
    cells, work = cells_of(preset()), work_with(None)
    alone, together = rows_of(InProcess().run(cells, work)), rows_of(Processes(2).run(cells, work))
    assert len(alone) == len(cells) * 3
    assert alone == together


def test_the_others_wait_for_what_the_first_cell_compiles() -> None:
    """With `first_alone` no second cell starts before the first has a row of a later round; the rows are the same."""
    cells, work = cells_of(preset()), work_with(None)
    events = list(Processes(2, first_alone=True).run(cells, work))
    past = next(n for n, event in enumerate(events) if isinstance(event, Reported) and event.row.round > 0)
    assert [event.cell for event in events[: past + 1] if isinstance(event, Started)] == [cells[0].id]
    assert rows_of(events) == rows_of(InProcess().run(cells, work))


def test_rows_do_not_depend_on_the_other_cells() -> None:
    """A cell on its own gives the rows that it gives within a study."""
    cells, work = cells_of(preset()), work_with(None)
    everything = rows_of(InProcess().run(cells, work))
    last = rows_of(InProcess().run(cells[-1:], work))
    assert last == [row for row in everything if row.cell == cells[-1].id]


def test_a_ray_cluster_gives_the_same_rows() -> None:
    """Ray is another place to run, not another result."""
    ray = pytest.importorskip("ray", reason="ray is not installed")
    if not os.environ.get("FOLTR_TEST_RAY"):
        pytest.skip("starting a Ray cluster takes long: FOLTR_TEST_RAY=1 asks for it")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        cells, work = cells_of(preset()), work_with(None)
        assert rows_of(RayCluster().run(cells, work)) == rows_of(InProcess().run(cells, work))
    finally:
        ray.shutdown()


def test_rows_come_at_the_start_every_so_often_and_at_the_end() -> None:
    """Round 0, each evaluate_every rounds, and the last; online values begin with the first round."""
    study = preset(seeds=1, sweep={}, federation={"clients": 3, "local": 2, "rounds": 5, "evaluate_every": 2})
    rows = rows_of(InProcess().run(cells_of(study)[:1], work_with(None)))
    assert [row.round for row in rows] == [0, 2, 4, 5]
    assert [row.interactions for row in rows] == [0, 2 * 3 * 2, 4 * 3 * 2, 5 * 3 * 2]
    assert rows[0].online_ndcg is None
    assert all(row.online_ndcg is not None and 0 <= row.online_ndcg <= 1 for row in rows[1:])
    assert all(row.offline_max_rr is not None for row in rows)


def test_centralised_pdgd_is_one_client_with_all_pages() -> None:
    """pdgd sees the pages of every client of a round: as many interactions as the federation."""
    study = preset(seeds=1, sweep={}, method={"name": "pdgd"})
    twin = preset(seeds=1, sweep={}, federation={"clients": 1, "local": 3 * 2, "rounds": 4, "evaluate_every": 2})
    alone, by_hand = (rows_of(InProcess().run(cells_of(p)[:1], work_with(None))) for p in (study, twin))
    assert alone == by_hand
    assert alone[-1].interactions == 4 * 3 * 2


@pytest.mark.parametrize("name", [*METHODS, *LABEL_RANKERS])
def test_every_method_runs_as_a_cell(name: str) -> None:
    """With its own defaults; those trained on labels give one row, at round 0."""
    study = preset(seeds=1, sweep={}, method={"name": name}, federation={"clients": 2, "local": 2, "rounds": 2})
    events = list(InProcess().run(cells_of(study)[:1], work_with(None)))
    assert isinstance(events[-1], Finished), events[-1]
    assert [row.round for row in rows_of(events)] == ([0] if name in LABEL_RANKERS else [0, 1, 2])


def test_fedips_pages_come_from_a_ranker_trained_on_labels() -> None:
    """logging_share decides who shows the pages, `indifferent` which queries are asked: both change what is learned."""
    method, federation = {"name": "fedips"}, {"clients": 2, "local": 2, "rounds": 2}
    curves = []
    for share, indifferent in ((0.0, "keep"), (0.2, "keep"), (0.2, "drop")):
        study = preset(
            seeds=1,
            sweep={},
            method=method,
            federation=federation,
            users={"clicks": "fedips", "k": 5, "logging_share": share},
            data={"dataset": "sample", "folds": [1], "indifferent": indifferent},
        )
        curves.append([row.online_ndcg for row in rows_of(InProcess().run(cells_of(study), work_with(None)))])
    assert all(len(curve) == 3 for curve in curves)
    assert len({tuple(curve) for curve in curves}) == 3


def test_a_tally_discounts_rounds_and_averages_between_rows() -> None:
    """Cumulative: mean nDCG of the round times gamma^(t - 1); the means begin anew after each row."""
    tally = Tally()
    tally.add(Shown(2, ndcg=1.0, reciprocal_rank=2.0, max_rr=0.5, clicks=1))
    tally.add(Shown(2, ndcg=2.0, reciprocal_rank=1.0, max_rr=1.5, clicks=3))
    assert tally.means_since_last_row() == (3.0 / 4, 3.0 / 4, 2.0 / 4)
    assert tally.means_since_last_row() is None
    assert math.isclose(tally.cumulative_ndcg, 1.0 / 2 + DISCOUNT * 2.0 / 2)
    assert tally.interactions == 4


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_worker_that_dies_fails_its_cell_alone(jobs: int, tmp_path: Path) -> None:
    """The cell of a dead process is reported with the exit code, the cells behind it go on in a new one."""
    cells = cells_of(preset(seeds=4, sweep={}, data={"dataset": "sample", "folds": [1]}))
    with RowWriter(tmp_path) as writer:
        outcome = run_cells(
            cells, engine=Processes(jobs), work=one_of_three_dies, writer=writer, tell=lambda event: None
        )
    assert sorted(cell.seed for cell in outcome.finished) == [1, 4]
    messages = {cell.seed: message for cell, message in outcome.failed}
    assert messages == {2: "its worker process died with exit code 7", 3: "as arranged"}
    assert not outcome.interrupted


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


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"method": {"name": "fpdg"}}, "there is no method 'fpdg'; there are pdgd, fpdgd"),
        ({"method": {"name": "fpdgd", "eta": 1}}, "settings of fpdgd: .*eta.*; there are learning_rate, temperature"),
        ({"seeds": [1, 1]}, "seeds: a number stands there twice: 1, 1"),
        ({"data": {"dataset": "sample", "folds": [2, 2]}}, "data.folds: a number stands there twice: 2, 2"),
        ({"method": {"name": "fpdgd", "learning_rate": -1}}, "learning_rate must be positive"),
        ({"method": {"name": "fpdgd", "ranker": "tree"}}, "no ranker 'tree'"),
        (
            {"method": {"name": "foltr-es"}, "federation": {"aggregation": {"rule": "median"}}},
            "federation.aggregation: the server of foltr-es has no choice of it",
        ),
        ({"method": {"name": "fedips"}, "federation": {"guard": True}}, "federation.guard: the server of fedips"),
        ({"federation": {"optimizer": {"optimizer": "nix"}}}, "no optimizer 'nix'; there are sgd, momentum"),
        ({"method": {"name": "ranksvm", "ranker": "neural"}}, "ranksvm learns a linear ranker, not 'neural'"),
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


def test_engines_by_name() -> None:
    """One local job stays in this process; an unknown engine lists the known ones."""
    engines: list[Engine] = [make_engine("local", 1), make_engine("local", 3), make_engine("ray", 1)]
    assert engines == [InProcess(), Processes(3), RayCluster()]
    with pytest.raises(SimulationError, match="there are local, ray"):
        make_engine("cloud", 1)
