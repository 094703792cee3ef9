"""The guard where the noise is known: what no honest device sends, what exceeds it, and how much of the rest counts.

An honest update is u_t = c_t + sigma g_t: a clipped change, ||c_t|| <= C, and noise g_t ~ N(0, I_d), where d is how
many numbers are sent. With S = u_1 + ... + u_T, the sum of all that a member ever sent, these hold for every honest one

    length    ||u_T||^2   <= sigma^2 square(d, C^2 / sigma^2)
    sum       ||S||       <= C T + sigma sqrt(T square(d, 0))
    product   <S_i, S_j>  <= sigma^2 sqrt(T_i T_j) product(d, C^2 T_i / sigma^2, C^2 T_j / sigma^2)
              or             ||S_j|| (C T_i + sigma sqrt(2 T_i ln(1/p))) where j is not honest

but for a chance of RARE over all members, all rounds of a group and all three: `square` and `product` are the Chernoff
bounds of a noncentral chi-square variable and of the inner product of two Gaussian vectors, at a probability that gets
smaller with every member, pair and round (union bound; the shares of round t are 1 / (t (t + 1)), which add up to 1).

The first two hold whatever a device makes of the past. The third is for devices whose changes do not follow another
member's noise. Honest ones go against it: they see the others' noise in the common ranker and learn it away, which
makes products smaller.

A member that exceeds a bound is left out of the round; its sum remembers, so that it stays out until honest updates
would have made up for it. Attackers just below would still count as much as the bound allows, so of the others

    counted_T = counted_(T-1) + u_T, projected to the ball of radius sqrt((C T)^2 + sigma^2 T d)

which is the root mean square length of an honest sum whose changes are all as long as the clip and point one way. So
nobody moves the ranker further than such a member does. The joined update is not projected to the clip: the mean of n
honest members is about as long as C + sigma sqrt(d / n). (What either costs and saves: docs/methods.md.)

Sources: Boucheron, Lugosi and Massart, "Concentration inequalities" (2013), Section 2.2 (Chernoff), 2.4 (chi-square).
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

from foltr import arithmetic
from foltr.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.rows import blocks, check_rows, of_itself
from foltr.federated.guard import GuardState, GuardVerdict, RunningSums, Suspicion

RARE = 1e-9
"""how likely it is that an honest member of a group is ever left out"""
N_TESTS = 3
_TILTS = 1.0 / (1.0 + arithmetic.exp(np.linspace(-10.0, 10.0, 801)))
"""the exponents lambda in (0, 1) among which Chernoff's is chosen; each gives a bound that holds"""


