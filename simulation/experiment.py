"""A study from its preset to its results: cells are made, checked, run by an engine, and written down as they go.

Only the same study may go on in the folder of a run that was interrupted. Whatever is refused is refused once, before
anything runs: impossible settings, and data that do not fit them. A cell would find all of this out by itself, but only
after compiling, and so would every other cell.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from foltr.errors import FoltrError
from simulation.cells import parts
from simulation.cells.cell import Cell, expand, flat
from simulation.cells.evaluation import Ties, judge
from simulation.cells.preset import Data, Preset, decode_preset, preset_tables
from simulation.cells.preset_tables import FOR_PEOPLE, stand_in
from simulation.cells.trial import Circumstances, cell_events
from simulation.data.datasets import check_present, fold_digests, impostor, line_of_grade_above
from simulation.data.known_datasets import DATASETS, dataset_place, folds_present
from simulation.data.queries import Fold
from simulation.engines import CellFailed, Engine, Event, Finished, Reported, Work
from simulation.environment import build, check_alike, read_environments
from simulation.errors import DataFileError, DatasetError, PresetError, SimulationError
from simulation.extensions import load, placed
from simulation.labels.label_rankers import label_ranker
from simulation.merging.two_owners import check_merging
from simulation.rounds.click_models import TOP_GRADE
from simulation.rounds.round_kinds import check_rounds
from simulation.run_folder import PRESET, Row, RowWriter, begin_run, check_new, hold, read_run, resume_run
from simulation.studies.registry import MEASUREMENTS


def stored_preset(folder: Path) -> Preset:
    """What runs in that folder; SimulationError when it holds no run."""
    path = folder / PRESET
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SimulationError(f"{folder} holds no run to go on with: there is no {PRESET}") from error
    except ValueError as error:  # TOML's and Unicode's errors are ValueErrors
        raise SimulationError(f"{path}: not TOML: {error}") from error
    return decode_preset(tables, source=str(path))


def check_same(folder: Path, preset: Preset) -> None:
    """SimulationError names a key in which the preset differs from the folder's; what only people read may differ."""
    stored, now = (dict(flat(preset_tables(p))) for p in (stored_preset(folder), preset))
    for key in sorted(key for key in {*stored, *now} if not key.startswith(FOR_PEOPLE)):
        if stored.get(key) != now.get(key):
            raise SimulationError(
                f"cannot go on in {folder}: it was begun with {_named(key, stored)}, now it is {_named(key, now)}"
            )


def _named(key: str, values: Mapping[str, Any]) -> str:
    return f"{key} = {values[key]!r}" if key in values else f"no {key}"


Listener = Callable[[Event], None]
"""is told everything that happens, as a progress display is"""


class StudyOutcome(msgspec.Struct, frozen=True):
    """How a run ended."""

    finished: tuple[Cell, ...]
    failed: tuple[tuple[Cell, str], ...]
    """with the message of each"""
    interrupted: bool


class Experiment(msgspec.Struct, frozen=True):
    """A checked study in its folder."""

    preset: Preset
    cells: tuple[Cell, ...]
    folder: Path
    finished: frozenset[str]
    """cells of an earlier run that need not run again"""
    digests: Mapping[str, str]
    """of the data, as simulation.data.datasets has them, and of files and packages that add something"""
    impostor: str
    """what the data are, if not what their name says; "" if they are"""
    held: BinaryIO
    """keeps other processes from the folder"""

    @property
    def waiting(self) -> tuple[Cell, ...]:
        """What is left to run."""
        return tuple(cell for cell in self.cells if cell.id not in self.finished)

    @property
    def instead(self) -> str:
        """What the data are in place of those that their name, or the paper, speaks of."""
        return stand_in(self.preset.data) or self.impostor

    def run(self, engine: Engine, work: Work, *, tell: Listener) -> StudyOutcome:
        """Run what is left; rows are on disk before anybody is told."""
        with RowWriter(self.folder) as writer:
            return run_cells(self.waiting, engine=engine, work=work, writer=writer, tell=tell)

    def rows(self) -> list[Row]:
        """All rows so far, cell after cell in the order of the study, whichever ended first."""
        place = {cell.id: number for number, cell in enumerate(self.cells)}
        return sorted(read_run(self.folder).rows, key=lambda row: (place[row.cell], row.round))


@placed()
def prepare(
    preset: Preset, *, root: Path | None, folder: Path, resume: bool, reading: Callable[[str], None] = lambda said: None
) -> Experiment:
    """Check everything that can be checked without running it, and open the folder; FoltrError says what is wrong.

    `reading` is called before each fold is read, which may take a while the first time, and with what to say of it.
    """
    brought = load(preset.with_) if preset.with_ else {}
    cells = expand(preset, folds_of=partial(folds_present, root=root))
    for cell in {str(cell.settings): cell for cell in cells}.values():
        check_method(cell)
    for dataset, fold in sorted({(cell.preset.data.dataset, cell.fold) for cell in cells}):
        check_present(dataset, fold, root)
    if resume:
        check_same(folder, preset)
    else:
        check_new(folder)
    digests, other = check_data(cells, root, reading)
    digests |= brought
    if not resume:
        held = begin_run(folder, preset_tables(preset))
        return Experiment(preset, cells, folder, frozenset(), digests, other, held)
    held = hold(folder)
    check_alike(read_environments(folder), digests, folder)
    _check_rows(folder, cells)
    return Experiment(preset, cells, folder, resume_run(folder).finished, digests, other, held)


