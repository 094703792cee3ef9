"""Joining a round: one pure function for the server and the laboratory."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.aggregation.geometric_median import GeometricMedian
from foltr.federated.aggregation.krum import Krum
from foltr.federated.aggregation.registry import Aggregation
from foltr.federated.aggregation.trimmed_mean import Median
from foltr.federated.fpdgd import FPDGD, FPDGDMessage
from foltr.federated.guard import GuardState, not_judged
from foltr.federated.joining import (
    ImpossibleMean,
    Joining,
    join,
    join_sums,
    join_what_is_left,
    longest_mean,
    malicious,
    take_step,
    weights,
)
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD, Adagrad, Adam, Momentum, Optimizer, Yogi
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Linear

GROUP = Joining(largest_weight=50, guard=True)
"""what a server does unless its settings say otherwise"""
PAGES = np.array([1.0, 30.0, 5000.0])
THETAS = np.random.default_rng(0).normal(size=(3, 3))
"""three devices that saw 1, 30 and 5,000 pages"""
OPTIMIZERS: list[Optimizer] = [SGD(), SGD(learning_rate=0.5), Momentum(), Adagrad(), Adam(), Yogi()]


def fpdgd(joining: Joining, **changes: object) -> FPDGD:
    """The method whose server joins so."""
    return FPDGD(
        Linear(3),
        aggregation=joining.rule,
        largest_weight=joining.largest_weight,
        guard=joining.guard,
        assumed_malicious=joining.assumed_malicious,
        optimizer=joining.optimizer,
        **changes,  # type: ignore[arg-type]
    )


def messages(thetas: FloatMatrix, pages: FloatVector) -> list[FPDGDMessage]:
    return [FPDGDMessage(theta, int(count)) for theta, count in zip(thetas, pages, strict=True)]


def attacked(n_clients: int = 7, n_params: int = 3) -> FloatMatrix:
    """Honest devices near (1, 1, 1), the last one far away on the other side."""
    rows = 1.0 + 0.05 * np.random.default_rng(3).normal(size=(n_clients, n_params))
    rows[-1] = -40.0
    return rows


def test_three_devices_by_hand() -> None:
    """All 5,000 pages of the third count: (1, 30, 5000) / 5031; of a group at most 50: (1, 30, 50) / 81."""
    model = Model(np.zeros(3))
    every = (1 * THETAS[0] + 30 * THETAS[1] + 5000 * THETAS[2]) / 5031
    capped = (1 * THETAS[0] + 30 * THETAS[1] + 50 * THETAS[2]) / 81
    assert every == pytest.approx([1.297, 0.938, -0.697], abs=1e-3)
    assert capped == pytest.approx([0.845, 0.385, -0.293], abs=1e-3)
    sent = messages(THETAS, PAGES)
    assert fpdgd(Joining()).aggregate(model, sent).theta == pytest.approx(every, rel=1e-14)
    assert fpdgd(GROUP).aggregate(model, sent).theta == pytest.approx(capped, rel=1e-14)
    counts = weights(GROUP, PAGES, equal=False)
    assert join(GROUP, model, THETAS, counts).model.theta.tolist() == fpdgd(GROUP).aggregate(model, sent).theta.tolist()


def test_weights_are_capped_counts_or_equal() -> None:
    """Without privacy 1, 30 and 50 of 5,000; with it, or by the method's own setting, 1; 0 for who saw no page."""
    assert weights(GROUP, PAGES, equal=False).tolist() == [1.0, 30.0, 50.0]
    assert weights(Joining(), PAGES, equal=False).tolist() == [1.0, 30.0, 5000.0]
    assert weights(GROUP, [0, *PAGES], equal=True).tolist() == [0.0, 1.0, 1.0, 1.0]
    private = Gaussian(clip=1.0, noise_multiplier=1.0)
    assert not fpdgd(GROUP).weighs_alike
    assert fpdgd(GROUP, weighting="equal").weighs_alike
    assert fpdgd(GROUP, privacy=private).weighs_alike
    joined = fpdgd(GROUP, privacy=private).aggregate(Model(np.zeros(3)), messages(THETAS, PAGES))
    assert joined.theta == pytest.approx(THETAS.mean(axis=0), rel=1e-13)