class KnownNoise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every honest device does to its update; ValueRangeError unless both are positive and finite."""

    clip: float
    """C, L2 radius of an update before its noise"""
    deviation: float
    """sigma of the Gaussian noise that the device adds to each number it sends"""

    def __post_init__(self) -> None:
        for name, value in (("clip", self.clip), ("deviation", self.deviation)):
            if not (value > 0 and math.isfinite(value)):
                raise ValueRangeError(f"{name} of known noise must be positive and finite, not {value}")


def largest_square(d: int, centre: float, nats: float) -> float:
    """q with P(||x||^2 > q) <= e^-nats for x ~ N(a, I_d), ||a||^2 <= `centre`.

    ln E e^(s ||x||^2) = -d/2 ln(1 - 2s) + s ||a||^2 / (1 - 2s),    0 < s < 1/2
    """
    s = _TILTS / 2
    return float(np.min((nats - d / 2 * arithmetic.log1p(-_TILTS) + s * centre / (1 - _TILTS)) / s))


def largest_product(d: int, first: float, second: float, nats: float) -> float:
    """q with P(<x, y> > q) <= e^-nats, x ~ N(a, I_d), y ~ N(b, I_d) independent, ||a||^2 <= first, ||b||^2 <= second.

    ln E e^(s <x, y>) = -d/2 ln(1 - s^2) + (s <a, b> + s^2 (||a||^2 + ||b||^2) / 2) / (1 - s^2),    0 < s < 1
    """
    s = _TILTS
    shift = s * math.sqrt(first * second) + s * s * (first + second) / 2
    rest = (1 - s) * (1 + s)
    return float(np.min((nats - d / 2 * arithmetic.log(rest) + shift / rest) / s))


def nats_of(n_cases: float, n_judged: int) -> float:
    """ln(1/p) of one of `n_cases` cases of one test in the round after `n_judged` rounds."""
    t = n_judged + 1
    return float(arithmetic.log(N_TESTS * n_cases * t * (t + 1) / RARE))


class JudgedRound(msgspec.Struct, frozen=True, eq=False):
    """One round, member by member."""

    state: GuardState
    verdict: GuardVerdict
    counted: FloatMatrix
    """[n_clients, d] what counts of each update; 0 for those left out"""
    kept: BoolVector
    """[n_clients] who is not left out"""


def judge_known(noise: KnownNoise, state: GuardState, updates: FloatMatrix) -> JudgedRound:
    """Judge `updates` `[n_clients, d]`, whose rows are the members that `state` remembers, in its order.

    ShapeError where they are not as many; ValueRangeError for a row that is not finite.
    """
    u = check_rows(updates)
    before = state.sums or RunningSums.none(*u.shape)
    if before.sent.shape != u.shape:
        raise ShapeError(f"the guard remembers {list(before.sent.shape)}, the round has {list(u.shape)}")
    sums = RunningSums(before.n_rounds + 1, before.sent + u, before.counted)
    evidence = {
        "length": lengths(noise, u, state.n_judged),
        "sum": sum_lengths(noise, sums, state.n_judged),
        "product": products(noise, sums, state.n_judged),
    }
    kept: BoolVector = np.max(list(evidence.values()), axis=0) <= 1.0
    counted = _within(noise, sums, u, kept)
    sums = msgspec.structs.replace(sums, counted=before.counted + counted)
    after = GuardState(alert=not kept.all(), n_judged=state.n_judged + 1, sums=sums)
    return JudgedRound(after, _verdict(evidence, kept), counted, kept)


def join_known(
    noise: KnownNoise, rule: Aggregation, state: GuardState, updates: FloatMatrix, weights: FloatVector
) -> tuple[FloatVector, GuardState, GuardVerdict]:
    """The updates that are not left out, joined into one `[d]` by `rule`; 0 if none is left."""
    judged = judge_known(noise, state, updates)
    if not weights[judged.kept].any():
        return np.zeros(updates.shape[1]), judged.state, judged.verdict
    delta = rule.combine(judged.counted[judged.kept], weights[judged.kept])
    return delta, judged.state, judged.verdict


def lengths(noise: KnownNoise, updates: FloatMatrix, n_judged: int) -> FloatVector:
    """||u||^2 of each update divided by the most that an honest one can reach, `[n_clients]`."""
    n, d = updates.shape
    allowed = noise.deviation**2 * largest_square(d, (noise.clip / noise.deviation) ** 2, nats_of(n, n_judged))
    found: FloatVector = arithmetic.dots(updates, updates) / allowed
    return found


def sum_lengths(noise: KnownNoise, sums: RunningSums, n_judged: int) -> FloatVector:
    """||S|| of each member divided by the most that an honest one can reach, `[n_clients]`."""
    n, d = sums.sent.shape
    reach = math.sqrt(largest_square(d, 0.0, nats_of(n, n_judged)))
    allowed = noise.clip * sums.n_rounds + noise.deviation * np.sqrt(sums.n_rounds) * reach
    found: FloatVector = arithmetic.lengths(sums.sent) / allowed
    return found


def products(noise: KnownNoise, sums: RunningSums, n_judged: int) -> FloatVector:
    """Each member's largest <S_i, S_j> with another j, divided by the most an honest i can reach, `[n_clients]`.

    With an honest j that is sigma^2 sqrt(T_i T_j) product(..). A dishonest j may send sums of any length to make others
    look suspicious; with an S_j made without the noise of i, an honest i reaches ||S_j|| (C T_i + sigma sqrt(T_i 2
    ln(1/p))). What exceeds both counts. In blocks of rows: memory grows with the members, not their square.
    """
    n = len(sums.sent)
    found = np.zeros(n)
    if n < 2:
        return found
    seen, kind = np.unique(sums.n_rounds, return_inverse=True)
    nats = nats_of(n * (n - 1), n_judged)
    allowed = _allowed_products(noise, seen, sums.sent.shape[1], nats)
    far = noise.clip * sums.n_rounds + noise.deviation * np.sqrt(2 * sums.n_rounds * nats)
    lengths_of_sums = arithmetic.lengths(sums.sent)
    for rows in blocks(n):
        ratios = arithmetic.table(sums.sent[rows], sums.sent)
        ratios /= np.maximum(allowed[kind[rows]][:, kind], np.outer(far[rows], lengths_of_sums))
        of_itself(ratios, rows)[:] = 0.0
        found[rows] = ratios.max(axis=1)
    return np.maximum(found, 0.0)


def _allowed_products(noise: KnownNoise, n_rounds: IntVector, d: int, nats: float) -> FloatMatrix:
    """The bound for each pair of numbers of rounds, `[n_kinds, n_kinds]`."""
    centres = (noise.clip / noise.deviation) ** 2 * n_rounds
    bounds = [[largest_product(d, first, second, nats) for second in centres.tolist()] for first in centres.tolist()]
    allowed: FloatMatrix = noise.deviation**2 * np.sqrt(np.outer(n_rounds, n_rounds)) * np.array(bounds)
    return allowed


def _within(noise: KnownNoise, sums: RunningSums, updates: FloatMatrix, kept: BoolVector) -> FloatMatrix:
    """What counts of each update `[n_clients, d]`: as much as keeps the member's counted sum within its ball."""
    d = updates.shape[1]
    reached = sums.counted + updates
    radii = np.sqrt((noise.clip * sums.n_rounds) ** 2 + noise.deviation**2 * (sums.n_rounds * d))
    factors = np.minimum(1.0, radii / np.maximum(arithmetic.lengths(reached), radii))
    counted: FloatMatrix = np.where(kept[:, None], reached * factors[:, None] - sums.counted, 0.0)
    return counted


_REASONS = {
    "length": "its update is longer than its noise can make it",
    "sum": "its updates add up to more than their noise can",
    "product": "its updates agree with another member's beyond chance",
}


def _verdict(evidence: dict[str, FloatVector], kept: BoolVector) -> GuardVerdict:
    reasons = list(evidence)
    table = np.stack([evidence[reason] for reason in reasons])
    strongest, worst = table.argmax(axis=0), table.max(axis=0)
    out = np.flatnonzero(~kept)
    found = [Suspicion(i, float(worst[i]), _REASONS[reasons[strongest[i]]]) for i in out.tolist()]
    suspicions = tuple(sorted(found, key=lambda s: (-s.evidence, s.client)))
    text = f"{len(out)} of {len(kept)} left out; row {suspicions[0].client}: {suspicions[0].reason}" if found else ""
    return GuardVerdict(
        alert=bool(out.size),
        evidence=float(worst.max()),
        suspicions=suspicions,
        summary=text or "nothing beyond what honest noise does",
        left_out=tuple(out.tolist()),
    )
