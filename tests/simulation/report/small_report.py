"""Rows of a small study with two kinds of users and two learning rates."""

from __future__ import annotations

from collections.abc import Sequence

from simulation.cells.preset import ExpectedValue
from simulation.run_folder import Row

PERFECT, POISON = "perfect", "poison"


def rows_of(clicks: str, rate: float, values: Sequence[Sequence[float]], *, queries: int = 0) -> list[Row]:
    """One row for each value, by fold and seed, all after round 10; `queries` copies of it as those of single ones."""
    return [
        Row(
            cell=f"{clicks}-{rate}-{fold}-{seed}",
            settings={"users.clicks": clicks, "method.learning_rate": rate},
            fold=fold,
            seed=seed,
            round=10,
            interactions=100,
            offline_ndcg=value,
            query_ndcg=(value,) * queries or None,
        )
        for fold, seeds in enumerate(values, start=1)
        for seed, value in enumerate(seeds, start=1)
    ]


ROWS = [
    *rows_of(PERFECT, 0.1, [[0.70, 0.72, 0.71, 0.74, 0.73], [0.60, 0.62, 0.61, 0.64, 0.63]], queries=4),
    *rows_of(PERFECT, 0.01, [[0.50, 0.53, 0.51, 0.52, 0.53], [0.40, 0.42, 0.43, 0.41, 0.42]], queries=4),
    *rows_of(POISON, 0.1, [[0.30, 0.32, 0.31, 0.31, 0.31], [0.20, 0.23, 0.21, 0.22, 0.22]], queries=4),
    *rows_of(POISON, 0.01, [[0.31, 0.31, 0.31, 0.32, 0.31], [0.21, 0.22, 0.21, 0.22, 0.22]], queries=4),
]
"""two folds, five seeds"""


def expected(value: float, **given: object) -> ExpectedValue:
    where = {"users.clicks": PERFECT, "method.learning_rate": 0.1}
    return ExpectedValue(**{"metric": "offline_ndcg", "value": value, "where": where, **given})  # type: ignore[arg-type]