def test_a_fifth_is_assumed_malicious() -> None:
    """0 in the settings means a fifth of the updates, another number means itself."""
    assert [malicious(GROUP, n) for n in (4, 5, 14, 15)] == [0, 1, 2, 3]
    assert malicious(Joining(assumed_malicious=2), 100) == 2


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("rule", [Mean(), Median(), GeometricMedian()])
def test_the_brute_force_twin(optimizer: Optimizer, guard: bool, rule: Aggregation) -> None:
    """Four rounds in plain steps: weigh, join the differences, step; the same theta but for rounding."""
    joining = Joining(rule=rule, largest_weight=4, guard=guard, optimizer=optimizer)
    rng = np.random.default_rng(5)
    model, theta, moments = Model(np.ones(3)), np.ones(3), ()
    for _ in range(4):
        moved, pages = 0.1 * rng.normal(size=(6, 3)), rng.integers(1, 9, 6).astype(float)
        counts = np.array([min(count, 4.0) for count in pages])
        if isinstance(rule, Mean):
            delta = sum(count * row for count, row in zip(counts, moved, strict=True)) / sum(counts)
        else:
            delta = rule.combine(moved, counts)
        theta, moments = optimizer.step(theta, np.asarray(delta), moments)
        joined = join(joining, model, model.theta + moved, weights(joining, pages, equal=False))
        assert (joined.verdict.judged, joined.verdict.alert) == (guard, False)
        model = joined.model
        assert joined.delta == pytest.approx(delta, rel=1e-9, abs=1e-12)
    assert model.theta == pytest.approx(theta, rel=1e-9)
    assert model.round == 4


def test_fedavg_is_the_mean_of_the_rankers_to_the_last_bit() -> None:
    """Mean, SGD of rate 1, no guard: (weights / their sum) times thetas, added up, whatever theta_t was."""
    model = Model(np.array([1e3, -7.0, 0.1]))
    expected = ((PAGES / PAGES.sum())[:, None] * THETAS).sum(axis=0)
    assert join(Joining(), model, THETAS, PAGES).model.theta.tolist() == expected.tolist()


@pytest.mark.parametrize("joining", [Joining(), GROUP, Joining(rule=Median()), Joining(optimizer=SGD(learning_rate=1))])
def test_one_device_is_followed(joining: Joining) -> None:
    """A single message with any weight: theta is what the device arrived at."""
    joined = join(joining, Model(np.zeros(3)), THETAS[2:], PAGES[2:])
    assert joined.model.theta == pytest.approx(THETAS[2], rel=1e-15)


def test_a_cap_of_one_is_the_plain_mean() -> None:
    """With largest_weight 1 all who saw a page count alike, to the bit what equal weights give."""
    capped = fpdgd(Joining(largest_weight=1)).aggregate(Model(np.zeros(3)), messages(THETAS, PAGES))
    equal = fpdgd(Joining(), weighting="equal").aggregate(Model(np.zeros(3)), messages(THETAS, PAGES))
    assert capped.theta.tolist() == equal.theta.tolist()
    assert capped.theta == pytest.approx(THETAS.sum(axis=0) / 3, rel=1e-14)


@given(st.integers(0, 10_000), st.sampled_from(OPTIMIZERS), st.booleans())
@settings(max_examples=40, deadline=None)
def test_messages_may_come_in_any_order(seed: int, optimizer: Optimizer, alarmed: bool) -> None:
    """Equal to rounding whichever device is first, in peace and while the guard joins."""
    joining = msgspec.structs.replace(GROUP, optimizer=optimizer)
    thetas = attacked() if alarmed else 1.0 + np.random.default_rng(seed).normal(size=(7, 3))
    counts, order = np.arange(1.0, 8.0), np.random.default_rng(seed).permutation(7)
    first, second = (join(joining, Model(np.zeros(3)), thetas[rows], counts[rows]) for rows in (np.arange(7), order))
    assert (first.rule, first.model.guard) == (second.rule, second.model.guard)
    assert second.model.theta == pytest.approx(first.model.theta, rel=1e-7, abs=1e-9)


