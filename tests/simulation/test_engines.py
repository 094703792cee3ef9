"""Engines: the same rows everywhere, failures apart from each other."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from simulation.cells.cell import Cell
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
from simulation.experiment import run_cells, work_with
from simulation.run_folder import RowWriter
from tests.simulation.small_study import cells_of, preset, rows_of


def one_of_three_dies(cell: Cell) -> Iterator[Event]:
    """Work whose second cell takes its process with it, and whose third fails."""
    yield Started(cell.id)
    if cell.seed == 2:
        os._exit(7)
    yield CellFailed(cell.id, "as arranged") if cell.seed == 3 else Finished(cell.id)


def interrupted_within_numpy(cell: Cell) -> Iterator[Event]:
    """Work in which Ctrl-C comes in the middle of a comparison, which makes another error of it."""
    yield Started(cell.id)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(500):  # another thread may have got it
            time.sleep(0.01)
    except KeyboardInterrupt:
        yield CellFailed(cell.id, "unexpected TypeError: Cannot compare structured arrays")


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


def test_an_interrupt_that_became_another_error_still_interrupts(tmp_path: Path) -> None:
    """No cell is called failed for it, none begins after it, and Ctrl-C means afterwards what it meant before."""
    cells, told = cells_of(preset()), list[Event]()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job has it ignored
    try:
        with RowWriter(tmp_path) as writer:
            outcome = run_cells(
                cells, engine=InProcess(), work=interrupted_within_numpy, writer=writer, tell=told.append
            )
    finally:
        after = signal.signal(signal.SIGINT, before)
    assert outcome.interrupted
    assert not outcome.failed
    assert told == [Started(cells[0].id)]
    assert after == signal.default_int_handler


def test_engines_by_name() -> None:
    """One local job stays in this process."""
    engines: list[Engine] = [make_engine("local", 1), make_engine("local", 3), make_engine("ray", 1)]
    assert engines == [InProcess(), Processes(3), RayCluster()]
