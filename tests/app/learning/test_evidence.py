"""What different queries agree on counts; what one of them says does not."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from app.learning import evidence
from app.learning.evidence import keep_steps, squares_after, steps_of
from app.learning.learner import Learner
from app.learning.models import PersonalModel
from app.learning.pace import Pace
from app.settings import LearningSettings
from app.store import Store
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear
from tests.app.learning.learners import DAY, NOW

NAMES = ("bm25f", "newer", "size")
KEEP, GATE = 0.9, 2.0


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state.sqlite")


def learner(store: Store, *, keep: float = KEEP, gate: float = GATE) -> Learner:
    return Learner(
        store, theta0=np.array([8.0, 0.0, 0.0]), feature_names=NAMES, manifest_hash="m",
        settings=LearningSettings(learning_rate=0.5, bound=1.0), pace=Pace(np.ones(3), keep=keep, gate=gate),
    )  # fmt: skip


OLD_FIRST = np.array([[0.5, 0.0, 0.0], [0.5, 1.0, 0.0]])


def open_newer(device: Learner, query: bytes) -> None:
    device.learn(OLD_FIRST, [0, 1], [False, True], query=query, now=NOW)


def open_older(device: Learner, query: bytes) -> None:
    device.learn(OLD_FIRST, [1, 0], [False, True], query=query, now=NOW)


def learned(model: PersonalModel) -> float:
    return float(model.theta[1])


def test_theta_and_squares_are_the_sums_over_queries(store: Store) -> None:
    """The brute-force twin: all steps kept with their query and their age, added up from the beginning each time."""
    device, lot = learner(store), np.random.default_rng(2)
    steps: list[tuple[bytes, np.ndarray]] = []
    for _ in range(30):
        query, page = bytes([65 + int(lot.integers(4))]), lot.random((8, 3))
        before = device.model.theta
        device.learn(page, lot.permutation(8), lot.random(8) < 0.3, query=query, now=NOW)
        if device.model.n_pages > len(steps):
            steps.append((query, device.model.theta - device.prior - KEEP * (before - device.prior)))
        if not steps:
            continue
        ages = KEEP ** np.arange(len(steps) - 1, -1, -1.0)
        faded = [(name, age * step) for age, (name, step) in zip(ages, steps, strict=True)]
        sums = [sum(step for other, step in faded if other == name) for name in {name for name, _ in faded}]
        np.testing.assert_allclose(device.model.theta - device.prior, sum(sums), atol=1e-9)
        np.testing.assert_allclose(device.model.squares, sum(own**2 for own in sums), atol=1e-6)
    assert len(steps) > 20


def test_one_query_never_counts_and_many_do(store: Store) -> None:
    """However often one query is answered alike, the weight in force is the shipped one; with others it counts."""
    device = learner(store, keep=1.0)
    for _ in range(3):
        open_newer(device, b"one")
    assert learned(device.model) > 0.1
    assert device.in_force.theta.tolist() == [8.0, 0.0, 0.0]
    for n in range(12):
        open_newer(device, b"other %d" % n)
    assert learned(device.in_force) == learned(device.model) > 0.1


def test_the_gate_by_hand() -> None:
    """Five queries of one step: 5 is more than 2 sqrt(5) and counts; four are not more than 2 sqrt(4); doubt adds."""
    model = PersonalModel(
        Linear(3), "m", NAMES, prior=np.zeros(3), theta=np.array([5.0, -5.0, 4.0]),
        squares=np.array([5.0, 5.0, 4.0]),
    )  # fmt: skip
    assert model.sure(gate=2.0, doubt=0.0).theta.tolist() == [5.0, -5.0, 0.0]
    assert model.sure(gate=2.0, doubt=1.2).theta.tolist() == [0.0, 0.0, 0.0]
    assert model.sure(gate=0.0, doubt=0.0).theta.tolist() == [5.0, -5.0, 4.0]


def test_squares_by_hand() -> None:
    """A query that had taught 2 and now teaches 3, all else 5 before one lesson at .5: .25 * 9 - 4 * .25 + 9."""
    after = squares_after(np.array([9.0]), np.array([1.0]), np.array([3.0]), keep=0.5)
    assert after.tolist() == [0.25 * 9 - 1 + 9]


def test_what_was_learned_before_evidence_was_kept_counts(store: Store) -> None:
    """A model without squares is trusted as it is, and doubted as lessons contradict it."""
    device = learner(store)
    device._save(replace(device.model, theta=np.array([8.0, 1.0, 0.0])), NOW)
    assert learned(device.in_force) == 1.0


def test_steps_survive_a_restart_and_end_with_the_model(store: Store) -> None:
    """Another process goes on where this one stopped; going back to another model begins every query anew."""
    open_newer(learner(store), b"one")
    with Store(store.path) as other:
        second = learner(other)
        taught = steps_of(other, second.model, b"one", keep=KEEP)
        assert taught[1] == pytest.approx(learned(second.model), rel=1e-6)
        second.reset(now=NOW + DAY)
        assert not steps_of(other, second.model, b"one", keep=KEEP).any()
        second.reset(date.fromtimestamp(NOW), now=NOW + DAY)
        assert learned(second.model) > 0
        assert second.model.squares[1] > 0


def test_squares_travel_with_a_file(store: Store, tmp_path: Path) -> None:
    """A model that is exported and read again is as sure and as unsure as it was."""
    device = learner(store)
    open_newer(device, b"one")
    device.export(tmp_path / "model.json")
    with Store(tmp_path / "other.sqlite") as elsewhere:
        other = learner(elsewhere)
        other.import_file(tmp_path / "model.json", now=NOW)
        assert other.model.squares.tolist() == device.model.squares.tolist()
        assert other.in_force.theta.tolist() == [8.0, 0.0, 0.0]


def test_only_the_newest_queries_are_kept(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the cap those whose last lesson is longest ago go, a tenth at a time; a query without a name is none."""
    monkeypatch.setattr(evidence, "MAX_QUERIES", 10)
    model = learner(store).model
    for n in range(11):
        keep_steps(store, replace(model, n_pages=n), b"%d" % n, np.ones(3))
    keep_steps(store, model, b"", np.ones(3))
    kept = {bytes(query) for (query,) in store.rows("SELECT query FROM query_steps")}
    assert kept == {b"%d" % n for n in range(2, 11)}


