"""The results of a study: one line for each combination of settings, the paper's numbers, tests of significance.

`make_report` computes them; `simulation.report.result_tables` shows and keeps them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec import Struct

from simulation.cells.preset import ExpectedValue
from simulation.report import statistics
from simulation.report.differences import MARGIN, Difference, Equivalence
from simulation.report.display_names import TITLES, UNRANKED, comparison_keys, group_by
from simulation.report.paper_numbers import ENOUGH_SEEDS, PaperVerdict, verdicts
from simulation.report.significance import SettingsComparison, best_of, compare
from simulation.report.statistics import Runs, Settings, Summary
from simulation.run_folder import Row

TABLE = "federation.unlearning."
"""what its keys begin with: all other settings are the same on both sides"""


class AgainstRetraining(Struct, frozen=True):
    """A combination of settings minus retraining under the same conditions, at the end."""

    settings: Settings
    retrained: Summary
    paired: Summary
    """of the differences, over the seeds that both have"""

    @property
    def difference(self) -> Difference | None:
        """With its error; None for a single seed."""
        if self.paired.se is None:
            return None
        return Difference(self.paired.mean, self.paired.se, self.paired.n - 1)

    @property
    def verdict(self) -> Equivalence | Literal["too few"]:
        if self.difference is None or self.paired.n < ENOUGH_SEEDS:
            return "too few"
        return self.difference.judged(MARGIN)


def against_retraining(values: Mapping[Settings, Runs]) -> list[AgainstRetraining]:
    """Does forgetting end where learning anew without the forgotten does? `values` are of a metric between 0 and 1.

    A way of forgetting should come to 9H-0M: those who stay, trained from the beginning (thesis Section 6.2). Both meet
    the same queries with the same luck, so their difference is taken seed by seed, of the mean of the folds; its error
    is s / sqrt(n) of n seeds, with n - 1 degrees of freedom.
    """
    conditions = tuple({key for settings in values for key, _ in settings if not key.startswith(TABLE)})
    found = []
    for group in group_by(values, conditions).values():
        level = next(filter(_is_level, group), None)
        if level is None:
            continue
        for settings in group:
            own, retrained = values[settings], values[level]
            both = {run: retrained[run] for run in own if run in retrained}
            if settings != level and statistics.whole_seeds(both):
                paired = statistics.over_seeds({run: own[run] - value for run, value in both.items()})
                found.append(AgainstRetraining(settings, statistics.over_seeds(both), paired))
    return found


def _is_level(settings: Settings) -> bool:
    ways = dict(settings)
    return ways.get(f"{TABLE}unlearning") == "retrain" and f"{TABLE}more" not in ways


ALPHA = 0.05
"""below this corrected p a difference is called significant"""

_T = TypeVar("_T")

OVER_ROUNDS = {"cumulative_ndcg", "worst_ndcg"}
"""the metrics that go over all rounds: more of them make the one larger and the other smaller, whatever is learned"""
OF_QUERIES = "offline_ndcg"
"""the metric whose values of single queries are kept"""


class Line(Struct, frozen=True):
    """One combination of settings after its last round."""

    settings: Settings
    runs: int
    metrics: Mapping[str, Summary]
    best: frozenset[str]
    """metrics in which no other combination under the same conditions has a higher mean"""
    below: frozenset[str]
    """metrics in which it is significantly below the best one under the same conditions; a single seed tells none"""


class Report(Struct, frozen=True):
    """What a study found."""

    lines: tuple[Line, ...]
    metrics: tuple[str, ...]
    """those with data: the ones the paper reports first"""
    comparisons: Mapping[str, Sequence[SettingsComparison]]
    """by metric, combinations under the same conditions"""
    verdicts: tuple[PaperVerdict, ...]
    forgotten: tuple[AgainstRetraining, ...]
    """by offline nDCG; none where nobody is forgotten, or nobody retrained"""
    values: Mapping[str, Mapping[Settings, Runs]]
    """by metric, at the end"""
    areas: Mapping[str, Mapping[Settings, Runs]]
    k: int | None
    """cutoff of offline nDCG"""
    notes: tuple[str, ...]
    stand_in: str
    """what the data are instead of those that were asked for, or of the paper's; empty where they are the same"""


