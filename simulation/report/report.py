"""The results of a study: one line for each combination of settings, the paper's numbers, tests of significance.

`make_report` computes them, `show_report` prints them as tables, `write_summary` keeps them in the folder of the run:
summary.md for people, summary.json for programs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import msgspec

from simulation.preset import ExpectedValue
from simulation.report.paper_numbers import LIMIT, PaperVerdict, verdicts
from simulation.report.statistics import (
    Runs,
    Settings,
    SettingsComparison,
    Summary,
    areas,
    compare,
    over_runs,
    over_seeds,
    settings_of,
    summarise,
    values_at,
)
from simulation.report.tables import Grid, markdown, show
from simulation.results import Row, Setting, replace_file

TITLES = {
    "offline_ndcg": "offline nDCG",
    "offline_max_rr": "offline MaxRR",
    "offline_mrr": "offline MRR",
    "offline_map": "offline MAP",
    "offline_ndcg_clients": "offline nDCG on own labels",
    "offline_ndcg_personal": "offline nDCG of own rankers",
    "online_ndcg": "online nDCG",
    "online_mrr": "online MRR",
    "online_max_rr": "online MaxRR",
    "cumulative_ndcg": "cumulative online nDCG",
    "guard_alert": "rounds with an alarm",
    "suspected_malicious": "malicious suspected",
    "suspected_honest": "honest suspected",
    "chosen_alpha": "alpha",
    "learned_queries": "queries",
    "learned_score_share": "gain of scores",
    "epsilon": "epsilon",
    "auc": "AUC of the attacker",
    "unlearning_distance": "distance moved",
    "unlearning_ndcg": "nDCG of the forgotten",
    "unlearning_stretch": "stretch",
}
"""metrics in the order in which they are shown"""

UNRANKED = ("chosen_alpha", "learned_queries", "learned_score_share")
"""of these more is not better: nothing is tested"""

CONDITIONS = ("data", "users", "merging")
"""tables of a preset that say under which conditions something is tried; the others say what is tried"""


def metric_title(metric: str, *, k: int | None = None) -> str:
    """A metric for people; `k` is the cutoff of the held-out rankings where it is known (a page has its own length)."""
    title = TITLES.get(metric, metric)
    return f"{title}@{k}" if k is not None and metric.startswith("offline_ndcg") else title


def key_titles(settings: Iterable[Settings]) -> dict[str, str]:
    """A short name for every swept key: its last part, or the whole key where that would name two."""
    keys = list(dict.fromkeys(key for combination in settings for key, _ in combination))
    short = {key: _short(key) for key in keys}
    names = list(short.values())
    return {key: name if names.count(name) == 1 else key for key, name in short.items()}


def setting_text(value: Setting | None) -> str:
    """A value in a table or a legend."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def caption(settings: Settings, titles: dict[str, str], *, skip: Sequence[str] = ()) -> str:
    """A combination on one line: words as they are, numbers with their key; keys in `skip` are left out."""
    parts = [
        str(value) if isinstance(value, str) else f"{titles.get(key, key)} {setting_text(value)}"
        for key, value in settings
        if key not in skip
    ]
    return ", ".join(parts) or "all"


def short_number(value: float) -> str:
    """12,000 as 12k, 2,000,000 as 2M."""
    for limit, suffix in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{suffix}"
    return f"{value:g}"


def condition_keys(settings: Iterable[Settings]) -> list[str]:
    """The swept keys that are conditions, such as the users' click model."""
    keys = dict.fromkeys(key for combination in settings for key, _ in combination)
    return [key for key in keys if key.partition(".")[0] in CONDITIONS]


def group_by(settings: Iterable[Settings], keys: Sequence[str]) -> dict[Settings, list[Settings]]:
    """Combinations by their values of those keys."""
    groups: dict[Settings, list[Settings]] = {}
    for combination in settings:
        groups.setdefault(tuple(item for item in combination if item[0] in keys), []).append(combination)
    return groups


def _short(key: str) -> str:
    parts = key.split(".")
    return (parts[-2] if parts[-1] == "name" and len(parts) > 1 else parts[-1]).replace("_", " ")


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
    comparisons: Mapping[str, Sequence[SettingsComparison]]
    """by metric, all pairs of combinations under the same conditions"""
    verdicts: tuple[PaperVerdict, ...]
    values: Mapping[str, Mapping[Settings, Runs]]
    """by metric, at the end"""
    areas: Mapping[str, Mapping[Settings, Runs]]
    k: int | None
    """cutoff of offline nDCG"""
    notes: tuple[str, ...]
    stand_in: str = ""
    """which data set this was not, where another stood in for it"""


