"""What is compiled is timed, and told by the cell that it is compiled for."""

from __future__ import annotations

import contextlib

import pytest
from numba import njit

from simulation.cells.trial import cell_events, compile_clock
from simulation.engines import Compiled, Reported, Started
from tests.simulation.small_study import cells_of, preset


def test_compiling_takes_time_and_calling_does_not() -> None:
    """The clock counts up to where it was asked, and begins again."""

    @njit
    def twice(x: float) -> float:
        return 2.0 * x

    with compile_clock() as taken:
        assert twice(1.0) == 2.0
        assert taken() > 0.0
        assert twice(1.0) == 2.0
        assert taken() == 0.0
        assert twice(1) == 2
        assert taken() > 0.0


def test_a_cell_tells_what_it_compiled_before_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds of compiling come before the row that they led to, and not with the rows after it."""
    seconds = iter([2.5, 0.0, 1.5])
    for module in ("simulation.rounds.federation", "simulation.cells.trial"):
        monkeypatch.setattr(f"{module}.TELL_SECONDS", 1e9)
    monkeypatch.setattr(
        "simulation.cells.trial.compile_clock", lambda: contextlib.nullcontext(lambda: next(seconds, 0.0))
    )
    events = [e for e in cell_events(cells_of(preset())[0], root=None) if isinstance(e, Started | Compiled | Reported)]
    told = [e.row.round if isinstance(e, Reported) else getattr(e, "seconds", None) for e in events]
    assert told == [None, 2.5, 0, 2, 1.5, 4]
