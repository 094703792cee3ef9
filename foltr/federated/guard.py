"""The guard: plain averaging in peace, a robust rule while a round looks attacked.

A robust rule costs quality when nobody attacks, because it takes devices that differ for attackers. So each round is
inspected first. Five numbers describe a device's update u, each against the median of all devices:

    length     ln ||u||                                    far longer: scaled or noise attacks
    closeness  ln of the distance to the nearest update    far lower: colluders who send the same, as Little Is Enough
    direction  cosine of u and the coordinate-wise median  far lower: inner-product manipulation, sign flips
    loneliness ln of the Krum score, squared distances     far higher: any update that resembles no other
    slant      mean over parameters of (u_j - median_j) / spread_j, as it is and by the sign of the median:
               far from 0 to either side: many small shifts to one side, as Little Is Enough again

The last three are of updates clipped to the median length, so that a device that honestly learned more than the others
is not suspected for it. The evidence is the deviation divided by the allowed one: 6 standard deviations, by the median
absolute deviation over the devices, but no less than a floor that chance hardly reaches with so many independent
numbers: n_params or, for the first three, as many as the updates seem to have, as few pages move few weights together.
From evidence 1 on the guard is alert; it stays so until `calm_rounds` rounds in a row have less than `calm_below`
(hysteresis, so that an attacker at the edge does not switch it every round).

Where an account of the members is kept, a sixth number covers all their rounds:

    drift      ln of the distance to the majority of what they sent in sum       far higher: wants something else

A few pages teach so little that in a single round a member who wants something else looks like anybody. In sums over T
rounds chance grows with the root of T, and what a member wants grows with T (Karimireddy, He and Jaggi, "Learning from
history for Byzantine robust optimization", ICML 2021). Over all rounds in which member i had something to say,

    S_i = sum of clip(u_i) - middle        clip: to the median length; middle: the coordinate-wise median of the clipped

and the distance of two members is the statistic of two means,

    z_ij^2 = ||S_i / T_i - S_j / T_j||^2 / (1 / T_i + 1 / T_j)

which does not depend on T for members who want the same. The clip keeps those who searched much from being far off;
subtracting the middle makes members of different rounds comparable. i is as far from the majority as from its n // 2
nearest others, a majority with it: fewer than half must count some of the rest.

A member that drifts is left out, and the others are judged and joined without it. From half that evidence on, its
update counts for less, because hundreds of rounds may pass between the two. No update counts for more than REACH median
lengths, even in peace: nobody can then move the ranker beyond repair before being found out.

Updates that are nearly copies of one another are left out as well. Even their mean alone would count too much: close to
the mean of all, as in Little Is Enough, it is among everybody's nearest, so that mixing gives it more than its share,
and trimming cuts off honest extremes instead. Honest updates come too near by chance once in thousands of rounds, and
then miss that one. While the guard is alert, a robust rule joins the others. It withstands the larger of two numbers:
those assumed minus the copies, and the others suspected. If all attackers sent copies, it is the mean.

It cannot see attackers whose sums stay within the allowed distance of the majority's (less for a round the more there
are); many attackers, who widen the allowed spread; a majority. Who honestly wants something else is an attacker to it.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.arithmetic import dots, lengths, log, table
from foltr.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.krum import scores_in_blocks
from foltr.federated.aggregation.nearest_neighbour_mixing import NearestNeighbourMixing
from foltr.federated.aggregation.norm_clipping import clip_factors
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.rows import Spread, check_rows, distance_blocks, middle_of, require, scores_by_distance
from foltr.federated.aggregation.trimmed_mean import TrimmedMean


class RunningSums(msgspec.Struct, frozen=True, eq=False):
    """What each member has sent in all its rounds, its rows in the order of the round's updates."""

    n_rounds: IntVector
    """[n_clients] T, how many"""
    sent: FloatMatrix
    """[n_clients, d] the sum of its updates, as foltr.federated.guard takes them where the noise is not known"""
    counted: FloatMatrix
    """[n_clients, d] the part of it that the ranker was moved by, where the noise is known"""

    @classmethod
    def none(cls, n_clients: int, d: int) -> RunningSums:
        """Of members who have not sent anything."""
        return cls(np.zeros(n_clients, dtype=np.intp), np.zeros((n_clients, d)), np.zeros((n_clients, d)))


class GuardState(msgspec.Struct, frozen=True):
    """What the guard remembers from round to round."""

    alert: bool = False
    calm: int = 0
    """rounds in a row without evidence since the last alarm, where the noise is not known"""
    n_judged: int = 0
    """rounds judged where the noise is known"""
    sums: RunningSums | None = None
    """of the members; None: of nobody yet where the noise is known, and else that no account of them is kept"""


