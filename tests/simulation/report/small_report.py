"""Rows of a small study with two kinds of users and two learning rates."""

from __future__ import annotations

from simulation.preset import ExpectedValue
from simulation.results import Row

PERFECT, POISON = "perfect", "poison"


def rows_of(clicks: str, rate: float, values: list[list[float]]) -> list[Row]:
    """One row for each value, by fold and seed, all after round 10."""
    return [
        Row(
            cell=f"{clicks}-{rate}-{fold}-{seed}",
            settings={"users.clicks": clicks, "method.learning_rate": rate},
            fold=fold,
            seed=seed,
            round=10,
            interactions=100,
            offline_ndcg=value,
        )
        for fold, seeds in enumerate(values, start=1)
        for seed, value in enumerate(seeds, start=1)
    ]


ROWS = [
    *rows_of(PERFECT, 0.1, [[0.70, 0.72, 0.71], [0.60, 0.62, 0.61]]),
    *rows_of(PERFECT, 0.01, [[0.50, 0.53, 0.51], [0.40, 0.42, 0.43]]),
    *rows_of(POISON, 0.1, [[0.30, 0.32, 0.31], [0.20, 0.23, 0.21]]),
    *rows_of(POISON, 0.01, [[0.31, 0.31, 0.31], [0.21, 0.22, 0.21]]),
]


def expected(value: float, **given: object) -> ExpectedValue:
    where = {"users.clicks": PERFECT, "method.learning_rate": 0.1}
    return ExpectedValue(**{"metric": "offline_ndcg", "value": value, "where": where, **given})  # type: ignore[arg-type]
