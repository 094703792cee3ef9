"""How the common and the personal ranker share in a score."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.federation import group_ranker
from app.federation.group_ranker import CommonRanker
from app.learning.blend import Blend
from app.store import Store
from foltr.ranking.rankers import Linear, Neural
from tests.app.federation.groups import pages
from tests.app.federation.rankers import device_learner, lover_of, model


def test_the_blend_by_hand() -> None:
    """alpha = 1/4: three quarters of theta . x and one quarter of the personal score; 0 and 1 are either alone."""
    x, personal = np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([8.0, 4.0])
    theta = np.array([3.0, 0.5])
    blend = Blend(Linear(2), theta, 0.25)
    np.testing.assert_allclose(blend.scores(x, personal), [0.75 * 4 + 2, 0.75 * 0.5 + 1])
    np.testing.assert_array_equal(Blend(Linear(2), theta, 0.0).scores(x, personal), x @ theta)
    assert Blend(Linear(2), theta, 1.0).scores(x, personal) is personal


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0])
def test_contributions_add_up_to_the_blended_score(tmp_path: Path, alpha: float) -> None:
    """In a group too, the points of all features together are the score."""
    store = Store(tmp_path / "state.sqlite")
    learner = device_learner(store, common=CommonRanker(store).blend)
    for page in pages(10):
        learner.learn(page.features, page.ranking, page.clicks, now=1.0)
    group_ranker.save(store, model(lover_of("size") * 3), alpha=alpha, now=1)
    features = pages(1, seed=3)[0].features
    prior, learned = (points[4] for points in learner.contributions(features))
    assert prior.sum() + learned.sum() == pytest.approx(learner.scores(features)[4])


def test_a_neural_common_ranker_explains_all_but_a_constant() -> None:
    """The contributions of two documents differ by as much as their scores do."""
    rng = np.random.default_rng(0)
    ranker = Neural(5)
    theta = ranker.initial(rng) + 0.1
    blend, x = Blend(ranker, theta, 0.0), rng.random((2, 5))
    told = sum(part.sum(axis=1) for part in blend.contributions(x, np.zeros_like(x), np.zeros_like(x)))
    scores = blend.scores(x, np.zeros(2))
    assert told[0] - told[1] == pytest.approx(scores[0] - scores[1])
