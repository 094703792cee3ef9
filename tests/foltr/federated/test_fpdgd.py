"""Messages as bytes, and how long an honest update can be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foltr.arrays import FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fpdgd import (
    FPDGD,
    FPDGDLocal,
    FPDGDMessage,
    decode_message,
    encode_message,
    largest_update,
    payload_size,
)
from foltr.federated.method import Model
from foltr.federated.optimizers import Momentum
from foltr.federated.registry import make_method
from foltr.online import pdgd
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism, NoPrivacy, clip_l2
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear, Neural

RNG = np.random.default_rng(0)
PAGE = Interaction(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1]), np.array([False, True]))
"""Two documents, the second opened: from theta 0 the preference has rho = 1/2 and slope 1/4."""


def test_one_page_by_hand() -> None:
    """From theta 0: 0.8 * 1/2 * 1/4 towards the opened document and away from the other."""
    method = FPDGD(Linear(2), learning_rate=0.8)
    local = method.learn(method.begin(Model(np.zeros(2)), RNG), PAGE)
    message = method.report(local, RNG)
    assert message.theta == pytest.approx([-0.1, 0.1])
    assert message.n_interactions == 1


def test_temperature_divides_in_sampling_and_gradient() -> None:
    """At temperature 2 the step from theta 0 is half as long, and the page is drawn from half the scores."""
    method = FPDGD(Linear(2), learning_rate=0.8, temperature=2.0)
    local = method.learn(method.begin(Model(np.zeros(2)), RNG), PAGE)
    assert local.theta == pytest.approx([-0.05, 0.05])
    features = np.random.default_rng(1).random((30, 2))
    hot, cool = FPDGDLocal(np.zeros(2), np.array([8.0, 6.0])), FPDGDLocal(np.zeros(2), np.array([4.0, 3.0]))
    drawn = method.rank(hot, features, np.random.default_rng(2), k=10)
    assert (
        drawn.tolist() == replace(method, temperature=1.0).rank(cool, features, np.random.default_rng(2), k=10).tolist()
    )


def pages(n: int) -> list[Interaction]:
    """Random pages of six documents with two features."""
    rng = np.random.default_rng(4)
    return [Interaction(rng.random((6, 2)), rng.permutation(6), rng.random(6) < 0.4) for _ in range(n)]


@pytest.mark.parametrize("ranker", [Linear(2), Neural(2, n_hidden=3)])
def test_each_step_is_pdgd(ranker: Linear | Neural) -> None:
    """Five pages one after the other: five steps theta + rate * gradient (thesis Algorithm 1, line 12)."""
    method = FPDGD(ranker, learning_rate=0.5)
    model = method.initial(np.random.default_rng(3))
    local, theta = method.begin(model, RNG), model.theta
    for page in pages(5):
        local, theta = method.learn(local, page), theta + 0.5 * pdgd.gradient(ranker, theta, page)
    assert method.report(local, RNG).theta.tolist() == theta.tolist()
    assert local.n_interactions == 5


def test_batch_adds_up_the_gradients_of_the_first_theta() -> None:
    """Five pages: one step along the sum of their gradients at the global model, which also ranks all of them."""
    method = FPDGD(Linear(2), learning_rate=0.5, update="batch")
    start = np.array([0.5, -2.0])
    local = method.begin(Model(start), RNG)
    for page in pages(5):
        local = method.learn(local, page)
    slope = sum(pdgd.gradient(Linear(2), start, page) for page in pages(5))
    assert method.report(local, RNG).theta == pytest.approx(start + 0.5 * slope, rel=1e-14)
    features = np.random.default_rng(1).random((30, 2))
    places = (local, FPDGDLocal(start, start))
    drawn = [method.rank(place, features, np.random.default_rng(6), k=10).tolist() for place in places]
    assert drawn[0] == drawn[1]


def test_messages_that_would_spoil_the_model_are_refused() -> None:
    """Another length, a number that is not finite, a negative count."""
    method, model, good = FPDGD(Linear(2)), Model(np.zeros(2)), FPDGDMessage(np.ones(2), 1)
    with pytest.raises(ShapeError, match=r"must be \[2\], not \[3\]"):
        method.aggregate(model, [good, FPDGDMessage(np.ones(3), 1)])
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueRangeError, match="finite"):
            method.aggregate(model, [good, FPDGDMessage(np.array([0.0, bad]), 1)])
        with pytest.raises(ValueRangeError, match="finite"):
            method.aggregate(model, [good, FPDGDMessage(np.array([0.0, bad]), 0)])
    for weighting in ("interactions", "equal"):
        with pytest.raises(ValueRangeError, match="negative"):
            replace(method, weighting=weighting).aggregate(model, [good, good, FPDGDMessage(np.ones(2), -1)])


@pytest.mark.parametrize("update", ["each", "batch"])
def test_the_published_mechanism_bounds_the_ranker(update: str) -> None:
    """Delta = 0.2 keeps ||theta|| within 0.1, after each step or after the batch, although the steps are far longer."""
    privacy = FpdgdPaper(sensitivity=0.2, epsilon=1e12, n_clients=1)
    method = FPDGD(Linear(2), learning_rate=100.0, update=update, privacy=privacy)  # type: ignore[arg-type]
    local = method.begin(Model(np.zeros(2)), RNG)
    for page in pages(3):
        local = method.learn(local, page)
        if update == "each":
            assert np.linalg.norm(local.theta) <= 0.1 * (1 + 1e-12)
    assert np.linalg.norm(method.report(local, np.random.default_rng(1)).theta) == pytest.approx(0.1)


def test_the_mechanism_releases_from_where_the_device_began() -> None:
    """The Gaussian mechanism clips the difference to the global theta: with clip 1e-3 little leaves."""
    method = FPDGD(Linear(2), learning_rate=1.0, privacy=Gaussian(clip=1e-3, noise_multiplier=1e-6))
    start = np.array([5.0, -3.0])
    local = method.learn(method.begin(Model(start), RNG), pages(1)[0])
    assert np.linalg.norm(method.report(local, RNG).theta - start) == pytest.approx(1e-3, rel=1e-4)


def test_settings_that_make_no_sense() -> None:
    """A learning rate or temperature that is zero, negative or not finite."""
    for bad in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueRangeError, match="learning_rate"):
            FPDGD(Linear(2), learning_rate=bad)
        with pytest.raises(ValueRangeError, match="temperature"):
            FPDGD(Linear(2), temperature=bad)


def shares_some(**settings: Any) -> FPDGD:
    """Two of four weights are shared, all steps are taken at the start."""
    return FPDGD(Linear(4), learning_rate=2.0, update="batch", shared=(1, 3), **settings)


def four_pages(seed: int, n: int) -> list[Interaction]:
    """Pages of five documents with four features."""
    rng = np.random.default_rng(seed)
    return [Interaction(rng.random((5, 4)), rng.permutation(5), rng.random(5) < 0.4) for _ in range(n)]


def taught(method: FPDGD, pages: list[Interaction], queries: list[bytes]) -> FPDGDLocal:
    local = method.begin(Model(np.array([1.0, -1.0, 0.5, 2.0])), RNG)
    for page, query in zip(pages, queries, strict=True):
        local = method.learn(local, page, query)
    return local


@pytest.mark.parametrize("update", ["each", "batch"])
def test_weights_that_are_not_shared_stay_and_are_not_sent(update: str) -> None:
    """A message holds two numbers, and neither the device's ranker nor the group's moves in the other two."""
    method = replace(shares_some(), update=update)  # type: ignore[arg-type]
    local = taught(method, four_pages(0, 5), [b""] * 5)
    message = method.report(local, RNG)
    assert message.theta.tolist() == local.theta[[1, 3]].tolist()
    assert local.theta[[0, 2]].tolist() == [1.0, 0.5]
    start = Model(local.start, moments=(np.full(4, 7.0),))
    momentum = replace(method, optimizer=Momentum(momentum=0.5))
    joined = momentum.aggregate(start, [message])
    moved = message.theta - local.start[[1, 3]]
    np.testing.assert_allclose(joined.theta, [1.0, -1.0 + 3.5 + moved[0], 0.5, 2.0 + 3.5 + moved[1]])
    np.testing.assert_allclose(joined.moments[0][[1, 3]], 3.5 + moved)
    with pytest.raises(ShapeError, match=r"must be \[2\], not \[4\]"):
        method.aggregate(start, [FPDGDMessage(np.zeros(4), 1)])


def test_a_page_steps_no_further_than_longest_step() -> None:
    """The step of .1 sqrt(2) of `test_one_page_by_hand` is cut to .01, in its own direction."""
    method = FPDGD(Linear(2), learning_rate=0.8, longest_step=0.01)
    local = method.learn(method.begin(Model(np.zeros(2)), RNG), PAGE)
    assert local.theta == pytest.approx([-0.01 / np.sqrt(2), 0.01 / np.sqrt(2)])


def test_pages_of_one_query_are_one_voice() -> None:
    """Ten times the same page moves ten steps, or one longest_query; in other queries' company as well."""
    method = FPDGD(Linear(2), learning_rate=0.8, update="batch", longest_query=0.15)
    alone = method.begin(Model(np.zeros(2)), RNG)
    for _ in range(10):
        alone = method.learn(alone, PAGE, b"herons")
    assert alone.theta == pytest.approx([-0.15 / np.sqrt(2), 0.15 / np.sqrt(2)])
    twice = method.learn(alone, PAGE, b"egrets")
    unnamed = method.learn(method.learn(twice, PAGE), PAGE)  # each a query of its own
    assert twice.theta == pytest.approx(alone.theta + np.array([-0.1, 0.1]))
    assert unnamed.theta == pytest.approx(twice.theta + np.array([-0.2, 0.2]))


