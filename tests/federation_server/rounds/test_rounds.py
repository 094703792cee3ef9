"""What the settings make of rules."""

from __future__ import annotations

from federation_server.rounds import rounds
from federation_server.settings import AggregationSection, ServerSettings
from foltr.federated.aggregation.trimmed_mean import Median
from foltr.federated.joining import Joining
from foltr.federated.optimizers import Momentum


def test_a_group_joins_as_its_settings_say() -> None:
    """The defaults are the mean, at most 50 interactions, SGD of rate 1 and the guard; each key has its place."""
    assert rounds.policy_of(ServerSettings()).joining == Joining(largest_weight=50, guard=True)
    section = AggregationSection(
        rule=Median(), optimizer=Momentum(momentum=0.5), largest_weight=7, guard=False, assumed_malicious=2
    )
    wanted = Joining(rule=Median(), optimizer=Momentum(momentum=0.5), largest_weight=7, assumed_malicious=2)
    assert rounds.policy_of(ServerSettings(aggregation=section)).joining == wanted
