"""The paper's numbers beside ours: the difference, and whether it is more than chance explains."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from simulation.preset import ExpectedValue
from simulation.report.statistics import Settings, Summary, settings_of, summarise, values_at
from simulation.results import Row

LIMIT = 2.0
"""standard errors, or standard deviations, up to which two numbers agree"""


@dataclass(frozen=True, slots=True)
class PaperVerdict:
    """One number of the paper and ours for one combination of settings.

    The difference is measured in standard errors, sqrt(SE_paper^2 + SE_ours^2), where SE_paper is given, or follows
    from a standard deviation and a number of runs; a standard deviation alone is the measure itself (SD). Without
    either, the paper's number is taken as exact.
    """

    expected: ExpectedValue
    settings: Settings
    ours: Summary | None
    missing: str = ""
    """why there is no number of ours"""

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None else self.ours.mean - self.expected.value

    @property
    def unit(self) -> Literal["SE", "SD"]:
        given = self.expected
        return "SD" if given.se is None and given.sd is not None and given.n is None else "SE"

    @property
    def spread(self) -> float | None:
        """One unit of the difference; None where nothing is known of the spread."""
        if self.unit == "SD":
            return self.expected.sd
        known = [se for se in (_printed_se(self.expected), self.ours.se if self.ours else None) if se is not None]
        return math.hypot(*known) if known else None

    @property
    def deviations(self) -> float | None:
        """The difference in units; infinite where there is a difference and no spread at all."""
        if self.difference is None or self.spread is None:
            return None
        if self.spread == 0.0:
            return math.copysign(math.inf, self.difference) if self.difference else 0.0
        return self.difference / self.spread

    @property
    def agrees(self) -> bool | None:
        """Within LIMIT units; None where it cannot be told."""
        return None if self.deviations is None else abs(self.deviations) <= LIMIT


def verdicts(rows: Sequence[Row], expected: Iterable[ExpectedValue]) -> list[PaperVerdict]:
    """Every expected number beside every combination of settings that it speaks of."""
    combinations = list(dict.fromkeys(map(settings_of, rows)))
    found: list[PaperVerdict] = []
    for number in expected:
        meant = [settings for settings in combinations if number.where.items() <= dict(settings).items()]
        if not meant:
            found.append(PaperVerdict(number, tuple(number.where.items()), None, missing="not in these results"))
            continue
        values = values_at(rows, number.metric, at=number.at)
        found += [_verdict(number, settings, values.get(settings)) for settings in meant]
    return found


def _verdict(number: ExpectedValue, settings: Settings, runs: dict[tuple[int, int], float] | None) -> PaperVerdict:
    if not runs:
        return PaperVerdict(number, settings, None, missing=f"no {number.metric} at {_moment(number)}")
    return PaperVerdict(number, settings, summarise(runs))


def _moment(number: ExpectedValue) -> str:
    return "the end" if number.at == "end" else f"round {number.at}"


def _printed_se(number: ExpectedValue) -> float | None:
    if number.se is not None or number.sd is None or number.n is None:
        return number.se
    return number.sd / math.sqrt(number.n)
