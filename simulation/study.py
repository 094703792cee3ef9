"""A run as its user sees it: progress, failures, how to go on, and the results at the end."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numba

from console.command_line import heard_interrupts
from console.durable import what_failed
from simulation import engines
from simulation.cells.cell import Cell
from simulation.cells.parts import length
from simulation.cells.preset import Expect, ExpectedValue, Preset
from simulation.cells.preset_tables import real_data, stand_in
from simulation.environment import Environment, cores, environment, finished, keep_environment
from simulation.experiment import Experiment, StudyOutcome, prepare, work_with
from simulation.progress_bars import RunProgress
from simulation.report.display_names import SELDOM_DRAWN, TITLES, metric_title
from simulation.report.paper_numbers import papers_beside
from simulation.report.report import make_report
from simulation.report.result_tables import show_report, write_summary
from simulation.report.statistics import X, curves, settings_of
from simulation.report.terminal import show_curves
from simulation.run_folder import CURVE_KEY, Row, write_csv

DONE, FAILED_CELLS, INTERRUPTED = 0, 1, 130

PATIENCE = 1.0
"""seconds of reading after which a person is told that it goes on"""


def run_study(
    preset: Preset,
    *,
    root: Path | None,
    folder: Path,
    resume: bool,
    jobs: int | None,
    engine: Literal["local", "ray"],
    command: Sequence[str],
    again: str,
    pictures: Sequence[str] = (),
) -> int:
    """Run a preset and give the exit code; `command` is what was typed, `again` what goes on with the rest.

    `pictures` are of these metrics; () leaves it to `drawn`.
    """
    cold = not anything_compiled()
    place = engines.make_engine(engine, jobs or cores(), first_alone=cold)
    if isinstance(place, engines.RayCluster):
        place.connected()  # no folder is made for a run that cannot begin
    n_jobs = 1 if isinstance(place, engines.RayCluster) else jobs or cores()
    experiment = prepare(preset, root=root, folder=folder, resume=resume, reading=_Introduction(preset, cold=cold))
    with experiment.held:  # the traceback of an error that a library keeps would hold on to it
        if experiment.impostor:
            _say(experiment.impostor)
        federations = [cell.preset.federation for cell in experiment.cells]
        if any(one.attack for one in federations) and not any(one.malicious for one in federations):
            _say("nobody attacks: federation.malicious is 0")
        entry = environment(command, stand_in=experiment.instead, data=experiment.digests)
        keep_environment(folder, entry)
        if cold:
            _say("nothing is compiled yet: the first round of each method compiles, which takes up to a minute, once")
        try:
            outcome = _run(experiment, place, root, jobs=n_jobs)
        except OSError as error:  # a full disk most of all; rows that are whole stand
            _say(f"{what_failed(error)}; to go on: {again}")
            return FAILED_CELLS
        if outcome.interrupted:
            _say("interrupted; making tables and curves of what is finished")
        try:
            with heard_interrupts():
                _report(experiment, outcome, entry, pictures or drawn(preset.expect))
        except KeyboardInterrupt:
            _say(f"interrupted before all tables and pictures were made; to make them: {again}")
            return INTERRUPTED
        if outcome.interrupted or outcome.failed:
            _say(f"{len(outcome.finished)} of {len(experiment.waiting)} cells finished; to go on: {again}")
        else:
            _say(f"results are in {folder}")
        return INTERRUPTED if outcome.interrupted else FAILED_CELLS if outcome.failed else DONE


def anything_compiled() -> bool:
    """Whether an earlier run has left compiled kernels; without them a method's first round takes many seconds."""
    folder = Path(numba.config.CACHE_DIR)  # type: ignore[attr-defined]
    return next(folder.rglob("*.nbi"), None) is not None


class _Introduction:
    """What is said before the data are read: what they are not, and from when on reading takes long, that it does."""

    def __init__(self, preset: Preset, *, cold: bool) -> None:
        self._data, self._patience = preset.data, 0.0 if cold else PATIENCE
        self._started: float | None = None

    def __call__(self, said: str) -> None:
        if said:
            _say(said)
        if self._started is None:
            self._started = time.monotonic()
            if self._data.in_place_of:
                _say(f"{stand_in(self._data)}; {real_data(self._data)}")
        if time.monotonic() - self._started >= self._patience:
            self._patience = math.inf
            _say("reading the data, for the first time: later runs find them parsed")


def _run(experiment: Experiment, engine: engines.Engine, root: Path | None, *, jobs: int) -> StudyOutcome:
    """All that is left, with progress on stderr."""
    titles = {cell.id: cell.title for cell in experiment.waiting}
    lengths = {cell.id: length(cell) for cell in experiment.waiting}
    with RunProgress(titles, sys.stderr, finished=len(experiment.finished), jobs=jobs) as progress:
        progress.say(_opening(experiment))

        def tell(event: engines.Event) -> None:
            if isinstance(event, engines.Advanced):
                progress(event.cell, event.round, lengths[event.cell][1])
            elif isinstance(event, engines.Reported):
                unseen, total = lengths[event.cell]
                if unseen + event.row.round < total:
                    progress(event.cell, unseen + event.row.round, total)
            else:
                progress.tell(event)

        outcome = experiment.run(engine, work_with(root, experiment.digests), tell=tell)
    for message in dict.fromkeys(message for _, message in outcome.failed):
        first, *more = (cell.title for cell, why in outcome.failed if why == message)
        _say(f"failed: {first}{f' and {len(more)} more' if more else ''}: {message}")
    return outcome


