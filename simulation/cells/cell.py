"""A cell is one run of a study: one value for every swept key, one fold, one seed.

The random streams of a cell depend on its seed and fold alone. Cells that differ only in their settings meet the same
queries with the same luck as far as their methods draw alike (common random numbers), so they can be compared in pairs.
"""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from simulation.cells.preset import Count, Preset, Scalar, decode_preset, decode_table, preset_tables
from simulation.errors import PresetError

Assignment = dict[str, Any]
"""values by dotted key"""

TOGETHER = "together"
"""inside [sweep]: groups of keys whose values go together, first with first"""

LEARN_FROM_LABELS = {"least-squares": False, "ranksvm": False, "lambdarank": True, "lambdamart": True}
"""methods that see relevance labels (simulation.labels.label_rankers), and whether their seed makes a difference"""


class MethodChoice(msgspec.Struct, frozen=True, kw_only=True):
    """The table [method] taken apart; `settings` are checked by the method itself."""

    name: str
    ranker: str = "linear"
    hidden: Count = 64
    """hidden units of the neural ranker"""
    label: str = ""
    """what tables and plots call it where the name alone would not tell"""
    settings: dict[str, Any] = {}

    @property
    def learns_from_labels(self) -> bool:
        """Whether it is one of these rankers rather than an online method."""
        return self.name in LEARN_FROM_LABELS

    @property
    def draws_nothing(self) -> bool:
        """Whether it gives the same ranker for all seeds."""
        return LEARN_FROM_LABELS.get(self.name) is False


class Cell(msgspec.Struct, frozen=True):
    """One run, with everything it needs."""

    id: str
    """the same for the same settings, fold and seed; fit for a file name"""
    settings: dict[str, Scalar]
    """the swept keys and their values here"""
    preset: Preset
    """with those values in place and without its sweep"""
    fold: int
    seed: int

    @property
    def method(self) -> MethodChoice:
        return method_choice(self.preset)

    @property
    def title(self) -> str:
        """Settings, fold and seed on one line."""
        named = [f"{key}={value}" for key, value in self.settings.items()]
        return " ".join([*named, f"fold={self.fold}", f"seed={self.seed}"])

    def sequence(self) -> np.random.SeedSequence:
        """Where all randomness of the cell comes from."""
        return np.random.SeedSequence([self.seed, self.fold])


def method_choice(preset: Preset) -> MethodChoice:
    """[method] with its own keys apart from the method's settings; PresetError names what does not fit."""
    own = {key: value for key, value in preset.method.items() if key in MethodChoice.__struct_fields__[:-1]}
    settings = {key: value for key, value in preset.method.items() if key not in own}
    return decode_table({**own, "settings": settings}, MethodChoice, source="preset", at="method")


def expand(preset: Preset, *, folds_of: Callable[[str], Sequence[int]]) -> tuple[Cell, ...]:
    """All cells: settings in the sweep's order, then folds, then seeds; of a method that draws nothing the first seed.

    `folds_of(data set)` are the folds meant by "all". PresetError names a swept key or value that does not fit.
    """
    tables = preset_tables(preset)
    sweep = tables.pop("sweep", {})
    tables.pop("expect", None)
    cells = []
    for assignment in assignments(sweep):
        chosen = decode_preset(assign(tables, assignment), source="preset, [sweep]")
        method = method_choice(chosen)
        settings = _settings(assignment, method)
        folds = folds_of(chosen.data.dataset) if isinstance(chosen.data.folds, str) else chosen.data.folds
        _check_once(data_folds=folds, seeds=chosen.seed_list)
        seeds = chosen.seed_list[:1] if method.draws_nothing else chosen.seed_list
        cells += [Cell(_id(settings, fold, seed), settings, chosen, fold, seed) for fold in folds for seed in seeds]
    ids = Counter(cell.id for cell in cells)
    for cell in cells:
        if ids[cell.id] > 1:
            raise PresetError(
                f"two cells are both called `{cell.title}`: each value once, and each method with a label of its own"
            )
    return tuple(cells)


