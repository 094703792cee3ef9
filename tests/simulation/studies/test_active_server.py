"""Clicks read from an update by a server that makes up features: exact pairs and slopes, and it finds the clicks."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from foltr.arrays import FloatMatrix
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.online.pdgd import clicked_and_passed, document_weights, preference_pairs
from foltr.privacy.mechanisms import Gaussian
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear
from simulation.cells.cell import expand
from simulation.cells.preset import decode_preset
from simulation.cells.trial import cell_events
from simulation.engines import CellFailed, Reported
from simulation.studies.active_server import Fit, ShownPages, expected_pairs, made_up, page_weights, pull, reconstructed
from simulation.studies.reconstruction import auc

RNG = np.random.default_rng(7)


def page(n: int, n_features: int, clicks: list[bool] | None = None) -> Interaction:
    opened = RNG.random(n) < 0.4 if clicks is None else np.array(clicks)
    return Interaction(RNG.normal(0, 0.1, (n, n_features)), np.arange(n), opened)


def test_pairs_are_expected_over_all_clicks() -> None:
    """Five results, every one of 32 patterns of clicks with its probability, pairs by PDGD's own rule."""
    chances = RNG.uniform(0.05, 0.95, (1, 5))
    expected = np.zeros((5, 5))
    for pattern in product((False, True), repeat=5):
        clicks = np.array(pattern)
        probability = np.prod(np.where(clicks, chances[0], 1 - chances[0]))
        np.add.at(expected, clicked_and_passed(clicks), probability)
    np.testing.assert_allclose(expected_pairs(chances)[0], expected, atol=1e-14)


def test_with_whole_clicks_a_page_pulls_as_pdgd_does() -> None:
    """For every pattern of clicks on four results, and a page filled up to six."""
    theta = RNG.normal(size=3)
    for pattern in product((False, True), repeat=4):
        one = page(4, 3, list(pattern))
        wanted = document_weights(preference_pairs(one.features @ theta, one), 4)
        chances = np.zeros((1, 6))
        chances[0, :4] = pattern
        pulled = pull(page_weights(one, theta, 6)[None], chances)[0]
        np.testing.assert_allclose(pulled, [*wanted, 0, 0], atol=1e-14)


@pytest.mark.parametrize("clip", [np.inf, 0.002])
def test_the_slope_is_that_of_the_loss(clip: float) -> None:
    """Central differences at every click, with the clip far away and with it reached."""
    pages = [page(5, 4), page(3, 4)]
    weights = np.array([page_weights(one, np.ones(4), 5) for one in pages])
    fit = Fit(ShownPages.of(pages), weights, 0.1, RNG.normal(0, 0.01, 4), clip)
    odds = RNG.normal(size=10)
    slope, step = fit.loss(odds)[1], 1e-6
    numeric = [(fit.loss(odds + e)[0] - fit.loss(odds - e)[0]) / (2 * step) for e in np.eye(10) * step]
    np.testing.assert_allclose(slope, numeric, atol=1e-7)


@pytest.mark.parametrize("update", ["each", "batch"])
def test_without_noise_made_up_features_give_every_click_away(update: str) -> None:
    """Three pages of six results, 30 features: each click is guessed; with the noise of a group none is."""
    settings = {"learning_rate": 0.1, "update": update}
    quiet = FPDGD(Linear(30), **settings)  # type: ignore[arg-type]
    loud = FPDGD(Linear(30), privacy=Gaussian(clip=0.8, noise_multiplier=1.0), **settings)  # type: ignore[arg-type]
    pages = [page(6, 30, clicks) for clicks in ([0, 1, 0, 0, 1, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0])]
    model, truth = Model(RNG.normal(0, 0.1, 30)), np.concatenate([one.clicks for one in pages])
    found = {}
    for method in (quiet, loud):
        local = method.begin(model, RNG)
        for one in pages:
            local = method.learn(local, one)
        seen = method.report(local, np.random.default_rng(1)).theta - model.theta
        guess = reconstructed(method, model, pages, seen, restarts=2, rng=np.random.default_rng(2))
        found[method] = auc(np.concatenate(guess), truth)
    assert found[quiet] == 1.0
    assert 0.2 < found[loud] < 0.8


def test_the_server_makes_up_a_share_of_the_columns() -> None:
    """Half of eight columns differ, of a size of .1; none and all."""
    features: FloatMatrix = np.full((50, 8), 5.0)
    half = made_up(features, 0.5, RNG)
    changed = (half != 5.0).all(axis=0)
    assert changed.sum() == 4
    assert half[:, changed].std() == pytest.approx(0.1, rel=0.2)
    assert (made_up(features, 0.0, RNG) == 5.0).all()
    assert (made_up(features, 1.0, RNG) < 1.0).all()


@pytest.mark.parametrize(
    ("changed", "fault"),
    [
        (
            {"privacy": {"mechanism": "laplace", "clip": 1.0, "epsilon": 1.0}},
            "method.privacy: the attack knows Gaussian",
        ),
        ({"ranker": "neural"}, "method.ranker: the attack is on linear rankers"),
        ({}, ""),
    ],
)
def test_as_a_cell(changed: dict[str, object], fault: str) -> None:
    """One row with an AUC; what the attack does not know is refused by the name of the key."""
    tables = {
        "data": {"dataset": "sample", "folds": [1]},
        "users": {"clicks": "informational"},
        "federation": {"clients": 2, "local": 2},
        "method": {"name": "active-server", "users": 3, "restarts": 1, **changed},
    }
    (cell,) = expand(decode_preset(tables, source="here"), folds_of=lambda _: (1,))
    events = list(cell_events(cell, root=None))
    if fault:
        (failed,) = (event for event in events if isinstance(event, CellFailed))
        assert failed.message.startswith(fault)
    else:
        (row,) = (event.row for event in events if isinstance(event, Reported))
        assert row.interactions == 6
        assert row.auc is not None
        assert row.auc > 0.9
