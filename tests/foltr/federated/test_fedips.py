"""FedIPS by its four verbs: worked by hand, its limits, what it shows, estimates and refuses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fedips import FedIPS, FedIPSMessage, impressions
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD, Yogi
from foltr.federated.registry import make_method
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear, Neural

RNG = np.random.default_rng(0)


def page(features: object, *, clicks: list[bool]) -> Interaction:
    """A page that shows the first candidates in their order."""
    return Interaction(np.asarray(features, dtype=float), np.arange(len(clicks)), np.array(clicks))


def test_a_round_by_hand() -> None:
    """Two devices, one with a click at rank 2: the server moves by eta_g times the mean of both differences."""
    method = FedIPS(Linear(2), learning_rate=0.1, server=SGD(learning_rate=0.5))
    model = Model(np.zeros(2))
    told = method.begin_knowing(model, np.array([1.0, 0.25]))
    clicked = method.report(method.learn(told, page(np.eye(2), clicks=[False, True])), RNG)
    # one violated pair, 1 / p = 4
    np.testing.assert_allclose(clicked.delta, [-0.1 * 4, 0.1 * 4])
    silent = method.report(method.learn(method.begin(model, RNG), page(np.eye(2), clicks=[False, False])), RNG)
    following = method.aggregate(model, [clicked, silent])
    np.testing.assert_allclose(following.theta, [-0.5 * 0.4 / 2, 0.5 * 0.4 / 2])
    assert following.round == 1


def test_what_a_click_is_compared_with() -> None:
    """The documents of the page alone, or all that was found for the query."""
    features = np.eye(3)
    for against, expected in (("shown", [0.1, -0.1, 0.0]), ("retrieved", [0.2, -0.1, -0.1])):
        method = FedIPS(Linear(3), learning_rate=0.1, against=against)  # type: ignore[arg-type]
        local = method.learn(method.begin(Model(np.zeros(3)), RNG), page(features, clicks=[True, False]))
        np.testing.assert_allclose(local.theta, expected)


def test_a_device_that_knows_nothing_assumes_a_bias() -> None:
    """Without told propensities p is (1 / rank)^position_bias, clipped from below."""
    method = FedIPS(Linear(2), position_bias=2.0)
    assert method.propensities(None, k=3) == pytest.approx([1.0, 1 / 4, 1 / 9])
    assert replace(method, smallest_propensity=0.2).propensities(None, k=3) == pytest.approx([1.0, 1 / 4, 0.2])
    assert method.propensities(np.array([0.5, 0.1]), k=2).tolist() == [0.5, 0.1]


def test_fedavg_on_clicks() -> None:
    """propensity="none" counts every click once, whatever the device was told; so does a user without bias."""
    visit = page(RNG.normal(size=(5, 3)), clicks=[False, True, False, True])
    model = Model(RNG.normal(size=3))
    none, true = FedIPS(Linear(3), propensity="none"), FedIPS(Linear(3))
    ignored = none.learn(none.begin_knowing(model, np.array([1.0, 0.1, 0.1, 0.1])), visit)
    unbiased = true.learn(true.begin_knowing(model, np.ones(4)), visit)
    np.testing.assert_array_equal(ignored.theta, unbiased.theta)


def test_pages_are_of_the_production_ranker() -> None:
    """What is learned does not change what is shown; without a production ranker the round's model shows it."""
    features, model = np.array([[0.0], [1.0], [2.0], [2.0]]), Model(np.array([1.0]))
    by_model, fixed = FedIPS(Linear(1)), FedIPS(Linear(1), production=(-1.0,))
    local = replace(by_model.begin(model, RNG), theta=np.array([-5.0]))
    assert by_model.rank(local, features, RNG, k=3).tolist() == [2, 3, 1]
    assert fixed.rank(fixed.begin(model, RNG), features, RNG, k=2).tolist() == [0, 1]


def test_the_first_model() -> None:
    """It is the production ranker where there is one, unless a random one is wanted."""
    fixed = FedIPS(Linear(2), production=(1.0, -1.0))
    assert fixed.initial(RNG).theta.tolist() == [1.0, -1.0]
    for method in (FedIPS(Linear(2)), replace(fixed, start="random")):
        assert np.linalg.norm(method.initial(RNG).theta) == pytest.approx(0.01)


def test_order_of_devices_does_not_matter() -> None:
    """The next model is the same for the same messages in another order."""
    method = FedIPS(Linear(3), server=Yogi())
    messages = [FedIPSMessage(RNG.normal(size=3)) for _ in range(7)]
    one, other = (method.aggregate(Model(np.ones(3)), m) for m in (messages, messages[::-1]))
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-12)


