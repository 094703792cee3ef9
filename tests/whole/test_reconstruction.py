"""The click-reconstruction attack against the very bytes a server receives: clear without noise, blind by default."""

from __future__ import annotations

import numpy as np
import pytest

from federation_server.settings import MethodSection
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.rankers import Linear
from simulation.click_models import make_users
from simulation.studies.reconstruction import auc, by_rank, estimated_weights, send_update

USERS = make_users("navigational", top_grade=2)
N_DOCS = 20


def by_default(n_features: int) -> FPDGD:
    """The method of a server's default terms; which ten weights are shared does not matter to random features."""
    section = MethodSection()
    return FPDGD(
        Linear(n_features), section.learning_rate, update="batch", shared=tuple(range(len(section.shared))),
        longest_step=section.longest_step, longest_query=section.longest_query, privacy=section.mechanism,
    )  # fmt: skip


def attacked(method: FPDGD, *, n_pages: int, n_updates: int = 30) -> tuple[float, float]:
    """The mean AUC of the attack and of the guess by rank over a few updates of the method."""
    n_features, privacy = method.ranker.n_features, method.privacy
    noise = privacy.clip * privacy.noise_multiplier if isinstance(privacy, Gaussian) else 0.0
    rng, found = np.random.default_rng(7), []
    while len(found) < n_updates:
        model = Model(rng.normal(scale=0.3, size=n_features))
        queries = [
            (rng.random((N_DOCS, n_features)), rng.choice(3, p=[0.7, 0.2, 0.1], size=N_DOCS).astype(np.int8))
            for _ in range(n_pages)
        ]
        one = send_update(method, model, queries, users=USERS, rng=rng)
        if any(clicks.any() and not clicks.all() for clicks in one.clicks):
            shared = [np.array([method.sent(row) for row in page]) for page in one.pages]
            weights = estimated_weights(one.update, shared, learning_rate=method.learning_rate, noise=noise)
            found.append((auc(weights, one.clicks), auc(by_rank(one.pages), one.clicks)))
    attack, baseline = np.mean(found, axis=0)
    return float(attack), float(baseline)


@pytest.mark.parametrize(("n_features", "n_pages"), [(56, 1), (56, 6), (136, 4), (136, 15)])
def test_without_noise_every_click_is_seen(n_features: int, n_pages: int) -> None:
    """While 9 Q <= d, an update that leaves as it is tells what was opened: AUC at least .99."""
    attack, baseline = attacked(FPDGD(Linear(n_features), MethodSection().learning_rate), n_pages=n_pages)
    assert attack >= 0.99
    assert baseline < 0.9


@pytest.mark.parametrize("n_pages", [1, 4, 15])
def test_the_default_terms_hide_the_clicks(n_pages: int) -> None:
    """At the server's default the update says no more than the rank does, and nearly nothing at all."""
    attack, baseline = attacked(by_default(56), n_pages=n_pages, n_updates=100)
    assert abs(attack - 0.5) < 0.1
    assert attack < baseline


def test_sequential_steps_leave_the_signs() -> None:
    """Pages learned one after another: a weight above 0 for what was opened and for nothing else, click by click."""
    rng, method = np.random.default_rng(2), FPDGD(Linear(136), learning_rate=5.0)
    queries = [(rng.random((N_DOCS, 136)), rng.integers(0, 3, N_DOCS).astype(np.int8)) for _ in range(10)]
    one = send_update(method, Model(np.zeros(136)), queries, users=USERS, rng=rng)
    weights = estimated_weights(one.update, one.pages, learning_rate=5.0)
    assert weights.sum(axis=1) == pytest.approx(0.0, abs=1e-9)
    passed_something = [not clicks.all() for clicks in one.clicks]
    assert np.array_equal((weights > 1e-9)[passed_something], np.array(one.clicks)[passed_something])


def test_weights_by_hand() -> None:
    """One page of two documents (1, 0) and (0, 1), update .1 (3, -3) at eta .1: weights 3 and -3."""
    weights = estimated_weights(np.array([0.3, -0.3]), [np.eye(2)], learning_rate=0.1)
    assert weights == pytest.approx(np.array([[3.0, -3.0]]))


def test_auc_by_hand() -> None:
    """Opened guesses 3 and 1, others 2 and 1: of four pairs two won, one tied, one lost: 2.5 / 4."""
    assert auc([3, 1, 2, 1], [True, True, False, False]) == 2.5 / 4
    assert np.isnan(auc([1.0, 2.0], [True, True]))


def test_what_does_not_fit_is_refused() -> None:
    """Pages of another ranker, no page, negative noise, one guess too many."""
    with pytest.raises(ShapeError):
        estimated_weights(np.zeros(3), [np.eye(2)], learning_rate=0.1)
    with pytest.raises(ShapeError):
        estimated_weights(np.zeros(3), [], learning_rate=0.1)
    with pytest.raises(ValueRangeError):
        estimated_weights(np.zeros(2), [np.eye(2)], learning_rate=0.1, noise=-1.0)
    with pytest.raises(ShapeError):
        auc([1.0], [True, False])
