"""How far a run is: bars on a terminal, one line for each finished cell elsewhere.

The time left is counted in seconds of work: what a cell's worth of rounds took so far, without compiling (which happens
once), times the cells' worth that is left, divided by the number of cells that run side by side.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskID, TextColumn
from rich.text import Text

from simulation.engines import CellFailed, Compiled, Event, Finished, Started

PROGRAM = "foltr-search"

MAX_BARS = 16
"""running cells that have a bar of their own"""

TITLE_WIDTH = 40

WORTH_SAYING = 1.0
"""seconds of compiling from which on it is told"""


class RunProgress:
    """Shows the progress of cells; a context manager that leaves a clean line behind, whatever ended it.

    A cell begins; what it compiles is told; call with (cell, rounds done, rounds in all) as often as you like; it ends.
    All from one thread. A cell whose rounds are all done is finished.
    """

    def __init__(
        self,
        titles: Mapping[str, str],
        stream: TextIO,
        *,
        finished: int = 0,
        jobs: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`titles` has every cell that will run, by id; `finished` are cells of an earlier start.

        `jobs` is how many run side by side, as far as that is known; more are noticed.
        """
        self._titles, self._stream, self._before, self._clock = titles, stream, finished, clock
        self._jobs = jobs
        self._begun: dict[str, float] = {}  # when each running cell began
        self._worked = 0.0  # seconds of cells that have ended
        self._compiled = 0.0  # seconds of these and of the running ones that will not come again
        self._untold: dict[str, float] = {}  # what each cell compiled before its first round
        self._share: dict[str, float] = {}
        self._done = 0.0  # cells; the bars read it from their own thread
        self._ended: set[str] = set()
        self._bars = _bars(stream, self.seconds_left)
        self._tasks: dict[str, TaskID] = {}
        if self._bars:
            self._overall = self._bars.add_task(self._count(), total=max(len(titles), 1), completed=not titles)

    def __enter__(self) -> RunProgress:
        if self._bars:
            self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bars:
            self._bars.stop()

    def tell(self, event: Event) -> None:
        """What happened to a cell, except how far it is."""
        if isinstance(event, Started):
            self.begin(event.cell)
        elif isinstance(event, Compiled):
            self.compiled(event.cell, event.seconds)
        elif isinstance(event, Finished):
            self.end(event.cell, f"done in {duration(event.seconds)}")
        elif isinstance(event, CellFailed):
            self.end(event.cell, "failed")

    def begin(self, cell: str) -> None:
        """The cell was taken up; until its first round is done it loads, and perhaps compiles."""
        self._begun[cell] = self._clock()
        self._jobs = max(self._jobs, len(self._begun))
        if self._bars:
            self._tasks[cell] = self._bars.add_task(
                f"getting ready: {self._short(cell)}", total=None, visible=len(self._tasks) < MAX_BARS
            )

    def compiled(self, cell: str, seconds: float) -> None:
        """So much of the cell's time went into compiling, which need not be done again."""
        self._compiled += seconds
        self._untold[cell] = self._untold.get(cell, 0.0) + seconds

    def __call__(self, cell: str, done: int, total: int) -> None:
        """The cell has done so many of its rounds."""
        if cell in self._ended:
            return
        share = min(1.0, done / total) if total else 1.0
        if share > 0.0:
            self._tell_compiled(cell)
        if share >= 1.0:
            self.end(cell, "done")
            return
        self._advance(cell, share)
        if self._bars and share > 0.0:
            self._show(self._bars, cell)

    def end(self, cell: str, how: str) -> None:
        """The cell needs no more time: it is done, or it failed; said in a line where there are no bars."""
        self._tell_compiled(cell)
        self._ended.add(cell)
        now = self._clock()
        self._worked += now - self._begun.pop(cell, now)
        self._advance(cell, 1.0)
        if self._bars:
            if cell in self._tasks:
                self._bars.remove_task(self._tasks.pop(cell))
            self._bars.update(self._overall, description=self._count(), completed=self._done)
        else:
            left = self.seconds_left()
            remaining = f", about {duration(left)} left" if left else ""
            self.say(f"{self._count()}: {self._titles.get(cell, cell)} {how}{remaining}")

    def say(self, line: str) -> None:
        """A line that stays, above the bars."""
        if self._bars:
            self._bars.console.print(Text(f"{PROGRAM}: {line}"))
        else:
            print(f"{PROGRAM}: {line}", file=self._stream, flush=True)

    def seconds_left(self) -> float | None:
        """What the run still takes if it goes on as it went so far; None before anything is done."""
        done, now = self._done, self._clock()
        if not done:
            return None
        left = max(0.0, len(self._titles) - done)
        worked = self._worked + sum(now - begun for begun in list(self._begun.values())) - self._compiled
        side_by_side = min(self._jobs, len(self._titles) - len(self._ended))
        return max(0.0, worked) * left / done / max(1, side_by_side)

    def _tell_compiled(self, cell: str) -> None:
        seconds = self._untold.pop(cell, 0.0)
        if seconds >= WORTH_SAYING:
            self.say(f"compiled in {duration(seconds)}, once: {self._titles.get(cell, cell)}")

    def _advance(self, cell: str, share: float) -> None:
        self._done += share - self._share.get(cell, 0.0)
        self._share[cell] = share

    def _count(self) -> str:
        return f"{self._before + len(self._ended)} of {(n := self._before + len(self._titles))} cell{'s' * (n != 1)}"

    def _show(self, bars: Progress, cell: str) -> None:
        task = self._tasks[cell]
        if bars.tasks[bars.task_ids.index(task)].total is None:
            bars.reset(task, total=1.0, description=self._short(cell))
        bars.update(task, completed=self._share[cell])
        bars.update(self._overall, completed=self._done)

    def _short(self, cell: str) -> str:
        title = self._titles.get(cell, cell)
        return title if len(title) <= TITLE_WIDTH else f"{title[: TITLE_WIDTH - 1]}…"


class _Share(ProgressColumn):
    """How much is done; nothing before there is a first round."""

    def render(self, task: Task) -> Text:
        return Text("" if task.total is None else f"{task.percentage:>3.0f} %")


class _TimeLeft(ProgressColumn):
    """Of the run, as RunProgress estimates it; of a cell, from the time since its first round."""

    def __init__(self, overall: Callable[[], float | None]) -> None:
        super().__init__()
        self._overall = overall

    def render(self, task: Task) -> Text:
        if task.id == 0:
            left = self._overall()
        else:
            left = (task.elapsed or 0.0) * (1.0 - task.completed) / task.completed if task.completed else None
        return Text("" if left is None else f"{duration(left)} left", style="progress.remaining")


def _bars(stream: TextIO, overall: Callable[[], float | None]) -> Progress | None:
    """None where nothing can be drawn over: in files, pipes and terminals without cursor movement."""
    console = Console(file=stream, highlight=False)
    if not stream.isatty() or console.is_dumb_terminal:
        return None
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        _Share(),
        _TimeLeft(overall),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def duration(seconds: float) -> str:
    """As people say it: 40 s, 12 min, 3 h 5 min."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
