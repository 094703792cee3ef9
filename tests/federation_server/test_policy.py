"""What the settings make of rules."""

from __future__ import annotations

import msgspec
import pytest

from federation_server import policy
from federation_server.settings import AggregationSection, RoundsSection, ServerSettingsError, Settings
from foltr.federated.aggregation.krum import Krum
from foltr.federated.aggregation.trimmed_mean import Median
from foltr.federated.joining import Joining
from foltr.federated.optimizers import Momentum


def test_a_rule_must_fit_the_smallest_round() -> None:
    """Krum against one attacker needs five updates: a floor of three is refused with both numbers, five is taken."""
    settings = Settings(aggregation=AggregationSection(rule=Krum(n_malicious=1)))
    with pytest.raises(ServerSettingsError, match=r"floor = 3.*5"):
        policy.policy_of(settings)
    enough = msgspec.structs.replace(settings, rounds=RoundsSection(quorum=5, floor=5))
    assert policy.policy_of(enough).joining.rule == Krum(n_malicious=1)


def test_a_group_joins_as_its_settings_say() -> None:
    """The defaults are the mean, at most 50 interactions, SGD of rate 1 and the guard; each key has its place."""
    assert policy.policy_of(Settings()).joining == Joining(largest_weight=50, guard=True)
    section = AggregationSection(
        rule=Median(), optimizer=Momentum(momentum=0.5), largest_weight=7, guard=False, assumed_malicious=2
    )
    wanted = Joining(rule=Median(), optimizer=Momentum(momentum=0.5), largest_weight=7, assumed_malicious=2)
    assert policy.policy_of(Settings(aggregation=section)).joining == wanted