def test_nobody_reports() -> None:
    """Without messages only the round's number changes."""
    model = Model(np.ones(2), round=4)
    following = FedIPS(Linear(2)).aggregate(model, [])
    assert following.theta is model.theta
    assert following.round == 5


def test_estimates_wait_for_the_end_of_the_round() -> None:
    """With estimated propensities a device keeps its pages and learns in `report`, F included."""
    method = FedIPS(Linear(3), propensity="estimated", server=Yogi())
    model = method.initial(RNG)
    local = method.begin(model, RNG)
    visits = [page(RNG.random((4, 3)), clicks=[True, False, clicked]) for clicked in (True, False)]
    for visit in visits:
        local = method.learn(local, visit)
    np.testing.assert_array_equal(local.theta, model.theta)
    message = method.report(local, RNG)
    assert np.abs(message.delta).max() > 0
    # rank 1 was always clicked: the features of those documents, and b, pull upwards
    assert message.relevance_delta is not None
    assert message.relevance_delta.shape == (4,)
    following = method.aggregate(model, [message])
    np.testing.assert_allclose(following.moments[0], message.relevance_delta)
    assert len(following.moments) == 1 + 2


def test_estimation_without_bias_changes_nothing() -> None:
    """Where EM starts from "always looked at" it stays, and the round is FedAvg on clicks."""
    visit = page(RNG.random((4, 3)), clicks=[False, True, False])
    estimating = FedIPS(Linear(3), propensity="estimated", position_bias=0.0)
    model = estimating.initial(RNG)
    found = estimating.report(estimating.learn(estimating.begin(model, RNG), visit), RNG)
    plain = FedIPS(Linear(3), propensity="none")
    expected = plain.report(plain.learn(plain.begin(model, RNG), visit), RNG)
    np.testing.assert_allclose(found.delta, expected.delta, rtol=1e-12)


def test_a_round_without_pages() -> None:
    """A device that showed nothing reports that nothing moved."""
    method = FedIPS(Linear(2), propensity="estimated")
    message = method.report(method.begin(method.initial(RNG), RNG), RNG)
    assert message.delta.tolist() == [0.0, 0.0]
    assert message.relevance_delta is not None
    assert message.relevance_delta.tolist() == [0.0, 0.0, 0.0]
    assert impressions([], n_features=2).features.shape == (0, 2)


def test_a_neural_ranker_learns_too() -> None:
    """Any ranker goes: a step on a click raises the clicked document above the others."""
    ranker = Neural(3, 8)
    method = FedIPS(ranker, learning_rate=0.01)
    model, visit = Model(ranker.initial(np.random.default_rng(1))), page(np.eye(3), clicks=[False, False, True])
    local = method.learn(method.begin(model, RNG), visit)
    rise = ranker.score(local.theta, visit.features) - ranker.score(model.theta, visit.features)
    assert rise[2] > max(rise[0], rise[1])


def test_settings() -> None:
    """Made from plain settings; a wrong one is named."""
    method = make_method("fedips", Linear(2), {"server": {"optimizer": "yogi", "tau": 0.01}, "production": [1, 2]})
    assert method == FedIPS(Linear(2), server=Yogi(tau=0.01), production=(1.0, 2.0))
    with pytest.raises(ValueRangeError, match="server"):
        make_method("fedips", Linear(2), {"server": {"optimizer": "sgd", "tau": 1}})
    with pytest.raises(ValueRangeError, match="learning_rate"):
        FedIPS(Linear(2), learning_rate=0.0)
    with pytest.raises(ValueRangeError, match="clicks"):
        FedIPS(Linear(2), clicks=0)
    with pytest.raises(ShapeError, match="production"):
        FedIPS(Linear(2), production=(1.0,))


def test_messages_that_do_not_fit_are_refused() -> None:
    """One message of another length or with a number that is not finite would spoil the model of everyone."""
    method, model = FedIPS(Linear(2)), Model(np.zeros(2))
    with pytest.raises(ShapeError, match=r"\[2\], not \[3\]"):
        method.aggregate(model, [FedIPSMessage(np.zeros(3))])
    with pytest.raises(ValueRangeError, match="finite"):
        method.aggregate(model, [FedIPSMessage(np.array([0.0, np.inf])), FedIPSMessage(np.zeros(2))])
    estimating = FedIPS(Linear(2), propensity="estimated")
    with pytest.raises(ShapeError, match=r"\[3\], not None"):
        estimating.aggregate(estimating.initial(RNG), [FedIPSMessage(np.zeros(2))])
    with pytest.raises(ShapeError, match="begin with F"):
        estimating.begin(model, RNG)
