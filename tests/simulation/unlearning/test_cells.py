"""Cells that forget: their rows, whatever runs them, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simulation.cells.cell import Cell
from simulation.cells.parts import length
from simulation.cells.preset import Preset
from simulation.engines import CellFailed, InProcess, Processes
from simulation.errors import PresetError
from simulation.experiment import check_method, prepare, work_with
from simulation.run_folder import CELLS, ROWS, Row
from simulation.unlearning import UNLEARNING
from tests.simulation.small_study import cells_of, preset, rows_of

FEDERATION: dict[str, Any] = {
    "clients": 4, "local": 2, "rounds": 6, "evaluate_every": 2, "malicious": 1, "attack": {"attack": "opposed"},
}  # fmt: skip


def study(*ways: dict[str, Any], **federation: Any) -> Preset:
    return preset(seeds=1, federation={**FEDERATION, **federation}, sweep={"federation.unlearning": list(ways)})


def way(name: str, **settings: Any) -> dict[str, Any]:
    return {"unlearning": {"unlearning": name, **settings}}


def run(plan: Preset) -> list[Row]:
    return rows_of(InProcess().run(cells_of(plan), work_with(None)))


def first(plan: Preset) -> Cell:
    return cells_of(plan)[0]


def test_rows_count_from_the_beginning_of_unlearning() -> None:
    """FedEraser of six rounds, every second kept: rounds 0, 2 and 3 of three clients with one page each."""
    rows = run(study({"unlearning": "federaser", "every": 2, "local": 1}))
    assert [(row.round, row.interactions) for row in rows if row.fold == 1] == [(0, 0), (2, 6), (3, 9)]
    assert all(row.unlearning_distance is not None and row.unlearning_distance > 0 for row in rows)
    assert [row.unlearning_stretch is None for row in rows if row.fold == 1] == [True, False, False]
    assert length(first(study({"unlearning": "federaser", "every": 2, "local": 1}))) == (6, 6 + 3)


def test_the_retrained_cell_is_the_cell_without_the_leaver() -> None:
    """Row by row and number by number, but for how far it moved."""
    fields = ("round", "interactions", "offline_ndcg", "offline_map", "online_ndcg", "cumulative_ndcg", "fold")
    plain = preset(seeds=1, federation={"clients": 3, "local": 2, "rounds": 6, "evaluate_every": 2}, sweep={})
    retrained = run(study({"unlearning": "retrain"}))
    assert [[getattr(row, one) for one in fields] for row in retrained] == [
        [getattr(row, one) for one in fields] for row in run(plain)
    ]


def test_a_ranker_that_forgot_ranks_the_forgotten_queries_badly() -> None:
    """By labels that the leavers alone turned over: better while they learn along; unknown where all ask the same."""
    found = [
        run(study({"unlearning": name}, attack={}, malicious=0, forgotten=1, rounds=60, partition=partition))
        for name in ("none", "retrain")
        for partition in ({"kind": "relevancy-reset", "clients": 1}, {})
    ]
    with_them, unknown, without, _ = ([row.unlearning_ndcg for row in rows if row.round == 60] for rows in found)
    assert sum(value or 0.0 for value in with_them) > sum(value or 0.0 for value in without) > 0
    assert set(unknown) == {None}


def test_a_level_is_one_row() -> None:
    """The last row of the curve."""
    level, curve = run(study({"unlearning": "retrain", "level": True})), run(study({"unlearning": "retrain"}))
    assert [row.offline_ndcg for row in level] == [row.offline_ndcg for row in curve if row.round == 6]


@pytest.mark.parametrize("name", UNLEARNING)
def test_every_way_runs_as_a_cell(name: str) -> None:
    """With its own defaults, on clients with queries of their own, of whom two joined late."""
    plan = study(
        {"unlearning": name}, attack={"attack": "poisoned-clicks"}, malicious=2, forgotten_from=3,
        partition={"kind": "queries"},
    )  # fmt: skip
    events = list(InProcess().run(cells_of(plan), work_with(None)))
    assert [event for event in events if isinstance(event, CellFailed)] == []
    assert {row.round for row in rows_of(events)} >= {
        0,
        4 if name in ("rollback", "reaggregate", "fedremove") else 1,
    } - {1}


def test_rows_do_not_depend_on_the_number_of_workers() -> None:
    """Two processes report what one does."""
    cells = cells_of(study({"unlearning": "federaser", "every": 2}, {"unlearning": "pga", "more": 2}))
    alone, two = (rows_of(engine.run(cells, work_with(None))) for engine in (InProcess(), Processes(2)))
    assert alone == two


def test_a_killed_run_goes_on(tmp_path: Path) -> None:
    """What a run leaves that was cut off in the middle of its second cell is completed to the rows of a whole one."""
    plan = study({"unlearning": "reaggregate"}, {"unlearning": "fine-tuning", "more": 4})
    whole = prepare(plan, root=None, folder=tmp_path / "whole", resume=False)
    whole.run(InProcess(), work_with(None), tell=lambda event: None)
    killed = prepare(plan, root=None, folder=tmp_path / "killed", resume=False).folder
    lines = (whole.folder / ROWS).read_bytes().splitlines(keepends=True)
    first_cell = (whole.folder / CELLS).read_bytes().splitlines(keepends=True)[0]
    (killed / CELLS).write_bytes(first_cell)
    (killed / ROWS).write_bytes(b"".join(lines[:6]) + lines[6][:40])
    again = prepare(plan, root=None, folder=killed, resume=True)
    assert len(again.waiting) == len(again.cells) - 1
    again.run(InProcess(), work_with(None), tell=lambda event: None)

    def timeless(rows: list[Row]) -> list[str]:
        return [str({name: getattr(row, name) for name in row.__struct_fields__ if name != "seconds"}) for row in rows]

    assert timeless(again.rows()) == timeless(whole.rows())


@pytest.mark.parametrize(
    ("federation", "method", "message"),
    [
        (way("amnesia"), {}, "federation.unlearning.unlearning: there is no 'amnesia'; there are none"),
        (way("federaser", every=0), {}, "federation.unlearning.every: expected int >= 1"),
        (way("retrain") | {"malicious": 0}, {}, "federation.forgotten: wanted 1 to 3 clients, got 0"),
        (way("retrain") | {"forgotten": 4}, {}, "federation.forgotten: wanted 1 to 3 clients, got 4"),
        (way("rollback") | {"forgotten_from": 7}, {}, "federation.forgotten_from: wanted a round up to 6, got 7"),
        ({"forgotten": 1}, {}, "federation.unlearning: wanted a way to forget"),
        (way("retrain"), {"shared": [0, 1]}, "federation.unlearning: it is of whole weights"),
        (way("retrain") | {"attack": {}, "malicious": 0, "forgotten": 1}, {"name": "foltr-es"}, "that fpdgd sends"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_one_line(federation: dict[str, Any], method: dict[str, Any], message: str) -> None:
    """Before anything runs, with the key and what was wanted."""
    plan = preset(
        seeds=1, federation={**FEDERATION, **federation}, method={"name": "fpdgd", **method}, sweep={},
        data={"dataset": "sample", "folds": [1]},
    )  # fmt: skip
    with pytest.raises(PresetError) as refused:
        check_method(first(plan))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
