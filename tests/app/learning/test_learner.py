from __future__ import annotations

import time
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.learning import models
from app.learning.learner import Learner
from app.learning.pace import Pace
from app.store import Store
from foltr.errors import ShapeError
from foltr.online.pdgd import document_weights, gradient, preference_pairs
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear
from tests.app.learning.learners import DAY, NOW, THETA0, learner, pages, prefer_recent


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state.sqlite")


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_a_new_device_ranks_by_the_shipped_prior(store: Store, ranker: str) -> None:
    """Before anything is learned the scores are theta0 . x, for both rankers."""
    device = learner(store, ranker=ranker)
    for features in pages(5):
        np.testing.assert_allclose(device.scores(features), features @ THETA0, atol=1e-12)


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_preferences_are_learned(store: Store, ranker: str) -> None:
    """After 30 clicks on the most recent result shown, recency ranks higher than in the shipped order."""
    device = learner(store, ranker=ranker, bound=3.0, learning_rate=0.5)
    prefer_recent(device, 30)
    fresh = np.random.default_rng(7).random((20, 4))
    top = device.order(fresh, range(20), k=10, explore=False)[:5]
    shipped = np.argsort(-(fresh @ THETA0))[:5]
    assert fresh[top, 2].mean() > fresh[shipped, 2].mean() + 0.05


def test_one_lesson_is_the_published_step(store: Store) -> None:
    """Within the bound, learning is exactly PDGD's update from theta0."""
    device, features = learner(store, bound=100.0), pages(1)[0]
    clicks = [False, True, False, True, False]
    device.learn(features, [4, 2, 0, 1, 3], clicks, now=NOW)
    expected = THETA0 + 0.1 * gradient(Linear(4), THETA0, Interaction(features, [4, 2, 0, 1, 3], clicks))
    np.testing.assert_allclose(device.model.theta, expected, atol=1e-14)


def test_the_temperature_of_the_gradient_is_that_of_the_sampling(store: Store) -> None:
    """With exploration at 0.3 the step is PDGD's at temperature 0.3, at the scores that were shown."""
    device, features = learner(store, bound=100.0, exploration=0.3), pages(1)[0]
    shown, page = np.linspace(1, 0, 20), Interaction(pages(1)[0], [4, 2, 0], [False, True, False])
    device.learn(features, page.ranking, page.clicks, scores=shown, now=NOW)
    wanted = document_weights(preference_pairs(shown, page, temperature=0.3), page.n_docs)
    expected = THETA0 + 0.1 * (wanted @ page.features)
    np.testing.assert_allclose(device.model.theta, expected, atol=1e-14)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.integers(0, 2**32 - 1),
    strength=st.floats(0, 2),
    bound=st.floats(0, 5),
    size=st.sampled_from([0.1, 10.0, 1e6]),
    ranker=st.sampled_from(["linear", "neural"]),
    n_docs=st.integers(2, 30),
)
def test_learning_never_moves_further_than_its_bound(
    store: Store, seed: int, strength: float, bound: float, size: float, ranker: str, n_docs: int
) -> None:
    """Two documents whose prior scores differ by more than strength * bound never swap, whatever theta is."""
    device = learner(store, strength=strength, bound=bound, ranker=ranker)
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-size, size, device.model.ranker.n_params)
    device._save(replace(device.model, theta=theta), NOW)
    features = rng.random((n_docs, 4))
    prior, scores = features @ THETA0, device.scores(features)
    assert np.isfinite(scores).all()
    apart = prior[:, None] - prior > strength * bound + 1e-9
    assert (scores[:, None] > scores)[apart].all()