def test_the_guard_joins_while_it_is_alert() -> None:
    """One of seven far away: "guard" joined and theta stays near the honest; the model remembers, and calms down."""
    model = Model(np.zeros(3))
    joined = join(GROUP, model, attacked(), np.ones(7))
    assert joined.rule == "guard"
    assert joined.verdict.alert
    assert np.abs(joined.model.theta - 1.0).max() < 0.1
    assert joined.model.guard == GuardState(alert=True, calm=0)
    rules = []
    for _ in range(6):
        honest = joined.model.theta + attacked()[:6]
        joined = join(GROUP, joined.model, honest, np.ones(6))
        rules.append(joined.rule)
    assert rules == ["guard"] * 4 + ["mean"] * 2
    off = join(msgspec.structs.replace(GROUP, guard=False), model, attacked(), np.ones(7))
    assert (off.rule, off.verdict) == ("mean", not_judged("the guard is off"))
    assert off.model.theta == pytest.approx(attacked().mean(axis=0), rel=1e-13)


def test_too_few_updates_are_not_judged() -> None:
    """Four updates, or five against two malicious ones, are joined by the rule; what the guard remembers stays."""
    alert = Model(np.zeros(3), guard=GuardState(alert=True, calm=2))
    for joining, n in ((GROUP, 4), (msgspec.structs.replace(GROUP, assumed_malicious=2), 6)):
        joined = join(joining, alert, attacked(n), np.ones(n))
        assert (joined.rule, joined.verdict.judged, joined.model.guard) == ("mean", False, alert.guard)
        assert joined.verdict.summary == f"not judged: {n} updates without known noise; it takes {n + 1}"


def test_nothing_to_join_changes_nothing() -> None:
    """No messages, or none that saw a page: theta, moments and guard stay, the round goes by."""
    model = Model(np.ones(3), 4, (np.ones(3),), GuardState(alert=True))
    joining = msgspec.structs.replace(GROUP, optimizer=Momentum())
    for thetas in (np.zeros((0, 3)), np.zeros((2, 3))):
        joined = join(joining, model, thetas, np.zeros(len(thetas)))
        after = joined.model
        assert (after.theta.tolist(), after.round, after.guard) == ([1.0] * 3, 5, model.guard)
        assert [moment.tolist() for moment in after.moments] == [[1.0] * 3]
        assert joined.delta.tolist() == [0.0] * 3


def test_a_rule_that_wants_more_gives_way_to_the_mean_only_where_asked() -> None:
    """Krum against one wants five: three are refused with both numbers, or joined by the mean and said so."""
    joining = Joining(rule=Krum(n_malicious=1))
    with pytest.raises(ValueRangeError, match="at least 5 rows, not 3"):
        join(joining, Model(np.zeros(3)), THETAS, PAGES)
    joined = join_what_is_left(joining, Model(np.zeros(3)), THETAS, PAGES)
    assert joined.rule == "mean"
    assert joined.model.theta.tolist() == join(Joining(), Model(np.zeros(3)), THETAS, PAGES).model.theta.tolist()


@pytest.mark.parametrize("rule", [Mean(), Median()])
def test_what_would_spoil_the_ranker_is_refused(rule: Aggregation) -> None:
    """A theta of another length, a number that is not finite, negative weights, one weight too few."""
    joining, model = Joining(rule=rule), Model(np.zeros(3))
    with pytest.raises(ShapeError, match=r"must be \[3\], not \[2\]"):
        join(joining, model, np.zeros((2, 2)), np.ones(2))
    with pytest.raises(ShapeError, match="weights"):
        join(joining, model, THETAS, np.ones(2))
    with pytest.raises(ValueRangeError, match="negative"):
        join(joining, model, THETAS, np.array([1.0, 1.0, -1.0]))
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueRangeError, match="finite"):
            join_what_is_left(joining, model, np.array([[0.0, 0.0, bad]]), np.ones(1))


