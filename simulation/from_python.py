"""The laboratory from Python: a study is run by its preset, and its rows are columns."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from console.command_line import heard_interrupts
from simulation.cells.preset import decode_preset
from simulation.cells.preset_tables import NUMBERS, absolute, load_tables, overridden, with_stand_in
from simulation.data.known_datasets import data_folder
from simulation.engines import make_engine
from simulation.environment import environment, finished, keep_environment
from simulation.errors import PresetError
from simulation.experiment import prepare, stored_preset, work_with
from simulation.run_folder import Row, read_run


class Results(Struct, frozen=True):
    """The rows of a study."""

    rows: tuple[Row, ...]
    """cell after cell, each from its first round to its last"""
    failed: Mapping[str, str]
    """why, by the title of each cell that ended with an error"""

    def __repr__(self) -> str:
        return f"{len(self.rows)} rows of {len({row.cell for row in self.rows})} cells: {', '.join(self.columns)}"

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        """A column `[n_rows]`; KeyError names those that there are."""
        columns = self.columns
        if name not in columns:
            raise KeyError(f"no column {name!r}; there are {', '.join(columns)}")
        return columns[name]

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The swept keys, fold, seed and round, then every metric that some row has: NaN where it was not measured.

        Where a cell does not have a swept key it is NaN among numbers, None among words.
        """
        swept = dict.fromkeys(key for row in self.rows for key in row.settings)
        columns = {key: _column([row.settings.get(key) for row in self.rows]) for key in swept}
        for name in Row.__struct_fields__:
            values = [getattr(row, name) for row in self.rows]
            if name not in ("settings", "query_ndcg") and any(value is not None for value in values):
                columns[name] = _column(values)
        return columns

    @property
    def last(self) -> Results:
        """The last row of each cell."""
        return Results(tuple({row.cell: row for row in self.rows}.values()), self.failed)

    def to_pandas(self) -> Any:
        """A pandas DataFrame; ModuleNotFoundError where pandas is not installed."""
        import pandas

        return pandas.DataFrame(self.columns)

    def to_polars(self) -> Any:
        """A polars DataFrame; ModuleNotFoundError where polars is not installed."""
        import polars

        words = {name: column.tolist() for name, column in self.columns.items() if column.dtype == object}
        return polars.DataFrame(self.columns | words)

    @classmethod
    def read(cls, folder: str | Path) -> Results:
        """The rows of finished cells in the folder of a run; SimulationError where there is none, or one is damaged."""
        stored_preset(Path(folder))
        return cls(read_run(Path(folder)).complete, {})


def _column(values: Sequence[Any]) -> npt.NDArray[Any]:
    """As one array; None is NaN where all others are numbers."""
    numbers = all(isinstance(value, int | float | None) and not isinstance(value, bool) for value in values)
    return np.array([np.nan if value is None else value for value in values] if numbers else values)


def run(
    preset: str | Path | Mapping[str, Any] = "quick/fpdgd",
    changes: Mapping[str, Any] | None = None,
    *,
    data: str | Path | None = None,
    with_: str | Path | Sequence[str | Path] = (),
    folder: str | Path | None = None,
    jobs: int = 1,
) -> Results:
    """Run a preset, by name, path or as its tables, and give its rows; FoltrError where it cannot be run at all.

    changes  dotted keys and their values, `{"federation.rounds": 100}`; a list is tried value by value, as by `--set`,
             and so is an array
    data     the folder of data sets; else where the command looks
    with_    files of your own, and packages that bring something (`simulation.extensions`)
    folder   where the run is kept, a new one; None keeps nothing
    jobs     cells at a time; above 1 the calling script must guard its `__main__`, as multiprocessing wants it
    """
    import os

    root = data_folder(None if data is None else str(data), os.environ)
    tables = load_tables(str(preset)) if isinstance(preset, str | Path) else _plain("preset", dict(preset))
    values = {key: _values(key, _plain(key, value)) for key, value in (changes or {}).items()}
    if with_:
        names = [with_] if isinstance(with_, str | Path) else with_
        values["with"] = [absolute([str(name) for name in names], Path())]
    study = decode_preset(
        overridden(tables, values), source=str(preset) if isinstance(preset, str | Path) else "preset"
    )
    with heard_interrupts(), tempfile.TemporaryDirectory() as nowhere:
        place = Path(folder) if folder is not None else Path(nowhere) / "run"
        experiment = prepare(with_stand_in(study, root, insist=data is not None), root=root, folder=place, resume=False)
        with experiment.held:  # which the traceback of an error, as a notebook keeps it, would hold on to
            entry = environment(["simulation.run"], stand_in=experiment.instead, data=experiment.digests)
            keep_environment(place, entry)
            outcome = experiment.run(make_engine("local", jobs), work_with(root), tell=lambda event: None)
            if not outcome.interrupted:
                keep_environment(place, finished(entry))
        if outcome.interrupted:
            raise KeyboardInterrupt
        return Results(tuple(experiment.rows()), {cell.title: why for cell, why in outcome.failed})


def _plain(key: str, value: Any) -> Any:
    """The value as a preset may have it: numpy's numbers and arrays, ranges and paths as numbers, lists and words."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {name: _plain(f"{key}.{name}", one) for name, one in value.items()}
    if isinstance(value, list | tuple | range):
        alike = tuple if isinstance(value, tuple) else list
        return alike(_plain(key, one) for one in value)
    if isinstance(value, Path):
        return str(value)
    if not isinstance(value, str | int | float | None):
        raise PresetError(f"{key}: wanted a number, a word, a list or a table, got {value!r}")
    return value


def _values(key: str, value: Any) -> list[Any]:
    """The values to try: those of a list, but one where the key takes a list of numbers."""
    is_one = not isinstance(value, list) or (key in NUMBERS and list not in map(type, value))
    return [value] if is_one or not value else value