class Suspicion(msgspec.Struct, frozen=True):
    """Why one device is suspected."""

    client: int
    """its row"""
    evidence: float
    """as a multiple of what is allowed, at least 1"""
    reason: str
    """a clause for a person"""


class GuardVerdict(msgspec.Struct, frozen=True):
    """What the guard thinks of a round."""

    alert: bool
    """whether the round was joined otherwise than in peace"""
    evidence: float
    """the largest of all devices; 1 raises the alarm"""
    suspicions: tuple[Suspicion, ...]
    """the strongest of each suspected device, strongest first"""
    summary: str
    """one sentence for a person"""
    judged: bool = True
    """False where nothing can be said, which is not the same as calm"""
    left_out: tuple[int, ...] = ()
    """rows that did not count"""


def not_judged(why: str) -> GuardVerdict:
    """The verdict on a round about which nothing can be said."""
    return GuardVerdict(alert=False, evidence=0.0, suspicions=(), summary=f"not judged: {why}", judged=False)


DEVIATIONS = 6.0
"""standard deviations that a device may differ by"""
REACH = 3.0
"""median lengths that an update counts for at most: as far as lengths may differ without an alarm"""
NEAR_BY_CHANCE = 16.0
"""Among n points in d dimensions a nearest distance e^-t times the median has probability e^(-t d): here e^-16."""
OF_SUMS = 0.85
"""what sums may differ by, as a share of a round's: what is found late has counted, and honest members stay below
.77"""
CHI_SQUARE_MEDIAN = 0.4549
"""of one degree of freedom"""
MOST_COMPARED = 500
"""devices whose directions are compared; 125,000 pairs tell the dimension well enough"""
LEAST_DIMENSION = 3
"""that few devices can be told to have"""
TINY = float(np.finfo(np.float64).tiny)
"""stands for the distance 0 between copies, which has no logarithm"""
NORMAL = 1.4826
"""a normal variable's standard deviation over its median absolute deviation"""
LOG_3, LOG_4, LOG_REACH = (float(log(far)) for far in (3.0, 4.0, REACH))