QUERIES = st.lists(st.sampled_from([b"", b"a", b"b", b"c"]), min_size=1, max_size=12)


@given(seed=st.integers(0, 10_000), queries=QUERIES, clip=st.sampled_from([0.05, 0.3, 10.0]), data=st.data())
def test_what_one_page_and_one_query_can_show_is_bounded(
    seed: int, queries: list[bytes], clip: float, data: st.DataObject
) -> None:
    """Without one page the update moves by at most longest_step, without one query by longest_query, also clipped."""
    method = shares_some(longest_step=0.1, longest_query=0.15)
    pages = four_pages(seed, len(queries))

    def update(left_out: set[int]) -> FloatVector:
        kept = [i for i in range(len(queries)) if i not in left_out]
        local = taught(method, [pages[i] for i in kept], [queries[i] for i in kept])
        return method.sent(local.theta - local.start)

    whole, page = update(set()), data.draw(st.integers(0, len(queries) - 1))
    of_query = {i for i, query in enumerate(queries) if query == queries[page]} if queries[page] else {page}
    for left_out, longest in (({page}, 0.1), (of_query, 0.15)):
        less = update(left_out)
        assert np.linalg.norm(whole - less) <= longest + 1e-12
        assert np.linalg.norm(clip_l2(whole, clip) - clip_l2(less, clip)) <= longest + 1e-12


