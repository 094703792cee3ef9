"""What is kept of a report in the folder of its run: summary.md for people, summary.json for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from simulation.report.against_retraining import AgainstRetraining
from simulation.report.equivalence import BEYOND, MARGIN, WITHIN
from simulation.report.paper_numbers import PaperVerdict, patterns
from simulation.report.report import Line, Report
from simulation.report.result_tables import paper_grid, result_grid, retraining_grid
from simulation.report.significance import SettingsComparison
from simulation.report.statistics import Summary, over_runs, over_seeds, whole_seeds
from simulation.report.tables import markdown
from simulation.results import replace_file

SUMMARY_TEXT, SUMMARY_DATA = "summary.md", "summary.json"

VERSION = 2
"""of summary.json"""


def write_summary(folder: Path, report: Report) -> None:
    """Write summary.md and summary.json into the folder of the run."""
    grids = [result_grid(report, report.metrics)] + ([paper_grid(report)] if report.verdicts else [])
    grids += [retraining_grid(report)] if report.forgotten else []
    text = "\n".join([*map(markdown, grids), *(f"{note}\n" for note in report.notes)])
    replace_file(folder / SUMMARY_TEXT, text.encode())
    replace_file(folder / SUMMARY_DATA, msgspec.json.format(msgspec.json.encode(summary(report)), indent=1) + b"\n")


def summary(report: Report) -> dict[str, Any]:
    """The report as plain data, as in summary.json: spreads by both conventions, areas, every test."""
    return {
        "version": VERSION,
        "k": report.k,
        "stand_in": report.stand_in,
        "settings": [_line_data(report, line) for line in report.lines],
        "expected": [_verdict_data(verdict) for verdict in report.verdicts],
        "patterns": [
            {"metric": metric, "source": source, "above": signs.positive, "n": signs.n, "p": signs.p}
            for (metric, source), signs in patterns(report.verdicts).items()
        ],
        "against_retraining": [_retraining_data(one) for one in report.forgotten],
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
            "over_seeds": _summary_data(over_seeds(runs)) if whole_seeds(runs) else None,
            "area": _summary_data(over_runs(area)),
            "best": metric in line.best,
            "significantly_below_best": metric in line.below,
        }
    return {"settings": dict(line.settings), "runs": line.runs, "metrics": metrics}


def _summary_data(summary: Summary) -> dict[str, Any]:
    return {"mean": summary.mean, "sd": summary.sd, "se": summary.se, "n": summary.n}


def _verdict_data(verdict: PaperVerdict) -> dict[str, Any]:
    found = verdict.difference
    return {
        "settings": dict(verdict.settings),
        "paper": msgspec.to_builtins(verdict.expected),
        "digits": verdict.digits,
        "digits_from": "shown" if verdict.expected.digits is None else "given",
        "ours": None if verdict.ours is None else _summary_data(verdict.ours),
        "difference": None if verdict.ours is None else verdict.ours.mean - verdict.expected.value,
        "unit": found and found.se,
        "df": found and found.df,
        "interval_90": found and found.interval(WITHIN),
        "interval_95": found and found.interval(BEYOND),
        "margin": verdict.margin,
        "verdict": verdict.verdict,
        "missing": verdict.missing,
    }


def _retraining_data(one: AgainstRetraining) -> dict[str, Any]:
    found = one.difference
    return {
        "settings": dict(one.settings),
        "retrained": _summary_data(one.retrained),
        "difference": _summary_data(one.paired),
        "interval_90": found and found.interval(WITHIN),
        "interval_95": found and found.interval(BEYOND),
        "margin": MARGIN,
        "verdict": one.verdict,
    }


def _comparison_data(metric: str, comparison: SettingsComparison) -> dict[str, Any]:
    dependent = comparison.dependent
    return {
        "metric": metric,
        "first": dict(comparison.first),
        "second": dict(comparison.second),
        "test": comparison.test,
        "n": comparison.n,
        "difference": comparison.difference,
        "interval_95": comparison.interval,
        "p": comparison.p,
        "p_corrected": comparison.p_corrected,
        "paper_t_over_dependent_runs": {"t": dependent.t, "df": dependent.df, "p": dependent.p},
    }
