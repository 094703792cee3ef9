"""Every preset that comes with the program runs, and a shorter way to write one down loses no cell and changes none.

`python -m tests.simulation.cells.test_presets` writes what the cells of all are anew; a line of it that changes is a
study that is another one.
"""

from __future__ import annotations

import csv
import hashlib
import importlib.util
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simulation.cells.cell import Cell, expand, flat
from simulation.cells.preset import Data, Preset, decode_preset, preset_tables
from simulation.cells.preset_tables import load_tables, preset_names
from simulation.data.known_datasets import DATASETS
from simulation.engines import CellFailed, InProcess
from simulation.experiment import check_method, work_with

KNOWN = Path(__file__).with_name("cells_of_presets.csv")
FOLDS = (1, 2, 3, 4, 5)
"""of every data set"""
SAID_OF_CELLS = ("paper", "expect", "sweep", "seeds")
"""what is for people, and what makes cells and is in each of them"""
DEFAULT = dict(flat(preset_tables(Preset(data=Data(dataset=""), method={}))))
ROUNDS = 2
BIGGEST = {"clients": 4, "local": 3}
"""what a preset's federation shrinks to"""
ROW_KEYS = ("merging.on", "ranker", "client")
"""settings that the rows of one cell of two owners differ in, behind the swept ones"""
SHRUNK = (
    "federation.clients", "federation.local", "federation.rounds", "federation.evaluate_every", "data.dataset",
    "merging.split", "merging.split.rule", "merging.split.category",
)  # fmt: skip


def is_there(tables: Mapping[str, Any]) -> bool:
    """Whether what a preset needs is installed."""
    return "lambdamart" not in str(tables) or importlib.util.find_spec("lightgbm") is not None


def runnable(name: str) -> dict[str, Any]:
    """The tables of a preset, with a feature that only owners of the data can name."""
    tables = load_tables(name)
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
        tables["method"] |= {"restarts": 1} if tables["method"]["name"] == "active-server" else {}
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


@cache
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


@cache
def chosen() -> dict[str, list[Cell]]:
    """By preset its first cell, and those with a value that no cell before them has, of whatever preset."""
    seen: set[tuple[str, object]] = set()
    found: dict[str, list[Cell]] = {}
    for name in different_presets():
        for cell in cells_of(shrunk(name)):
            values = set(cell.settings.items())
            if name not in found or not values <= seen:
                found.setdefault(name, []).append(cell)
            seen |= values
    return found


@pytest.mark.parametrize("name", different_presets())
def test_a_preset_runs_for_two_rounds(name: str) -> None:
    """A preset runs on the bundled sample, however small: every value that any of them sweeps in some cell."""
    if not is_there(load_tables(name)):
        pytest.skip("LightGBM is not installed: the extra `lambdamart`")
    events = list(InProcess().run(chosen()[name], work_with(None)))
    assert [event for event in events if isinstance(event, CellFailed)] == []


def with_values(preset: Preset) -> dict[str, Any]:
    """The keys of a cell whose value is not the default, so that a new key with a default changes nothing."""
    own = flat({key: table for key, table in preset_tables(preset).items() if key not in SAID_OF_CELLS})
    return {key: value for key, value in own if DEFAULT.get(key) != value}


def as_known(name: str) -> list[str]:
    """The preset, how many cells it has, and what they are."""
    cells = expand(decode_preset(load_tables(name), source=name), folds_of=lambda dataset: FOLDS)
    own = {key: with_values(preset) for key, preset in {id(cell.preset): cell.preset for cell in cells}.items()}
    said = {cell.id: [cell.settings, own[id(cell.preset)]] for cell in cells}  # folds and seeds share a preset
    digest = hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=8)
    return [name, str(len(cells)), digest.hexdigest()]


def test_every_preset_has_the_cells_it_had() -> None:
    """None is lost, none is changed, and none of the presets is."""
    with KNOWN.open(encoding="utf-8", newline="") as lines:
        known = list(csv.reader(lines))
    assert [*map(as_known, preset_names())] == known


@pytest.mark.parametrize("paper", sorted({name.partition("/")[0] for name in preset_names()}))
def test_a_preset_means_what_it_says(paper: str) -> None:
    """It says what it repeats, its data set is known, its methods accept their settings, its expectations match cells.

    Every printed number names swept keys with values that some cell has, and a round that is run.
    """
    own = {name: runnable(name) for name in preset_names() if name.partition("/")[0] == paper}
    for name, tables in ((name, tables) for name, tables in own.items() if is_there(tables)):
        study = decode_preset(tables, source=name)
        cells = cells_of(study)
        assert study.paper.title, name
        assert study.paper.source, name
        assert {cell.preset.data.dataset for cell in cells} <= set(DATASETS), name
        for cell in {str(cell.settings): cell for cell in cells}.values():
            check_method(cell)
        for curve in study.expect.curves:
            assert any(curve.where.items() <= cell.settings.items() for cell in cells), (name, curve)
        for expected in study.expect.values:
            where = {key: value for key, value in expected.where.items() if key not in ROW_KEYS}
            meant = [cell for cell in cells if where.items() <= cell.settings.items()]
            assert meant, (name, expected)
            rounds = min(cell.preset.federation.rounds for cell in meant)
            assert expected.at == "end" or expected.at <= rounds, (name, expected)


if __name__ == "__main__":
    with KNOWN.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(map(as_known, preset_names()))
