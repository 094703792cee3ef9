"""The report of a study as files: summary.md for people, summary.json for programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from simulation.paper_numbers import Verdict
from simulation.report import Line, Report
from simulation.report_tables import paper_grid, result_grid
from simulation.results import replace_file
from simulation.significance import Comparison
from simulation.statistics import Runs, Summary, over_runs, over_seeds
from simulation.tables import markdown

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


def _verdict_data(verdict: Verdict) -> dict[str, Any]:
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


def _comparison_data(metric: str, comparison: Comparison) -> dict[str, Any]:
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
