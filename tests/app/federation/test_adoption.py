"""Whether a common ranker is adopted, and with how large a share."""

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
from app.learning.learner import Learner, theta_prior
from app.settings import LearningSettings, Settings
from app.store import Store
from foltr.federated.wire import Terms
from foltr.ranking.interaction import Interaction
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from tests.app.federation.groups import Person, pages
from tests.app.federation.rankers import device_learner, lover_of, model

Make = Callable[..., Person]
TERMS = Terms(
    group_id="g", method="fpdgd", settings={}, ranker="linear", n_features=len(NAMES), n_params=len(NAMES),
    manifest_hash=MANIFEST_HASH, n_local=50, n_unlearn=5, floor=1,
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
