"""How a server joins what devices sent into the next ranker: the one way, for the server and the laboratory alike.

    w_c = n_c, at most `largest_weight`; or all alike
    delta = rule(theta_c - theta_t; w_c) over the devices c;    theta_{t+1} = optimiser(theta_t, delta)

This is FedOpt (Reddi et al., Adaptive Federated Optimization, Algorithm 2) with a robust rule in place of the mean. The
guard may leave devices out, or join the round by a rule of its own. Where nobody sees single updates (`join_sums`) the
means of sums take their place. With the rule "mean" and SGD of rate 1 it is FedAvg,

    theta_{t+1} = sum of w_c theta_c / sum of w_c              (McMahan et al. 2017; thesis Eq. 3.16 and 6.1)

and without the guard it is computed like that, because theta_t + (mean - theta_t) is rounded twice more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import structs

from foltr.arrays import FloatMatrix, FloatVector, Int64Vector
from foltr.errors import FoltrError, ShapeError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.rows import shares
from foltr.federated.guard import Guard, GuardState, GuardVerdict, join_guarded, least_updates, not_judged
from foltr.federated.known_noise import KnownNoise, join_known
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD, Optimizer, recall
from foltr.privacy.mechanisms import Gaussian, Mechanism, l2_norm

BEYOND_CHANCE = 6.0
"""standard deviations: noise `[d]` of deviation s is longer than s (sqrt d + 6) once in 65 million means"""


class Joining(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The settings; ValueRangeError for a cap below 1 or fewer than 0 malicious devices. The default is FedAvg."""

    rule: Aggregation = Mean()
    """in peace"""
    largest_weight: int | None = None
    """interactions of one device that count at most; None: all of them"""
    guard: bool = False
    """whether rounds are judged, and joined robustly while they look attacked"""
    assumed_malicious: int = 0
    """m of the guard where the noise is not known; 0: a fifth of the updates"""
    noise: KnownNoise | None = None
    """what devices do to their updates; None: nothing that the guard could rely on"""
    optimizer: Optimizer = SGD()

    def __post_init__(self) -> None:
        if self.largest_weight is not None and self.largest_weight < 1:
            raise ValueRangeError(f"largest_weight must be at least 1, not {self.largest_weight}")
        if self.assumed_malicious < 0:
            raise ValueRangeError(f"assumed_malicious must not be negative, not {self.assumed_malicious}")


class Joined(msgspec.Struct, frozen=True, eq=False):
    model: Model
    """the next, with what the optimiser and the guard remember"""
    delta: FloatVector
    """[n_params] what the rule made of the updates; 0 where there was nothing to join"""
    rule: str
    """the rule that joined, or "guard" where the guard left somebody out or joined by its own"""
    verdict: GuardVerdict


def weights(joining: Joining, n_interactions: npt.ArrayLike, *, equal: bool) -> FloatVector:
    """How much each message counts `[n_clients]`: its capped interactions, or where `equal` 1 for each that has any.

    Weights must be equal where privacy is accounted for: the guarantee is for updates that count alike. A device could
    also lie about how many pages it saw; where weights differ, the cap limits that.
    """
    seen = np.asarray(n_interactions, dtype=np.float64)
    if equal:
        return np.sign(seen)
    return seen if joining.largest_weight is None else np.minimum(seen, float(joining.largest_weight))


def noise_of(privacy: Mechanism) -> KnownNoise | None:
    """What a guard may count on in each single update; None for a mechanism whose bounds it does not know."""
    if not isinstance(privacy, Gaussian):
        return None
    return KnownNoise(clip=privacy.clip, deviation=privacy.deviation)


def malicious(joining: Joining, n_updates: int) -> int:
    """m: how many bad updates the guard's rule should withstand among `n_updates`."""
    return joining.assumed_malicious or n_updates // 5


def join(joining: Joining, model: Model, thetas: FloatMatrix, counts: FloatVector) -> Joined:
    """The round after `model` from the rankers that devices arrived at; its noise is that of a plain mean by SGD.

    `thetas` is `[n_clients, n_params]`, `counts` are the devices' weights `[n_clients]`. Without devices, or with
    weights that are all 0, theta and all that is remembered stay. ShapeError for a theta of another length than the
    model's; ValueRangeError for a number that is not finite, a negative weight, or a rule that wants more devices.
    """
    if thetas.shape[1:] != model.theta.shape:
        raise ShapeError(f"theta must be {list(model.theta.shape)}, not {list(thetas.shape[1:])}")
    name = str(joining.rule.__struct_config__.tag)
    if not counts.any():
        return Joined(replace(model, round=model.round + 1), np.zeros_like(model.theta), name, not_judged("no updates"))
    if not joining.guard and joining.optimizer == SGD() and isinstance(joining.rule, Mean):
        theta = joining.rule.combine(thetas, counts)
        delta = theta - model.theta
        moments = recall(model.moments, theta, delta, n=0)
        after = Model(theta, model.round + 1, moments, model.guard, noise_after(joining.noise, model.noise, counts))
        return Joined(after, delta, name, not_judged(OFF))
    shares(counts, len(thetas))  # for the rules that do not look at them
    joined, state, verdict = _combined(joining, model.guard, thetas - model.theta, counts)
    if (delta := np.asarray(joined, dtype=np.float64)).shape != model.theta.shape:
        raise ShapeError(f"{name} must give {list(model.theta.shape)}, not {list(delta.shape)}")
    noise = noise_after(joining.noise, model.noise, counts)
    after = replace(take_step(joining.optimizer, model, delta), guard=state, noise=noise)
    return Joined(after, delta, "guard" if verdict.alert else name, verdict)