def test_a_document_off_topic_cannot_be_clicked_to_the_top(store: Store) -> None:
    """500 clicks on a document that matches nothing leave it below one that matches better by the bound."""
    device = learner(store, bound=1.0, learning_rate=1.0)
    features = np.array([[1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    for _ in range(500):
        device.learn(features, [0, 1, 2], [False, False, True], now=NOW)
    assert device.order(features, range(3), k=3).tolist() == [0, 1, 2]


def test_what_was_overlearned_is_unlearned_as_fast(store: Store) -> None:
    """Theta stops where scores stop: after 500 clicks one way, 30 the other way turn the order."""
    device = learner(store, bound=1.0, learning_rate=0.5, theta0=np.zeros(4))
    features = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    for _ in range(500):
        device.learn(features, [1, 0], [False, True], now=NOW)
    assert np.abs(device.model.theta).max() < 1.0
    assert device.order(features, range(2), k=2).tolist() == [0, 1]
    for _ in range(30):
        device.learn(features, [0, 1], [False, True], now=NOW)
    assert device.order(features, range(2), k=2).tolist() == [1, 0]


def test_switched_off_it_is_the_shipped_ranker(store: Store) -> None:
    """Off: prior order without exploration, nothing learned, nothing stored."""
    prefer_recent(learner(store), 5)
    off = learner(store, enabled=False, exploration=1.0)
    features = pages(1)[0]
    assert off.order(features, range(20), k=10).tolist() == np.argsort(-(features @ THETA0)).tolist()
    assert off.learn(features, [0, 1], [False, True], now=NOW) is None
    assert store.count_interactions() == 5
    assert off.contributions(features)[1][3].tolist() == [0.0] * 4


def test_strength_zero_is_the_shipped_order(store: Store) -> None:
    """With strength 0 nothing learned moves anything."""
    prefer_recent(learner(store), 10)
    features = pages(1)[0]
    np.testing.assert_allclose(learner(store, strength=0.0).scores(features), features @ THETA0)


def test_a_page_without_picks_teaches_nothing(store: Store) -> None:
    """No click: no lesson, no stored page, no model."""
    device = learner(store)
    assert device.learn(pages(1)[0], [0, 1], [False, False], now=NOW) is None
    assert store.count_interactions() == 0
    assert models.load(store, "linear") is None


def test_a_lesson_says_what_was_learned(store: Store) -> None:
    """The sentence counts the picks and names the features that gained."""
    device = learner(store, names=("title_match", "body", "recency", "folder"))
    features = np.array([[0.5, 0.5, 0.0, 0.5], [0.5, 0.5, 1.0, 0.5]])
    lesson = device.learn(features, [0, 1], [False, True], now=NOW)
    assert lesson == "learned from 1 pick: more weight on recency"
    both = device.learn(features, [1, 0], [True, True], now=NOW)
    assert both == "learned from 2 picks: nothing new"


@pytest.mark.parametrize("ranker", ["linear", "neural"])
@pytest.mark.parametrize("n_docs", [1, 2, 7, 20])
def test_contributions_add_up_to_the_score(store: Store, ranker: str, n_docs: int) -> None:
    """Prior points are theta0 * x; prior and learned points together are the score, also at the bound."""
    device = learner(store, ranker=ranker, bound=0.3, learning_rate=1.0)
    prefer_recent(device, 20)
    features = pages(1, n_docs=n_docs)[0]
    for row in range(n_docs):
        prior, learned = (points[row] for points in device.contributions(features))
        np.testing.assert_allclose(prior, THETA0 * features[row])
        assert prior.sum() + learned.sum() == pytest.approx(device.scores(features)[row], abs=1e-9)


def test_exploration_keeps_the_order_within_a_session(store: Store) -> None:
    """The same query has the same order until 30 idle minutes have passed, in another process too."""
    device, features = learner(store, exploration=0.5), pages(1)[0]
    first = device.order(features, range(20), k=10, now=NOW).tolist()
    assert device.order(features, range(20), k=10, now=NOW + 1700).tolist() == first
    with Store(store.path) as other:
        assert learner(other, exploration=0.5).order(features, range(20), k=10, now=NOW + 3300).tolist() == first
    assert device.order(features, range(20), k=10, now=NOW + 10_000).tolist() != first


def test_without_exploration_the_order_is_by_score(store: Store) -> None:
    """`explore=False` and temperature 0 sort by score, and need no session."""
    features = pages(1)[0]
    by_score = np.argsort(-(features @ THETA0)).tolist()
    assert learner(store, exploration=0.5).order(features, range(20), k=10, explore=False).tolist() == by_score
    assert learner(store).order(features, range(20), k=10).tolist() == by_score
    assert store.value("session") is None
    assert learner(store).order(np.zeros((0, 4)), [], k=10).tolist() == []


def test_learning_survives_a_restart_and_is_shared(store: Store) -> None:
    """A new object, and one that was open all along in another process, see the same theta at once."""
    with Store(store.path) as elsewhere:
        other = learner(elsewhere)
        before = other.model.theta.tolist()
        device = learner(store)
        prefer_recent(device, 3)
        assert other.model.theta.tolist() == device.model.theta.tolist() != before
        prefer_recent(other, 2)
        assert device.model.n_pages == 5
        assert learner(store).model.theta.tolist() == other.model.theta.tolist()


def test_learning_survives_a_new_prior(store: Store) -> None:
    """When a new version ships other weights, scores move by them and keep what was learned."""
    prefer_recent(learner(store), 10)
    features, other = pages(1)[0], np.array([1.0, 5.0, 0.0, 0.0])
    np.testing.assert_allclose(
        learner(store, theta0=other).scores(features) - features @ other,
        learner(store).scores(features) - features @ THETA0,
        atol=1e-12,
    )


def test_the_neural_ranker_starts_from_what_the_linear_one_learned(store: Store) -> None:
    """Switching the ranker loses nothing; switching back finds the linear model as it was."""
    prefer_recent(learner(store), 10)
    features = pages(1)[0]
    linear, neural = learner(store), learner(store, ranker="neural")
    np.testing.assert_allclose(neural.scores(features), linear.scores(features), atol=1e-12)
    prefer_recent(neural, 3)
    assert learner(store).model.theta.tolist() == linear.model.theta.tolist()


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_a_prior_of_another_length_is_refused(store: Store, ranker: str) -> None:
    """There must be one shipped weight per feature name."""
    with pytest.raises(ShapeError, match=r"theta0 must be \[4\], not \[3\]"):
        learner(store, theta0=np.zeros(3), ranker=ranker)


def taught(store: Store, learned: list[float], **changes: object) -> Learner:
    """A linear learner that has learned these points on top of the shipped ones."""
    device = learner(store, **changes)
    device._save(replace(device.model, theta=THETA0 + learned), NOW)
    return device


def test_scores_by_hand(store: Store) -> None:
    """r = 2, 0, 1, 7: less their median 1.5, cut at 2.5 / 2 to both sides, times the strength, on top of theta0 . x."""
    features = np.array([[0.5, 0, 1, 0], [0, 0.5, 0, 0], [0, 0, 0.5, 0], [0, 0, 0.5, 1.0]])
    device = taught(store, [0.0, 0.0, 2.0, 6.0], bound=2.5, strength=0.5)
    moved = [2 - 1.5, -2.5 / 2, 1 - 1.5, 2.5 / 2]
    shipped = [3 * 0.5 + 0.5 * 1, 2 * 0.5, 0.5 * 0.5, 0.5 * 0.5 - 0.5]
    assert device.scores(features).tolist() == pytest.approx([s + 0.5 * m for s, m in zip(shipped, moved, strict=True)])
    assert device.scores(features[:0]).shape == (0,)


def test_learned_points_say_how_a_document_differs_from_the_middle_one(store: Store) -> None:
    """r = 0, 1, 4, 6: the third differs from the mean of the middle two by hand; at the bound both parts shrink."""
    features = np.array([[0, 0, 0, 0.0], [0, 0, 0.5, 0], [0, 0, 0.5, 0.5], [0, 0, 0, 1.0]])
    device = taught(store, [0.0, 0.0, 2.0, 6.0], bound=100.0, strength=0.5)
    against = [np.array([0, 0, 2 * (0.5 - 0.5), 6 * (0.5 - 0.0)]), np.array([0, 0, 0, 0])]
    prior, learned = (points[2] for points in device.contributions(features))
    assert prior.tolist() == pytest.approx([0, 0, 0.5 * 0.5, -0.5 * 0.5])
    assert learned.tolist() == pytest.approx((0.5 * (against[0] + against[1]) / 2).tolist())
    first = device.contributions(features)[1][0]
    assert first.tolist() == pytest.approx([0, 0, 0.5 * -2 * 0.5, 0.5 * -6 * 0.5 / 2])
    narrow = taught(store, [0.0, 0.0, 2.0, 6.0], bound=1.0, strength=0.5)
    free = -2 * 0.5 - 6 * 0.5 / 2
    assert narrow.contributions(features)[1][0].tolist() == pytest.approx([v / free * -0.25 for v in (0, 0, -1, -1.5)])


def test_the_middle_of_an_odd_number_is_one_document(store: Store) -> None:
    """Of three documents the middle one has no learned points, and the others are told apart from it."""
    features = np.array([[0, 0, 1, 0.0], [0, 0, 0, 0.0], [0, 0, 0, 0.5]])
    device = taught(store, [0.0, 0.0, 2.0, 2.0], bound=100.0)
    assert device.contributions(features)[1][2].tolist() == [0.0] * 4
    assert device.contributions(features)[1][0].tolist() == pytest.approx([0, 0, 2, -1])
    assert device.contributions(features)[1][1].tolist() == pytest.approx([0, 0, 0, -1])


def test_what_a_lesson_leaves_behind(store: Store) -> None:
    """Theta, one page more, its picks, the time, and the page itself: of these no more than the settings allow."""
    device = learner(store, max_interactions=2)
    for n in range(1, 4):
        lesson = device.learn(pages(1)[0], [4, 2, 0, 1], [False, True, True, False], now=NOW + n)
        assert (lesson or "").startswith("learned from 2 picks: ")
        assert (device.model.n_pages, device.model.n_picks, device.model.updated) == (n, 2 * n, NOW + n)
    assert store.count_interactions() == 2


def test_without_a_time_it_is_now(store: Store) -> None:
    """A lesson, a session and a day of learning that are given no time take the clock's."""
    device, before = learner(store, exploration=0.5), time.time()
    device.order(pages(1)[0], range(20), k=10)
    device.learn(pages(1)[0], [0, 1], [False, True])
    assert before <= device.model.updated <= time.time()
    assert device.days() == (date.fromtimestamp(device.model.updated),)
    assert device.days(now=time.time() + 60 * DAY) == ()
    session = store.value("session")
    device.order(pages(1)[0], range(20), k=10)
    assert store.value("session") == session is not None
    device.reset()
    assert device.model.theta.tolist() == THETA0.tolist()


def test_pages_are_rehearsed_as_they_were_learned(store: Store) -> None:
    """Each page is scored by what those before it taught: the same numbers as of a device that learns them in turn."""
    rng, history = np.random.default_rng(3), []
    for features in pages(6):
        clicks = rng.random(10) < 0.2
        history.append(Interaction(features, rng.permutation(20)[:10], clicks))
    rehearsed = list(learner(store, learning_rate=1.0).rehearsed(history))
    assert store.count_interactions() == 0
    device = learner(store, learning_rate=1.0)
    for page, scores in zip(history, rehearsed, strict=True):
        np.testing.assert_allclose(scores, device.scores(page.features), atol=1e-12)
        device.learn(page.features, page.ranking, page.clicks, now=NOW)
    assert np.abs(rehearsed[-1] - history[-1].features @ THETA0).max() > 0.01


def test_a_lesson_names_the_two_features_that_gained_most(store: Store) -> None:
    """Three features speak for the opened result: the two that differ most are named, the strongest first."""
    device = learner(store, names=("title", "body", "changed_this_week", "folder"))
    features = np.array([[0.5, 0.5, 0.0, 0.1], [0.6, 0.4, 0.9, 0.4]])
    lesson = device.learn(features, [0, 1], [False, True], now=NOW)
    assert lesson == "learned from 1 pick: more weight on changed this week, folder"


def test_a_lesson_names_no_feature_that_never_learns(store: Store) -> None:
    """What the learned part does not see is not said to have gained, and gains nothing."""
    device = learner(store)
    device.pace = Pace(np.array([1.0, 1.0, 0.0, 1.0]))
    features = np.array([[0.5, 0.5, 0.0, 0.1], [0.5, 0.5, 0.9, 0.4]])
    lesson = device.learn(features, [0, 1], [False, True], now=NOW)
    assert lesson == "learned from 1 pick: more weight on folder"
    assert device.model.theta[2] == THETA0[2]
    assert device.model.theta[3] > THETA0[3]
    moved = device.scores(features) - features @ THETA0
    features[:, 2] = [1.0, 0.0]
    np.testing.assert_allclose(device.scores(features) - features @ THETA0, moved, atol=1e-15)


def test_a_pair_that_is_learned_to_the_bound_teaches_nothing(store: Store) -> None:
    """At a learned difference of the whole bound no preference moves theta any more; a hair below it one does."""
    features = np.array([[1.0, 0, 0, 0], [0, 0, 1.0, 0]])
    at = taught(store, [0.0, 0.0, 1.5, 0.0], bound=1.5, exploration=0.3)
    lesson = at.learn(features, [0, 1], [False, True], now=NOW)
    assert lesson == "learned from 1 pick: nothing new"
    assert at.model.theta.tolist() == (THETA0 + np.array([0, 0, 1.5, 0])).tolist()
    below = taught(store, [0.0, 0.0, 1.499, 0.0], bound=1.5)
    before = below.model.theta
    assert below.learn(features, [0, 1], [False, True], now=NOW) is not None
    assert (below.model.theta != before).any()


@pytest.mark.parametrize(("exploration", "temperature"), [(0.0, 1.0), (0.999e-3, 1.0), (1e-3, 1e-3), (2.0, 2.0)])
def test_without_exploration_lessons_have_temperature_one(store: Store, exploration: float, temperature: float) -> None:
    """From .001 on the gradient's temperature is that of exploration, below it 1, as if nothing explored."""
    device = learner(store, exploration=exploration, bound=100.0)
    page = Interaction(np.array([[0.1, 0, 0, 0], [0.1, 0, 1e-3, 0]]), [0, 1], [False, True])
    device.learn(page.features, page.ranking, page.clicks, now=NOW)
    expected = THETA0 + 0.1 * gradient(Linear(4), THETA0, page, temperature=temperature)
    np.testing.assert_allclose(device.model.theta, expected, rtol=1e-12)


def test_no_lesson_makes_a_model_that_cannot_be_read(store: Store) -> None:
    """Weights end at a million to both sides, however long the step: the next start finds them."""
    device = learner(store, bound=100.0, learning_rate=1e9)
    device.learn([[0, 0, 0, 0], [0, 0, 1, -1]], [0, 1], [False, True], now=NOW)
    assert learner(store).model.theta.tolist() == [*THETA0[:2], 1e6, -1e6]


def test_a_net_starts_alike_on_every_start(store: Store, tmp_path: Path) -> None:
    """A new device and one that was reset begin with the same theta, also from what the linear ranker learned."""
    device = learner(store, ranker="neural")
    fresh = device.model.theta.tolist()
    prefer_recent(device, 2)
    assert device.model.theta.tolist() != fresh
    device.reset(now=NOW)
    assert device.model.theta.tolist() == fresh
    with Store(tmp_path / "other.sqlite") as elsewhere:
        prefer_recent(learner(elsewhere), 2)
        first = learner(elsewhere, ranker="neural").model.theta.tolist()
        assert learner(elsewhere, ranker="neural").model.theta.tolist() == first != fresh
