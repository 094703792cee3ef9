"""The tables of a report: what came out, the paper's numbers and retraining beside it, with what each mark means.

They are shown, and kept in the folder of the run: summary.md for people, summary.json for programs.
"""

from __future__ import annotations

import shutil
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TextIO

import msgspec

from simulation.report.differences import BEYOND, MARGIN, WITHIN, Difference
from simulation.report.display_names import key_titles, metric_title, setting_text
from simulation.report.paper_numbers import ENOUGH_SEEDS, PaperVerdict, patterns
from simulation.report.report import ALPHA, OF_QUERIES, AgainstRetraining, Line, Report
from simulation.report.significance import SettingsComparison
from simulation.report.statistics import Settings, Summary, over_runs, over_seeds, whole_seeds
from simulation.report.terminal import Grid, show
from simulation.run_folder import replace_file

BELOW = "*"

MEANINGS = {
    "queries": "sign flips of the differences at single queries, seeds included",
    "fold means": "t over folds with Nadeau and Bengio's correction",
    "seeds": "t over seeds, of one fold",
}
"""the tests, for people"""


def show_report(report: Report, stream: TextIO) -> None:
    """Print the tables: drawn on a terminal, as plain columns elsewhere.

    On a terminal only as many metrics are shown as fit, the first one always; summary.md has them all.
    """
    show([result_grid(report, report.metrics[:n]) for n in range(len(report.metrics), 0, -1)], stream)
    if report.verdicts:
        show([paper_grid(report), paper_grid(report, narrow=True)], stream)
    if report.forgotten:
        show([retraining_grid(report)], stream)
    for note in report.notes:
        print(textwrap.fill(note, shutil.get_terminal_size().columns) if stream.isatty() else note, file=stream)


def result_grid(report: Report, metrics: Sequence[str]) -> Grid:
    """One row for each combination of settings: mean and standard error of each metric after the last round."""
    titles = key_titles(line.settings for line in report.lines)
    return Grid(
        _titled("Results after the last round", report),
        [*titles.values(), "runs", *(metric_title(metric, k=report.k) for metric in metrics)],
        [[*_keys(line.settings, titles), str(line.runs), *(_cell(line, m) for m in metrics)] for line in report.lines],
        _result_notes(report, metrics),
        left=len(titles),
    )


def paper_grid(report: Report, *, narrow: bool = False) -> Grid:
    """One row for each number of the paper and combination of settings that it speaks of.

    `narrow` leaves out what is in the other columns already: the round, the difference as such and its interval.
    """
    titles = key_titles(verdict.settings for verdict in report.verdicts)
    columns = ["metric", "round", "paper", "source", "ours", "difference", f"{BEYOND:.0%} interval", "verdict"]
    one_source = len({verdict.expected.source for verdict in report.verdicts}) < 2
    left_out = {*([3] if one_source else []), *([1, 5, 6] if narrow else [])}
    shown = [n for n in range(len(columns)) if n not in left_out]
    cells = [(verdict, _verdict_cells(verdict, report.k)) for verdict in report.verdicts]
    return Grid(
        _titled("Beside the paper" + _source(report), report),
        [*titles.values(), *(columns[n] for n in shown)],
        [[*_keys(verdict.settings, titles), *(values[n] for n in shown)] for verdict, values in cells],
        _paper_notes(report.verdicts, report.k),
        left=len(titles) + 1,
    )


def _source(report: Report) -> str:
    """Where all its numbers stand, if that is one place; else each names its own."""
    sources = {verdict.expected.source for verdict in report.verdicts} or {""}
    return f" ({source})" if len(sources) == 1 and (source := sources.pop()) else ""


def retraining_grid(report: Report) -> Grid:
    """One row for each way of forgetting, in the order of the results: how far from retraining it ends."""
    titles = key_titles(one.settings for one in report.forgotten)
    rows = []
    for one in report.forgotten:
        bounds = "-" if one.difference is None else "{:+z.4f} {:+z.4f}".format(*one.difference.interval(WITHIN))
        means = [_mean_and_error(one.retrained), f"{one.paired.mean:+z.4f}"]
        rows.append([*_keys(one.settings, titles), str(one.paired.n), *means, bounds, one.verdict])
    metric = metric_title(OF_QUERIES, k=report.k)
    return Grid(
        _titled(f"Against retraining, {metric}", report),
        [*titles.values(), "seeds", "retrained", "difference", f"{WITHIN:.0%} interval", "verdict"],
        rows,
        [_meaning([f"{MARGIN:g}"])],
        left=len(titles),
    )


