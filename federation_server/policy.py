"""When this server closes a round and how it joins it, from the settings; foltr.federated.joining does it."""

from __future__ import annotations

from dataclasses import dataclass

from federation_server.rounds import Schedule
from federation_server.settings import ServerSettings
from foltr.federated.joining import Joining


@dataclass(frozen=True, slots=True)
class Policy:
    """What the settings say about rounds."""

    schedule: Schedule
    joining: Joining


def policy_of(settings: ServerSettings) -> Policy:
    """Those of the settings file, which federation_server.settings has checked."""
    section = settings.aggregation
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
