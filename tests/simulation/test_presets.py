"""Every preset that comes with the program runs."""

from __future__ import annotations

from typing import Any

import pytest

from simulation.cell import Cell, assignments, expand
from simulation.data.places import DATASETS
from simulation.engines import CellFailed, InProcess
from simulation.experiment import work_with
from simulation.preset import Preset, decode_preset, load_tables, preset_names
from simulation.trial import check_method

ROUNDS = 2
BIGGEST = {"clients": 4, "local": 3}
"""what a preset's federation shrinks to"""
SHRUNK = ("federation.clients", "federation.local", "federation.rounds", "federation.evaluate_every", "data.dataset")


def shrunk(name: str) -> Preset:
    """The preset on the bundled sample: two rounds, few clients, one fold, one seed."""
    tables = load_tables(name)
    whole = decode_preset(tables, source=name)
    federation = {key: min(value, getattr(whole.federation, key)) for key, value in BIGGEST.items()}
    tables["data"] |= {"dataset": "sample", "folds": [1], "learn_from": "train"}  # the sample has no validation queries
    tables["data"] = {key: value for key, value in tables["data"].items() if key not in ("users", "without")}
    tables["federation"] = {**tables.get("federation", {}), **federation, "rounds": ROUNDS, "evaluate_every": 1}
    tables["seeds"] = 1
    tables["sweep"] = without_sizes(tables.get("sweep", {}))
    if whole.data.users:  # nor does it say who asked
        tables["sweep"]["federation.partition"] = [{"kind": "queries"}]
    return decode_preset(tables, source=name)


def without_sizes(sweep: dict[str, Any]) -> dict[str, Any]:
    """The sweep without the keys that make a study big."""
    kept = {key: values for key, values in sweep.items() if key not in SHRUNK}
    groups = [{k: v for k, v in group.items() if k not in SHRUNK} for group in kept.pop("together", [])]
    return kept | ({"together": groups} if any(groups) else {})


def cells_of(study: Preset) -> tuple[Cell, ...]:
    return expand(study, folds_of=lambda dataset: (1,))


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_runs_for_two_rounds(name: str) -> None:
    """Every cell of a preset runs on the bundled sample, however small."""
    cells = cells_of(shrunk(name))
    events = list(InProcess().run(cells, work_with(None)))
    assert [event for event in events if isinstance(event, CellFailed)] == []


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_means_what_it_says(name: str) -> None:
    """It says what it repeats, its data set is known, its methods accept their settings, its expectations match cells.

    Every [[expect.values]] names swept keys with values that some cell has, and a round that is run.
    """
    study = decode_preset(load_tables(name), source=name)
    cells = cells_of(study)
    assert study.paper.title
    assert study.paper.source
    assert {cell.preset.data.dataset for cell in cells} <= set(DATASETS)
    for cell in {str(cell.settings): cell for cell in cells}.values():
        check_method(cell)
    assert assignments(study.sweep)
    for expected in study.expect.values:
        meant = [cell for cell in cells if expected.where.items() <= cell.settings.items()]
        assert meant, expected
        assert expected.at == "end" or all(expected.at <= cell.preset.federation.rounds for cell in meant)