def _check_once(*, data_folds: Sequence[int], seeds: Sequence[int]) -> None:
    for key, numbers in (("data.folds", data_folds), ("seeds", seeds)):
        if len(set(numbers)) < len(numbers):
            raise PresetError(f"{key}: a number is given twice: {', '.join(map(str, numbers))}")


def assignments(sweep: Mapping[str, Any]) -> list[Assignment]:
    """The cartesian product of a [sweep] table; the empty table has one assignment, of nothing."""
    axes: list[list[Assignment]] = []
    for key, values in flat(sweep, keep=(TOGETHER,)):
        groups = values if key == TOGETHER else [{key: values}]
        if not isinstance(groups, list) or not all(isinstance(group, dict) for group in groups):
            raise PresetError(f"sweep.{TOGETHER}: wanted tables of lists, [[sweep.{TOGETHER}]]")
        axes += [_axis(group) for group in groups]
    return [_joined(choice) for choice in itertools.product(*axes)]


def assign(tables: Mapping[str, Any], assignment: Assignment) -> dict[str, Any]:
    """A copy of the tables with those values in place; whole tables first, so that single keys have the last word."""
    changed = copy.deepcopy(dict(tables))
    for key in sorted(assignment, key=lambda key: key.count(".")):
        value = assignment[key]
        if key == "method":
            changed["method"] = {**changed.get("method", {}), **({"name": value} if isinstance(value, str) else value)}
        else:
            set_key(changed, key, value)
    return changed


def set_key(tables: dict[str, Any], key: str, value: Any) -> None:
    """Put a value at a dotted key, making the tables on the way."""
    *parents, last = key.split(".")
    table = tables
    for parent in parents:
        table = table.setdefault(parent, {})
        if not isinstance(table, dict):
            raise PresetError(f"{key}: {parent} is a value, not a table; set {key.rpartition('.')[0]}={{...}}")
    table[last] = value


def flat(table: Mapping[str, Any], *, keep: Sequence[str] = (), prefix: str = "") -> Iterator[tuple[str, Any]]:
    """A table of tables as dotted keys and values; tables named in `keep` stay whole."""
    for key, value in table.items():
        if isinstance(value, dict) and key not in keep:
            yield from flat(value, prefix=f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _axis(group: Mapping[str, Any]) -> list[Assignment]:
    """Keys with lists of one length as a list of assignments."""
    columns = dict(flat(group))
    for key, values in columns.items():
        if not isinstance(values, list) or not values:
            raise PresetError(f'sweep."{key}": wanted a list of values to try, got {values!r}')
    lengths = {key: len(values) for key, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise PresetError(f"sweep.{TOGETHER}: wanted lists of one length, got {lengths}")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _joined(parts: Sequence[Assignment]) -> Assignment:
    whole: Assignment = {}
    for part in parts:
        if twice := part.keys() & whole.keys():
            raise PresetError(f'sweep: "{min(twice)}" is swept twice')
        whole.update(part)
    return whole


def _settings(assignment: Assignment, method: MethodChoice) -> dict[str, Scalar]:
    """What a row says about its cell: scalars; a whole method is its label, else its keys."""
    settings: dict[str, Scalar] = {}
    for key, value in assignment.items():
        if key == "method" and method.label:
            settings[key] = method.label
        elif isinstance(value, dict):
            settings.update({name: _scalar(item) for name, item in flat(value, prefix=f"{key}.")})
        else:
            settings["method.name" if key == "method" else key] = _scalar(value)
    return settings


def _scalar(value: Any) -> Scalar:
    return value if isinstance(value, str | int | float | bool) else json.dumps(value)


def _id(settings: Mapping[str, Scalar], fold: int, seed: int) -> str:
    readable = "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", str(value)) for value in settings.values())[:48].strip("_-.")
    identity = json.dumps([settings, fold, seed], sort_keys=True)
    digest = hashlib.sha256(identity.encode()).hexdigest()[:8]
    return "-".join(part for part in (readable, f"f{fold}", f"s{seed}", digest) if part)
