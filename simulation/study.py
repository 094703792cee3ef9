"""What a person sees of a run: progress while it goes, what failed, how to go on, and the results at the end."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from simulation.engines import Event, Reported, make_engine
from simulation.experiment import Experiment, Outcome, cores, prepare, work_with
from simulation.preset import Preset

DONE, FAILED_CELLS, INTERRUPTED = 0, 1, 130


def run_study(
    preset: Preset, *, root: Path | None, folder: Path, resume: bool, jobs: int | None, engine: str, again: str
) -> int:
    """Run a preset and give the exit code; `again` is the command that goes on with what is left."""
    experiment = prepare(preset, root=root, folder=folder, resume=resume)
    waiting = len(experiment.waiting)
    _say(_opening(experiment))
    started = time.monotonic()
    outcome = experiment.run(make_engine(engine, min(jobs or cores(), max(waiting, 1))), work_with(root), tell=_quiet)
    for cell, message in outcome.failed:
        _say(f"failed: {cell.title}: {message}")
    seconds = time.monotonic() - started
    _say(f"{len(outcome.finished)} of {waiting} cells in {seconds:.0f} s; results in {folder}")
    if outcome.interrupted or outcome.failed:
        _say(f"to go on: {again}")
    return _code(outcome)


def _opening(experiment: Experiment) -> str:
    """What is about to run, in one line."""
    preset, n_done = experiment.preset, len(experiment.finished)
    done = f", {n_done} of them finished before" if n_done else ""
    title = f"{preset.paper.title}: " if preset.paper.title else ""
    return f"{title}{preset.data.dataset}, {len(experiment.cells)} cells{done}, results in {experiment.folder}"


def _quiet(event: Event) -> None:
    if isinstance(event, Reported):
        return


def _code(outcome: Outcome) -> int:
    if outcome.interrupted:
        return INTERRUPTED
    return FAILED_CELLS if outcome.failed else DONE


def _say(line: str) -> None:
    print(f"foltr-search: {line}", file=sys.stderr, flush=True)
