"""Every preset that comes with the program runs."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from typing import Any

import pytest

from simulation.cells.cell import Cell, assignments, expand
from simulation.cells.preset import Preset, decode_preset
from simulation.cells.preset_tables import load_tables, preset_names
from simulation.data.places import DATASETS
from simulation.engines import CellFailed, InProcess
from simulation.experiment import check_method, work_with

ROUNDS = 2
BIGGEST = {"clients": 4, "local": 3}
"""what a preset's federation shrinks to"""
ROW_KEYS = ("merging.on", "ranker", "client")
"""settings that the rows of one cell of two owners differ in, behind the swept ones"""
SHRUNK = (
    "federation.clients", "federation.local", "federation.rounds", "federation.evaluate_every", "data.dataset",
    "merging.split", "merging.split.rule", "merging.split.category",
)  # fmt: skip


def runnable(name: str) -> dict[str, Any]:
    """The tables of a preset, which may need LightGBM, and a feature that only owners of the data can name."""
    tables = load_tables(name)
    if "lambdamart" in str(tables) and importlib.util.find_spec("lightgbm") is None:
        pytest.skip("LightGBM is not installed: the extra `lambdamart`")
    split = tables.get("merging", {}).get("split", {})
    if split.get("feature") == 0:
        split["feature"] = 1
    return tables


def shrunk(name: str) -> Preset:
    """The preset on the bundled sample: two rounds, few clients and people attacked, one fold, one seed, few trees.

    The sample has one set of labels, so "intents" become "queries" there, and three grades: three clients hold them.
    """
    tables = json.loads(json.dumps(runnable(name)).replace('"intents"', '"queries"'))
    tables.get("users", {}).pop("table", None)
    whole = decode_preset(tables, source=name)
    biggest = BIGGEST | ({"clients": 3} if '"grades"' in json.dumps(tables) else {})
    federation = {key: smaller(value, getattr(whole.federation, key)) for key, value in biggest.items()}
    if "malicious" in str(tables):  # rules and attacks are for so many
        federation["clients"] = whole.federation.clients
    tables["data"] |= {"dataset": "sample", "folds": [1], "learn_from": "train"}  # the sample has no validation queries
    tables["data"] = {key: value for key, value in tables["data"].items() if key not in ("users", "without")}
    tables["federation"] = {**tables.get("federation", {}), **federation, "rounds": ROUNDS, "evaluate_every": 1}
    if "merging" in tables:  # nor has it categories
        tables["merging"] |= {"split": {"kind": "groups", "groups": 3}, "merge_on": "rest"}
    for method in (tables["method"], *tables.get("sweep", {}).get("method", [])):
        if isinstance(method, dict) and method.get("name") == "lambdamart":
            method |= {"trees": 3, "trials": 1}
    if "users" in tables["method"]:
        tables["method"]["users"] = 2  # of one nothing can be told from others
    tables["seeds"] = 1
    tables["sweep"] = without_sizes(tables.get("sweep", {}), federation["clients"])
    if whole.data.users:  # nor does it say who asked
        tables["sweep"]["federation.partition"] = [{"kind": "queries"}]
    return decode_preset(tables, source=name)


def smaller(most: int, value: int | tuple[int, ...]) -> int | list[int]:
    """At most so much; of clients that differ the first ones."""
    return min(most, value) if isinstance(value, int) else list(value[:most])


def without_sizes(sweep: dict[str, Any], n_clients: int) -> dict[str, Any]:
    """The sweep without the keys that make a study big; clients that differ in effort go on to differ."""
    attacked = "malicious" in str(sweep)
    kept = {key: smaller_values(key, values, n_clients, attacked) for key, values in sweep.items() if key != "together"}
    groups = [
        {key: smaller_values(key, values, n_clients, attacked) for key, values in group.items()}
        for group in sweep.get("together", [])
    ]
    filled = [{key: values for key, values in group.items() if values} for group in groups]
    for way in kept.get("federation.unlearning", []):
        way.update({"more": ROUNDS} if "more" in way else {})
    return {key: values for key, values in kept.items() if values} | ({"together": filled} if any(filled) else {})


def smaller_values(key: str, values: Any, n_clients: int, attacked: bool) -> Any:
    """What is left of a swept key: nothing of sizes, but for who are attacked, and efforts of clients that differ."""
    if key not in SHRUNK or (attacked and key == "federation.clients"):
        return values
    differ = key == "federation.local" and any(isinstance(value, list) for value in values)
    return [value[:n_clients] if isinstance(value, list) else value for value in values] if differ else None


def cells_of(study: Preset) -> tuple[Cell, ...]:
    return expand(study, folds_of=lambda dataset: (1,))


def different_presets() -> list[str]:
    """Presets without those that are another one on other data, or in other lengths."""
    first: dict[str, str] = {}
    for name in preset_names():
        tables = load_tables(name)
        for key in ("paper", "seeds", "expect"):
            tables.pop(key, None)
        for key in ("dataset", "folds"):
            tables["data"].pop(key, None)
        for key in ("rounds", "evaluate_every"):
            tables.get("federation", {}).pop(key, None)
        first.setdefault(json.dumps(tables, sort_keys=True), name)
    return list(first.values())


def covering(cells: Sequence[Cell]) -> list[Cell]:
    """Those of the cells, in their order, that have a value no cell before them has."""
    seen: set[tuple[str, object]] = set()
    chosen = []
    for cell in cells:
        values = set(cell.settings.items())
        if not chosen or not values <= seen:
            chosen.append(cell)
        seen |= values
    return chosen


@pytest.mark.parametrize("name", different_presets())
def test_a_preset_runs_for_two_rounds(name: str) -> None:
    """A preset runs on the bundled sample, however small: every value that it sweeps in some cell."""
    cells = covering(cells_of(shrunk(name)))
    events = list(InProcess().run(cells, work_with(None)))
    assert [event for event in events if isinstance(event, CellFailed)] == []


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_means_what_it_says(name: str) -> None:
    """It says what it repeats, its data set is known, its methods accept their settings, its expectations match cells.

    Every printed number names swept keys with values that some cell has, and a round that is run.
    """
    study = decode_preset(runnable(name), source=name)
    cells = cells_of(study)
    assert study.paper.title
    assert study.paper.source
    assert {cell.preset.data.dataset for cell in cells} <= set(DATASETS)
    for cell in {str(cell.settings): cell for cell in cells}.values():
        check_method(cell)
    assert assignments(study.sweep)
    for curve in study.expect.curves:
        assert any(curve.where.items() <= cell.settings.items() for cell in cells), curve
    for expected in study.expect.values:
        where = {key: value for key, value in expected.where.items() if key not in ROW_KEYS}
        meant = [cell for cell in cells if where.items() <= cell.settings.items()]
        assert meant, expected
        assert expected.at == "end" or all(expected.at <= cell.preset.federation.rounds for cell in meant)