class Guard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings; ValueRangeError for thresholds that would make no hysteresis."""

    n_malicious: int
    """m, from 1: the guard judges rounds of at least 2m + 3 rows"""
    peace: Aggregation = Mean()
    calm_rounds: int = 5
    calm_below: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.calm_below <= 1 or self.calm_rounds < 1 or self.n_malicious < 1:
            raise ValueRangeError("a guard needs n_malicious and calm_rounds from 1, and calm_below above 0, at most 1")


def join_guarded(
    guard: Guard, state: GuardState, updates: npt.ArrayLike, *, weights: FloatVector | None = None
) -> tuple[FloatVector, GuardState, GuardVerdict]:
    """One round: judge it, then join `updates` `[n_clients, n_params]` by the rule that the judgement asks for."""
    u = check_rows(updates)
    state, verdict, evidence = _judged(guard, state, u)
    kept = ~_out(evidence)
    rows = within_reach(u[kept]) * shares_counted(evidence[_DRIFT, kept])[:, None]
    if not verdict.alert:
        return guard.peace.combine(rows, weights), state, verdict
    copies, suspected = evidence[_COPIED] >= 1, (evidence[:, kept] >= 1).any(axis=0)
    m = max(guard.n_malicious - copies.sum(), suspected.sum())
    return join_robustly(rows, int(m)), state, verdict


def _out(evidence: FloatMatrix) -> BoolVector:
    """Who is left out `[n_clients]` by the evidence `[n_reasons, n_clients]`: fewer than half drift, and of the others
    fewer than half are copies."""
    out: BoolVector = np.maximum(evidence[_DRIFT], evidence[_COPIED]) >= 1
    return out


def shares_counted(drift: FloatVector) -> FloatVector:
    """How much of each update counts `[n_clients]`: all up to half of the allowed drift, falling to nothing at the
    whole."""
    return np.minimum(2.0 * (1.0 - drift), 1.0)


def within_reach(updates: FloatMatrix) -> FloatMatrix:
    """The updates, each cut to at most REACH times the median length of those that are not 0."""
    far = lengths(updates)
    if not far.any():
        return updates
    return updates * clip_factors(far, REACH * float(middle_of(far[far > 0])))[:, None]


def join_robustly(rows: FloatMatrix, n_malicious: int) -> FloatVector:
    """Nearest-neighbour mixing, then a trimmed mean, against m or as many as so few `rows` can withstand."""
    m = min(n_malicious, (len(rows) - 1) // 2)
    return NearestNeighbourMixing(n_malicious=m, then=TrimmedMean(n_malicious=m)).combine(rows)


def least_updates(n_malicious: int) -> int:
    """How many updates a round must have to be judged against m malicious ones: 2m + 3."""
    return 2 * n_malicious + 3


def _judged(guard: Guard, state: GuardState, u: FloatMatrix) -> tuple[GuardState, GuardVerdict, FloatMatrix]:
    """The next state, the verdict on rows that have been checked, and the evidence `[n_reasons, n_clients]`."""
    m = guard.n_malicious
    require("the guard", len(u), at_least=least_updates(m), n_malicious=m)
    evidence, said, sums = np.zeros((len(_REASONS), len(u))), clipped(u), state.sums
    if sums:
        sums = add_updates(sums, said, u.shape)
        evidence[_DRIFT] = _drift(sums, m)
        kept = evidence[_DRIFT] < 1
        said = said if kept.all() else clipped(u * kept[:, None])
    evidence[:_DRIFT] = evidence_of(len(u), said, m)
    worst = float(evidence.max())
    suspicions = _suspicions(evidence) if worst >= 1 else ()
    calm = state.calm + 1 if worst < guard.calm_below else 0
    alert = worst >= 1 or (state.alert and calm < guard.calm_rounds)
    out = tuple(np.flatnonzero(_out(evidence)).tolist())
    verdict = GuardVerdict(alert, worst, suspicions, _summary(alert, suspicions, calm, guard), left_out=out)
    return GuardState(alert, calm, state.n_judged, sums), verdict, evidence


class Clipped(NamedTuple):
    """The updates of those who said something in a round."""

    moved: BoolVector
    """[n_clients] who they are: the rows of everything below"""
    updates: FloatMatrix
    """[n_moved, n_params]"""
    lengths: FloatVector
    """[n_moved]"""
    spread: Spread
    """of the updates, clipped to their median length"""


def clipped(updates: FloatMatrix) -> Clipped | None:
    """The updates `[n_clients, n_params]` that are not 0; None where all are."""
    moved: BoolVector = np.asarray(updates.any(axis=1))
    if not moved.any():
        return None
    u = updates[moved]
    reached = lengths(u)
    return Clipped(moved, u, reached, Spread.of(u * clip_factors(reached, float(middle_of(reached)))[:, None]))


def evidence_of(n_clients: int, said: Clipped | None, n_malicious: int) -> FloatMatrix:
    """The evidence of one round `[n_reasons, n_clients]`, in the order of `_REASONS`, but drift.

    Devices that sent no change at all are above suspicion; if there are too many of these, so are all others.
    """
    evidence = np.zeros((_DRIFT, n_clients))
    if said is None or len(said.updates) < least_updates(n_malicious):
        return evidence
    sent = Spread.of(said.updates)
    dimension, chance = effective_dimension(sent), DEVIATIONS / math.sqrt(said.updates.shape[1])
    seeming = DEVIATIONS / math.sqrt(dimension)
    near = scores_in_blocks(sent, n_neighbours=1)
    far = scores_in_blocks(said.spread, n_neighbours=len(near) - n_malicious - 2)
    long, close, lonely = log(np.maximum([said.lengths, near, far], TINY))
    floors = [
        max(LOG_3, seeming),
        max(0.5, seeming),
        max(LOG_4, 2 * chance),
        max(LOG_3, seeming, NEAR_BY_CHANCE / dimension),
        *2 * [max(0.5, chance)],
    ]
    columns = [long, -direction_to_median(said.spread), lonely, -close / 2, *slants(said.spread)]
    excess = _excess(np.array(columns), np.array(floors))
    evidence[:4, said.moved] = np.maximum(excess[:4], 0.0)
    evidence[4, said.moved] = np.abs(excess[4:]).max(axis=0)
    return evidence


def _drift(sums: RunningSums, n_malicious: int) -> FloatVector:
    """The evidence of drift `[n_clients]`; 0 for members that have never said anything."""
    evidence, heard = np.zeros(len(sums.sent)), sums.n_rounds > 0
    if np.count_nonzero(heard) < least_updates(n_malicious):
        return evidence
    scores = from_majority(RunningSums(sums.n_rounds[heard], sums.sent[heard], sums.counted))
    floor = max(LOG_REACH, DEVIATIONS / math.sqrt(sums.sent.shape[1]))
    evidence[heard] = _excess(log(np.maximum(scores, TINY))[None] / 2, np.array([floor]))[0] / OF_SUMS
    return np.maximum(evidence, 0.0)


def effective_dimension(spread: Spread) -> float:
    """In how many independent directions devices differ: LEAST_DIMENSION to n_params, or n_params if that is less.

    The squared cosine of two random vectors in d dimensions is about a chi-square variable over d, whose median is
    .455 / d. So d is .455 over the median of those between all pairs of differences from the devices' median, which a
    fifth of colluders hardly moves.
    """
    d, different = spread.rows.shape[1], spread.squares > 0
    unit = spread.apart[different] / np.sqrt(spread.squares[different])[:, None]
    if len(unit) < 2:
        return float(d)
    if len(unit) > MOST_COMPARED:
        unit = unit[np.linspace(0, len(unit) - 1, MOST_COMPARED).astype(np.intp)]
    cosines = table(unit, unit)[_pairs(len(unit))]
    dimension = CHI_SQUARE_MEDIAN / max(float(middle_of(cosines * cosines)), 1e-12)
    return float(min(max(dimension, min(LEAST_DIMENSION, d)), d))


@lru_cache(maxsize=4)
def _pairs(n: int) -> tuple[IntVector, IntVector]:
    """The rows and the columns of a table of n above its diagonal; a server's rounds are often of as many devices."""
    return np.triu_indices(n, k=1)