def noise_after(noise: KnownNoise | None, before: float, counts: FloatVector) -> float:
    """Standard deviation in each weight after a mean of updates that count alike: independent noise adds up in squares.

    `before` is that of the model which devices began from; `counts` `[n_clients]` is above 0 where one had an update.
    """
    return math.hypot(before, noise.deviation / math.sqrt(np.count_nonzero(counts))) if noise else before


class ImpossibleMean(FoltrError):
    """The mean of a round is longer than honest devices can make it; the message says how long."""


def join_sums(
    joining: Joining, privacy: Gaussian, model: Model, sums: Sequence[Int64Vector], counts: Sequence[int]
) -> Joined:
    """The round after `model` from sums whose terms nobody sees: of all devices, or of several parts of them.

    `sums` are of the devices' noised changes, each `[n_params]` in steps of the grid of `privacy`, which every device
    used; `counts` says how many devices are in each. The mean of one sum moves the model as it is; the means of several
    are joined by the rule, with equal weights. A mean longer than `longest_mean` does not count; ImpossibleMean when
    none is left. Nobody can judge single updates, so there is no guard.
    """
    if min(counts) < 1:
        raise ValueRangeError("a mean of no update")
    means = np.array(sums) * (privacy.grid_step / np.array(counts))[:, None]
    bounds = [longest_mean(privacy, means.shape[1], n) for n in counts]
    held = [row for row, bound in enumerate(bounds) if l2_norm(means[row]) <= bound]
    if not held:
        length = max(map(l2_norm, means))
        raise ImpossibleMean(f"the mean is {length:.3g} long, and honest members' at most {max(bounds):.3g}")
    noise = privacy.deviation * math.sqrt(math.fsum(1.0 / counts[row] for row in held)) / len(held)
    left_out = len(means) - len(held)
    note = f"; {left_out} of {len(means)} means are longer than honest members' and do not count" if left_out else ""
    verdict = not_judged(f"the server learns sums alone{note}")
    if len(means) == 1:
        joined = Joined(take_step(joining.optimizer, model, means[0]), means[0], "sum", verdict)
    else:
        plain = Joining(rule=joining.rule, optimizer=joining.optimizer)
        joined = join_what_is_left(plain, model, model.theta + means[held], np.ones(len(held)))
    return structs.replace(joined, model=replace(joined.model, noise=math.hypot(model.noise, noise)), verdict=verdict)


def longest_mean(privacy: Gaussian, n_params: int, n_devices: int) -> float:
    """How long the mean of so many honest devices' noised changes `[n_params]` can be, but for a chance of 1e-8.

    The changes' own mean is within the clip; on the noise see `BEYOND_CHANCE`.
    """
    return privacy.clip + privacy.deviation / math.sqrt(n_devices) * (math.sqrt(n_params) + BEYOND_CHANCE)


OFF = "the guard is off"


def _combined(
    joining: Joining, state: GuardState, updates: FloatMatrix, counts: FloatVector
) -> tuple[FloatVector, GuardState, GuardVerdict]:
    """One update `[n_params]` as the guard says, by the rule where it says nothing."""
    if joining.guard and joining.noise is not None:
        return join_known(joining.noise, joining.rule, state, updates, counts)
    m = malicious(joining, len(updates))
    least = least_updates(max(m, 1))
    if joining.guard and m >= 1 and len(updates) >= least:
        return join_guarded(Guard(n_malicious=m, peace=joining.rule), state, updates, weights=counts)
    why = f"{len(updates)} updates without known noise; it takes {least}" if joining.guard else OFF
    return joining.rule.combine(updates, counts), state, not_judged(why)


def join_what_is_left(joining: Joining, model: Model, thetas: FloatMatrix, counts: FloatVector) -> Joined:
    """`join`, but by the mean where the rule wants more devices than there are, as forgetting leaves some rounds."""
    try:
        return join(joining, model, thetas, counts)
    except ValueRangeError:
        return join(msgspec.structs.replace(joining, rule=Mean()), model, thetas, counts)


def take_step(optimizer: Optimizer, model: Model, direction: FloatVector) -> Model:
    """The model one step of the optimiser along `direction` `[n_params]`, for methods that find it in their own way."""
    theta, moments = optimizer.step(model.theta, direction, model.moments)
    return Model(theta, model.round + 1, moments, model.guard)
