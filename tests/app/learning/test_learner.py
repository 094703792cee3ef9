from __future__ import annotations

import time
from datetime import date
from math import exp, log

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from app.learning import model_versions
from app.learning.learner import Learner
from app.learning.prior import LearningRates
from app.learning.traits import SLOPE
from app.learning.votes import TEMPERATURE, Vote, Votes
from app.store import Store
from foltr.errors import ShapeError
from foltr.online.pdgd import document_weights, gradient, preference_pairs
from foltr.ranking.interaction import Interaction
from tests.app.learning.learners import DAY, NOW, THETA0, learner, pages, prefer_recent


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


def test_one_lesson_of_the_net_is_the_published_step(store: Store) -> None:
    """Within the bound, learning is exactly PDGD's update from where the net began."""
    device, features = learner(store, bound=100.0, ranker="neural"), pages(1)[0]
    clicks, net = [False, True, False, True, False], device.model
    device.learn(features, [4, 2, 0, 1, 3], clicks, now=NOW)
    step = gradient(net.ranker, net.theta, Interaction(features, [4, 2, 0, 1, 3], clicks))
    np.testing.assert_allclose(device.model.theta, net.theta + 0.1 * step, atol=1e-12)


def test_the_temperature_of_the_gradient_is_that_of_the_sampling(store: Store) -> None:
    """With exploration at 0.3 the net's step is PDGD's at temperature 0.3, at the scores that were shown."""
    device, features = learner(store, bound=100.0, exploration=0.3, ranker="neural"), pages(1)[0]
    shown, page, net = np.linspace(1, 0, 20), Interaction(features, [4, 2, 0], [False, True, False]), device.model
    device.learn(features, page.ranking, page.clicks, scores=shown, now=NOW)
    wanted = document_weights(preference_pairs(shown, page, temperature=0.3), page.n_docs)
    expected = net.theta + 0.1 * net.ranker.weighted_gradient(net.theta, page.features, wanted)
    np.testing.assert_allclose(device.model.theta, expected, atol=1e-12)


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
    """Two documents whose prior scores differ by more than the bound never swap, whatever was learned."""
    device = learner(store, strength=strength, bound=bound, ranker=ranker)
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-size, size, device.model.ranker.n_params)
    votes = liking(pdf=min(size, 9) * rng.random(), new=min(size, 9) * rng.uniform(-1, 1))
    device._save(replace(device.model, theta=theta, votes=votes), NOW)
    features, marks = rng.random((n_docs, 4)), [("pdf",) if rng.random() < 0.5 else ("html",) for _ in range(n_docs)]
    prior, scores = features @ THETA0, device.scores(features, marks)
    assert np.isfinite(scores).all()
    apart = prior[:, None] - prior > (strength if ranker == "neural" else 1.0) * bound + 1e-9
    assert (scores[:, None] > scores)[apart].all()


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_a_document_off_topic_cannot_be_clicked_to_the_top(store: Store, ranker: str) -> None:
    """500 clicks on a document that matches nothing leave it below one that matches better by the bound."""
    device = learner(store, bound=1.0, learning_rate=1.0, ranker=ranker)
    features = np.array([[1.0, 1.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])
    for _ in range(500):
        device.learn(features, [0, 1, 2], [False, False, True], now=NOW)
    assert device.order(features, range(3), k=3).tolist() == [0, 1, 2]


def test_what_was_overlearned_is_unlearned_as_fast(store: Store) -> None:
    """The net stops where scores stop: after 500 clicks one way, 30 the other way turn the order."""
    device = learner(store, bound=1.0, learning_rate=0.5, theta0=np.zeros(4), ranker="neural")
    features = np.array([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    for _ in range(500):
        device.learn(features, [1, 0], [False, True], now=NOW)
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
    assert model_versions.load(store, "linear") is None


def test_a_lesson_says_what_was_learned(store: Store) -> None:
    """The sentence counts the picks and names the habits that it confirms; without one it says so."""
    device = learner(store)
    features, marks = np.full((5, 4), 0.5), [("html",)] * 4 + [("pdf",)]
    said = [
        device.learn(features, range(5), np.arange(5) == 4, query=b"%d" % i, marks=marks, now=NOW + (i % 3) * DAY)
        for i in range(9)
    ]
    assert said[0] == "learned from 1 pick: no habit yet"
    assert said[-1] == "learned from 1 pick: you often open PDFs"
    assert device.learn(features, range(5), np.arange(5) < 2, query=b"x", marks=marks, now=NOW) == (
        "learned from 2 picks: no habit yet"
    )
    day = learner(store)
    day.reset(now=NOW)
    for i in range(9):
        said = [day.learn(features, range(5), np.arange(5) == 4, query=b"%d" % i, marks=marks, now=NOW)]
    assert said == ["learned from 1 pick: you like to open PDFs"]


@pytest.mark.parametrize("ranker", ["linear", "neural"])
@pytest.mark.parametrize("n_docs", [1, 2, 7, 20])
def test_contributions_add_up_to_the_score(store: Store, ranker: str, n_docs: int) -> None:
    """Prior points are theta0 * x; prior and learned points together are the score, also at the bound."""
    device = learner(store, ranker=ranker, bound=0.3, learning_rate=1.0, strength=0.7)
    prefer_recent(device, 30)
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


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_learning_survives_a_restart_and_is_shared(store: Store, ranker: str) -> None:
    """A new object, and one that was open all along in another process, see the same model at once."""
    with Store(store.path) as elsewhere:
        other = learner(elsewhere, ranker=ranker)
        before = model_versions.to_record(other.model)
        device = learner(store, ranker=ranker)
        prefer_recent(device, 3)
        assert model_versions.to_record(other.model) == model_versions.to_record(device.model) != before
        prefer_recent(other, 2)
        assert device.model.n_pages == 5
        assert model_versions.to_record(learner(store, ranker=ranker).model) == model_versions.to_record(other.model)


def test_learning_survives_a_new_prior(store: Store) -> None:
    """When a new version ships other weights, scores move by them; the net keeps what it learned, habits stay."""
    prefer_recent(learner(store, ranker="neural"), 10)
    prefer_recent(learner(store), 30)
    features, other = pages(1)[0], np.array([1.0, 5.0, 0.0, 0.0])
    np.testing.assert_allclose(
        learner(store, theta0=other, ranker="neural").scores(features) - features @ other,
        learner(store, ranker="neural").scores(features) - features @ THETA0,
        atol=1e-12,
    )
    assert learner(store, theta0=other).habits.liking == learner(store).habits.liking != {}


def test_each_ranker_keeps_what_it_learned(store: Store) -> None:
    """The net starts from the shipped weights; switching back finds the habits as they were."""
    prefer_recent(learner(store), 30)
    features = pages(1)[0]
    before, neural = learner(store).scores(features), learner(store, ranker="neural")
    np.testing.assert_allclose(neural.scores(features), features @ THETA0, atol=1e-12)
    prefer_recent(neural, 3)
    assert learner(store).scores(features).tolist() == before.tolist() != (features @ THETA0).tolist()


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_a_prior_of_another_length_is_refused(store: Store, ranker: str) -> None:
    """There must be one shipped weight per feature name."""
    with pytest.raises(ShapeError, match=r"theta0 must be \[4\], not \[3\]"):
        learner(store, theta0=np.zeros(3), ranker=ranker)


def liking(**wanted: float) -> Votes:
    """Votes for which z is so large that nearly all of r / v is left: these likings."""
    n = 1e5
    said = Vote(b"", 0, {name: (own * n / TEMPERATURE, n) for name, own in wanted.items()})
    return Votes((said, said))


def taught(store: Store, votes: Votes, **changes: object) -> Learner:
    """A learner that has these habits."""
    device = learner(store, **changes)
    device._save(replace(device.model, votes=votes), NOW)
    return device


def test_scores_by_hand(store: Store) -> None:
    """ln sigma(SLOPE (t - best t)) rises by the strength times (1 - 1/4)^2 of the liking."""
    features = np.array([[1.0, 0, 0, 0], [0, 0.5, 0, 0], [0.5, 0, 0, 0], [0.2, 0, 0, 0]])
    marks = [("html",), ("html",), ("pdf",), ("html",)]
    device = taught(store, liking(pdf=0.8), bound=100.0, strength=0.5)
    scores = device.scores(features, marks)
    assert scores[[0, 1, 3]].tolist() == (features @ THETA0)[[0, 1, 3]].tolist()
    u = -log(1 + exp(-SLOPE * (1.5 - 3))) + 0.5 * device.habits.liking["pdf"] * (3 / 4) ** 2
    assert device.habits.liking["pdf"] == pytest.approx(0.8, rel=1e-3)
    assert scores[2] == pytest.approx(3 - log(exp(-u) - 1) / SLOPE, rel=1e-6)
    assert device.scores(features[:0]).shape == (0,)


def test_what_remembers_picks_is_no_text(store: Store) -> None:
    """A document that was picked rises by its picks' weight, not by more because a habit sees more text in it."""
    device = taught(store, liking(pdf=0.8), names=("title", "same_query"), theta0=np.array([3.0, 10.0]), bound=100.0)
    marks, plain = [("pdf",), ("html",)], np.array([[1.0, 0.0], [1.0, 0.0]])
    picked = np.array([[1.0, 0.5], [1.0, 0.0]])
    assert (device.scores(picked, marks) - device.scores(plain, marks)).tolist() == pytest.approx([5.0, 0.0])


def test_one_opening_moves_nothing_else(store: Store) -> None:
    """After one query, however often it is asked, every page is as it was shipped."""
    device, marks = learner(store), [("html",)] * 19 + [("pdf",)]
    for _ in range(20):
        device.learn(pages(1)[0], range(20), np.arange(20) == 19, query=b"q", marks=marks, now=NOW)
    for features in pages(30):
        np.testing.assert_array_equal(device.scores(features, marks), features @ THETA0)


def test_points_stand_under_the_feature_of_their_trait(store: Store) -> None:
    """What newer files gain is told under `recent_year`, what a folder gains under `folder_share`."""
    votes = liking(**{"new": 0.5, "folder a": 0.6})
    device = taught(store, votes, bound=100.0)
    features = np.array([[0.9, 0, 0, 0], [0.5, 0, 1.0, 0], [0.8, 0, 0.0, 0]])
    learned = device.contributions(features, [("pdf",), ("pdf",), ("pdf", "folder a")])[1]
    assert (learned != 0).tolist() == [[False] * 4, [False, False, True, False], [False, False, False, True]]


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


@pytest.mark.parametrize("ranker", ["linear", "neural"])
def test_pages_are_rehearsed_as_they_were_learned(store: Store, ranker: str) -> None:
    """Each page is scored by what those before it taught: the same numbers as of a device that learns them in turn."""
    rng, history, marks = np.random.default_rng(3), [], []
    for features in pages(20):
        shown, kinds = rng.permutation(20)[:10], rng.integers(0, 3, 20)
        history.append(Interaction(features, shown, (kinds[shown] == 0) & (rng.random(10) < 0.9)))
        marks.append([(("pdf", "html", "text")[kind],) for kind in kinds])
    queries = [b"q%d" % (i % 15) for i in range(20)]
    rehearsed = list(learner(store, learning_rate=1.0, ranker=ranker).rehearsed(history, queries, marks))
    assert store.count_interactions() == 0
    device = learner(store, learning_rate=1.0, ranker=ranker)
    for page, query, own, scores in zip(history, queries, marks, rehearsed, strict=True):
        np.testing.assert_allclose(scores, device.scores(page.features, own), atol=1e-12)
        device.learn(page.features, page.ranking, page.clicks, query=query, marks=own, now=NOW)
    assert np.abs(rehearsed[-1] - history[-1].features @ THETA0).max() > 0.01


def test_the_net_sees_no_feature_that_never_learns(store: Store) -> None:
    """What the learned part does not see gains nothing and moves nothing."""
    device = learner(store, ranker="neural")
    device.rates = LearningRates(np.array([1.0, 1.0, 0.0, 1.0]))
    features = np.array([[0.5, 0.5, 0.0, 0.1], [0.5, 0.5, 0.9, 0.4]])
    device.learn(features, [0, 1], [False, True], now=NOW)
    moved = device.scores(features) - features @ THETA0
    assert moved[1] > moved[0]
    features[:, 2] = [1.0, 0.0]
    np.testing.assert_allclose(device.scores(features) - features @ THETA0, moved, atol=1e-12)


@pytest.mark.parametrize(("exploration", "temperature"), [(0.0, 1.0), (0.999e-3, 1.0), (1e-3, 1e-3), (2.0, 2.0)])
def test_without_exploration_lessons_have_temperature_one(store: Store, exploration: float, temperature: float) -> None:
    """From .001 on the net's temperature is that of exploration, below it 1, as if nothing explored."""
    device = learner(store, exploration=exploration, bound=100.0, ranker="neural")
    page, net = Interaction(np.array([[0.1, 0, 0, 0], [0.1, 0, 1e-3, 0]]), [0, 1], [False, True]), device.model
    device.learn(page.features, page.ranking, page.clicks, now=NOW)
    expected = net.theta + 0.1 * gradient(net.ranker, net.theta, page, temperature=temperature)
    np.testing.assert_allclose(device.model.theta, expected, rtol=1e-9)


def test_no_lesson_makes_a_model_that_cannot_be_read(store: Store) -> None:
    """Weights of the net end at a million to both sides, however long the step: the next start finds them."""
    device = learner(store, bound=100.0, learning_rate=1e9, ranker="neural")
    device.learn([[0, 0, 0, 0], [0, 0, 1, -1]], [0, 1], [False, True], now=NOW)
    assert np.abs(learner(store, ranker="neural").model.theta).max() == 1e6


def test_a_net_starts_alike_on_every_start(store: Store) -> None:
    """A new device and one that was reset begin with the same theta."""
    device = learner(store, ranker="neural")
    fresh = device.model.theta.tolist()
    prefer_recent(device, 2)
    assert device.model.theta.tolist() != fresh
    device.reset(now=NOW)
    assert device.model.theta.tolist() == fresh
