"""The report of a study as tables: results by combination of settings, and the paper's numbers beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TextIO

from simulation.captions import key_titles, metric_title, setting_text
from simulation.paper_numbers import LIMIT, Verdict
from simulation.report import ALPHA, Line, Report
from simulation.statistics import Settings, Summary
from simulation.tables import Grid, show

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
        "Results after the last round",
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
        n_tests = max(len(report.comparisons[metric]) for metric in metrics)
        notes.append(
            f"{BELOW} below the best under the same conditions: paired two-tailed t-test over runs, p < {ALPHA:g} "
            f"after Bonferroni's correction for {n_tests} comparisons"
        )
    return notes


def _verdict_cells(verdict: Verdict, k: int | None) -> list[str]:
    given = verdict.expected
    start = [metric_title(given.metric, k=k), str(given.at), f"{given.value:.4g}"]
    if verdict.ours is None or verdict.difference is None:
        return [*start, "-", "-", "-", "-"]
    agrees = {True: "yes", False: "NO", None: "?"}[verdict.agrees]
    units = "?" if verdict.deviations is None else f"{verdict.deviations:+z.1f} {verdict.unit}"
    return [*start, _mean_and_error(verdict.ours), f"{verdict.difference:+z.4f}", units, agrees]


def _paper_notes(verdicts: Sequence[Verdict]) -> list[str]:
    told = [v for v in verdicts if v.agrees is not None]
    notes = [f"{sum(bool(v.agrees) for v in told)} of {len(told)} numbers agree"] if told else []
    if any(v.unit == "SE" for v in verdicts):
        notes.append("SE: standard errors of the difference, as far as the paper and our runs tell them")
    if any(v.unit == "SD" for v in verdicts):
        notes.append("SD: the standard deviation that is given with the number")
    missing = dict.fromkeys(v.missing for v in verdicts if v.missing)
    return [*notes, *(f"-: {reason}" for reason in missing)]
