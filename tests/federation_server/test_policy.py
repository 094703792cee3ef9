"""What the settings make of rules and weights."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from federation_server import policy
from federation_server.settings import AggregationSection, RoundsSection, ServerSettings, ServerSettingsError
from foltr.federated.aggregation.krum import Krum
from foltr.federated.fpdgd import FPDGD, Message
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Linear

MESSAGES = [Message(np.zeros(2), count) for count in (1, 30, 5000)]


def test_a_rule_must_fit_the_smallest_round() -> None:
    """Krum against one attacker needs five updates: a floor of three is refused with both numbers, five is taken."""
    settings = ServerSettings(aggregation=AggregationSection(rule=Krum(n_malicious=1)))
    with pytest.raises(ServerSettingsError, match=r"floor = 3.*5"):
        policy.policy_of(settings)
    enough = msgspec.structs.replace(settings, rounds=RoundsSection(quorum=5, floor=5))
    assert policy.policy_of(enough).rule == Krum(n_malicious=1)


def test_weights_are_capped_counts_or_equal() -> None:
    """Without privacy 1, 30 and 50 of 5,000; with it, or by the method's own setting, 1 for everyone."""
    plain, equal = FPDGD(Linear(2)), FPDGD(Linear(2), weighting="equal")
    private = FPDGD(Linear(2), privacy=Gaussian(clip=1.0, noise_multiplier=1.0))
    assert policy.weights(plain, MESSAGES, largest=50).tolist() == [1.0, 30.0, 50.0]
    for method in (equal, private):
        assert policy.weights(method, MESSAGES, largest=50).tolist() == [1.0, 1.0, 1.0]


def test_a_fifth_is_assumed_malicious() -> None:
    """0 in the settings means a fifth of the updates, another number means itself."""
    default = policy.policy_of(ServerSettings())
    assert [policy.malicious(default, n) for n in (4, 5, 14, 15)] == [0, 1, 2, 3]
    fixed = policy.policy_of(ServerSettings(aggregation=AggregationSection(assumed_malicious=2)))
    assert policy.malicious(fixed, 100) == 2
