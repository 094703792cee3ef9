"""Whether a difference is nothing, something, or not known: intervals by Student's t, and a margin set beforehand.

    equivalent    the 90 % interval lies within the margin to both sides: two one-sided tests at 5 % (TOST)
    different     the 95 % interval leaves out 0
    undecided     neither: more runs would tell

A difference can be both, small beyond doubt and there beyond doubt: "equivalent, yet different", which counts as
equivalent. A wide interval is never an agreement. (Schuirmann 1987; Lakens 2017.)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from simulation.run_folder import DISCOUNT

Equivalence = Literal["equivalent", "equivalent, yet different", "different", "undecided"]

MARGIN = 0.005
"""of metrics that lie between 0 and 1: more than twice what one seed differs from another on MQ2008 (.002), and half of
what papers report as a gain (.01)"""

OWN_MARGINS = {"epsilon": 0.01, "chosen_alpha": 0.05, "learned_queries": 0.5}
"""of other metrics: one in the last digit that papers print of epsilon, which is computed and not estimated; five steps
of alpha's grid; less than one query"""

WITHIN, BEYOND = 0.90, 0.95
"""levels of the intervals that decide on equivalent and on different"""


def margin_of(metric: str, *, rounds: int) -> float:
    """The margin of a metric, in its own units.

    Cumulative nDCG adds up the means of rounds, discounted: what MARGIN for each of them comes to, which is 9.93 for
    the 10,000 rounds of the thesis, whose sum is at most 1,986.54.
    """
    if metric == "cumulative_ndcg":
        return MARGIN * (1 - DISCOUNT**rounds) / (1 - DISCOUNT)
    return OWN_MARGINS.get(metric, MARGIN)


@dataclass(frozen=True, slots=True)
class Difference:
    """An estimated difference and its error."""

    value: float
    se: float
    df: float = math.inf
    """degrees of freedom of `se`; infinite where it is known"""
    rounding: bool = False
    """whether nothing but the rounding of a print is in the error: then it is never more than sqrt(3) se"""

    def interval(self, level: float) -> tuple[float, float]:
        """The confidence interval of that level, the same to both sides; of a rounding its whole range."""
        half = self.se * (math.sqrt(3) if self.rounding else student_quantile((1 + level) / 2, self.df))
        return self.value - half, self.value + half

    def judged(self, margin: float) -> Equivalence:
        """By the intervals and a margin above 0."""
        low, high = self.interval(WITHIN)
        within = -margin < low and high < margin
        low, high = self.interval(BEYOND)
        apart = low > 0 or high < 0
        if within:
            return "equivalent, yet different" if apart else "equivalent"
        return "different" if apart else "undecided"


def joined_error(parts: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Standard error and degrees of freedom of a sum of independent errors, each with its variance and degrees.

    The degrees are those of Welch and Satterthwaite; parts without a variance do not count.
    """
    some = [(variance, df) for variance, df in parts if variance > 0]
    variance = math.fsum(v for v, _ in some)
    spent = math.fsum(v**2 / df for v, df in some)
    return math.sqrt(variance), variance**2 / spent if spent else math.inf


def student_quantile(p: float, df: float) -> float:
    """Of Student's t; of the normal distribution with infinite degrees of freedom."""
    from scipy import special  # loads slowly, and most small studies compare nothing

    return float(special.ndtri(p) if math.isinf(df) else special.stdtrit(df, p))


@dataclass(frozen=True, slots=True)
class SignTest:
    """How many of the differences have a sign; those that are 0 are left out."""

    positive: int
    n: int

    @property
    def p(self) -> float:
        """Two-tailed and exact: both signs are as likely for each difference, independently of the others."""
        from scipy import special  # loads slowly, and most small studies compare nothing

        return min(1.0, 2.0 * float(special.bdtr(min(self.positive, self.n - self.positive), self.n, 0.5)))


def sign_test(differences: Iterable[float]) -> SignTest:
    """Of differences under several conditions."""
    some = [difference for difference in differences if difference != 0]
    return SignTest(sum(difference > 0 for difference in some), len(some))
