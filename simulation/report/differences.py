"""Whether a difference is nothing, something, or not known: intervals by Student's t, and a margin set beforehand.

    equivalent    the 90 % interval lies within the margin to both sides: two one-sided tests at 5 % (TOST)
    different     the 95 % interval leaves out 0
    undecided     neither: more runs would tell

A difference can be both, small beyond doubt and there beyond doubt: "equivalent, yet different", which counts as
equivalent. A wide interval is never an agreement. (Schuirmann 1987; Lakens 2017.)

Query by query: what the held-out queries, and the seeds, say about the difference of two methods.

Every query is held out in one fold. d[s, q] is the difference at query q with seed s; the mean over seeds comes first,
and what is tested is the mean of that over all queries. Two things make it vary, other queries and other seeds (a seed
moves all queries of a fold, because it makes another ranker), and the error includes both:

    V = V_queries + max(0, V_seeds - V_rest)

V_queries is the variance of the mean over queries, V_seeds that between seeds of the folds' means, and V_rest, which is
in both, that of what is left of d in a fold without the means of its rows and columns (crossed analysis of variance).

The test flips signs: under the null hypothesis each query's difference is as likely to be positive as negative. The sum
that it tests is the one seen times sqrt(V_queries / V), which accounts for the seeds. A variance of few seeds is itself
poorly known, so each of the two errors has a quantile of its own (Banerjee 1960): p is where the difference is as
large as

    sqrt(z_p^2 V_queries + t_p^2 (V - V_queries)),    t with Welch and Satterthwaite's degrees over the folds' seeds

whose level holds whatever the ratio of the two is. One number of degrees for V would be largest just where the few
seeds happen to agree. Up to EXACT differences that are not 0 all flips are counted; beyond, the tail is the saddlepoint
approximation of the same distribution (Robinson 1982; Barndorff-Nielsen's r*), a few hundredths of p off at worst
unless nearly all differences have one size. Nothing is drawn, and no number of flips bounds how small p can be, which
a correction for many pairs needs.

The interval is a bootstrap over queries, within their folds, and over seeds, of each fold on its own (Owen 2007, who
shows that it is rather too wide where there are many of both), no narrower than that square root at 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from foltr.arrays import FloatArray, FloatVector
from foltr.errors import ShapeError
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

    Cumulative nDCG adds up the means of rounds, discounted: its margin is what MARGIN for each of them adds up to, 9.93
    for the 10,000 rounds of the thesis, whose sum is at most 1,986.54.
    """
    if metric == "cumulative_ndcg":
        return MARGIN * (1 - DISCOUNT**rounds) / (1 - DISCOUNT)
    return OWN_MARGINS.get(metric, MARGIN)


class Difference(Struct, frozen=True):
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


class SignTest(Struct, frozen=True):
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


EXACT = 16
"""differences up to which all 2^n flips are counted"""

NEWTON_STEPS, TINY, LEAST_P = 60, 1e-9, 1e-300

RESAMPLES = 2000
"""of a bootstrap interval"""

QueryValues = Mapping[tuple[int, int], FloatVector]
"""the values of a run's held-out queries, by (fold, seed)"""

PerFold = Mapping[int, FloatArray]
"""for each fold d `[n_seeds, n_queries]`"""


class QueryTest(Struct, frozen=True):
    """Of the mean difference over all held-out queries."""

    difference: float
    p: float
    n_queries: int


def query_test(differences: PerFold) -> QueryTest:
    """The sign-flip test; ShapeError without a query."""
    d = _seed_means(differences)
    over_queries = float(np.sum(d**2)) / len(d) ** 2
    seeds = _between_seeds(differences)
    between_seeds = math.fsum(variance for variance, _ in seeds)
    shrink = np.sqrt(over_queries / (over_queries + between_seeds)) if over_queries > 0 else 1.0
    p = flip_p(d, shrink * abs(d.sum()))
    if between_seeds > 0:
        reached = _half_width(p, math.sqrt(over_queries + between_seeds), 0.0, math.inf)
        p = _p_of(reached, math.sqrt(over_queries), *joined_error(seeds))
    return QueryTest(float(d.mean()), p, len(d))


def _half_width(p: float, of_queries: float, of_seeds: float, df: float) -> float:
    """Half the interval of level 1 - p, from two standard errors, the second one with `df` degrees of freedom."""
    return math.hypot(student_quantile(p / 2, math.inf) * of_queries, student_quantile(p / 2, df) * of_seeds)


def _p_of(reached: float, of_queries: float, of_seeds: float, df: float) -> float:
    """The p whose `_half_width` is `reached`, by halving its logarithm's range."""
    low, high = LEAST_P, 1.0
    for _ in range(NEWTON_STEPS):
        p = math.sqrt(low * high)
        low, high = (p, high) if _half_width(p, of_queries, of_seeds, df) > reached else (low, p)
    return high


def flip_p(differences: FloatVector, total: float) -> float:
    """How likely random signs make a sum at least as far from 0 as `total`."""
    d = np.abs(differences[differences != 0])
    if not len(d) or total <= TINY * d.sum():
        return 1.0
    if len(d) <= EXACT:
        return float(np.mean(np.abs(_all_sums(d)) >= total * (1 - TINY)))
    if total >= d.sum() * (1 - TINY):
        return float(2.0 ** (1 - len(d)))
    return min(1.0, 2 * _upper_tail(d, total))


