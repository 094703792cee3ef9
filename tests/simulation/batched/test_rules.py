from __future__ import annotations

import numpy as np
import pytest

from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.bulyan import Bulyan
from foltr.federated.aggregation.krum import Krum, MultiKrum
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.trimmed_mean import Median, TrimmedMean
from foltr.federated.joining import Joining
from foltr.federated.joining import join as foltr_join
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD
from simulation.batched.fpdgd_rounds import MOST_ROWS, rule_of
from simulation.batched.rules import join

RULES = (
    Mean(),
    Median(),
    TrimmedMean(n_malicious=2),
    Krum(n_malicious=2),
    Krum(n_malicious=2, distance="euclidean"),
    MultiKrum(n_malicious=2),
    MultiKrum(n_malicious=1, n_kept=3, distance="euclidean"),
)


def compiled(rule: Aggregation, theta: FloatVector, thetas: FloatMatrix, counts: FloatVector) -> FloatVector:
    """The next theta by the compiled rule."""
    found = rule_of(Joining(rule=rule), counts / counts.sum())
    assert found is not None
    moved = theta.copy()
    assert join(found, moved, thetas.copy())
    return moved


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n_clients", [7, 8, 10, 31])
def test_rules_are_those_of_the_learning_core(rule: Aggregation, n_clients: int) -> None:
    """Random rounds of 2 to 40 weights, two rows alike: the mean within digits, all others to the bit."""
    rng = np.random.default_rng(n_clients)
    for n_params in (2, 8, 40):
        theta, thetas = rng.normal(size=n_params), rng.normal(size=(n_clients, n_params))
        thetas[-2] = thetas[-1]
        counts = rng.integers(1, 9, n_clients).astype(np.float64)
        expected = foltr_join(Joining(rule=rule), Model(theta), thetas, counts).model.theta
        found = compiled(rule, theta, thetas, counts)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        if not isinstance(rule, Mean):
            assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("rule", RULES[3:])
def test_equal_scores_go_by_the_rows(rule: Aggregation) -> None:
    """Corners of a cube and its reflections all have equal scores: the same row is first whatever the order."""
    corners = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    rng, theta = np.random.default_rng(0), np.zeros(3)
    for _ in range(20):
        thetas = rng.permutation(corners)
        expected = foltr_join(Joining(rule=rule), Model(theta), thetas, np.ones(8)).model.theta
        assert compiled(rule, theta, thetas, np.ones(8)).tolist() == expected.tolist()


def test_krum_by_hand() -> None:
    """0 0 0 1 5 5 with m = 1: 3 neighbours, so the zeros score 1 and 1 scores 3; from theta 2 the round ends at 0."""
    thetas = np.array([[0.0], [0.0], [0.0], [1.0], [5.0], [5.0]])
    assert compiled(Krum(n_malicious=1), np.array([2.0]), thetas, np.ones(6)).tolist() == [0.0]


@pytest.mark.parametrize("bad", [np.nan, np.inf, 2e100])
def test_rows_that_cannot_be_joined(bad: float) -> None:
    """One number that is not finite, or too large: False, and theta stays."""
    thetas = np.ones((3, 2))
    thetas[1, 1] = bad
    for rule in (Mean(), Median()):
        found, theta = rule_of(Joining(rule=rule), np.full(3, 1 / 3)), np.array([1.0, 2.0])
        assert not join(found, theta, thetas)
        assert theta.tolist() == [1.0, 2.0]


def test_what_the_learning_core_must_do_itself() -> None:
    """Other rules, an optimiser, too few clients for the rule, and very many: no compiled rule."""
    even = np.full(10, 0.1)
    assert rule_of(Joining(rule=Bulyan(n_malicious=1)), even) is None
    assert rule_of(Joining(optimizer=SGD(learning_rate=0.5)), even) is None
    assert rule_of(Joining(rule=Krum(n_malicious=4)), even) is None
    assert rule_of(Joining(rule=TrimmedMean(n_malicious=5)), even) is None
    assert rule_of(Joining(rule=MultiKrum(n_malicious=2, n_kept=11)), even) is None
    assert rule_of(Joining(), np.full(MOST_ROWS + 1, 1 / (MOST_ROWS + 1))) is None