def test_settings_that_make_no_sense() -> None:
    """A cap below 1 and a negative number of malicious devices, in the record and in the method."""
    with pytest.raises(ValueRangeError, match="largest_weight must be at least 1, not 0"):
        Joining(largest_weight=0)
    with pytest.raises(ValueRangeError, match="assumed_malicious must not be negative, not -1"):
        FPDGD(Linear(3), assumed_malicious=-1)


def test_a_step_alone() -> None:
    """`stepped` moves theta and moments along a direction, counts the round and leaves the guard alone."""
    model = Model(np.zeros(2), 3, (np.array([2.0, 0.0]),), GuardState(alert=True, calm=1))
    after = take_step(Momentum(learning_rate=0.1, momentum=0.5), model, np.array([1.0, 1.0]))
    assert (after.theta.tolist(), after.moments[0].tolist()) == ([0.1 * 2.0, 0.1 * 1.0], [2.0, 1.0])
    assert (after.round, after.guard) == (4, model.guard)


SHARE = Gaussian(clip=0.8, noise_multiplier=2.0, distributed=True, n_clients=4)
"""each device's deviation is .8"""


def test_a_sum_by_hand() -> None:
    """Steps of .8 / 2^20: a sum of 2^20 steps over 4 devices moves the weight by .2; the noise is that of the mean."""
    start = Model(np.array([1.0, 2.0]), 6, noise=0.3)
    joined = join_sums(Joining(), SHARE, start, [np.array([2**20, 0])], [4])
    np.testing.assert_array_equal(joined.model.theta, [1.0 + 0.8 / 4, 2.0])
    assert (joined.model.round, joined.rule, joined.verdict.judged) == (7, "sum", False)
    assert joined.model.noise == pytest.approx(math.hypot(0.3, 0.8 / math.sqrt(4)))


def test_a_sum_is_what_adding_up_in_the_clear_is() -> None:
    """Noised changes of six devices, joined from their sum and one by one: the same ranker, and the same noise."""
    rng, start = np.random.default_rng(8), Model(np.arange(5.0), 2, noise=0.1)
    steps = [SHARE.release_steps(rng.normal(size=5), rng) for _ in range(6)]
    summed = join_sums(Joining(), SHARE, start, [np.sum(steps, axis=0)], [6]).model
    method = FPDGD(Linear(5), privacy=SHARE)
    clear = method.aggregate(start, [FPDGDMessage(start.theta + one * SHARE.grid_step, 1) for one in steps])
    np.testing.assert_allclose(summed.theta, clear.theta, rtol=1e-12)
    assert (summed.round, summed.noise) == (clear.round, pytest.approx(clear.noise))


def test_honest_noise_is_never_cut_and_what_it_cannot_reach_does_not_count() -> None:
    """Means of five with the noise alone, ten thousand times: none reaches the bound; a mean beyond it is refused, and
    of several parts left out, with a word and without its share of the noise."""
    rng = np.random.default_rng(1)
    noise = rng.normal(scale=SHARE.deviation / math.sqrt(5), size=(10_000, 10))
    most = longest_mean(SHARE, 10, 5)
    assert most == pytest.approx(0.8 + 0.8 / math.sqrt(5) * (math.sqrt(10) + 6))
    assert 0.8 + np.linalg.norm(noise, axis=1).max() < most
    start, long = Model(np.zeros(1)), np.array([2**40])
    with pytest.raises(ImpossibleMean, match=r"the mean is 1.68e\+05 long, and honest members' at most 3.3"):
        join_sums(Joining(), SHARE, start, [long], [5])
    parts = [np.array([2**20]), long, np.array([2**20])]
    joined = join_sums(Joining(rule=Median()), SHARE, start, parts, [4, 4, 4])
    assert joined.model.theta.tolist() == [0.2]
    assert joined.model.noise == pytest.approx(0.8 * math.sqrt(2 / 4) / 2)
    assert "1 of 3 means are longer" in joined.verdict.summary
    with pytest.raises(ValueRangeError, match="a mean of no update"):
        join_sums(Joining(), SHARE, start, parts, [4, 0, 4])
