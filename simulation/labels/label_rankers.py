"""Rankers that learn from relevance labels, which no online method sees, by name: linear ones, and trees.

Least squares on grades is the baseline called MSE in FOLtR-ES, Section 5; `simulation.labels.ranksvm` is its SVMRank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from foltr.arrays import FloatVector
from foltr.ranking.rankers import Linear
from simulation.cells.cell import MethodChoice
from simulation.cells.evaluation import scores
from simulation.cells.preset import decode_table
from simulation.data.queries import QuerySet
from simulation.errors import PresetError
from simulation.labels.lambdamart import LambdaMART
from simulation.labels.lambdarank import LambdaRank
from simulation.labels.linear_systems import shortest_solution
from simulation.labels.ranksvm import RankSVM


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """theta = argmin over theta, b of sum over all documents of (theta . x_d + b - grade_d)^2, without regularisation.

    b orders nothing and is forgotten, as in the published program (scikit-learn's Ridge with alpha 0 and an intercept).
    Where features are linearly dependent, theta is the shortest of the solutions. Those of MQ2008 are; there the
    published program's theta has a length of 10^14, made of rounding errors, and is no least-squares solution.
    """

    def fit(self, train: QuerySet, rng: np.random.Generator) -> FloatVector:
        """The theta `[n_features]`; draws nothing."""
        columns = train.features.T.astype(np.float64, order="C")
        grades = train.grades.astype(np.float64)
        return shortest_solution(columns - columns.mean(axis=1, keepdims=True), grades - grades.mean())


class LabelRanker(Protocol):
    """A frozen dataclass whose fields are its settings."""

    def fit(self, train: QuerySet, rng: np.random.Generator) -> FloatVector:
        """The theta `[n_features]` of foltr.ranking.rankers.Linear."""


LABEL_RANKERS: dict[str, type[LabelRanker]] = {
    "least-squares": LeastSquares,
    "ranksvm": RankSVM,
    "lambdarank": LambdaRank,
}
"""linear: what they learn is a theta"""

TREES: dict[str, type[LambdaMART]] = {"lambdamart": LambdaMART}
"""what they learn is no theta, and validation queries decide when they stop"""

Scorer = Callable[[QuerySet], FloatVector]
"""the score of every document `[n_docs]`"""


def label_ranker(choice: MethodChoice) -> LabelRanker | LambdaMART:
    """The ranker of [method]; PresetError for a name, a ranker or settings that do not fit."""
    known: dict[str, type[LabelRanker] | type[LambdaMART]] = {**LABEL_RANKERS, **TREES}
    if choice.name not in known:
        raise PresetError(f"method.name: {choice.name!r} does not learn from labels; {', '.join(known)} do")
    if choice.ranker != "linear":
        raise PresetError(f"method.ranker: {choice.name} decides what it learns: it is not {choice.ranker!r}")
    kind = known[choice.name]
    names = [field.name for field in fields(kind)]  # type: ignore[arg-type]
    if other := next((name for name in choice.settings if name not in names), ""):
        raise PresetError(f"method.{other}: {choice.name} has no such setting; it has {', '.join(names) or 'none'}")
    return decode_table(choice.settings, kind, source=choice.name, at="method")


def learned_scorer(
    ranker: LabelRanker | LambdaMART, train: QuerySet, rng: np.random.Generator, validation: QuerySet | None = None
) -> Scorer:
    """What the ranker learns from the queries; linear ones have no use for the validation queries."""
    if isinstance(ranker, LambdaMART):
        return ranker.fit(train, rng, validation)
    theta = ranker.fit(train, rng)
    return lambda queries: scores(Linear(queries.n_features), theta, queries)
