"""Whether a common ranker is adopted, and how it is blended with the personal one."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from pathlib import Path

import numpy as np
import pytest

from app.federation import group_ranker
from app.federation.adoption import (
    ALPHAS,
    FEWEST_PAGES,
    N_FLIPS,
    chosen_alpha,
    consider,
    judge,
    learner_of,
    utility,
    worse_p_value,
)
from app.federation.group_ranker import CommonRanker
from app.learning.blend import Blend
from app.learning.learner import Learner, theta_prior
from app.learning.pace import Pace
from app.settings import LearningSettings, Settings
from app.store import Store
from foltr.federated.wire import ModelRecord, Terms, encode_vector
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear, Neural
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from tests.app.federation.groups import Person, pages

FloatVector = np.ndarray[tuple[int], np.dtype[np.float64]]
Make = Callable[..., Person]


TERMS = Terms(
    group_id="g", method="fpdgd", settings={}, ranker="linear", n_features=len(NAMES), n_params=len(NAMES),
    manifest_hash=MANIFEST_HASH, n_local=50, n_unlearn=5, floor=1,
)  # fmt: skip


def model(theta: FloatVector, *, lineage: int = 1, number: int = 1) -> ModelRecord:
    return ModelRecord(
        group_id="g", lineage=lineage, round=number, method="fpdgd", ranker="linear", manifest_hash=MANIFEST_HASH,
        theta=encode_vector(theta),
    )  # fmt: skip


def lover_of(feature: str) -> FloatVector:
    """A ranker that orders by one feature alone."""
    theta = np.zeros(len(NAMES))
    theta[NAMES.index(feature)] = 1.0
    return theta


def device_learner(store: Store, *, common: Callable[[], Blend | None] | None) -> Learner:
    return Learner(
        store, theta0=theta_prior(), feature_names=NAMES, manifest_hash=MANIFEST_HASH, settings=LearningSettings(),
        pace=Pace.shipped(NAMES), common=common,
    )  # fmt: skip


def test_utility_by_hand() -> None:
    """Shown second, ranked third now: 2 / log2(4); shown twelfth, ranked first: the clipped 10 / log2(2)."""
    clicks = np.zeros(12, dtype=bool)
    clicks[[1, 11]] = True
    page = Interaction(np.zeros((12, 1)), np.arange(12), clicks)
    scores = np.zeros(12)
    scores[[11, 0, 1]] = 3.0, 2.0, 1.0
    assert utility(page, scores) == pytest.approx(2 / log2(1 + 3) + 10 / log2(1 + 1))


def test_the_p_value_counts_flips() -> None:
    """A lone difference has either sign alike; twenty equal losses have nearly never all the same sign."""
    assert worse_p_value(np.array([-1.0])) == pytest.approx(0.5, abs=0.05)
    assert worse_p_value(np.full(20, -1.0)) == 1 / (1 + N_FLIPS)
    assert worse_p_value(np.full(20, 1.0)) == 1.0
    assert worse_p_value(np.zeros(20)) == 1.0


def test_the_p_value_is_honest() -> None:
    """Of rankers that are no worse, about 5 % are rejected at 5 %."""
    rng = np.random.default_rng(1)
    rejected = np.mean([worse_p_value(rng.standard_normal(30)) < 0.05 for _ in range(300)])
    assert 0.02 <= rejected <= 0.09


def test_few_pages_adopt_anything() -> None:
    """With fewer pages than the test needs, the group's ranker is adopted if it is trusted."""
    seen = pages(FEWEST_PAGES - 1)
    scores = [np.zeros(12)] * len(seen)
    verdict = judge(seen, scores, scores)
    assert verdict.adopt
    assert "only 19 of your pages" in verdict.sentence
    assert not judge(seen, scores, scores, trusted=False).adopt


def test_a_worse_ranker_is_not_adopted_and_a_better_one_is(make_person: Make) -> None:
    """A user of recent files keeps a ranker of recency against one of its opposite, and the other way round adopts."""
    person = make_person()
    person.see_pages(60, feature="recent_week")
    good, bad = model(lover_of("recent_week")), model(-lover_of("recent_week"), number=2)
    assert consider(person.store, person.settings, TERMS, good, now=1).startswith("adopted")
    assert "would serve you worse" in consider(person.store, person.settings, TERMS, bad, now=2)
    adopted = group_ranker.load(person.store)
    assert adopted is not None
    assert adopted.record == good


def test_a_refused_ranker_leaves_the_device_its_own(make_person: Make) -> None:
    """A first common ranker that serves badly is not adopted: there is none, and it is not tested twice."""
    person = make_person()
    person.see_pages(60, feature="bm25f")
    bad = model(-lover_of("bm25f"))
    assert "kept the present ranker" in consider(person.store, person.settings, TERMS, bad, now=1)
    assert group_ranker.load(person.store) is None
    assert consider(person.store, person.settings, TERMS, bad, now=2) == ""
    assert CommonRanker(person.store).blend() is None


