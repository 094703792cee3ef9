"""Measurements in turns: ours, a peer, the next peer, ours again; medians, and the median of the ratios of each turn.

A machine that other programs use changes from minute to minute, so two numbers are comparable only when they were taken
side by side. Here nothing is measured alone: every line of a table holds ours, theirs and the ratio of the same turns.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.tables import Table

Sample = Mapping[str, float]
"""what one measurement gave: "CPU-s" -> 4.2; a peer may lack some of our quantities"""
Measure = Callable[[], Sample]

HEADING = ("work", "measured", "ours", "peer", "theirs", "ours / theirs")


class AbsentError(Exception):
    """A peer that is not on this machine; the message says how to get it."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """One quantity of one peer over all turns."""

    ours: float
    """median"""
    theirs: float
    """median"""
    ratio: float
    """median over the turns of ours / theirs of that turn"""


def ratio_of(ours: Sequence[float], theirs: Sequence[float]) -> Ratio:
    """Equally long sequences, one value a turn; a turn in which a peer took nothing that can be seen has no ratio."""
    shares = [own / other for own, other in zip(ours, theirs, strict=True) if other]
    middle = statistics.median(shares) if shares else float("nan")
    return Ratio(statistics.median(ours), statistics.median(theirs), middle)


def shown(value: float) -> str:
    """Three digits that count, thousands with commas: 186,000, 17.2, .48."""
    if value != value:
        return "-"
    digits = 3 - len(f"{abs(int(value))}") if abs(value) >= 1 else 3
    rounded = round(value, digits)
    text = f"{rounded:,.{max(digits, 0)}f}"
    return text.replace("0.", ".", 1) if text.startswith("0.") else text


@dataclass(slots=True)
class Bench:
    """Collects the lines of the tables and of what could not be measured."""

    runs: int = 5
    """turns of each comparison"""
    deadline: float = float("inf")
    """a moment of time.monotonic(): no turn begins after it"""
    table: Table = field(default_factory=lambda: Table(HEADING))
    remarks: list[str] = field(default_factory=list)
    """one line for each peer that is absent, failed or ran out of time"""
    failed: set[str] = field(default_factory=set)
    """peers that are not asked again"""
    tell: Callable[[str], object] = str
    """called with the work that begins"""

    def left(self) -> float:
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()

    def patience(self) -> float:
        """Seconds that one command may take: a minute longer than the time left, so that a turn can end."""
        return max(min(self.left(), 1e6), 0.0) + 60.0

    def present(self, name: str, find: Callable[[], object]) -> bool:
        """Whether `find` meets no AbsentError; its message becomes a line."""
        try:
            find()
        except AbsentError as absent:
            self.give_up(name, f"not here: {absent}")
            return False
        return True

    def give_up(self, name: str, why: str) -> None:
        """Leave a peer out from now on."""
        self.failed.add(name)
        self.remarks.append(f"{name}: {why}")

    def compare(self, work: str, ours: Measure, peers: Mapping[str, Measure], *, runs: int | None = None) -> None:
        """Measure in turns and write a line for each peer and quantity.

        A peer that fails is left out with a line that says why. What fails of ours ends this comparison alone.
        """
        asked = {name: measure for name, measure in peers.items() if name not in self.failed}
        self.tell(work)
        own: list[Sample] = []
        others: dict[str, list[Sample]] = {name: [] for name in asked}
        for _ in range(runs or self.runs if asked else 0):
            if self.left() <= 0:
                break
            sample = self._sample("ours", work, ours)
            if sample is None:
                return
            own.append(sample)
            for name in [name for name in asked if name not in self.failed]:
                sample = self._sample(name, work, asked[name])
                if sample is None:
                    others.pop(name)
                else:
                    others[name].append(sample)
        if asked and not own:
            self.remarks.append(f"{work}: not measured, the time was up")
            return
        for name, samples in others.items():
            self._lines(work, name, own, samples)

    def _sample(self, name: str, work: str, measure: Measure) -> Sample | None:
        try:
            return measure()
        except AbsentError as absent:
            why = f"not here: {absent}"
        except subprocess.TimeoutExpired as late:
            why = f"{work}: stopped after {late.timeout:.0f} s"
        except Exception as error:  # another program may fail in any way, and the rest goes on
            why = f"{work}: failed: {type(error).__name__}: {_last_line(error)}"
        if name == "ours":
            self.remarks.append(f"ours: {why}")
        else:
            self.give_up(name, why)
        return None

    def _lines(self, work: str, name: str, own: Sequence[Sample], theirs: Sequence[Sample]) -> None:
        for quantity in own[0]:
            if all(quantity in sample for sample in theirs):
                found = ratio_of([s[quantity] for s in own], [s[quantity] for s in theirs])
                cells = shown(found.ours), name, shown(found.theirs), shown(found.ratio)
                self.table.add(work, quantity, *cells)


def _last_line(error: Exception) -> str:
    """The end of what a failed command printed, else of the message."""
    output = error.output if isinstance(error, subprocess.CalledProcessError) else None
    text = output.decode(errors="replace") if isinstance(output, bytes) else str(output or error)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no message"
