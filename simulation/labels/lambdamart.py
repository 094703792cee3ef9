"""LambdaMART by LightGBM: boosted regression trees on lambda gradients (Burges, MSR-TR-2010-82, Section 6).

Its gradients weigh pairs by the change of nDCG with gain 2^grade - 1, as everywhere here. Trees are added until nDCG@k
on validation queries has not risen for `patience` trees; the best number of trees is kept. The merging paper (2024,
Section 5.1) searches four hyper-parameters by Optuna's TPE, in a number of trials that it does not print; here they are
`trials` independent uniform draws from the same space: ten lines in place of a package, the same for the same seed. On
one thread and with LightGBM's deterministic mode the same queries and seed give the same trees.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from console.extras import how_to_add
from foltr.arrays import FloatVector
from foltr.errors import ValueRangeError
from simulation.data.queries import QuerySet, select
from simulation.errors import SimulationError

if TYPE_CHECKING:
    import lightgbm

SEARCHED: dict[str, npt.ArrayLike] = {
    "learning_rate": (0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.3),
    "num_leaves": range(15, 256),
    "min_data_in_leaf": range(10, 501, 5),
    "min_sum_hessian_in_leaf": np.arange(1.0, 101.0),
}
"""the paper's space; whole numbers in the last, as all that it prints are"""

HELD_BACK = 5
"""without validation queries one in so many training queries, drawn at random, takes their place; of fewer, all do"""


@dataclass(frozen=True, slots=True)
class LambdaMART:
    """How trees are grown; ValueRangeError for a setting out of range, SimulationError without LightGBM."""

    trees: int = 3000
    """at most"""
    patience: int = 100
    """trees without a better nDCG after which it stops"""
    trials: int = 20
    """sets of hyper-parameters to try; 0: those below, without a search"""
    k: int = 10
    """the cutoff of nDCG"""
    learning_rate: float = 0.05
    num_leaves: int = 31
    min_data_in_leaf: int = 20
    min_sum_hessian_in_leaf: float = 1.0

    def __post_init__(self) -> None:
        if min(self.trees, self.patience, self.k, self.min_data_in_leaf) < 1 or self.num_leaves < 2 or self.trials < 0:
            raise ValueRangeError("trees, patience, k and min_data_in_leaf begin at 1, num_leaves at 2, trials at 0")
        if not (self.learning_rate > 0 and self.min_sum_hessian_in_leaf >= 0):
            raise ValueRangeError("learning_rate must be above 0, min_sum_hessian_in_leaf not below")
        if importlib.util.find_spec("lightgbm") is None:
            raise SimulationError(f"lambdamart needs LightGBM: {how_to_add('lambdamart')}")

    def fit(self, train: QuerySet, rng: np.random.Generator, validation: QuerySet | None = None) -> Trees:
        """The best of all trials by nDCG@k on the validation queries, the first of equals."""
        if validation is None:
            train, validation = _held_back(train, rng)
        parts = _datasets(train, validation)
        seed = int(rng.integers(2**31))
        tried = [drawn(rng) for _ in range(self.trials)] or [{name: getattr(self, name) for name in SEARCHED}]
        boosters = [self._grown(parts, hyper, seed) for hyper in tried]
        return Trees(max(boosters, key=lambda booster: booster.best_score["validation"][f"ndcg@{self.k}"]))

    def _grown(
        self, parts: tuple[lightgbm.Dataset, lightgbm.Dataset], hyper: Mapping[str, float], seed: int
    ) -> lightgbm.Booster:
        import lightgbm

        train, validation = parts
        settings = {"objective": "lambdarank", "metric": "ndcg", "eval_at": [self.k], "seed": seed, **_ALWAYS, **hyper}
        stop = lightgbm.early_stopping(self.patience, first_metric_only=True, verbose=False)
        return lightgbm.train(
            settings, train, self.trees, valid_sets=[validation], valid_names=["validation"], callbacks=[stop]
        )


class Trees(Struct, frozen=True, eq=False):
    """What was grown: a callable from queries to the score of every document `[n_docs]`."""

    booster: lightgbm.Booster

    def __call__(self, queries: QuerySet) -> FloatVector:
        return np.asarray(self.booster.predict(queries.features, num_threads=1), dtype=np.float64)

    @property
    def importance(self) -> FloatVector:
        """Each feature's share of what all splits have gained `[n_features]`; zeros where no tree has a split."""
        gain = self.booster.feature_importance("gain", iteration=self.booster.best_iteration)
        shares: FloatVector = gain / max(float(gain.sum()), np.finfo(np.float64).tiny)
        return shares


_ALWAYS: dict[str, Any] = {
    "deterministic": True,
    "force_col_wise": True,
    "num_threads": 1,
    "feature_pre_filter": False,  # the data sets serve every min_data_in_leaf
    "verbosity": -1,
}


def drawn(rng: np.random.Generator) -> dict[str, float]:
    """Hyper-parameters out of the paper's space, each uniform."""
    return {name: rng.choice(values).item() for name, values in SEARCHED.items()}


def _held_back(train: QuerySet, rng: np.random.Generator) -> tuple[QuerySet, QuerySet]:
    """What is learned from, and what tells when to stop."""
    if train.n_queries < HELD_BACK:
        return train, train
    order = rng.permutation(train.n_queries)
    cut = train.n_queries // HELD_BACK
    return select(train, np.sort(order[cut:])), select(train, np.sort(order[:cut]))


def _datasets(train: QuerySet, validation: QuerySet) -> tuple[lightgbm.Dataset, lightgbm.Dataset]:
    import lightgbm

    def dataset(queries: QuerySet, reference: lightgbm.Dataset | None = None) -> lightgbm.Dataset:
        sizes = np.diff(queries.offsets)
        return lightgbm.Dataset(
            queries.features, queries.grades, reference=reference, group=sizes, params=_ALWAYS, free_raw_data=False
        )

    learned_from = dataset(train)
    return learned_from, dataset(validation, learned_from)
