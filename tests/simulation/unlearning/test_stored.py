"""Adding up again what was kept."""

from __future__ import annotations

import numpy as np

from simulation.unlearning.federaser import FedRemove, Reaggregation
from tests.simulation.unlearning.lived_past import HONEST, lived


def test_reaggregation_by_hand() -> None:
    """The first ranker and, for each round, the mean of the others' updates."""
    past = lived(Reaggregation(), joined=2)
    theta = past.before.model.theta
    for kept in past.kept:
        theta = theta + (kept.thetas[:3] - kept.model.theta).mean(axis=0)
    steps = list(Reaggregation().forget(past))
    np.testing.assert_allclose(steps[-1].model.theta, theta, rtol=1e-12)
    assert len(steps) == 1 + 6
    assert not any(step.shown for step in steps)


def test_fedremove_as_published_takes_out_one_round_alone() -> None:
    """The last ranker is the poisoned one but for the leaver's share of the last round: what was before stays."""
    past = lived(FedRemove())
    last = past.kept[-1]
    found = list(FedRemove().forget(past))[-1].model.theta
    np.testing.assert_allclose(found, last.model.theta + (last.thetas[:3] - last.model.theta).mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(4 * past.now.model.theta, 3 * found + last.thetas[3], rtol=1e-9, atol=1e-12)


def test_of_like_clients_it_makes_no_difference() -> None:
    """Where all sent the same, both end with the ranker that was learned."""
    past = lived(Reaggregation(), HONEST)
    for kept in past.kept:
        kept.thetas[:] = kept.model.theta + 0.0
    end = past.kept[0].model.theta
    np.testing.assert_allclose(list(Reaggregation().forget(past))[-1].model.theta, end)
