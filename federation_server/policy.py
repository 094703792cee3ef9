"""When this server closes a round and how it joins it, from the settings; foltr.federated.joining does it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from federation_server.rounds import Schedule
from federation_server.settings import ServerSettingsError, Settings
from foltr.errors import ValueRangeError
from foltr.federated.joining import Joining


@dataclass(frozen=True, slots=True)
class Policy:
    """What the settings say about rounds."""

    schedule: Schedule
    joining: Joining


def policy_of(settings: Settings) -> Policy:
    """Those of the settings file; ServerSettingsError for a rule that needs more updates than a round may hold."""
    section = settings.aggregation
    try:
        section.rule.combine(np.zeros((settings.rounds.floor, 2)))
    except ValueRangeError as error:
        raise ServerSettingsError(f"aggregation.rule with rounds.floor = {settings.rounds.floor}: {error}") from error
    return Policy(
        schedule=Schedule(settings.rounds.quorum, round(settings.rounds.hours * 3600)),
        joining=Joining(
            rule=section.rule,
            largest_weight=section.largest_weight,
            guard=section.guard,
            assumed_malicious=section.assumed_malicious,
            optimizer=section.optimizer,
        ),
    )
