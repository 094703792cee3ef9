"""A study from its preset to its results: cells are made, run by an engine, written down as they go, and reported.

Only the same study may go on in the folder of a run that was interrupted.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from simulation.cell import Cell, expand, flat
from simulation.checks import check_data, check_settings
from simulation.data.places import DATASETS, folds_present
from simulation.engines import CellFailed, Engine, Event, Finished, Reported, Work
from simulation.environment import check_same_data, read_environments
from simulation.errors import DatasetError, SimulationError
from simulation.label_rankers import draws_nothing
from simulation.preset import Preset, decode_preset, preset_tables
from simulation.results import PRESET, Row, RowWriter, begin_run, check_new, read_run, resume_run
from simulation.trial import cell_events

FOR_PEOPLE = ("paper.", "expect.")


def stored_preset(folder: Path) -> Preset:
    """What runs in that folder; SimulationError when it holds no run."""
    path = folder / PRESET
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SimulationError(f"{folder} holds no run to go on with: there is no {PRESET}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SimulationError(f"{path}: not TOML: {error}") from error
    return decode_preset(tables, source=str(path))


def check_same(folder: Path, preset: Preset) -> None:
    """SimulationError names a key in which the preset is not the folder's; what only people read may differ."""
    stored, asked = (dict(flat(preset_tables(p))) for p in (stored_preset(folder), preset))
    for key in sorted(key for key in {*stored, *asked} if not key.startswith(FOR_PEOPLE)):
        if stored.get(key) != asked.get(key):
            raise SimulationError(
                f"cannot go on in {folder}: it was begun with {_named(key, stored)}, now it is {_named(key, asked)}"
            )


def _named(key: str, values: Mapping[str, Any]) -> str:
    return f"{key} = {values[key]!r}" if key in values else f"no {key}"


Listener = Callable[[Event], None]
"""is told everything that happens, as a progress display is"""


@dataclass(frozen=True, slots=True)
class StudyOutcome:
    """How a run ended."""

    finished: tuple[Cell, ...]
    failed: tuple[tuple[Cell, str], ...]
    """with the message of each"""
    interrupted: bool


@dataclass(frozen=True, slots=True)
class Experiment:
    """A checked study in its folder."""

    preset: Preset
    cells: tuple[Cell, ...]
    folder: Path
    finished: frozenset[str]
    """cells of an earlier run that need not run again"""
    digests: Mapping[str, str]
    """of the data, as simulation.data.digests has them"""

    @property
    def waiting(self) -> tuple[Cell, ...]:
        """What is left to run."""
        return tuple(cell for cell in self.cells if cell.id not in self.finished)

    def run(self, engine: Engine, work: Work, *, tell: Listener) -> StudyOutcome:
        """Run what is left; rows are on disk before anybody is told."""
        with RowWriter(self.folder) as writer:
            return run_cells(self.waiting, engine=engine, work=work, writer=writer, tell=tell)

    def rows(self) -> list[Row]:
        """All rows so far, cell after cell in the order of the study, whichever ended first."""
        place = {cell.id: number for number, cell in enumerate(self.cells)}
        return sorted(read_run(self.folder).rows, key=lambda row: (place[row.cell], row.round))


def prepare(
    preset: Preset, *, root: Path | None, folder: Path, resume: bool, reading: Callable[[], None] = lambda: None
) -> Experiment:
    """Check everything that can be checked without running it, and open the folder; FoltrError says what is wrong.

    `reading` is called before each fold is read, which may take a while the first time.
    """
    cells = expand(preset, folds_of=partial(_folds, root=root), draws_nothing=draws_nothing)
    check_settings(cells)
    _check_folds(cells, root)
    if resume:
        check_same(folder, preset)
    else:
        check_new(folder)
    digests = check_data(cells, root, reading=reading)
    if not resume:
        begin_run(folder, preset_tables(preset))
        return Experiment(preset, cells, folder, frozenset(), digests)
    check_same_data(read_environments(folder), digests, folder)
    return Experiment(preset, cells, folder, resume_run(folder).finished, digests)


def run_cells(cells: Sequence[Cell], *, engine: Engine, work: Work, writer: RowWriter, tell: Listener) -> StudyOutcome:
    """Run cells until all have ended or somebody interrupts; an error in one does not stop the others."""
    by_id = {cell.id: cell for cell in cells}
    finished: list[Cell] = []
    failed: list[tuple[Cell, str]] = []
    try:
        with closing(engine.run(cells, work)) as events:
            for event in events:
                if isinstance(event, Reported):
                    writer.write(event.row)
                elif isinstance(event, Finished):
                    writer.finish(event.cell, seconds=event.seconds)
                    finished.append(by_id[event.cell])
                elif isinstance(event, CellFailed):
                    failed.append((by_id[event.cell], event.message))
                tell(event)
    except KeyboardInterrupt:
        return StudyOutcome(tuple(finished), tuple(failed), interrupted=True)
    return StudyOutcome(tuple(finished), tuple(failed), interrupted=False)


def work_with(root: Path | None) -> Work:
    """What an engine does with a cell, for data below `root`."""
    return partial(cell_events, root=root.absolute() if root else None)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _check_folds(cells: Iterable[Cell], root: Path | None) -> None:
    """DatasetError for a fold that is not there, before anything runs."""
    for dataset, fold in sorted({(cell.preset.data.dataset, cell.fold) for cell in cells}):
        present = _folds(dataset, root)
        if fold not in present:
            raise DatasetError(f"{dataset}: fold {fold} is not there, only {', '.join(map(str, present))}")


def _folds(dataset: str, root: Path | None) -> tuple[int, ...]:
    """The folds that are there; the error for a data set of that name that is not also says what to do."""
    try:
        return folds_present(dataset, root)
    except DatasetError as error:
        if dataset not in DATASETS:
            raise
        made_up = (DATASETS[dataset].stand_ins or ("synthetic",))[-1]
        hint = f"--data DIR or FOLTR_DATASETS names the folder; `{made_up}` needs no data."
        raise DatasetError(f"{error} {hint}") from error
