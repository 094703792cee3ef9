"""What a cell runs with, made from its preset: the fold, the queries asked and held out, the ranker, the method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foltr.federated.method import Method
from foltr.federated.registry import METHODS, make_method, settings_type
from foltr.ranking.rankers import Neural, Ranker, make_ranker
from simulation.cell import Cell, MethodChoice
from simulation.data.datasets import MOST_ACTIVE, Askers, load_fold
from simulation.data.queries import Fold, QuerySet
from simulation.decoding import decode_table
from simulation.errors import DatasetError, PresetError
from simulation.evaluation import Judged, judge
from simulation.label_rankers import LABEL_RANKERS, TREES
from simulation.logging_policy import without_indifferent
from simulation.measurements import MEASUREMENTS
from simulation.measuring import Measurement
from simulation.preset import Data


def fold_of(cell: Cell, root: Path | None) -> Fold:
    """The data of a cell, as its preset wants it scaled."""
    data = cell.preset.data
    return load_fold(
        data.dataset,
        cell.fold,
        root=root,
        normalise=None if data.normalise == "default" else data.normalise,
        one_document=data.one_document,
        askers=Askers(data.users or MOST_ACTIVE, data.without) if data.users or data.without else None,
    )


def asked(cell: Cell, fold: Fold) -> QuerySet:
    """The queries that users ask; DatasetError for a fold that does not have them."""
    data = cell.preset.data
    asked = fold.train if data.learn_from == "train" else fold.validation
    if asked is None:
        raise DatasetError(f"data.learn_from: fold {fold.number} of {data.dataset} has no validation queries")
    return without_indifferent(asked) if data.indifferent == "drop" else asked


def held_out(cell: Cell, fold: Fold) -> QuerySet:
    """The queries that rankers are judged on."""
    return fold.test if cell.preset.data.evaluate_on == "test" else fold.train


def judged_as(data: Data, queries: QuerySet) -> Judged:
    """Queries that rankers are judged on, by what [data] counts."""
    return judge(queries, k=data.k, no_relevant=data.no_relevant, ties=data.ties, depth=data.depth)


def ranker_of(choice: MethodChoice, n_features: int) -> Ranker:
    """The kind of ranker that [method] names."""
    return Neural(n_features, choice.hidden) if choice.ranker == "neural" else make_ranker(choice.ranker, n_features)


def method_of(cell: Cell, ranker: Ranker, *, production: Sequence[float] = ()) -> Method[Any, Any]:
    """The method of a cell, with what other tables of the preset decide for it; FoltrError for what does not fit."""
    choice, settings = cell.method, dict(cell.method.settings)
    if choice.name not in METHODS:
        known = ", ".join([*METHODS, *LABEL_RANKERS, *TREES, *MEASUREMENTS])
        raise PresetError(f"method.name: there is no method {choice.name!r}; there are {known}")
    fields = settings_type(choice.name).__struct_fields__
    for key, value in cell.preset.federation.joining.items():
        if key not in fields:
            raise PresetError(f"federation.{key}: the server of {choice.name} has no choice of it")
        settings[key] = value
    if cell.preset.users.logging_share > 0:
        if "production" not in fields:
            raise PresetError(f"users.logging_share: {choice.name} shows the pages of what it learns")
        settings["production"] = list(production)
    return make_method(choice.name, ranker, settings)


def measurement_of(cell: Cell) -> Measurement:
    """What is measured in place of a method; PresetError names a setting of it that is wrong."""
    return decode_table(cell.method.settings, MEASUREMENTS[cell.method.name], source="preset", at="method")
