"""FOLtR-ES as four verbs."""

from __future__ import annotations

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.foltr_es import FoltrES, FoltrESLocal, FoltrESMessage
from foltr.federated.method import Model
from foltr.federated.registry import make_method
from foltr.online.evolution_strategies import perturbation, perturbations
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear, Neural

FEATURES = np.eye(3)


def page(ranking: np.ndarray, *clicked: int) -> Interaction:
    """A page on which these ranks (from 0) were clicked."""
    return Interaction(FEATURES, ranking, np.isin(np.arange(len(ranking)), clicked))


def after(method: FoltrES, *clicked: tuple[int, ...], seed: int = 0) -> FoltrESLocal:
    """A device that has shown a page for each tuple of clicked ranks."""
    rng = np.random.default_rng(seed)
    local = method.begin(method.initial(rng), rng)
    for ranks in clicked:
        local = method.learn(local, page(method.rank(local, FEATURES, rng, k=3), *ranks))
    return local


def test_a_round_of_one_device_by_hand() -> None:
    """Pages 1 and 3 go by theta + sigma v, page 2 by theta - sigma v; MaxRR 1 and 1/3 against 1/2.

    PyTorch's first step of Adam is eta g / (|g| + eps).
    """
    method, rng = FoltrES(Linear(3), sigma=0.1, truth_probability=1.0), np.random.default_rng(5)
    model = method.initial(rng)
    local = method.begin(model, np.random.default_rng(5))
    seed = int(np.random.default_rng(5).random() * 2**32)
    v = perturbation(seed, 3)
    forwards, backwards = np.argsort(-v), np.argsort(v)
    for clicked, order in ((0, forwards), (1, backwards), (2, forwards)):
        ranking = method.rank(local, FEATURES, rng, k=3)
        assert ranking.tolist() == order.tolist()
        local = method.learn(local, page(ranking, clicked))
    message = method.report(local, rng)
    assert message == FoltrESMessage(seed, float(np.float32((1 + 1 / 3) / 2)), 0.5)
    gradient = (message.positive - 0.5) * v / (2 * 0.1)
    stepped = method.aggregate(model, [message])
    assert stepped.round == 1
    assert stepped.theta == pytest.approx(0.001 * gradient / (np.abs(gradient) + 1e-8))


def test_two_rounds_are_two_steps_of_adam() -> None:
    """The server's moments go with the model: m and v of Kingma and Ba, with bias correction."""
    method = FoltrES(Linear(4), antithetic=False, sigma=0.5, learning_rate=0.1, truth_probability=1.0)
    rng = np.random.default_rng(0)
    first, second = [FoltrESMessage(1, 1.0), FoltrESMessage(2, 0.5)], [FoltrESMessage(3, 0.25)]
    v = perturbations([1, 2, 3], 4)
    g, h = (v[0] + 0.5 * v[1]) / (2 * 0.5), 0.25 * v[2] / 0.5
    found = method.aggregate(method.aggregate(method.initial(rng), first), second)
    m = (0.9 * 0.1 * g + 0.1 * h) / (1 - 0.9**2)
    spread = np.sqrt((0.999 * 0.001 * g**2 + 0.001 * h**2) / (1 - 0.999**2))
    assert found.theta == pytest.approx(0.1 * g / (np.abs(g) + 1e-8) + 0.1 * m / (spread + 1e-8))


def test_equal_scores_go_to_the_later_document() -> None:
    """As in the published program, which turns an ascending order round."""
    method, rng = FoltrES(Linear(1)), np.random.default_rng(0)
    local = method.begin(method.initial(rng), rng)
    assert method.rank(local, np.ones((5, 1)), rng, k=3).tolist() == [4, 3, 2]


def test_zeros_are_a_start_for_a_neural_ranker() -> None:
    """Both layers are perturbed, so scores differ though every parameter is 0."""
    ranker, rng = Neural(3, 10), np.random.default_rng(1)
    method = FoltrES(ranker)
    local = method.begin(method.initial(rng), rng)
    assert len(set(ranker.score(local.theta + local.step, FEATURES))) == 3


def test_rewards_have_the_digits_that_are_sent() -> None:
    """Each is a float of 32 bits; there is none for a direction that was not taken."""
    method = FoltrES(Linear(3))
    both = method.report(after(method, (0,), (), (2,)), np.random.default_rng(0))
    one = replace(method, antithetic=False)
    plain = one.report(after(one, (0,), (2,), (1,)), np.random.default_rng(0))
    assert plain.negative is None
    for reward in (both.positive, both.negative, plain.positive):
        assert reward == float(np.float32(reward))


