"""The paper's numbers and curves beside ours: the difference of numbers, its interval, and what it says.

The folds are fixed parts of a data set and the same for the paper and for us, so their differences are no error here.
What is left is the luck of the seeds, on both sides, and the last printed digit:

    unit = sqrt(s^2 (1 / m + 1 / n) + (half a unit of the last digit)^2 / 3)

s is our standard deviation between seeds of the mean of the folds, n our seeds, m the paper's repetitions, one where it
does not say. If the paper prints a spread of its own, that takes the place of s on its side. Fewer than ENOUGH_SEEDS
are too few to judge by. For a method that draws nothing only the rounding counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Literal

import numpy as np
from msgspec import Struct

from simulation.cells.preset import ExpectedCurve, ExpectedValue
from simulation.report import statistics
from simulation.report.differences import Difference, Equivalence, SignTest, joined_error, margin_of, sign_test
from simulation.run_folder import Row

ENOUGH_SEEDS = 5
"""number of seeds from which on their spread carries a verdict"""

Verdict = Equivalence | Literal["too few", "other data"]


class PaperVerdict(Struct, frozen=True):
    """One number of the paper and ours for one combination of settings."""

    expected: ExpectedValue
    settings: statistics.Settings
    ours: statistics.Summary | None
    """over seeds of the mean of the folds"""
    digits: int
    """after the point, as printed"""
    rounds: int = 0
    """after which our number was measured"""
    missing: str = ""
    """why there is no number of ours"""
    fixed: bool = False
    """whether no seed changes our number"""
    other_data: bool = False
    """whether ours is of other data than the paper's: the difference is shown and not judged"""

    @property
    def margin(self) -> float:
        return margin_of(self.expected.metric, rounds=self.rounds)

    @property
    def difference(self) -> Difference | None:
        """Ours minus the paper's; None without a number of ours, or without an estimate of its error."""
        given, ours = self.expected, self.ours
        if ours is None or (ours.sd is None and not self.fixed):
            return None
        value, last_digit = ours.mean - given.value, 10.0**-self.digits
        rounding = ((last_digit / 2) ** 2 / 3, float("inf"))
        if self.fixed and given.sd is None and given.se is None:
            return Difference(value, joined_error([rounding])[0], rounding=True)
        return Difference(value, *joined_error([*_parts(given, ours), rounding]))

    @property
    def verdict(self) -> Verdict | None:
        """None without a number of ours."""
        if self.ours is None:
            return None
        if self.other_data:
            return "other data"
        if self.difference is None or (self.ours.n < ENOUGH_SEEDS and not self.fixed):
            return "too few"
        return self.difference.judged(self.margin)


def _parts(given: ExpectedValue, ours: statistics.Summary) -> list[tuple[float, float]]:
    """Variances and degrees of freedom of the paper's number and of ours."""
    own, m, df = (ours.sd or 0.0) ** 2, given.n or 1, float(ours.n - 1)
    if given.se is not None:
        return [(given.se**2, float("inf")), (own / ours.n, df)]
    if given.sd is not None:
        return [(given.sd**2 / m, float(m - 1) if m > 1 else float("inf")), (own / ours.n, df)]
    return [(own * (1 / m + 1 / ours.n), df)]


def verdicts(
    rows: Sequence[Row], expected: Iterable[ExpectedValue], *, folds: Collection[int] = (), other_data: bool = False
) -> list[PaperVerdict]:
    """Every expected number beside every combination of settings that it speaks of.

    folds   those that the number is a mean of; () are those of the rows
    """
    numbers, folds, fixed = tuple(expected), folds or {row.fold for row in rows}, statistics.fixed_settings(rows)
    combinations = list(dict.fromkeys(map(statistics.settings_of, rows)))
    last = {statistics.settings_of(row): row.round for row in sorted(rows, key=lambda row: row.round)}
    found: list[PaperVerdict] = []
    for number in numbers:
        digits = printed_digits(number, numbers)
        meant = [settings for settings in combinations if number.where.items() <= dict(settings).items()]
        if not meant:
            where = tuple(number.where.items())
            found.append(PaperVerdict(number, where, None, digits, missing="not in these results"))
            continue
        values = statistics.values_at(rows, number.metric, at=number.at)
        for settings in meant:
            ours, missing = _ours(values.get(settings), number, folds)
            rounds = last[settings] if number.at == "end" else number.at
            no_luck = settings in fixed or (ours is not None and ours.fixed)
            found.append(PaperVerdict(number, settings, ours, digits, rounds, missing, no_luck, other_data))
    return found


def patterns(found: Iterable[PaperVerdict]) -> dict[tuple[str, str], SignTest]:
    """By metric and source: the signs of all differences that the print shows, which say more than each alone."""
    differences: dict[tuple[str, str], list[float]] = {}
    for verdict in found:
        shown = verdict.ours.mean - verdict.expected.value if verdict.ours is not None else 0.0
        if abs(shown) > 10.0**-verdict.digits / 2:
            differences.setdefault((verdict.expected.metric, verdict.expected.source), []).append(shown)
    return {key: sign_test(values) for key, values in differences.items() if len(values) > 1}


def printed_digits(number: ExpectedValue, numbers: Iterable[ExpectedValue]) -> int:
    """Digits after the point in print: `digits`, else the most that any number of its metric and source shows.

    A TOML float loses trailing zeros; its neighbours in the same table show how many digits were printed.
    """
    if number.digits is not None:
        return number.digits
    alike = [other for other in numbers if (other.metric, other.source) == (number.metric, number.source)]
    return max(_shown_digits(other.value) for other in [number, *alike])


def _shown_digits(value: float) -> int:
    exponent = Decimal(str(value)).normalize().as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _ours(
    runs: dict[tuple[int, int], float] | None, number: ExpectedValue, folds: Collection[int]
) -> tuple[statistics.Summary | None, str]:
    """Our number, or why there is none."""
    if not runs:
        moment = "the end" if number.at == "end" else f"round {number.at}"
        return None, f"no {number.metric} at {moment}"
    return (statistics.over_seeds(runs), "") if statistics.whole_seeds(runs, folds) else (None, "no seed has all folds")


def papers_beside(
    ours: Mapping[statistics.Settings, statistics.Curve], metric: str, given: Iterable[ExpectedCurve]
) -> list[tuple[statistics.Settings, statistics.Curve]]:
    """For each of our curves the paper's of that metric; those without a point in our range are left out."""
    pairs = [
        (settings, _placed(number, curve))
        for number in given
        for settings, curve in ours.items()
        if number.metric == metric and number.where.items() <= dict(settings).items()
    ]
    return [(settings, curve) for settings, curve in pairs if len(curve.rounds)]


def _placed(given: ExpectedCurve, ours: statistics.Curve) -> statistics.Curve:
    """Rounds and interactions by how many of these our rounds have."""
    per_round = ours.interactions[-1] / ours.rounds[-1] if ours.rounds[-1] else 1.0
    at = np.array(given.at, dtype=np.float64)
    rounds = at if given.x == "rounds" else at / per_round
    reached = rounds <= ours.rounds[-1]
    rounds, values = rounds[reached], np.array(given.values)[reached]
    return statistics.Curve(ours.settings, rounds, rounds * per_round, values, np.full(len(values), math.nan))
