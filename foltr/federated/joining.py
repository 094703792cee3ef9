"""How a server joins what devices sent into the next ranker: the one way, for the server and the laboratory alike.

    w_c = n_c, at most `largest_weight`; or all alike
    delta = rule(theta_c - theta_t; w_c) over the devices c;    theta_{t+1} = optimiser(theta_t, delta)

This is FedOpt (Reddi et al., Adaptive Federated Optimization, Algorithm 2) with a robust rule in the place of the mean.
The guard may leave devices out, or join the round by a rule of its own. With the rule "mean" and SGD of rate 1 it is
FedAvg,

    theta_{t+1} = sum of w_c theta_c / sum of w_c              (McMahan et al. 2017; thesis Eq. 3.16 and 6.1)

and without the guard it is computed so, because theta_t + (mean - theta_t) is rounded twice more.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.rows import shares
from foltr.federated.guard.guard import Guard, join_guarded, least_updates
from foltr.federated.guard.known_noise import KnownNoise, join_known
from foltr.federated.guard.verdict import GuardState, GuardVerdict, not_judged
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD, Optimizer, recall
from foltr.privacy.mechanisms import Gaussian, Mechanism


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
    """what devices do to their updates; None: nothing that the guard could go by"""
    optimizer: Optimizer = SGD()

    def __post_init__(self) -> None:
        if self.largest_weight is not None and self.largest_weight < 1:
            raise ValueRangeError(f"largest_weight must be at least 1, not {self.largest_weight}")
        if self.assumed_malicious < 0:
            raise ValueRangeError(f"assumed_malicious must not be negative, not {self.assumed_malicious}")


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """A round that is joined."""

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
    also lie about how many pages it saw, which the cap bounds where weights differ.
    """
    seen = np.asarray(n_interactions, dtype=np.float64)
    if equal:
        return np.sign(seen)
    return seen if joining.largest_weight is None else np.minimum(seen, float(joining.largest_weight))


def noise_of(privacy: Mechanism) -> KnownNoise | None:
    """What a guard may count on in each single update; None for a mechanism whose bounds it does not know."""
    if not isinstance(privacy, Gaussian):
        return None
    shares = privacy.n_clients if privacy.distributed else 1
    return KnownNoise(clip=privacy.clip, deviation=privacy.noise_multiplier * privacy.clip / math.sqrt(shares))


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
    delta, state, verdict = _combined(joining, model.guard, thetas - model.theta, counts)
    noise = noise_after(joining.noise, model.noise, counts)
    after = replace(take_step(joining.optimizer, model, delta), guard=state, noise=noise)
    return Joined(after, delta, "guard" if verdict.alert else name, verdict)


def noise_after(noise: KnownNoise | None, before: float, counts: FloatVector) -> float:
    """Standard deviation in each weight after a mean of updates that count alike: independent noise adds up in squares.

    `before` is that of the model which devices began from; `counts` `[n_clients]` is above 0 where one had an update.
    """
    return math.hypot(before, noise.deviation / math.sqrt(np.count_nonzero(counts))) if noise else before


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