def _meaning(margins: Iterable[str]) -> str:
    """What the verdicts say."""
    return (
        f"equivalent: {WITHIN:.0%} interval within ±{' or ±'.join(margins)}; different: {BEYOND:.0%} interval "
        f"without 0; undecided: neither; too few: less than {ENOUGH_SEEDS} seeds"
    )


def _titled(title: str, report: Report) -> str:
    return " - ".join(filter(None, (title, report.stand_in)))


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
        tests = [test for metric in metrics for test in report.comparisons.get(metric, ())]
        used = "; ".join(MEANINGS[name] for name in dict.fromkeys(test.test for test in tests))
        n_tests = max(len(report.comparisons.get(metric, ())) for metric in metrics)
        by = f"p < {ALPHA:g} by Holm of {n_tests} tests: {used}"
        notes.append(f"{BELOW} below the best under the same conditions, {by}")
    return notes


def _verdict_cells(verdict: PaperVerdict, k: int | None) -> list[str]:
    given, found = verdict.expected, verdict.difference
    start = [metric_title(given.metric, k=k), str(given.at), f"{given.value:.{verdict.digits}f}", given.source or "-"]
    if verdict.ours is None:
        return [*start, "-", "-", "-", "-"]
    digits = 4 if abs(given.value) < 10 else 2
    bounds = "-" if found is None else "{:+z.{d}f} {:+z.{d}f}".format(*found.interval(BEYOND), d=digits)
    difference = f"{verdict.ours.mean - given.value:+z.{digits}f}"
    return [*start, _mean_and_error(verdict.ours), difference, bounds, str(verdict.verdict)]


def _paper_notes(verdicts: Sequence[PaperVerdict], k: int | None) -> list[str]:
    counts = Counter(verdict.verdict for verdict in verdicts if verdict.verdict)
    notes = [f"of {counts.total()} numbers {', '.join(f'{n} {v}' for v, n in counts.most_common())}"] if counts else []
    for (metric, source), signs in patterns(verdicts).items():
        beside = f" from {source}" if source else ""
        notes.append(
            f"{metric_title(metric, k=k)}: {signs.positive} of {signs.n} differences{beside} are above 0 "
            f"(exact sign test as if independent: p = {signs.p:.2g})"
        )
    if counts:
        margins = dict.fromkeys(f"{v.margin:.3g}" for v in verdicts if v.ours is not None) or {f"{MARGIN:g}": None}
        notes.append(_meaning(margins))
    missing = dict.fromkeys(v.missing for v in verdicts if v.missing)
    return [*notes, *(f"-: {reason}" for reason in missing)]


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


def markdown(grid: Grid) -> str:
    """The grid as a section with a Markdown table."""
    rule = [":--" if column < grid.left else "--:" for column in range(len(grid.header))]
    lines = [f"| {' | '.join(_escaped(cell) for cell in row)} |" for row in (grid.header, rule, *grid.rows)]
    return "\n".join([f"## {grid.title}", "", *lines, "", *(f"{note}\n" for note in map(_escaped, grid.notes))])


def _escaped(cell: str) -> str:
    return cell.strip().replace("|", "\\|").replace("*", "\\*")


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
            for (metric, source), signs in (patterns(report.verdicts) if report.verdicts else {}).items()
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
        **_intervals(found),
        "margin": verdict.margin,
        "verdict": verdict.verdict,
        "missing": verdict.missing,
    }


def _intervals(found: Difference | None) -> dict[str, Any]:
    return {f"interval_{level:.0%}"[:-1]: found and found.interval(level) for level in (WITHIN, BEYOND)}


def _retraining_data(one: AgainstRetraining) -> dict[str, Any]:
    return {
        "settings": dict(one.settings),
        "retrained": _summary_data(one.retrained),
        "difference": _summary_data(one.paired),
        **_intervals(one.difference),
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
