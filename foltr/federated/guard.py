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
is not suspected for it. The evidence is the deviation over what is allowed: 6 standard deviations by the median
absolute deviation over the devices, but no less than a floor that chance alone hardly reaches with as many independent
numbers: n_params, or for the first three as many as the updates seem to have, for few pages move few weights together.
From evidence 1 on the guard is alert; it stays so until `calm_rounds` rounds in a row have less than
`calm_below` (hysteresis, so that an attacker at the edge does not switch it every round).

What it cannot see: attackers who differ among themselves and shift little (Little Is Enough with z below about
6 / sqrt(n_params), or many of them, who widen the spread that is allowed); a slow drift over many rounds; a majority.
"""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.krum import scores_in_blocks
from foltr.federated.aggregation.nearest_neighbour_mixing import NearestNeighbourMixing
from foltr.federated.aggregation.norm_clipping import clip_factors
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.rows import check_rows, require
from foltr.federated.aggregation.trimmed_mean import TrimmedMean
from foltr.federated.verdict import GuardState, GuardVerdict, Suspicion

DEVIATIONS = 6.0
"""standard deviations that a device may differ by"""
NEAR_BY_CHANCE = 16.0
"""Among n points in d dimensions a nearest distance e^-t times the median has probability e^(-t d): here e^-16."""
CHI_SQUARE_MEDIAN = 0.4549
"""of one degree of freedom"""
MOST_COMPARED = 500
"""devices whose directions are compared; 125,000 pairs tell the dimension well enough"""
LEAST_DIMENSION = 3
"""that few devices can be told to have"""
NORMAL = 1.4826
"""a normal variable's standard deviation over its median absolute deviation"""


