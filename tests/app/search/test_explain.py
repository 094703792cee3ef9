"""Why a result stands where it stands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.learning.learner import Learner, theta_prior
from app.search.page import LEAST, explanation
from app.search.results import Hit, ResultPage, SearchRequest
from app.settings import LearningSettings
from app.store import Store
from indexer.retrieval.features import MANIFEST_HASH, NAMES, USAGE_NAMES
from tests.columns import INDEX


@pytest.fixture
def learner(tmp_path: Path) -> Learner:
    settings = LearningSettings(exploration=0.0)
    return Learner(
        Store(tmp_path / "state.sqlite"), theta0=theta_prior(), feature_names=NAMES, manifest_hash=MANIFEST_HASH,
        settings=settings,
    )  # fmt: skip


def page_of(learner: Learner, features: np.ndarray, bm25_ranks: list[int]) -> ResultPage:
    scores = learner.scores(features)
    hits = tuple(
        Hit(i + 1, i, f"/{i}", "", "", "text", "", 0.0, 1, "", float(score), bm25_ranks[i])
        for i, score in enumerate(scores)
    )
    return ResultPage(SearchRequest("x"), hits, len(hits), len(hits), 0.0, features=features)


def some_features(n: int = 6) -> np.ndarray:
    features = np.random.default_rng(5).uniform(size=(n, len(NAMES)))
    features[:, [INDEX[name] for name in USAGE_NAMES]] = 0.0
    return features


def test_the_prior_alone_explains_a_new_device(learner: Learner) -> None:
    """Each contribution is weight times value, the largest first, and together they are the score."""
    features = some_features()
    page = page_of(learner, features, [1, 3, 2, 4, 5, 6])
    explained = explanation(learner, page, page.hits[0])
    weights = theta_prior()
    for part in explained.contributions:
        i = INDEX[part.feature]
        assert part.prior == pytest.approx(weights[i] * features[0, i])
        assert (part.learned, part.value) == (0.0, pytest.approx(features[0, i]))
    sizes = [abs(part.prior + part.learned) for part in explained.contributions]
    assert sizes == sorted(sizes, reverse=True)
    assert all(size >= LEAST for size in sizes)
    total = sum(part.prior for part in explained.contributions)
    assert total == pytest.approx(page.hits[0].score, abs=LEAST * len(NAMES))
    assert explained.summary == "Here at 1, as plain BM25 would have it."
    assert explanation(learner, page, page.hits[1]).summary == "Plain BM25 would put this at 3, here it is at 2."


def test_picks_and_learning_are_named_apart(learner: Learner) -> None:
    """What the user's picks did and what else was learned stand in the sentence as signed points."""
    features = some_features()
    features[:, INDEX["is_document"]] = np.arange(6) == 1
    features[1, INDEX["same_query"]] = 0.5
    for _ in range(20):
        learner.learn(features, np.arange(6), np.arange(6) == 1)
    page = page_of(learner, features, [1, 2, 3, 4, 5, 6])
    explained = explanation(learner, page, page.hits[1])
    from_picks = sum(c.prior + c.learned for c in explained.contributions if c.feature in USAGE_NAMES)
    learned = sum(c.learned for c in explained.contributions if c.feature not in USAGE_NAMES)
    assert from_picks > 0
    assert abs(learned) > LEAST
    assert explained.summary == (
        f"Here at 2, as plain BM25 would have it; your picks move it by {from_picks:+.2f} points; "
        f"what was learned moves it by {learned:+.2f}."
    )
    total = sum(c.prior + c.learned for c in explained.contributions)
    assert total == pytest.approx(explained.score, abs=LEAST * len(NAMES))


def test_a_feature_that_does_nothing_is_left_out(learner: Learner) -> None:
    """A result without any value has no contributions."""
    features = np.zeros((2, len(NAMES)))
    page = page_of(learner, features, [1, 2])
    assert explanation(learner, page, page.hits[0]).contributions == ()