def _check_rows(folder: Path, cells: Sequence[Cell]) -> None:
    """SimulationError where a fold that the run was begun with is not there any more."""
    known = {cell.id for cell in cells}
    if lost := next((row for row in read_run(folder).rows if row.cell not in known), None):
        raise SimulationError(f"cannot go on in {folder}: it has rows of fold {lost.fold}, which is not there any more")


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


def work_with(root: Path | None, digests: Mapping[str, str] | None = None) -> Work:
    """What an engine does with a cell, for data below `root`, where build and data are as here."""
    return partial(
        cell_events, root=root.absolute() if root else None, alike=Circumstances(build(), dict(digests or {}))
    )


def check_method(cell: Cell) -> None:
    """Find out before anything runs whether ranker, method and settings fit; FoltrError when they do not."""
    info = DATASETS.get(cell.preset.data.dataset)
    parts.click_models_of(cell)
    if cell.preset.merging is not None:
        check_merging(cell, cell.preset.merging)
    elif cell.method.learns_from_labels:
        label_ranker(cell.method)
    elif cell.method.name in MEASUREMENTS:
        parts.measurement_of(cell)
    else:
        method = parts.method_of(cell, parts.ranker_of(cell.method, info.n_features if info else 2))
        parts.check_rule(cell, method)
        check_rounds(cell.preset.federation, method, cell.method.name)
        parts.attack_of(cell)
        parts.unlearning_of(cell)


def check_clients(cell: Cell, fold: Fold) -> None:
    """Share out the fold's queries as the cell will; FoltrError names key and data where somebody gets none."""
    if cell.preset.merging is not None:
        return
    fold = msgspec.structs.replace(fold, train=parts.asked(cell, fold))
    parts.participants(cell, fold)
    parts.shares_of(
        cell, cell.preset.data.evaluate_clients_on, parts.held_out(cell, fold), at="data.evaluate_clients_on"
    )


def check_data(cells: Sequence[Cell], root: Path | None, reading: Callable[[str], None]) -> tuple[dict[str, str], str]:
    """Read every fold that is needed and let all clients take their shares of it; the digests of what was read.

    Also what some of it is, if not what its name says, as simulation.data.datasets.impostor has it. `reading` as in
    `prepare`. FoltrError names the file and line, or the key, that does not fit.
    """
    digests: dict[str, str] = {}
    other = ""
    for same in _grouped(cells, lambda cell: (cell.preset.data, cell.fold)):
        reading("")
        fold = parts.fold_of(same[0], root)
        if not digests and same[0].preset.data.dataset not in DATASETS:
            for said in _remarks(same[0].preset.data, fold):
                reading(said)
        _check_grades(same[0], fold, root)
        for name, part in (("training", fold.train), ("test", fold.test)):
            if not part.grades.any():
                place = f"{same[0].preset.data.dataset}, fold {fold.number}"
                raise DatasetError(f"{place}: wanted a relevant document (grade above 0) in a {name} query, none came")
        for alike in _grouped(same, _who_takes_part):
            _check_shares(alike[0], fold)
        of_fold = fold_digests(same[0].preset.data.dataset, fold, root)
        other = other or impostor(same[0].preset.data.dataset, fold, of_fold)
        digests |= of_fold
    return digests, other


def _remarks(data: Data, fold: Fold) -> Iterator[str]:
    """What to say of somebody's own data: of features that, taken as they are, make PDGD's steps too long, and of a
    file that tells the grades by its order.
    """
    largest = max(float(fold.train.features.max()), -float(fold.train.features.min()))
    if data.normalise == "default" and largest > 10.0:
        scales = "--set data.normalise=min-max scales each query's"
        yield f"features as large as {largest:.3g} are taken as they are; {scales}"
    ways: tuple[Ties, ...] = ("first", "last")
    equal = np.zeros(len(fold.test.grades))
    worst, best = sorted((judge(fold.test, k=data.k, ties=way).evaluate_scores(equal).ndcg, way) for way in ways)
    if worst[0] < 0.999 < best[0]:
        said = "test documents stand by grade in the file, so equal scores alone have"
        yield f"{said} nDCG 1 with data.ties = {best[1]!r}, {worst[0]:.3f} with {worst[1]!r}"


def _grouped(cells: Sequence[Cell], key: Callable[[Cell], object]) -> list[list[Cell]]:
    groups: dict[bytes, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(msgspec.json.encode(key(cell)), []).append(cell)
    return list(groups.values())


def _who_takes_part(cell: Cell) -> object:
    """All that decides the clients of a cell on its fold; the seed only where queries are shared out by lot."""
    federation = cell.preset.federation
    seed = cell.seed if federation.partition or cell.preset.data.evaluate_clients_on else None
    who = (federation.clients, federation.local, federation.partition, federation.attack, federation.malicious)
    return (preset_tables(cell.preset)["users"], *who, cell.method.name, seed)


def _check_shares(cell: Cell, fold: Fold) -> None:
    try:
        check_clients(cell, fold)
    except SimulationError:
        raise
    except FoltrError as error:
        raise PresetError(f"[users] and [federation] on {cell.preset.data.dataset}, {cell.title}: {error}") from error


def _check_grades(cell: Cell, fold: Fold, root: Path | None) -> None:
    """DataFileError names the first line with a grade for which no click model has a number."""
    dataset = cell.preset.data.dataset
    if dataset in DATASETS or max(int(part.grades.max()) for part in fold.parts) <= TOP_GRADE:
        return
    path, line, grade = line_of_grade_above(TOP_GRADE, dataset_place(dataset, root), fold.number)
    message = f"a grade from 0 to {TOP_GRADE}, which there are click models for, was expected, {grade} came"
    raise DataFileError(path, message, line=line)
