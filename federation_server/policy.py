"""How this server joins updates: the rule, the optimiser, weights and the guard, from the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from federation_server.rounds import Schedule
from federation_server.settings import ServerSettings, ServerSettingsError
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.fpdgd import FPDGD, Message
from foltr.federated.method import Method
from foltr.federated.optimizers import Optimizer
from foltr.privacy.mechanisms import NoPrivacy


@dataclass(frozen=True, slots=True)
class Policy:
    """What the settings say about rounds."""

    schedule: Schedule
    rule: Aggregation
    optimizer: Optimizer
    largest_weight: int
    """interactions of one device that count at most, where weights are not equal"""
    guard: bool
    assumed_malicious: int
    """0: a fifth of the updates"""


def policy_of(settings: ServerSettings) -> Policy:
    """Those of the settings file; ServerSettingsError for a rule that needs more updates than a round may hold."""
    section = settings.aggregation
    try:
        section.rule.combine(np.zeros((settings.rounds.floor, 2)))
    except ValueRangeError as error:
        raise ServerSettingsError(f"aggregation.rule with rounds.floor = {settings.rounds.floor}: {error}") from error
    return Policy(
        schedule=Schedule(settings.rounds.quorum, round(settings.rounds.hours * 3600)),
        rule=section.rule,
        optimizer=section.optimizer,
        largest_weight=section.largest_weight,
        guard=section.guard,
        assumed_malicious=section.assumed_malicious,
    )


def weights(method: Method[Any, Any], messages: list[Message], *, largest: int) -> FloatVector:
    """How much each update counts, `[n_clients]`: all alike while privacy is on, else its capped interactions.

    Equal weights are what the privacy accounting assumes; a device could also lie about how many pages it saw.
    """
    equal = isinstance(method, FPDGD) and (method.weighting == "equal" or not isinstance(method.privacy, NoPrivacy))
    return np.array([1.0 if equal else float(min(message.n_interactions, largest)) for message in messages])


def combined(policy: Policy, rows: FloatMatrix, counts: FloatVector | None = None) -> FloatVector:
    """One update `[n_params]` from `rows` `[n_clients, n_params]`: by the rule, or their mean where it wants more.

    The floor sees to it that a round of learning has enough; forgetting works with what is left of older rounds.
    """
    try:
        return policy.rule.combine(rows, counts)
    except ValueRangeError:
        return Mean().combine(rows, counts)


def malicious(policy: Policy, n_updates: int) -> int:
    """How many bad updates the robust rule should withstand among `n_updates`."""
    return policy.assumed_malicious or n_updates // 5