def test_who_prefers_older_says_so_often(store: Store) -> None:
    """Not after three queries and not where queries contradict each other; after many that agree, yes."""
    device = learner(store, keep=1.0)
    assert not device.prefers_older()
    for n in range(3):
        open_older(device, b"old %d" % n)
    assert not device.prefers_older()
    for n in range(40):
        open_older(device, b"old %d" % n)
    assert device.prefers_older()
    for n in range(60):
        open_newer(device, b"new %d" % n)
    assert not device.prefers_older()


def test_a_rehearsal_counts_a_querys_pages_as_one_voice(store: Store) -> None:
    """Given each page's query, rehearsed scores are those of a device that learned them under those queries."""
    device, lot, history = learner(store, keep=0.95), np.random.default_rng(5), []
    queries = [bytes([65 + int(lot.integers(3))]) if lot.random() < 0.8 else b"" for _ in range(40)]
    for query in queries:
        page = Interaction(lot.random((8, 3)), lot.permutation(8), lot.random(8) < 0.3)
        history.append((page, query, device.scores(page.features)))
        device.learn(page.features, page.ranking, page.clicks, query=query, now=NOW)
    clicked = [one for one in history if one[0].clicks.any()]
    again = device.rehearsed([page for page, _, _ in clicked], [query for _, query, _ in clicked])
    for (_, _, scores), rehearsed in zip(clicked, again, strict=True):
        np.testing.assert_allclose(rehearsed, scores, atol=1e-12)
    alone = device.rehearsed(page for page, _, _ in clicked)
    differences = [np.abs(one - scores).max() for one, (_, _, scores) in zip(alone, clicked, strict=True)]
    assert max(differences) > 1e-3