def direction_to_median(spread: Spread) -> FloatVector:
    """Cosine of each update and the coordinate-wise median, `[n_clients]`; 0 where either is 0."""
    updates, middle = spread.rows, spread.middle
    both = np.sqrt(dots(updates, updates) * dots(middle, middle))
    cosines: FloatVector = dots(updates, middle) / np.where(both > 0, both, 1.0)
    return cosines


def slants(spread: Spread) -> tuple[FloatVector, FloatVector]:
    """Mean standardised deviation from the median, `[n_clients]`: as it is, and turned by the median's sign.

    Single deviations count up to 3, because the spread of few devices may be tiny by chance; a parameter without
    spread counts as 0.
    """
    n_params, deviation = len(spread.middle), NORMAL * middle_of(np.abs(spread.apart))
    standard = np.minimum(np.maximum(spread.apart / np.where(deviation > 0, deviation, np.inf), -3.0), 3.0)
    return standard.sum(axis=1) / n_params, (standard * np.sign(spread.middle)).sum(axis=1) / n_params


def _excess(values: FloatMatrix, floors: FloatVector) -> FloatMatrix:
    """(value - median) over the allowed deviation, `[n_values, n_clients]`; each value has a floor."""
    deviation = values - middle_of(values.T)[:, None]
    allowed = np.maximum(floors, DEVIATIONS * NORMAL * middle_of(np.abs(deviation).T))
    excess: FloatMatrix = deviation / allowed[:, None]
    return excess


_REASONS = {
    "length": "its update is far longer than the others'",
    "direction": "its update points against the others'",
    "loneliness": "its update has no near neighbours",
    "closeness": "its update is nearly the copy of another",
    "slant": "its update leans to one side in most parameters",
    "drift": "its updates add up to something else than the others'",
}
_DRIFT, _COPIED = (list(_REASONS).index(reason) for reason in ("drift", "closeness"))


def _suspicions(evidence: FloatMatrix) -> tuple[Suspicion, ...]:
    """The strongest reason against each device with evidence `[n_reasons, n_clients]` of 1 or more, strongest first."""
    strongest, reasons = evidence.argmax(axis=0), list(_REASONS.values())
    found = [
        Suspicion(client, float(evidence[strongest[client], client]), reasons[strongest[client]])
        for client in np.flatnonzero(evidence.max(axis=0) >= 1).tolist()
    ]
    return tuple(sorted(found, key=lambda s: (-s.evidence, s.client)))


def _summary(alert: bool, suspicions: tuple[Suspicion, ...], calm: int, guard: Guard) -> str:
    if suspicions:
        first = suspicions[0]
        return f"{len(suspicions)} suspicious updates; row {first.client}: {first.reason}"
    if alert:
        return f"nothing suspicious now; still careful, {calm} of {guard.calm_rounds} calm rounds"
    return "nothing suspicious"


def add_updates(sums: RunningSums, said: Clipped | None, shape: tuple[int, ...]) -> RunningSums:
    """The sums with what members said in a round of updates `[n_clients, n_params]`, as many as they must be.

    ShapeError where they are not.
    """
    if sums.sent.shape != shape:
        raise ShapeError(f"the guard remembers {list(sums.sent.shape)}, the round has {list(shape)}")
    if said is None:
        return sums
    sent = sums.sent.copy()
    sent[said.moved] += said.spread.apart
    return RunningSums(sums.n_rounds + said.moved, sent, sums.counted)


def from_majority(sums: RunningSums) -> FloatVector:
    """Squared distance of each from the majority `[n_clients]`, added up over n // 2 others; T must be from 1."""
    scores, share = np.empty(len(sums.sent)), 1.0 / sums.n_rounds
    for block, distances in distance_blocks(Spread.of(sums.sent * share[:, None])):
        distances /= share[block, None] + share
        scores[block] = scores_by_distance(distances, n_neighbours=len(scores) // 2, block=block)
    return scores
