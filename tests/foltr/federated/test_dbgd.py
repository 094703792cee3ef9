"""Dueling Bandit Gradient Descent as four verbs: the duel that was shown is the duel that is learned from."""

from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ValueRangeError
from foltr.federated.dbgd import DBGD, DBGDLocal, directions, shared_page, update
from foltr.federated.method import Model
from foltr.federated.registry import make_method
from foltr.online.interleaving import FIRST, SECOND
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear, Neural

RNG = np.random.default_rng(0)
FEATURES = RNG.random((12, 3))
METHOD = DBGD(Linear(3), learning_rate=0.5)


def begun(seed: int = 0) -> DBGDLocal:
    return METHOD.begin(Model(np.array([1.0, 0.0, -1.0])), np.random.default_rng(seed))


@pytest.mark.parametrize("seed", range(10))
def test_learning_knows_who_placed_what(seed: int) -> None:
    """Clicks on the candidate's places alone move the ranker half the unit vector; all the others leave it."""
    local = begun(seed)
    shown = METHOD.rank(local, FEATURES, np.random.default_rng(99), k=6)
    direction, page = METHOD.duel(local, FEATURES, k=6)
    assert shown.tolist() == page.ranking.tolist()
    won = METHOD.learn(local, Interaction(FEATURES, shown, page.owner == SECOND))
    lost = METHOD.learn(local, Interaction(FEATURES, shown, page.owner != SECOND))
    assert won.theta == pytest.approx(local.theta + 0.5 * direction)
    assert lost.theta.tolist() == local.theta.tolist()


def test_every_page_is_another_duel() -> None:
    """After a page the next candidate points elsewhere; before it, the same page is shown again."""
    local = begun()
    shown = METHOD.rank(local, FEATURES, RNG, k=6)
    assert METHOD.rank(local, FEATURES, RNG, k=6).tolist() == shown.tolist()
    after = METHOD.learn(local, Interaction(FEATURES, shown, np.zeros(6, dtype=bool)))
    assert METHOD.duel(local, FEATURES, k=6)[0].tolist() != METHOD.duel(after, FEATURES, k=6)[0].tolist()


def test_fewer_documents_than_places() -> None:
    """A page of all there is, and no click on it, and no document at all."""
    for n_docs in (0, 1, 4):
        local, features = begun(), FEATURES[:n_docs]
        shown = METHOD.rank(local, features, RNG, k=10)
        assert sorted(shown.tolist()) == list(range(n_docs))
        assert METHOD.learn(local, Interaction(features, shown, np.zeros(n_docs, dtype=bool))).n_interactions == 1


def test_a_page_of_someone_else_teaches_nothing() -> None:
    """Nobody knows whose places those were."""
    local = begun()
    shown = METHOD.rank(local, FEATURES, RNG, k=6)[::-1]
    assert METHOD.learn(local, Interaction(FEATURES, shown, np.arange(6) < 3)).theta.tolist() == local.theta.tolist()


def test_ranking_leaves_the_users_luck_alone() -> None:
    """The coins are the device's own: `rank` draws nothing."""
    rng = np.random.default_rng(5)
    METHOD.rank(begun(), FEATURES, rng, k=6)
    assert rng.random() == np.random.default_rng(5).random()


def test_the_server_averages_by_pages_seen() -> None:
    """Three pages weigh three times as much as one; without messages only the round goes on."""
    one, two = METHOD.begin(Model(np.zeros(3)), RNG), METHOD.begin(Model(np.full(3, 4.0)), RNG)
    for _ in range(3):
        two = METHOD.learn(two, Interaction(FEATURES, [0], [False]))
    one = METHOD.learn(one, Interaction(FEATURES, [0], [False]))
    model = METHOD.aggregate(Model(np.ones(3)), [METHOD.report(local, RNG) for local in (one, two)])
    assert (model.theta.tolist(), model.round) == ([3.0] * 3, 1)
    assert METHOD.aggregate(model, []).round == 2


def test_it_is_made_by_name_for_any_ranker() -> None:
    """The registry's settings are the paper's two steps; steps that are not positive are refused."""
    assert make_method("dbgd", Neural(3, 4), {"step_size": 0.5}) == DBGD(Neural(3, 4), step_size=0.5)
    with pytest.raises(ValueRangeError, match="learning_rate"):
        DBGD(Linear(3), learning_rate=0.0)


DOCS = np.array([[3.0, 0.0], [2.0, 1.0], [1.0, 2.0], [0.0, 3.0]])


def test_a_duel_by_hand() -> None:
    """Two clicks on the candidate's places against one: a tenth of the way along its direction."""
    theta, direction = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    moved = update(theta, direction, owner=[FIRST, SECOND, SECOND], clicks=[True, True, True], learning_rate=0.1)
    assert moved == pytest.approx([1 + 0.1 * 0.6, 0.1 * 0.8])


@pytest.mark.parametrize("clicks", [[0, 0, 0], [1, 1, 0], [1, 0, 0]])
def test_a_tie_or_a_defeat_changes_nothing(clicks: list[int]) -> None:
    """No click, as many clicks for each, or more for the present ranker: it stays."""
    theta = np.array([1.0, 0.0])
    moved = update(theta, np.ones(2), owner=[FIRST, SECOND, FIRST], clicks=clicks, learning_rate=0.1)
    assert moved.tolist() == theta.tolist()


def test_the_two_rankers_take_turns_on_the_page() -> None:
    """Opposite rankings of four documents: each half of the page holds one place of either team, its best left."""
    for seed in range(8):
        page = shared_page(
            Linear(2), np.array([1.0, 0.0]), np.array([0.0, 1.0]), DOCS, k=4, coins=np.random.default_rng(seed)
        )
        rows = {FIRST: [0, 1], SECOND: [3, 2]}
        for turn in (0, 1):
            places = dict(zip(page.owner[2 * turn : 2 * turn + 2], page.ranking[2 * turn : 2 * turn + 2], strict=True))
            assert places == {FIRST: rows[FIRST][turn], SECOND: rows[SECOND][turn]}


def test_a_candidate_with_the_same_order_changes_no_page() -> None:
    """Twice the present theta ranks alike, so users see the present ranking."""
    theta = np.array([1.0, 0.2])
    page = shared_page(Linear(2), theta, 2 * theta, DOCS, k=3, coins=np.random.default_rng(0))
    assert page.ranking.tolist() == [0, 1, 2]


def test_directions_are_uniform_on_the_sphere() -> None:
    """All of length 1; over 20,000 of them each coordinate has mean 0 and mean square 1 / n_params."""
    drawn = directions(20_000, 5, np.random.default_rng(0))
    assert np.linalg.norm(drawn, axis=1) == pytest.approx(np.ones(20_000))
    assert np.abs(drawn.mean(axis=0)).max() < 4 / np.sqrt(5 * 20_000)
    assert (drawn**2).mean(axis=0) == pytest.approx(np.full(5, 1 / 5), abs=0.01)
