"""A small study on the sample, its cells and their rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from simulation.cells.cell import Cell, expand
from simulation.cells.preset import Preset, decode_preset
from simulation.engines import Event, Reported
from simulation.run_folder import Row

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