def test_the_order_of_pages_does_not_matter_at_a_fixed_start() -> None:
    """The same pages in another order, and queries mixed otherwise, are the same update."""
    method, pages, queries = shares_some(longest_step=0.1, longest_query=0.12), four_pages(3, 6), [b"a", b"b", b""] * 2
    one = taught(method, pages, queries).theta
    assert taught(method, pages[::-1], queries[::-1]).theta == pytest.approx(one, abs=1e-14)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"longest_step": 0.0}, "longest_step"),
        ({"longest_query": np.nan, "update": "batch"}, "longest_query"),
        ({"longest_query": 0.1}, 'longest_query needs update = "batch"'),
        ({"shared": (0, 2)}, "rising indices below 2"),
        ({"shared": (1, 0)}, "rising indices below 2"),
        ({"shared": (1, 1)}, "rising indices below 2"),
    ],
)
def test_caps_and_shared_weights_that_do_not_fit(settings: dict[str, Any], message: str) -> None:
    """A cap that is not positive, a cap on queries without a fixed start, an index that is not there or twice."""
    with pytest.raises(ValueRangeError, match=message):
        FPDGD(Linear(2), **settings)


def test_by_name() -> None:
    """Both names give the class; settings are read strictly, with the mechanism by its name."""
    assert make_method("pdgd", Linear(2), {}) == FPDGD(Linear(2))
    private = {"mechanism": "fpdgd-paper", "sensitivity": 3.0, "epsilon": 4.5, "n_clients": 100}
    method = make_method("fpdgd", Linear(2), {"learning_rate": 0.2, "update": "batch", "privacy": private})
    assert method == FPDGD(
        Linear(2), 0.2, update="batch", privacy=FpdgdPaper(sensitivity=3.0, epsilon=4.5, n_clients=100)
    )
    assert FPDGD(Linear(2)).privacy == NoPrivacy()
    some = {"shared": [1], "longest_step": 0.1, "longest_query": None}
    assert make_method("fpdgd", Linear(2), some) == FPDGD(Linear(2), shared=(1,), longest_step=0.1)
    with pytest.raises(ValueRangeError, match="update"):
        make_method("fpdgd", Linear(2), {"update": "sometimes"})


