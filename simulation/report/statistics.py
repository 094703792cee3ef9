"""Means, spreads and learning curves over the repetitions of a study.

A run is one (fold, seed) of one combination of settings. The folds of a data set are fixed parts of it and differ from
each other more than repetitions do, so there are two spreads: over all runs, and over seeds of the mean of the folds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from foltr.arrays import FloatArray, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from simulation.run_folder import METRICS, Row, Setting

Settings = tuple[tuple[str, Setting], ...]
"""a combination of settings: swept keys with their values, in the order of the sweep"""

X = Literal["interactions", "rounds"]
"""what learning curves are drawn over"""

Runs = dict[tuple[int, int], float]
"""a value for each (fold, seed)"""

MIN_SEEDS = 3
"""seeds from which on the spread between them is the one that is reported; below, it is the spread over all runs"""

ROUNDING = 1e-12
"""a spread below this part of the values is only rounding: there is none"""


class Summary(Struct, frozen=True):
    """What is known of a mean; a single value has no spread."""

    mean: float
    sd: float | None
    """sample standard deviation, with n - 1 below"""
    n: int
    over: Literal["runs", "seeds"]
    """what the n values are: one for each (fold, seed), or one for each seed, the mean of its folds"""

    @property
    def se(self) -> float | None:
        """The standard error of the mean, sd / sqrt(n)."""
        return None if self.sd is None else self.sd / math.sqrt(self.n)

    @property
    def fixed(self) -> bool:
        """Whether all values are the same, of which there are more than one."""
        return self.sd is not None and self.sd <= ROUNDING * abs(self.mean)


class Curve(Struct, frozen=True, eq=False):
    """A metric over time for one combination of settings, the mean of its runs."""

    settings: Settings
    rounds: FloatArray
    interactions: FloatArray
    mean: FloatArray
    sd: FloatArray
    """between seeds, of the mean of the folds; NaN where there is one seed"""
    n_seeds: int = 1
    n_folds: int = 1

    def at(self, x: X) -> FloatArray:
        """How far learning had come at each point."""
        return self.interactions if x == "interactions" else self.rounds


def settings_of(row: Row) -> Settings:
    return tuple(row.settings.items())


def values_at(rows: Iterable[Row], metric: str, *, at: int | Literal["end"] = "end") -> dict[Settings, Runs]:
    """The metric after a round, or in the last row of each run; runs without that row or value are left out."""
    values: dict[Settings, Runs] = {}
    for settings, runs in _runs(rows).items():
        for run, history in runs.items():
            chosen = history[-1:] if at == "end" else [row for row in history if row.round == at]
            if chosen and (value := _value(chosen[-1], metric)) is not None:
                values.setdefault(settings, {})[run] = value
    return values


def query_values(rows: Iterable[Row]) -> dict[Settings, dict[tuple[int, int], FloatVector]]:
    """Offline nDCG of each held-out query at the end of each run, where it was kept."""
    values: dict[Settings, dict[tuple[int, int], FloatVector]] = {}
    for row in rows:
        if row.query_ndcg:
            values.setdefault(settings_of(row), {})[row.fold, row.seed] = np.array(row.query_ndcg)
    return values


def areas(rows: Iterable[Row], metric: str) -> dict[Settings, Runs]:
    """The mean height of each run's curve: the area below it over interactions, by trapezoids, over its width.

    A curve of one point has the height of that point.
    """
    heights: dict[Settings, Runs] = {}
    for settings, runs in _runs(rows).items():
        for run, history in runs.items():
            points = [(row.interactions, value) for row in history if (value := _value(row, metric)) is not None]
            if points:
                heights.setdefault(settings, {})[run] = _mean_height(np.array(points, dtype=np.float64))
    return heights


def over_runs(runs: Mapping[tuple[int, int], float]) -> Summary:
    """Mean and spread over all (fold, seed); ShapeError without a run."""
    return _summary(list(runs.values()), "runs")


def fixed_settings(rows: Iterable[Row]) -> set[Settings]:
    """The combinations for which nothing was drawn."""
    drawn: dict[Settings, bool] = {}
    for row in rows:
        settings = settings_of(row)
        drawn[settings] = drawn.get(settings, False) or not row.fixed
    return {settings for settings, some in drawn.items() if not some}


def whole_seeds(runs: Mapping[tuple[int, int], float], folds: Collection[int] = ()) -> list[int]:
    """The seeds that have all these folds, or all that any seed has."""
    folds = folds or {fold for fold, _ in runs}
    return [seed for seed in sorted({seed for _, seed in runs}) if all((fold, seed) in runs for fold in folds)]


def over_seeds(runs: Mapping[tuple[int, int], float]) -> Summary:
    """Mean and spread over seeds of the mean of the folds; seeds that lack a fold do not count.

    ShapeError when no seed has all folds.
    """
    folds = {fold for fold, _ in runs}
    return _summary([math.fsum(runs[fold, seed] for fold in folds) / len(folds) for seed in whole_seeds(runs)], "seeds")


def summarise(runs: Mapping[tuple[int, int], float]) -> Summary:
    """Over seeds of the mean of the folds where every fold has at least MIN_SEEDS of the same seeds, else over runs."""
    folds, seeds = {fold for fold, _ in runs}, {seed for _, seed in runs}
    balanced = len(runs) == len(folds) * len(seeds)
    return over_seeds(runs) if balanced and len(folds) > 1 and len(seeds) >= MIN_SEEDS else over_runs(runs)


def curves(rows: Iterable[Row], metric: str) -> dict[Settings, Curve]:
    """The mean of the runs at every round, for each combination of settings that has the metric.

    Only the runs that came furthest count, so that no run leaves a mean half-way.
    """
    found: dict[Settings, Curve] = {}
    for settings, runs in _runs(rows).items():
        last = max(history[-1].round for history in runs.values())
        whole = {run: history for run, history in runs.items() if history[-1].round == last}
        at: dict[int, Runs] = {}
        interactions: dict[int, int] = {}
        for run, row in ((run, row) for run, history in whole.items() for row in history):
            if (value := _value(row, metric)) is not None:
                at.setdefault(row.round, {})[run] = value
                interactions[row.round] = row.interactions
        rounds = sorted(number for number, values in at.items() if len(values) == len(whole))
        if rounds:
            found[settings] = _curve(settings, rounds, interactions, [at[number] for number in rounds])
    return found


def _runs(rows: Iterable[Row]) -> dict[Settings, dict[tuple[int, int], list[Row]]]:
    """Rows by settings and run, each run in the order of its rounds."""
    runs: dict[Settings, dict[tuple[int, int], list[Row]]] = {}
    for row in rows:
        runs.setdefault(settings_of(row), {}).setdefault((row.fold, row.seed), []).append(row)
    for history in itertools.chain.from_iterable(by_run.values() for by_run in runs.values()):
        history.sort(key=lambda row: row.round)
    return runs


def _value(row: Row, metric: str) -> float | None:
    if metric not in METRICS:
        raise ValueRangeError(f"wanted a metric out of {', '.join(METRICS)}, got {metric!r}")
    value: float | None = getattr(row, metric)
    return value


def _summary(values: Sequence[float], over: Literal["runs", "seeds"]) -> Summary:
    if not values:
        raise ShapeError(f"a mean over {over} wants at least one, got none")
    sd = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Summary(math.fsum(values) / len(values), sd, len(values), over)


def _mean_height(points: FloatArray) -> float:
    """[n, 2] of x and y."""
    x, y = points.T
    return float(np.trapezoid(y, x) / (x[-1] - x[0])) if x[-1] > x[0] else float(y[-1])


def _curve(settings: Settings, rounds: list[int], interactions: Mapping[int, int], values: list[Runs]) -> Curve:
    """Of a value for each run at each round; without a seed that has all folds there is no band."""
    seeds = whole_seeds(values[0])
    spreads = [over_seeds(runs).sd if seeds else None for runs in values]
    return Curve(
        settings,
        np.array(rounds, dtype=np.float64),
        np.array([interactions[number] for number in rounds], dtype=np.float64),
        np.array([over_runs(runs).mean for runs in values]),
        np.array([math.nan if sd is None else sd for sd in spreads]),
        len(seeds),
        len({fold for fold, _ in values[0]}),
    )