def test_alpha_prefers_whichever_serves() -> None:
    """Pages that one ranker explains and the other reverses choose that ranker alone."""
    seen = pages(40, feature="recent_week")
    right = [page.features[:, NAMES.index("recent_week")] for page in seen]
    wrong = [-10.0 * scores for scores in right]
    assert chosen_alpha(seen, right, wrong) == 0.0
    assert chosen_alpha(seen, wrong, right) == 1.0
    assert chosen_alpha(seen, right, right) == 0.0
    assert chosen_alpha([], [], []) == 0.0
    assert chosen_alpha(seen[:3], wrong[:3], right[:3]) == 0.5
    assert {0.0, 1.0} <= set(ALPHAS)


def test_the_blend_by_hand() -> None:
    """alpha = 1/4: three quarters of theta . x and one quarter of the personal score; 0 and 1 are either alone."""
    x, personal = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([8.0, 4.0])
    theta = np.array([3.0, 0.5])
    blend = Blend(Linear(2), theta, 0.25)
    np.testing.assert_allclose(blend.scores(x, personal), [0.75 * 4 + 2, 0.75 * 0.5 + 1])
    np.testing.assert_array_equal(Blend(Linear(2), theta, 0.0).scores(x, personal), x @ theta)
    assert Blend(Linear(2), theta, 1.0).scores(x, personal) is personal


def test_without_a_group_nothing_changes_bit_for_bit(tmp_path: Path) -> None:
    """A learner that could have a group and has none gives the very same scores, orders and lessons."""
    learners = []
    for name in ("alone", "could"):
        store = Store(tmp_path / name / "state.sqlite")
        learners.append(device_learner(store, common=CommonRanker(store).blend if name == "could" else None))
    for page in pages(20):
        one, other = (learner.scores(page.features) for learner in learners)
        assert one.tobytes() == other.tobytes()
        for learner in learners:
            learner.learn(page.features, page.ranking, page.clicks, now=1.0)
    assert learners[0].model.theta.tobytes() == learners[1].model.theta.tobytes()


def test_a_running_search_sees_what_another_process_adopts(tmp_path: Path) -> None:
    """Scores change with the next query after an adoption, and back after leaving."""
    store, other = Store(tmp_path / "state.sqlite"), Store(tmp_path / "state.sqlite")
    learner, features = device_learner(store, common=CommonRanker(store).blend), pages(1)[0].features
    before = learner.scores(features)
    theta = lover_of("size")
    group_ranker.save(other, model(theta), alpha=0.0, now=1)
    np.testing.assert_array_equal(learner.scores(features), features @ theta)
    group_ranker.erase(other)
    np.testing.assert_array_equal(learner.scores(features), before)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_contributions_add_up_to_the_blended_score(tmp_path: Path, alpha: float) -> None:
    """In a group too, the points of all features together are the score."""
    store = Store(tmp_path / "state.sqlite")
    learner = device_learner(store, common=CommonRanker(store).blend)
    for page in pages(10):
        learner.learn(page.features, page.ranking, page.clicks, now=1.0)
    group_ranker.save(store, model(lover_of("size") * 3), alpha=alpha, now=1)
    features = pages(1, seed=3)[0].features
    prior, learned = learner.contributions(features, 4)
    assert prior.sum() + learned.sum() == pytest.approx(learner.scores(features)[4])


def test_a_neural_common_ranker_explains_all_but_a_constant() -> None:
    """The contributions of two documents differ by as much as their scores do."""
    rng = np.random.default_rng(0)
    ranker = Neural(5)
    theta = ranker.initial(rng) + 0.1
    blend, x = Blend(ranker, theta, 0.0), rng.random((2, 5))
    told = [sum(part.sum() for part in blend.contributions(row, np.zeros(5), np.zeros(5))) for row in x]
    scores = blend.scores(x, np.zeros(2))
    assert told[0] - told[1] == pytest.approx(scores[0] - scores[1])


def test_the_rehearsal_scores_each_page_before_it_is_learned(tmp_path: Path) -> None:
    """Page n's rehearsed scores are those of a device that has learned pages 1 to n - 1 and no more."""
    store = Store(tmp_path / "state.sqlite")
    learner, seen = device_learner(store, common=None), pages(15)
    for page, rehearsed in zip(seen, learner_of(store, Settings()).rehearsed(seen), strict=True):
        np.testing.assert_allclose(learner.scores(page.features), rehearsed, atol=1e-12)
        learner.learn(page.features, page.ranking, page.clicks, scores=rehearsed, now=1.0)


def test_learning_switched_off_ranks_by_the_shipped_ranker(tmp_path: Path) -> None:
    """With learning.enabled = false the group's ranker has no say either."""
    store = Store(tmp_path / "state.sqlite")
    group_ranker.save(store, model(lover_of("size")), alpha=0.0, now=1)
    learner = Learner(
        store, theta0=theta_prior(), feature_names=NAMES, manifest_hash=MANIFEST_HASH,
        settings=LearningSettings(enabled=False), common=CommonRanker(store).blend,
    )  # fmt: skip
    features = pages(1)[0].features
    np.testing.assert_array_equal(learner.scores(features), features @ theta_prior())