def test_fedprox_by_hand() -> None:
    """From theta 0 as without it; a second page begins at (-a, a): mu = 2 takes .8 * 2 of a back.

    a = .8 * 1/2 * 1/4 = .1, so the step is .8 (g - 2 * .1), g being the gradient of the page at (-.1, .1).
    """
    method = FPDGD(Linear(2), learning_rate=0.8, proximal=2.0)
    first = method.learn(method.begin(Model(np.zeros(2)), RNG), PAGE)
    assert first.theta == pytest.approx([-0.1, 0.1])
    second = method.learn(first, PAGE)
    slope = pdgd.gradient(Linear(2), first.theta, PAGE)
    assert second.theta == pytest.approx([-0.1 + 0.8 * (slope[0] + 0.2), 0.1 + 0.8 * (slope[1] - 0.2)])


@pytest.mark.parametrize("ranker", [Linear(2), Neural(2, n_hidden=3)])
def test_fedprox_of_one_over_the_learning_rate_keeps_the_last_step(ranker: Linear | Neural) -> None:
    """mu = 1 / eta: after each page theta = start + eta g, where g is the gradient at what the page before left."""
    method = FPDGD(ranker, learning_rate=0.25, proximal=4.0)
    start = ranker.initial(np.random.default_rng(3))
    local, steps = method.begin(Model(start), RNG), []
    for page in pages(6):
        slope = pdgd.gradient(ranker, local.theta, page)
        local = method.learn(local, page)
        np.testing.assert_allclose(local.theta, start + 0.25 * slope, rtol=0, atol=1e-15)
        steps.append(np.abs(local.theta - start).max())
    assert sum(step > 1e-4 for step in steps) >= 3