def test_the_truth_costs_no_random_number_and_privatisation_one_for_each_page() -> None:
    """What the device's stream gives is the same for every client, whatever was clicked."""
    for p, expected in ((1.0, 0), (0.9, 3)):
        method, rng, twin = FoltrES(Linear(3), truth_probability=p), np.random.default_rng(3), np.random.default_rng(3)
        method.report(after(method, (0,), (), (2,)), rng)
        twin.random(expected)
        assert rng.random() == twin.random()


def test_privatised_rewards_have_the_expectation_of_the_paper() -> None:
    """FOLtR-ES, Eq. 7: f (p n - 1) / (n - 1) + (1 - p) / (n - 1) sum of all values, for f = 1/2 and n = 4 at k = 3."""
    method = FoltrES(Linear(3), truth_probability=0.6, k=3, antithetic=False)
    local, rng, n = after(method, (1,)), np.random.default_rng(0), 20_000
    mean = np.mean([method.report(local, rng).positive for _ in range(n)])
    expected = 0.5 * (0.6 * 4 - 1) / 3 + 0.4 / 3 * (1 + 1 / 2 + 1 / 3)
    assert mean == pytest.approx(expected, abs=5 * 0.5 / sqrt(n))


def test_a_direction_without_a_page_teaches_nothing() -> None:
    """One page alone, or none, leaves the difference of rewards at 0."""
    method, rng = FoltrES(Linear(3), truth_probability=1.0), np.random.default_rng(0)
    alone, nothing = (method.report(after(method, *pages), rng) for pages in ([(1,)], []))
    assert (alone.positive, alone.negative) == (0.5, 0.5)
    assert (nothing.positive, nothing.negative) == (0.0, 0.0)
    assert method.aggregate(method.initial(rng), [alone, nothing]).theta.tolist() == [0.0, 0.0, 0.0]


def test_no_messages_leave_the_model() -> None:
    """The round's number goes on, theta and moments stay."""
    method = FoltrES(Linear(1))
    model = Model(np.array([1.0]), 4, (np.array([2.0]),) * 3)
    empty = method.aggregate(model, [])
    assert (empty.theta is model.theta, empty.moments is model.moments, empty.round) == (True, True, 5)


@pytest.mark.parametrize(
    ("message", "error"),
    [
        (FoltrESMessage(1, 0.5), ShapeError),
        (FoltrESMessage(2**32, 0.5, 0.5), ValueRangeError),
        (FoltrESMessage(-1, 0.5, 0.5), ValueRangeError),
        (FoltrESMessage(1, 1.5, 0.5), ValueRangeError),
        (FoltrESMessage(1, 0.5, -0.5), ValueRangeError),
        (FoltrESMessage(1, float("nan"), 0.5), ValueRangeError),
        (FoltrESMessage(1, 0.5, inf), ValueRangeError),
    ],
)
def test_messages_that_no_honest_device_sends(message: FoltrESMessage, error: type[Exception]) -> None:
    """One of them would pull the ranker of everyone as far as it likes."""
    method = FoltrES(Linear(2))
    with pytest.raises(error):
        method.aggregate(method.initial(np.random.default_rng(0)), [FoltrESMessage(1, 1.0, 0.0), message])


def test_values_of_a_page() -> None:
    """MaxRR on ten results has 11 values, no click and ten ranks; patterns of ten clicks are 1,024."""
    assert len(FoltrES(Linear(1)).values) == 1 + 10
    assert len(FoltrES(Linear(1), reward="dcg").values) == 2**10


def test_settings_are_made_and_refused_by_name() -> None:
    """The registry knows foltr-es; what is out of range is an error that names it."""
    assert make_method("foltr-es", Linear(2), {"reward": "ndcg"}) == FoltrES(Linear(2), reward="ndcg")
    for wrong in (
        {"sigma": 0.0},
        {"learning_rate": inf},
        {"truth_probability": 1 / 11},
        {"reward": "map"},
        {"false_answers": "click-count"},
        {"reward": "dcg", "k": 17},
    ):
        with pytest.raises(ValueRangeError):
            make_method("foltr-es", Linear(2), wrong)