def bootstrap_intervals(pairs: Sequence[PerFold], *, resamples: int = RESAMPLES) -> list[tuple[float, float]]:
    """The 95 % percentile interval of each pair's mean difference; the same for a pair whatever the others are.

    All pairs meet the same draws of a fold, which take longer than the rest. Draws of few seeds vary less than seeds
    do: an interval narrower than that of both errors (see above) is widened to it, both sides alike.
    """
    draws: dict[tuple[int, int, int], tuple[FloatArray, FloatArray]] = {}
    intervals = []
    for differences in pairs:
        sums = np.zeros(resamples)
        for number, fold in differences.items():
            key = number, len(fold), fold.shape[1]
            if key not in draws:
                draws[key] = _draws(*key, resamples)
            seeds, queries = draws[key]
            sums += np.einsum("bq,bq->b", seeds @ fold, queries)
        n_queries = sum(fold.shape[1] for fold in differences.values())
        low, high = np.quantile(sums / n_queries, [(1 - BEYOND) / 2, (1 + BEYOND) / 2])
        centre, half = _student_interval(differences)
        wider = max(1.0, 2 * half / (high - low)) if high > low else 1.0
        intervals.append((float(centre - wider * (centre - low)), float(centre + wider * (high - centre))))
    return intervals


def _student_interval(differences: PerFold) -> tuple[float, float]:
    """The mean difference and half its 95 % interval; 0 where the seeds add nothing that draws could miss."""
    n, means = sum(fold.shape[1] for fold in differences.values()), [fold.mean(axis=0) for fold in differences.values()]
    centre, seeds = math.fsum(map(np.sum, means)) / n, _between_seeds(differences)
    if not any(variance for variance, _ in seeds):
        return centre, 0.0
    over_queries = math.fsum(np.var(mean) * len(mean) for mean in means) / n**2
    return centre, _half_width(1 - BEYOND, math.sqrt(over_queries), *joined_error(seeds))


def _draws(fold: int, n_seeds: int, n_queries: int, resamples: int) -> tuple[FloatArray, FloatArray]:
    """For each resample the weights of seeds `[resamples, n_seeds]` and how often each query is drawn."""
    rng = np.random.default_rng([fold, n_seeds, n_queries])
    seeds = rng.multinomial(n_seeds, np.full(n_seeds, 1 / n_seeds), resamples) / n_seeds
    queries = rng.multinomial(n_queries, np.full(n_queries, 1 / n_queries), resamples)
    return seeds, queries.astype(np.float32)


def contrast(more: Sequence[QueryValues], less: Sequence[QueryValues]) -> PerFold:
    """The sum of some runs' values less that of others', on the folds and seeds that all of them have.

    ShapeError where two runs of a fold have different numbers of queries.
    """
    folds: dict[int, list[FloatVector]] = {}
    for run in sorted(set.intersection(*({*values} for values in (*more, *less)))):
        sides = [*(values[run] for values in more), *(-values[run] for values in less)]
        if len({*map(len, sides)}) > 1:
            raise ShapeError(f"fold {run[0]}, seed {run[1]}: wanted values of the same queries on both sides")
        folds.setdefault(run[0], []).append(np.sum(sides, axis=0))
    return {fold: np.stack(rows) for fold, rows in folds.items()}


def _seed_means(differences: PerFold) -> FloatVector:
    """The mean over seeds of each query's difference, of all folds."""
    if not sum(fold.shape[1] for fold in differences.values()):
        raise ShapeError("a test over queries wants at least one query")
    return np.concatenate([fold.mean(axis=0) for fold in differences.values()])


def _between_seeds(differences: PerFold) -> list[tuple[float, float]]:
    """What each fold's seeds add to the variance of the mean over all queries, and its degrees of freedom."""
    n = sum(fold.shape[1] for fold in differences.values())
    return [(_seed_variance(fold) * (fold.shape[1] / n) ** 2, len(fold) - 1.0) for fold in differences.values()]


def _seed_variance(fold: FloatArray) -> float:
    """max(0, V_seeds - V_rest) of the mean of one fold; 0 with one seed, which tells nothing."""
    n_seeds, n = fold.shape
    if n_seeds < 2 or n < 2:
        return 0.0
    of_seeds = fold.mean(axis=1)
    rest = fold - of_seeds[:, None] - fold.mean(axis=0) + fold.mean()
    v_rest = np.sum(rest**2) / ((n_seeds - 1) * (n - 1)) / (n_seeds * n)
    return float(max(0.0, np.var(of_seeds, ddof=1) / n_seeds - v_rest))


def _all_sums(d: FloatVector) -> FloatVector:
    """The 2^n sums of d under all signs."""
    sums = np.zeros(1)
    for size in d:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _upper_tail(d: FloatVector, total: float) -> float:
    """P(sum of eps_i d_i >= total), eps_i = +-1: K(t) = sum of log cosh(t d_i), its saddlepoint K'(t) = total, and r*.

    Newton's steps from 0 come from below and never overshoot: K' rises and is concave for t > 0.
    """
    from scipy import special  # loads slowly, and most small studies compare nothing

    d, total = d / d.max(), total / d.max()
    t = 0.0
    for _ in range(NEWTON_STEPS):
        tanh = np.tanh(t * d)
        slope = float(np.sum(d**2 * (1 - tanh**2)))
        step = (total - float(np.sum(d * tanh))) / slope
        t += step
        if step <= TINY * t:
            break
    curvature = float(np.sum((d / np.cosh(t * d)) ** 2))
    cumulant = float(np.sum(np.logaddexp(t * d, -t * d) - np.log(2)))
    w, u = np.sqrt(max(0.0, 2 * (t * total - cumulant))), t * np.sqrt(curvature)
    return float(special.ndtr(-(w + np.log(u / w) / w)) if w > 1e-4 else special.ndtr(-w))
