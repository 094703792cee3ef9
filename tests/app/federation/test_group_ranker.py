"""The adopted ranker, as every process sees it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from app.federation import group_ranker
from app.federation.group_ranker import CommonRanker
from app.store import Store
from tests.app.federation.groups import pages
from tests.app.federation.rankers import device_learner, lover_of, model


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
    other.erase("group_ranker")
    np.testing.assert_array_equal(learner.scores(features), before)
