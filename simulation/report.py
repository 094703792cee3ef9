"""The results of a study: one line for each combination of settings, the paper's numbers, tests of significance.

`make_report` computes it; `simulation.report_tables` prints it, `simulation.summary` keeps it in the folder of the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from simulation.captions import TITLES, condition_keys, grouped
from simulation.paper_numbers import Verdict, verdicts
from simulation.preset import ExpectedValue
from simulation.results import Row
from simulation.significance import Comparison, compare
from simulation.statistics import (
    Runs,
    Settings,
    Summary,
    areas,
    over_runs,
    settings_of,
    summarise,
    values_at,
)

ALPHA = 0.05
"""below this corrected p a difference is called significant"""


@dataclass(frozen=True, slots=True)
class Line:
    """One combination of settings after its last round."""

    settings: Settings
    runs: int
    metrics: Mapping[str, Summary]
    best: frozenset[str]
    """metrics in which no other combination under the same conditions has a higher mean"""
    below: frozenset[str]
    """metrics in which it is significantly below the best one under the same conditions"""


@dataclass(frozen=True, slots=True)
class Report:
    """What a study found."""

    lines: tuple[Line, ...]
    metrics: tuple[str, ...]
    """those with data: the ones the paper reports first"""
    comparisons: Mapping[str, Sequence[Comparison]]
    """by metric, all pairs of combinations under the same conditions"""
    verdicts: tuple[Verdict, ...]
    values: Mapping[str, Mapping[Settings, Runs]]
    """by metric, at the end"""
    areas: Mapping[str, Mapping[Settings, Runs]]
    k: int | None
    """cutoff of offline nDCG"""
    notes: tuple[str, ...]


def make_report(
    rows: Sequence[Row], *, expected: Iterable[ExpectedValue] = (), k: int | None = None, notes: Iterable[str] = ()
) -> Report:
    """The report of the rows of finished cells; `notes` are printed below the table.

    Any two combinations of settings under the same conditions (the swept keys of [data] and [users]) are compared by a
    paired t-test over the runs, corrected for the number of pairs.
    """
    combinations = list(dict.fromkeys(map(settings_of, rows)))
    groups = grouped(combinations, condition_keys(combinations))
    wanted = tuple(expected)
    metrics = _metrics(rows, [number.metric for number in wanted])
    values = {metric: values_at(rows, metric) for metric in metrics}
    comparisons = {metric: compare(values[metric], groups.values()) for metric in metrics}
    lines = {line.settings: line for group in groups.values() for line in _lines(group, values, comparisons)}
    return Report(
        tuple(lines[combination] for combination in combinations),
        metrics,
        comparisons,
        tuple(verdicts(rows, wanted)),
        values,
        {metric: areas(rows, metric) for metric in metrics},
        k,
        tuple(notes),
    )


def _metrics(rows: Sequence[Row], first: Sequence[str]) -> tuple[str, ...]:
    """Metrics with data after the last round."""
    return tuple(metric for metric in dict.fromkeys([*first, *TITLES]) if values_at(rows, metric))


def _lines(
    group: Sequence[Settings],
    values: Mapping[str, Mapping[Settings, Runs]],
    comparisons: Mapping[str, Sequence[Comparison]],
) -> list[Line]:
    """The lines of combinations under the same conditions."""
    best = {metric: _best([s for s in group if s in runs], runs) for metric, runs in values.items()}
    lines = []
    for settings in group:
        own = {metric: runs[settings] for metric, runs in values.items() if settings in runs}
        below = [metric for metric in own if _differ(settings, best[metric], comparisons[metric])]
        top = [metric for metric in own if best[metric] == settings and len(group) > 1]
        summaries = {metric: summarise(runs) for metric, runs in own.items()}
        lines.append(Line(settings, max(map(len, own.values())), summaries, frozenset(top), frozenset(below)))
    return lines


def _best(group: Sequence[Settings], values: Mapping[Settings, Runs]) -> Settings:
    """The combination with the highest mean; the empty one where there is none."""
    return max(group, key=lambda settings: over_runs(values[settings]).mean, default=())


def _differ(a: Settings, b: Settings, comparisons: Sequence[Comparison]) -> bool:
    return any({c.first, c.second} == {a, b} and c.p_corrected < ALPHA for c in comparisons)