class Guard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings; ValueRangeError for thresholds that would make no hysteresis."""

    n_malicious: int
    """m, from 1: the guard judges rounds of at least 2m + 3 rows"""
    peace: Aggregation = Mean()
    attack: Aggregation | None = None
    """None: nearest-neighbour mixing, then a trimmed mean, both against m"""
    calm_rounds: int = 5
    calm_below: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.calm_below <= 1 or self.calm_rounds < 1 or self.n_malicious < 1:
            raise ValueRangeError("a guard needs n_malicious and calm_rounds from 1, and calm_below above 0, at most 1")

    @property
    def robust(self) -> Aggregation:
        """The rule for rounds that look attacked."""
        m = self.n_malicious
        return self.attack or NearestNeighbourMixing(n_malicious=m, then=TrimmedMean(n_malicious=m))


def join_guarded(
    guard: Guard,
    state: GuardState,
    updates: npt.ArrayLike,
    *,
    weights: FloatVector | None = None,
) -> tuple[FloatVector, GuardState, GuardVerdict]:
    """One round: judge it, then join `updates` `[n_clients, n_params]` by the rule that the judgement asks for."""
    u = check_rows(updates)
    state, verdict = judge(guard, state, u)
    rule = guard.robust if verdict.alert else guard.peace
    return rule.combine(u, weights), state, verdict


def least_updates(n_malicious: int) -> int:
    """How many updates a round must have to be judged against m malicious ones: 2m + 3."""
    return 2 * n_malicious + 3


def judge(guard: Guard, state: GuardState, updates: npt.ArrayLike) -> tuple[GuardState, GuardVerdict]:
    """The next state and the verdict on `updates` `[n_clients, n_params]`; ValueRangeError for too few of them."""
    u = check_rows(updates)
    require("the guard", len(u), at_least=least_updates(guard.n_malicious), n_malicious=guard.n_malicious)
    evidence = inspect(u, guard.n_malicious)
    suspicions = _suspicions(evidence)
    worst = max(float(column.max()) for column in evidence.values())
    calm = state.calm + 1 if worst < guard.calm_below else 0
    alert = worst >= 1 or (state.alert and calm < guard.calm_rounds)
    verdict = GuardVerdict(alert, worst, suspicions, _summary(alert, suspicions, calm, guard))
    return replace(state, alert=alert, calm=calm), verdict


def inspect(updates: FloatMatrix, n_malicious: int) -> dict[str, FloatVector]:
    """The evidence `[n_clients]` by reason; devices that sent no change at all are above suspicion."""
    n = len(updates)
    moved = np.flatnonzero(np.any(updates != 0, axis=1))
    evidence = {reason: np.zeros(n) for reason in _REASONS}
    if len(moved) < least_updates(n_malicious):
        return evidence
    u = updates[moved]
    dimension, chance = effective_dimension(u), DEVIATIONS / math.sqrt(updates.shape[1])
    seeming = DEVIATIONS / math.sqrt(dimension)
    lengths = np.sqrt(np.einsum("ij,ij->i", u, u))
    near = scores_in_blocks(u, n_neighbours=1)
    u = u * clip_factors(lengths, float(np.median(lengths)))[:, None]
    far = scores_in_blocks(u, n_neighbours=len(u) - n_malicious - 2)
    found = {
        "length": _excess(_log(lengths), floor=max(math.log(3), seeming)),
        "direction": _excess(-direction_to_median(u), floor=max(0.5, seeming)),
        "loneliness": _excess(_log(far), floor=max(math.log(4), 2 * chance)),
        "closeness": _excess(-_log(near) / 2, floor=max(math.log(3), seeming, NEAR_BY_CHANCE / dimension)),
        "slant": np.max([np.abs(_excess(s, floor=max(0.5, chance), both=True)) for s in slants(u)], axis=0),
    }
    for reason, values in found.items():
        evidence[reason][moved] = values
    return evidence


def effective_dimension(updates: FloatMatrix) -> float:
    """In how many independent directions devices differ: LEAST_DIMENSION to n_params, or n_params if that is less.

    The squared cosine of two random vectors in d dimensions is about a chi-square variable over d, whose median is
    .455 / d. So d is .455 over the median of those between all pairs of differences from the devices' median, which a
    fifth of colluders hardly moves.
    """
    d = updates.shape[1]
    difference = updates - np.median(updates, axis=0)
    lengths = np.linalg.norm(difference, axis=1)
    unit = difference[lengths > 0] / lengths[lengths > 0][:, None]
    if len(unit) < 2:
        return float(d)
    some = unit[np.linspace(0, len(unit) - 1, min(len(unit), MOST_COMPARED)).astype(np.intp)]
    cosines = (some @ some.T)[np.triu_indices(len(some), k=1)]
    return float(np.clip(CHI_SQUARE_MEDIAN / max(float(np.median(cosines**2)), 1e-12), min(LEAST_DIMENSION, d), d))


def direction_to_median(updates: FloatMatrix) -> FloatVector:
    """Cosine of each update and the coordinate-wise median, `[n_clients]`; 0 where either is 0."""
    middle = np.median(updates, axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->i", updates, updates) * (middle @ middle))
    cosines: FloatVector = (updates @ middle) / np.where(lengths > 0, lengths, 1.0)
    return cosines


def slants(updates: FloatMatrix) -> tuple[FloatVector, FloatVector]:
    """Mean standardised deviation from the median, `[n_clients]`: as it is, and turned by the sign of the median.

    Single deviations count up to 3, because the spread of few devices may be tiny by chance; a parameter without
    spread counts as 0.
    """
    middle = np.median(updates, axis=0)
    deviation = updates - middle
    spread = NORMAL * np.median(np.abs(deviation), axis=0)
    standard = np.clip(deviation / np.where(spread > 0, spread, np.inf), -3.0, 3.0)
    return standard.mean(axis=1), (standard * np.sign(middle)).mean(axis=1)


def _excess(values: FloatVector, *, floor: float, both: bool = False) -> FloatVector:
    """(value - median) over the allowed deviation, `[n_clients]`, below 0 cut off unless `both` sides count."""
    deviation = values - np.median(values)
    allowed = max(floor, DEVIATIONS * NORMAL * float(np.median(np.abs(deviation))))
    excess: FloatVector = deviation / allowed
    return excess if both else np.maximum(excess, 0.0)


def _log(values: FloatVector) -> FloatVector:
    """The natural logarithm `[n_clients]`, of 0 that of the smallest normal float."""
    logarithms: FloatVector = np.log(np.maximum(values, np.finfo(np.float64).tiny))
    return logarithms


_REASONS = {
    "length": "its update is far longer than the others'",
    "direction": "its update points against the others'",
    "loneliness": "its update has no near neighbours",
    "closeness": "its update is nearly the copy of another",
    "slant": "its update leans to one side in most parameters",
}


def _suspicions(evidence: dict[str, FloatVector]) -> tuple[Suspicion, ...]:
    """The strongest reason against each device with evidence of 1 or more, strongest first."""
    reasons = list(evidence)
    table = np.stack([evidence[reason] for reason in reasons])
    strongest = table.argmax(axis=0)
    found = [
        Suspicion(client, float(table[strongest[client], client]), _REASONS[reasons[strongest[client]]])
        for client in np.flatnonzero(table.max(axis=0) >= 1).tolist()
    ]
    return tuple(sorted(found, key=lambda s: (-s.evidence, s.client)))


def _summary(alert: bool, suspicions: tuple[Suspicion, ...], calm: int, guard: Guard) -> str:
    if suspicions:
        first = suspicions[0]
        return f"{len(suspicions)} suspicious updates; row {first.client}: {first.reason}"
    if alert:
        return f"nothing suspicious now; still careful, {calm} of {guard.calm_rounds} calm rounds"
    return "nothing suspicious"