def make_report(
    rows: Sequence[Row],
    *,
    expected: Iterable[ExpectedValue] = (),
    k: int | None = None,
    notes: Iterable[str] = (),
    stand_in: str = "",
) -> Report:
    """The report of the rows of finished cells; `notes` are printed below the table, `stand_in` stands in its title.

    Any two combinations of settings under the same conditions (the swept keys of [data] and [users]) are compared by a
    paired t-test over the runs, corrected for the number of pairs.
    """
    combinations = list(dict.fromkeys(map(settings_of, rows)))
    groups = group_by(combinations, condition_keys(combinations))
    wanted = tuple(expected)
    metrics = _metrics(rows, [number.metric for number in wanted])
    values = {metric: values_at(rows, metric) for metric in metrics}
    comparisons = {metric: compare(values[metric], groups.values()) for metric in metrics if metric not in UNRANKED}
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
        stand_in,
    )


def _metrics(rows: Sequence[Row], first: Sequence[str]) -> tuple[str, ...]:
    """Metrics with data after the last round."""
    return tuple(metric for metric in dict.fromkeys([*first, *TITLES]) if values_at(rows, metric))


def _lines(
    group: Sequence[Settings],
    values: Mapping[str, Mapping[Settings, Runs]],
    comparisons: Mapping[str, Sequence[SettingsComparison]],
) -> list[Line]:
    """The lines of combinations under the same conditions."""
    best = {metric: _best([s for s in group if s in values[metric]], values[metric]) for metric in comparisons}
    lines = []
    for settings in group:
        own = {metric: runs[settings] for metric, runs in values.items() if settings in runs}
        below = [metric for metric in own if metric in best and _differ(settings, best[metric], comparisons[metric])]
        top = [metric for metric in own if best.get(metric) == settings and len(group) > 1]
        summaries = {metric: summarise(runs) for metric, runs in own.items()}
        lines.append(Line(settings, max(map(len, own.values())), summaries, frozenset(top), frozenset(below)))
    return lines


def _best(group: Sequence[Settings], values: Mapping[Settings, Runs]) -> Settings:
    """The combination with the highest mean; the empty one where there is none."""
    return max(group, key=lambda settings: over_runs(values[settings]).mean, default=())


def _differ(a: Settings, b: Settings, comparisons: Sequence[SettingsComparison]) -> bool:
    return any({c.first, c.second} == {a, b} and c.p_corrected < ALPHA for c in comparisons)


BELOW = "*"


def show_report(report: Report, stream: TextIO) -> None:
    """Print the tables: drawn on a terminal, as plain columns elsewhere.

    On a terminal only as many metrics are shown as fit, the first one always; summary.md has them all.
    """
    show([result_grid(report, report.metrics[:n]) for n in range(len(report.metrics), 0, -1)], stream)
    if report.verdicts:
        show([paper_grid(report), paper_grid(report, narrow=True)], stream)
    for note in report.notes:
        print(note, file=stream)


def result_grid(report: Report, metrics: Sequence[str]) -> Grid:
    """One row for each combination of settings: mean and standard error of each metric after the last round."""
    titles = key_titles(line.settings for line in report.lines)
    return Grid(
        " - ".join(filter(None, ("Results after the last round", report.stand_in))),
        [*titles.values(), "runs", *(metric_title(metric, k=report.k) for metric in metrics)],
        [[*_keys(line.settings, titles), str(line.runs), *(_cell(line, m) for m in metrics)] for line in report.lines],
        _result_notes(report, metrics),
        left=len(titles),
    )


def paper_grid(report: Report, *, narrow: bool = False) -> Grid:
    """One row for each number of the paper and combination of settings that it speaks of.

    `narrow` leaves out what is in the other columns already: the difference as such, and the round.
    """
    titles = key_titles(verdict.settings for verdict in report.verdicts)
    columns = ["metric", "round", "paper", "ours", "difference", "in units", f"within {LIMIT:g}"]
    shown = [n for n, name in enumerate(columns) if not (narrow and name in ("round", "difference"))]
    cells = [(verdict, _verdict_cells(verdict, report.k)) for verdict in report.verdicts]
    return Grid(
        "Beside the paper",
        [*titles.values(), *(columns[n] for n in shown)],
        [[*_keys(verdict.settings, titles), *(values[n] for n in shown)] for verdict, values in cells],
        _paper_notes(report.verdicts),
        left=len(titles) + 1,
    )


def _keys(settings: Settings, titles: dict[str, str]) -> list[str]:
    values = dict(settings)
    return [setting_text(values.get(key)) for key in titles]


def _cell(line: Line, metric: str) -> str:
    """Mean ± standard error, marked where it is significantly below the best."""
    if metric not in line.metrics:
        return "-"
    return _mean_and_error(line.metrics[metric]) + (BELOW if metric in line.below else " ")


def _mean_and_error(summary: Summary) -> str:
    digits = 4 if abs(summary.mean) < 10 else 2
    error = "" if summary.se is None else f" ± {summary.se:.{digits}f}"
    return f"{summary.mean:.{digits}f}{error}"