def test_fedper_sends_the_hidden_layer_and_keeps_the_output() -> None:
    """Two inputs, three units: 9 numbers leave, the mean of them comes back, and each goes on from its own 3."""
    method = FPDGD(Neural(2, n_hidden=3), learning_rate=0.5, personal=True)
    model = method.initial(np.random.default_rng(1))
    ends = []
    for page in pages(2):
        ends.append(method.learn(method.begin(model, RNG), page).theta)
    sent = [FPDGDMessage(method.sent(theta), 1) for theta in ends]
    joined = method.aggregate(model, sent)
    assert [len(message.theta) for message in sent] == [9, 9]
    assert joined.theta[:9] == pytest.approx((ends[0][:9] + ends[1][:9]) / 2)
    assert joined.theta[9:].tolist() == model.theta[9:].tolist()
    again = method.begin_keeping(joined, ends[1])
    assert again.theta.tolist() == [*joined.theta[:9], *ends[1][9:]]
    assert ends[1][9:].tolist() != model.theta[9:].tolist()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"proximal": -0.1}, "proximal must not be negative"),
        ({"proximal": 0.1, "update": "batch"}, "proximal .* needs update"),
        ({"personal": True}, "neural ranker"),
        ({"zero_start": True, "ranker": Neural(2)}, "learns nothing"),
    ],
)
def test_remedies_that_cannot_be_are_refused(settings: dict[str, Any], said: str) -> None:
    """A negative mu, one without steps to draw back, an output layer that is not there, weights that are all 0."""
    with pytest.raises(ValueRangeError, match=said):
        FPDGD(**{"ranker": Linear(2), **settings})


PLAIN = FPDGD(Linear(3))
EQUAL = FPDGD(Linear(3), weighting="equal")


def test_a_message_comes_back() -> None:
    """Theta keeps every bit; the count too, where weights depend on it."""
    sent = FPDGDMessage(np.array([0.1, -2.0, 5e-324]), 7)
    back = decode_message(PLAIN, encode_message(PLAIN, sent))
    assert back.theta.tobytes() == sent.theta.tobytes()
    assert back.n_interactions == 7


def test_equal_weights_send_no_count() -> None:
    """How many pages a device saw does not leave it when the server weighs all alike."""
    many, few = (encode_message(EQUAL, FPDGDMessage(np.zeros(3), n)) for n in (900, 1))
    assert many == few


def test_sizes_and_values_are_checked() -> None:
    """A payload is 4 + 8 n_params bytes, from at least one interaction, and finite."""
    good = encode_message(PLAIN, FPDGDMessage(np.zeros(3), 1))
    assert len(good) == payload_size(PLAIN) == 4 + 8 * 3
    with pytest.raises(ShapeError, match="28 bytes, not 27"):
        decode_message(PLAIN, good[:-1])
    with pytest.raises(ValueRangeError, match="no interaction"):
        decode_message(PLAIN, b"\0\0\0\0" + good[4:])
    with pytest.raises(ValueRangeError, match="finite"):
        decode_message(PLAIN, good[:-8] + np.array([np.inf]).tobytes())


def test_a_message_holds_the_shared_weights_alone() -> None:
    """One weight of three is shared: 4 + 8 bytes, and what privacy is counted for is one number."""
    method = FPDGD(Linear(3), shared=(2,))
    sent = encode_message(method, FPDGDMessage(np.array([0.25]), 3))
    assert len(sent) == payload_size(method) == 4 + 8
    assert decode_message(method, sent).theta.tolist() == [0.25]
    assert method.n_sent == 1


@pytest.mark.parametrize(
    "privacy",
    [
        Gaussian(clip=0.5, noise_multiplier=1.0),
        Gaussian(clip=0.5, noise_multiplier=4.0, distributed=True, n_clients=16),
        Laplace(clip=0.5, epsilon=2.0),
        Laplace(clip=0.5, epsilon=2.0, distributed=True, n_clients=10),
        FpdgdPaper(sensitivity=3.0, epsilon=1.2, n_clients=10),
    ],
)
def test_honest_noise_stays_within_the_bound(privacy: Mechanism) -> None:
    """500 releases of the longest possible update stay below the bound, and within a factor of 20 of it."""
    rng = np.random.default_rng(0)
    method = FPDGD(Linear(8), privacy=privacy)
    start, end = np.full(8, 0.2), np.full(8, 50.0)
    longest = max(float(np.linalg.norm(privacy.release(start, end, rng) - start)) for _ in range(500))
    assert largest_update(method, start) / 20 < longest < largest_update(method, start)
