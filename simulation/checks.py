"""What is refused before anything runs, once: settings that cannot be, and data that do not fit them.

A cell would find all of it out by itself, after compiling, and every cell again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from foltr.errors import FoltrError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Method
from simulation.aliased import check_aliased
from simulation.cell import Cell
from simulation.cell_parts import asked, fold_of, held_out, measurement_of, method_of, ranker_of
from simulation.click_models import TOP_GRADE
from simulation.correlated import check_correlated
from simulation.data.datasets import DATASETS, line_of_grade_above
from simulation.data.digests import fold_digests
from simulation.data.places import dataset_place
from simulation.data.queries import Fold
from simulation.errors import DataFileError, PresetError, SimulationError
from simulation.label_rankers import label_ranker, learns_from_labels
from simulation.leavers import unlearning_of
from simulation.measurements import MEASUREMENTS
from simulation.merging.two_owners import check_merging
from simulation.participants import attack_of, check_rule, participants, shares_of
from simulation.preset import preset_tables


def check_method(cell: Cell) -> None:
    """Find out before anything runs whether ranker, method and settings fit; FoltrError when they do not."""
    info = DATASETS.get(cell.preset.data.dataset)
    if cell.preset.merging is not None:
        check_merging(cell, cell.preset.merging)
    elif learns_from_labels(cell.method):
        label_ranker(cell.method)
    elif cell.method.name in MEASUREMENTS:
        measurement_of(cell)
    else:
        method = method_of(cell, ranker_of(cell.method, info.n_features if info else 2))
        check_rule(cell, method)
        _check_rounds(cell, method)
        attack_of(cell)
        unlearning_of(cell)


def _check_rounds(cell: Cell, method: Method[Any, Any]) -> None:
    """PresetError for a kind of round that the method does not know."""
    federation = cell.preset.federation
    if federation.correlation is not None:
        check_correlated(method)
    if federation.tested is not None and not isinstance(method, FPDGD):
        raise PresetError(
            f"federation.acceptance: clients of fpdgd exchange rankers, those of {cell.method.name} do not"
        )
    if federation.aliased:
        check_aliased(cell, method)
    if federation.in_order and not isinstance(method, FPDGD):
        raise PresetError(
            f"federation.in_order: clients of fpdgd can run out of queries, those of {cell.method.name} cannot"
        )


def check_clients(cell: Cell, fold: Fold) -> None:
    """Share out the fold's queries as the cell will; FoltrError names key and data where somebody gets none."""
    if cell.preset.merging is not None:
        return
    fold = replace(fold, train=asked(cell, fold))
    participants(cell, fold)
    shares_of(cell, cell.preset.data.evaluate_clients_on, held_out(cell, fold), at="data.evaluate_clients_on")


def check_settings(cells: Sequence[Cell]) -> None:
    """FoltrError names the setting of a method, a rule, an attack or of the clients that cannot be."""
    for cell in {str(cell.settings): cell for cell in cells}.values():
        check_method(cell)


def check_data(cells: Sequence[Cell], root: Path | None, *, reading: Callable[[], None]) -> dict[str, str]:
    """Read every fold that is needed and let all clients take their shares of it; the digests of what was read.

    `reading` is called before each fold. FoltrError names the file and line, or the key, that does not fit.
    """
    digests: dict[str, str] = {}
    for same in _grouped(cells, lambda cell: (cell.preset.data, cell.fold)):
        reading()
        fold = fold_of(same[0], root)
        _check_grades(same[0], fold, root)
        for alike in _grouped(same, _who_takes_part):
            _check_shares(alike[0], fold)
        digests |= fold_digests(same[0].preset.data.dataset, fold, root)
    return digests


def _grouped(cells: Sequence[Cell], key: Callable[[Cell], object]) -> list[list[Cell]]:
    """Cells by what `key` gives for them."""
    groups: dict[bytes, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(msgspec.json.encode(key(cell)), []).append(cell)
    return list(groups.values())


def _who_takes_part(cell: Cell) -> object:
    """All that decides the clients of a cell on its fold; the seed where they share out the queries by lot."""
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
    parts = (fold.train, fold.test, *([fold.validation] if fold.validation else []))
    if dataset in DATASETS or max(int(part.grades.max()) for part in parts) <= TOP_GRADE:
        return
    path, line, grade = line_of_grade_above(TOP_GRADE, dataset_place(dataset, root), fold.number)
    message = f"a grade from 0 to {TOP_GRADE}, which there are click models for, was expected, {grade} came"
    raise DataFileError(path, message, line=line)