def _result_notes(report: Report, metrics: Sequence[str]) -> list[str]:
    overs = dict.fromkeys(line.metrics[metric].over for line in report.lines for metric in line.metrics)
    meaning = {"runs": "all runs, one for each fold and seed", "seeds": "seeds of the mean of the folds"}
    notes = [f"mean ± standard error over {' or '.join(meaning[over] for over in overs)}"] if overs else []
    if any(line.below & set(metrics) for line in report.lines):
        n_tests = max(len(report.comparisons.get(metric, ())) for metric in metrics)
        notes.append(
            f"{BELOW} below the best under the same conditions: paired two-tailed t-test over runs, p < {ALPHA:g} "
            f"after Bonferroni's correction for {n_tests} comparisons"
        )
    return notes


def _verdict_cells(verdict: PaperVerdict, k: int | None) -> list[str]:
    given = verdict.expected
    start = [metric_title(given.metric, k=k), str(given.at), f"{given.value:.4g}"]
    if verdict.ours is None or verdict.difference is None:
        return [*start, "-", "-", "-", "-"]
    agrees = {True: "yes", False: "NO", None: "?"}[verdict.agrees]
    units = "?" if verdict.deviations is None else f"{verdict.deviations:+z.1f} {verdict.unit}"
    return [*start, _mean_and_error(verdict.ours), f"{verdict.difference:+z.4f}", units, agrees]


def _paper_notes(verdicts: Sequence[PaperVerdict]) -> list[str]:
    told = [v for v in verdicts if v.agrees is not None]
    notes = [f"{sum(bool(v.agrees) for v in told)} of {len(told)} numbers agree"] if told else []
    if any(v.unit == "SE" for v in verdicts):
        notes.append("SE: standard errors of the difference, as far as the paper and our runs tell them")
    if any(v.unit == "SD" for v in verdicts):
        notes.append("SD: the standard deviation that is given with the number")
    missing = dict.fromkeys(v.missing for v in verdicts if v.missing)
    return [*notes, *(f"-: {reason}" for reason in missing)]


SUMMARY_TEXT, SUMMARY_DATA = "summary.md", "summary.json"

VERSION = 1
"""of summary.json"""


def write_summary(folder: Path, report: Report) -> None:
    """Write summary.md and summary.json into the folder of the run."""
    grids = [result_grid(report, report.metrics)] + ([paper_grid(report)] if report.verdicts else [])
    text = "\n".join([*map(markdown, grids), *(f"{note}\n" for note in report.notes)])
    replace_file(folder / SUMMARY_TEXT, text.encode())
    replace_file(folder / SUMMARY_DATA, msgspec.json.format(msgspec.json.encode(summary(report)), indent=1) + b"\n")


def summary(report: Report) -> dict[str, Any]:
    """The report as plain data, as in summary.json: spreads by both conventions, areas, every test."""
    return {
        "version": VERSION,
        "k": report.k,
        "stand_in": report.stand_in or None,
        "settings": [_line_data(report, line) for line in report.lines],
        "expected": [_verdict_data(verdict) for verdict in report.verdicts],
        "comparisons": [
            _comparison_data(metric, comparison)
            for metric, comparisons in report.comparisons.items()
            for comparison in comparisons
        ],
        "notes": list(report.notes),
    }


def _line_data(report: Report, line: Line) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    for metric in line.metrics:
        runs, area = report.values[metric][line.settings], report.areas[metric][line.settings]
        metrics[metric] = {
            "over_runs": _summary_data(over_runs(runs)),
            "over_seeds": _summary_data(over_seeds(runs)) if _whole_seed(runs) else None,
            "area": _summary_data(over_runs(area)),
            "best": metric in line.best,
            "significantly_below_best": metric in line.below,
        }
    return {"settings": dict(line.settings), "runs": line.runs, "metrics": metrics}


def _whole_seed(runs: Runs) -> bool:
    """Whether a seed has all folds."""
    folds, seeds = {fold for fold, _ in runs}, {seed for _, seed in runs}
    return any(all((fold, seed) in runs for fold in folds) for seed in seeds)


def _summary_data(summary: Summary) -> dict[str, Any]:
    return {"mean": summary.mean, "sd": summary.sd, "se": summary.se, "n": summary.n}


def _verdict_data(verdict: PaperVerdict) -> dict[str, Any]:
    return {
        "settings": dict(verdict.settings),
        "paper": msgspec.to_builtins(verdict.expected),
        "ours": None if verdict.ours is None else _summary_data(verdict.ours),
        "difference": verdict.difference,
        "deviations": verdict.deviations,
        "unit": verdict.unit,
        "agrees": verdict.agrees,
        "missing": verdict.missing,
    }


def _comparison_data(metric: str, comparison: SettingsComparison) -> dict[str, Any]:
    test = comparison.test
    return {
        "metric": metric,
        "first": dict(comparison.first),
        "second": dict(comparison.second),
        "difference": test.difference,
        "t": test.t,
        "df": test.df,
        "p": test.p,
        "p_corrected": comparison.p_corrected,
    }