def drawn(expect: Expect) -> Sequence[str]:
    """The metrics that the paper reports, which are drawn; where it reports none, all but those seldom drawn."""
    named = dict.fromkeys([*(value.metric for value in expect.values), *(curve.metric for curve in expect.curves)])
    return [*named] or [metric for metric in TITLES if metric not in SELDOM_DRAWN]


def _report(experiment: Experiment, outcome: StudyOutcome, entry: Environment, pictures: Sequence[str]) -> None:
    """Tables and a curve on stdout, and the files of the folder, with `pictures` of these metrics.

    The tables are of finished cells; where none has finished, the curves are of what there is.
    """
    everything, folder, preset = experiment.rows(), experiment.folder, experiment.preset
    write_csv(folder, everything)
    rows = [row for row in everything if CURVE_KEY not in row.settings]
    complete = {*experiment.finished, *(cell.id for cell in outcome.finished)}
    whole = [row for row in rows if row.cell in complete]
    if not outcome.interrupted:
        keep_environment(folder, finished(entry))
    try:
        _show(experiment, rows, whole)
    finally:  # whoever reads stdout may be gone, as `head` is after ten lines; the files are for later
        if rows:
            # matplotlib takes longer to load than a small study to run
            from simulation.report.plots import write_alpha_plot, write_plots

            if len(rows) < len(everything):
                write_alpha_plot(folder, everything, k=preset.data.k)
            write_plots(
                folder,
                rows,
                metrics=pictures,
                expected=_reached(preset.expect.values, rows, whole=whole),
                paper_curves=preset.expect.curves,
                k=preset.data.k,
                x=_over(rows),
                heading=_heading(preset),
                stand_in=experiment.instead,
            )


def _show(experiment: Experiment, rows: Sequence[Row], whole: Sequence[Row]) -> None:
    """Tables of finished cells, in the folder and on stdout, and a curve."""
    preset = experiment.preset
    if whole:
        report = make_report(
            whole,
            expected=preset.expect.values,
            k=preset.data.k,
            notes=[*preset.notes, *_drawn_by_nothing(experiment.cells)],
            stand_in=experiment.instead,
            folds={cell.fold for cell in experiment.cells},
        )
        write_summary(experiment.folder, report)
        show_report(report, sys.stdout)
    if rows:
        _show_curve(whole or rows, preset)
    sys.stdout.flush()


def _drawn_by_nothing(cells: Sequence[Cell]) -> list[str]:
    """What the table's numbers of a baseline without randomness do not depend on."""
    names = dict.fromkeys(cell.method.label or cell.method.name for cell in cells if cell.method.draws_nothing)
    if not names:
        return []
    return [f"{', '.join(names)}: no randomness, so one run for each fold; the users matter to its MaxRR alone"]


def _reached(expected: Sequence[ExpectedValue], rows: Sequence[Row], *, whole: Sequence[Row]) -> list[ExpectedValue]:
    """The paper's numbers that have a place in the curves: one of the end has none beside an unfinished curve."""
    unfinished = [dict(settings) for settings in {*map(settings_of, rows)} - {*map(settings_of, whole)}]
    return [
        number
        for number in expected
        if number.at != "end" or not any(number.where.items() <= settings.items() for settings in unfinished)
    ]


def _show_curve(rows: Sequence[Row], preset: Preset) -> None:
    """The metric that the paper reports first, else offline nDCG."""
    metric = next((value.metric for value in preset.expect.values), next(iter(TITLES)))
    found = curves(rows, metric)
    title = " - ".join(filter(None, (metric_title(metric, k=preset.data.k), stand_in(preset.data).partition(":")[0])))
    papers = papers_beside(found, metric, preset.expect.curves) if preset.expect.curves else []
    show_curves(found, sys.stdout, title=title, x=_over(rows), papers=papers)


def _heading(preset: Preset) -> str:
    """The title of the paper's figure, as far as the preset tells."""
    paper = preset.paper
    named = [
        f"{kind} {text}" for kind, text in (("figure", paper.figure), ("table", paper.table)) if text[:1].isdigit()
    ]
    return ", ".join([paper.title or preset.data.dataset, *(re.split(r"[,:]", text)[0] for text in named)])


def _over(rows: Sequence[Row]) -> X:
    """What curves are drawn over: rounds where some cost nobody an interaction, as of unlearning."""
    return "interactions" if all(row.unlearning_distance is None for row in rows) else "rounds"


def _opening(experiment: Experiment) -> str:
    """What is about to run, in one line."""
    preset, n, n_done = experiment.preset, len(experiment.cells), len(experiment.finished)
    title = f"{preset.paper.title}: " if preset.paper.title else ""
    done = f", {n_done} of them finished before" if n_done else ""
    return f"{title}{preset.data.dataset}, {n} cell{'s' * (n != 1)}{done}; results go to {experiment.folder}"


def _say(line: str) -> None:
    print(f"foltr-search: {line}", file=sys.stderr, flush=True)
