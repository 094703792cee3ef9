"""The tables of a report: what came out, the paper's numbers and retraining beside it, with what each mark means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TextIO

from simulation.report.equivalence import BEYOND, MARGIN, WITHIN
from simulation.report.names import key_titles, metric_title, setting_text
from simulation.report.paper_numbers import ENOUGH_SEEDS, PaperVerdict, patterns
from simulation.report.report import ALPHA, OF_QUERIES, Line, Report
from simulation.report.statistics import Settings, Summary
from simulation.report.tables import Grid, show

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
        print(note, file=stream)


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
    columns = ["metric", "round", "paper", "ours", "difference", f"{BEYOND:.0%} interval", "verdict"]
    shown = [n for n, name in enumerate(columns) if not (narrow and n in (1, 4, 5))]
    cells = [(verdict, _verdict_cells(verdict, report.k)) for verdict in report.verdicts]
    return Grid(
        _titled("Beside the paper", report),
        [*titles.values(), *(columns[n] for n in shown)],
        [[*_keys(verdict.settings, titles), *(values[n] for n in shown)] for verdict, values in cells],
        _paper_notes(report.verdicts, report.k),
        left=len(titles) + 1,
    )


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
        seeds = {seed for runs in report.values[metrics[0]].values() for _, seed in runs}
        of_one = " (one seed: of these rankers, not of what other seeds would make)" if len(seeds) == 1 else ""
        by = f"p < {ALPHA:g} by Holm of {n_tests} tests: {used}{of_one}"
        notes.append(f"{BELOW} below the best under the same conditions, {by}")
    return notes


def _verdict_cells(verdict: PaperVerdict, k: int | None) -> list[str]:
    given, found = verdict.expected, verdict.difference
    start = [metric_title(given.metric, k=k), str(given.at), f"{given.value:.{verdict.digits}f}"]
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
        of = f" of {source}" if source else ""
        notes.append(
            f"{metric_title(metric, k=k)}: {signs.positive} of {signs.n} differences are above 0{of} "
            f"(exact sign test as if independent: p = {signs.p:.2g})"
        )
    if counts:
        margins = dict.fromkeys(f"{v.margin:.3g}" for v in verdicts if v.ours is not None) or {f"{MARGIN:g}": None}
        notes.append(_meaning(margins))
    missing = dict.fromkeys(v.missing for v in verdicts if v.missing)
    return [*notes, *(f"-: {reason}" for reason in missing)]