def make_report(
    rows: Sequence[Row],
    *,
    expected: Iterable[ExpectedValue] = (),
    k: int | None = None,
    notes: Iterable[str] = (),
    stand_in: str = "",
    folds: Collection[int] = (),
) -> Report:
    """The report of the rows of finished cells; `notes` are printed below the table, `stand_in` stands in its title.

    Combinations of settings under the same conditions (`comparison_keys`) are compared with each other, metrics of
    OVER_ROUNDS only where there are as many of them. With `stand_in` the paper's numbers are shown and not judged: they
    are of other data. They are means of the study's `folds`; () are those of the rows.
    """
    combinations = list(dict.fromkeys(map(statistics.settings_of, rows)))
    keys = comparison_keys(combinations)
    rounds = {statistics.settings_of(row): row.round for row in sorted(rows, key=lambda row: row.round)}
    as_long = group_by([(*one, ("round", rounds[one])) for one in combinations], [*keys, "round"]).values()
    wanted = tuple(expected)
    first = dict.fromkeys([*(number.metric for number in wanted), *TITLES])
    values = {metric: found for metric in first if (found := statistics.values_at(rows, metric))}
    metrics = tuple(values)
    fixed, seeds = statistics.fixed_settings(rows), {row.seed for row in rows}
    queries = _for_every_seed(statistics.query_values(rows), fixed, seeds)
    groups = {metric: [*group_by(combinations, keys).values()] for metric in metrics if metric not in UNRANKED}
    for metric in OVER_ROUNDS & groups.keys():
        groups[metric] = [[one[:-1] for one in alike] for alike in as_long]
    comparisons = {
        metric: compare(_for_every_seed(values[metric], fixed, seeds), alike, queries if metric == OF_QUERIES else None)
        for metric, alike in groups.items()
    }
    tops = {
        metric: {best_of([one for one in alike if one in values[metric]], values[metric]) for alike in of if alike[1:]}
        for metric, of in groups.items()
    }
    lasting = {settings for settings in combinations if settings in fixed or _has_seeds(values, settings)}
    return Report(
        tuple(_line(combination, values, comparisons, tops, lasting) for combination in combinations),
        metrics,
        comparisons,
        tuple(verdicts(rows, wanted, folds=folds, other_data=bool(stand_in))) if wanted else (),
        tuple(against_retraining(values.get(OF_QUERIES, {}))),
        values,
        {metric: statistics.areas(rows, metric) for metric in metrics},
        k,
        tuple(notes),
        stand_in,
    )


def _has_seeds(values: Mapping[str, Mapping[Settings, Runs]], settings: Settings) -> bool:
    """Whether more than one tells what another seed would have made."""
    return any(len({seed for _, seed in runs.get(settings, {})}) > 1 for runs in values.values())


def _for_every_seed(
    values: Mapping[Settings, dict[tuple[int, int], _T]], fixed: Collection[Settings], seeds: Collection[int]
) -> dict[Settings, dict[tuple[int, int], _T]]:
    """With the runs of fixed combinations for all seeds, so that they meet every run of the others."""
    return {
        settings: {(fold, seed): value for (fold, _), value in runs.items() for seed in seeds}
        if settings in fixed
        else runs
        for settings, runs in values.items()
    }


def _line(
    settings: Settings,
    values: Mapping[str, Mapping[Settings, Runs]],
    comparisons: Mapping[str, Sequence[SettingsComparison]],
    tops: Mapping[str, Collection[Settings]],
    lasting: Collection[Settings],
) -> Line:
    """The line of a combination; where it is `lasting` it may be below one of `tops` that is."""
    own = {metric: runs[settings] for metric, runs in values.items() if settings in runs}
    above = {metric: {top for top in tops[metric] if {settings, top} <= {*lasting}} for metric in own if metric in tops}
    below = [metric for metric, some in above.items() if _differ(settings, some, comparisons[metric])]
    top = [metric for metric in above if settings in tops[metric]]
    summaries = {metric: statistics.summarise(runs) for metric, runs in own.items()}
    return Line(settings, max(map(len, own.values())), summaries, frozenset(top), frozenset(below))


def _differ(a: Settings, others: Collection[Settings], comparisons: Sequence[SettingsComparison]) -> bool:
    pairs = [{a, other} for other in others]
    return any(c.p_corrected < ALPHA and {c.first, c.second} in pairs for c in comparisons)
