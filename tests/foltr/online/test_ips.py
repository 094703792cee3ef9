"""The IPS-weighted hinge: by hand, against finite differences, and unbiased over all that a user may look at.

Propensities by EM: by hand, recovered from generated clicks, and untouched where there is nothing to find.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.online import ips
from foltr.online.ips import (
    LEAST,
    Impressions,
    attraction,
    estimated_propensities,
    hidden,
    position_propensities,
    relevance_gradient,
)
from foltr.ranking.interaction import Interaction
from foltr.ranking.rankers import Linear, Neural, Ranker

CLICKED_SECOND = np.array([False, True])


def hinge(scores: np.ndarray, row: int) -> float:
    """h_d, the sum over all other documents d' of max(0, 1 - (s_d - s_d')) (Eq. 3)."""
    return float(sum(max(0.0, 1 - (scores[row] - other)) for other in np.delete(scores, row)))


def loss(scores: np.ndarray, interaction: Interaction, propensities: np.ndarray) -> float:
    """The sum over the clicked documents of h_d / p_d (Eq. 4, one query)."""
    clicked = np.flatnonzero(interaction.clicks)
    return sum(hinge(scores, int(interaction.ranking[rank])) / propensities[rank] for rank in clicked)


def page(rng: np.random.Generator, *, clicks: list[bool]) -> Interaction:
    """Six candidates with four features, of which the last rows are shown first."""
    ranking = np.arange(6)[::-1][: len(clicks)]
    return Interaction(rng.normal(size=(6, 4)), ranking, np.array(clicks))


def test_hand_worked() -> None:
    """Scores 1, 0.5 and -1, the middle one clicked at rank 2 with p = 1/2: one violated pair each way."""
    scores = np.array([1.0, 0.5, -1.0])
    interaction = Interaction(np.eye(3), np.array([0, 1]), CLICKED_SECOND)
    # margins 0.5 - 1 and 0.5 + 1: only the first is below 1
    assert ips.hinge_weights(scores, 1).tolist() == [1.0, -1.0, 0.0]
    assert ips.hinge_weights(np.array([1.0, 0.0]), 0).tolist() == [0.0, 0.0]  # a margin of 1 asks for nothing more
    theta = ips.update(Linear(3), scores, interaction, [1.0, 0.5], learning_rate=0.1)
    np.testing.assert_allclose(theta, [1.0 - 0.1 * 2, 0.5 + 0.1 * 2, -1.0])


def test_each_click_starts_where_the_last_ended() -> None:
    """Two clicks are two steps: the second sees the scores that the first left."""
    interaction = Interaction(np.eye(2), np.array([0, 1]), np.array([True, True]))
    # first click: theta = (0.6, -0.6); margin of the second document -1.2 < 1: (0, 0)
    np.testing.assert_allclose(ips.update(Linear(2), np.zeros(2), interaction, [1.0, 1.0], learning_rate=0.6), 0.0)
    # with p = 1/4 the second step is four times as long
    theta = ips.update(Linear(2), np.zeros(2), interaction, [1.0, 0.25], learning_rate=0.6)
    np.testing.assert_allclose(theta, [0.6 - 2.4, -0.6 + 2.4])


@pytest.mark.parametrize("ranker", [Linear(4), Neural(4, 3)])
def test_gradient_is_the_slope_of_the_loss(ranker: Ranker) -> None:
    """Away from kinks the gradients of all clicks add up to the finite difference of the loss."""
    rng = np.random.default_rng(5)
    interaction = page(rng, clicks=[True, False, True, False])
    p = ips.position_propensities(1.5, k=4)
    theta = rng.normal(size=ranker.n_params)
    found = sum(ips.gradient(ranker, theta, interaction, p, rank=rank) for rank in (0, 2))
    step, slope = 1e-6, np.zeros(ranker.n_params)
    for i, unit in enumerate(np.eye(ranker.n_params)):
        above, below = (ranker.score(theta + sign * step * unit, interaction.features) for sign in (1, -1))
        slope[i] = (loss(above, interaction, p) - loss(below, interaction, p)) / (2 * step)
    np.testing.assert_allclose(found, slope, atol=1e-7)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
def test_unbiased(gamma: float) -> None:
    """Over all patterns of looking, the expected IPS loss is the loss of the labels (Eq. 9)."""
    rng = np.random.default_rng(7)
    interaction = page(rng, clicks=[True, False, True, True])
    scores, relevant, p = rng.normal(size=6), interaction.clicks, ips.position_propensities(gamma, k=4)
    expected = 0.0
    for looks in itertools.product((False, True), repeat=4):
        seen = np.array(looks)
        clicked = Interaction(interaction.features, interaction.ranking, seen & relevant)
        expected += np.prod(np.where(seen, p, 1 - p)) * loss(scores, clicked, p)
    full = sum(hinge(scores, int(row)) for row in interaction.ranking[relevant])
    assert expected == pytest.approx(full, rel=1e-12)


def test_no_bias_no_weights() -> None:
    """With gamma = 0 every propensity is 1 and a click counts once."""
    assert ips.position_propensities(0.0, k=3).tolist() == [1.0, 1.0, 1.0]
    assert ips.position_propensities(2.0, k=3) == pytest.approx([1.0, 1 / 4, 1 / 9])


def test_no_click_no_step() -> None:
    """A page without clicks leaves theta as it was."""
    theta = np.ones(4)
    interaction = page(np.random.default_rng(1), clicks=[False, False])
    assert ips.update(Linear(4), theta, interaction, [1.0, 0.5], learning_rate=0.1) is theta


def test_clipping() -> None:
    """Propensities below the smallest are raised to it, the others stay; 0 without clipping is refused."""
    assert ips.clipped_propensities([1.0, 0.25, 0.0], smallest=0.3).tolist() == [1.0, 0.3, 0.3]
    with pytest.raises(ValueRangeError, match=r"\(0, 1\]"):
        ips.clipped_propensities([1.0, 0.0], smallest=0.0)
    with pytest.raises(ValueRangeError, match="smallest"):
        ips.clipped_propensities([1.0], smallest=-0.1)


def test_propensities_must_fit() -> None:
    """Too few propensities, or one of 0, are errors; a page may be shorter than they are."""
    interaction = page(np.random.default_rng(1), clicks=[True, False])
    with pytest.raises(ShapeError, match="2 ranks"):
        ips.gradient(Linear(4), np.zeros(4), interaction, [1.0], rank=0)
    with pytest.raises(ValueRangeError, match="propensities"):
        ips.gradient(Linear(4), np.zeros(4), interaction, [0.0, 1.0], rank=0)
    short, long = (ips.gradient(Linear(4), np.zeros(4), interaction, p, rank=0) for p in ([1.0, 1.0], [1.0, 1.0, 1.0]))
    assert short.tolist() == long.tolist()
    with pytest.raises(ValueRangeError, match="gamma"):
        ips.position_propensities(-1.0, k=2)


K = 5


def impressions(gamma: float, n_pages: int, rng: np.random.Generator) -> tuple[Impressions, np.ndarray]:
    """Pages of random documents and clicks by p_r * F(x); and the relevance that made them."""
    relevance = np.array([3.0, -2.0, 0.5, -1.0])
    features = rng.random((n_pages * K, 3))
    ranks = np.tile(np.arange(K), n_pages)
    looked = position_propensities(gamma, k=K)[ranks]
    clicks = rng.random(len(ranks)) < looked * attraction(relevance, features)
    return Impressions(features, ranks, clicks), relevance


def test_the_e_step_by_hand() -> None:
    """p = 1/2 and F = 1/2 without a click leave 1/3 each; a click leaves no doubt."""
    examined, attractive = hidden(np.array([False, True]), np.full(2, 0.5), np.full(2, 0.5))
    assert examined == pytest.approx([0.25 / 0.75, 1.0])
    assert attractive == pytest.approx([0.25 / 0.75, 1.0])
    p = estimated_propensities(np.array([1, 1]), np.array([False, True]), np.full(2, 0.5), start=[1.0, 0.5], n_steps=1)
    assert p == pytest.approx([1.0, (1 / 3 + 1) / 2])


def test_the_e_step_is_bayes() -> None:
    """The posteriors are those of the table of all (E, R)."""
    for looked, attracted in itertools.product((0.1, 0.6, 1.0), (0.0, 0.3, 0.9)):
        table = np.outer([1 - looked, looked], [1 - attracted, attracted])
        table[1, 1] = 0.0
        table /= table.sum()
        examined, attractive = hidden(np.array([False]), np.array([looked]), np.array([attracted]))
        assert examined[0] == pytest.approx(table[1].sum())
        assert attractive[0] == pytest.approx(table[:, 1].sum())


@pytest.mark.parametrize("gamma", [0.0, 1.0])
def test_recovers_known_propensities(gamma: float) -> None:
    """With F known, 4,000 pages give every propensity within 0.05, from a start that is wrong."""
    rng = np.random.default_rng(11)
    shown, relevance = impressions(gamma, 4000, rng)
    attracted = attraction(relevance, shown.features)
    start = position_propensities(1.3, k=K)
    found = estimated_propensities(shown.ranks, shown.clicks, attracted, start=start, n_steps=200)
    np.testing.assert_allclose(found, position_propensities(gamma, k=K), atol=0.05)


def test_recovers_both_together() -> None:
    """Alternating the two halves of the M-step finds propensities and attraction from clicks alone."""
    rng = np.random.default_rng(13)
    shown, truth = impressions(1.0, 2000, rng)
    relevance, p = np.zeros(4), np.array([1.0, 0.9, 0.9, 0.9, 0.9])
    for _ in range(400):
        attracted = attraction(relevance, shown.features)
        p = estimated_propensities(shown.ranks, shown.clicks, attracted, start=p, n_steps=1)
        relevance = relevance + 2.0 * relevance_gradient(relevance, shown, p)
    np.testing.assert_allclose(p, position_propensities(1.0, k=K), atol=0.06)
    error = attraction(relevance, shown.features) - attraction(truth, shown.features)
    assert np.abs(error).mean() < 0.05


def test_ranks_without_impressions_keep_their_start() -> None:
    """Short pages say nothing of the ranks below; without pages nothing changes."""
    found = estimated_propensities(np.array([0]), np.array([True]), np.array([0.5]), start=[1.0, 0.7], n_steps=3)
    assert found.tolist() == [1.0, 0.7]
    nothing = Impressions(np.zeros((0, 3)), np.zeros(0, np.intp), np.zeros(0, np.bool_))
    assert relevance_gradient(np.ones(4), nothing, np.ones(2)).tolist() == [0.0] * 4


def test_never_zero() -> None:
    """A rank of attractive documents that is never clicked keeps an inverse that can be used."""
    ranks, clicks = np.ones(100, np.intp), np.zeros(100, np.bool_)
    found = estimated_propensities(ranks, clicks, np.full(100, 0.999999), start=[1.0, 0.5], n_steps=100)
    assert found[1] == LEAST


def test_what_does_not_fit_is_refused() -> None:
    """Ranks beyond the start, starts outside (0, 1] and a relevance of another length are errors."""
    with pytest.raises(ShapeError, match="2 ranks"):
        estimated_propensities(np.array([2]), np.array([True]), np.ones(1), start=[1.0, 1.0], n_steps=1)
    with pytest.raises(ValueRangeError, match="propensities"):
        estimated_propensities(np.array([0]), np.array([True]), np.ones(1), start=[0.0], n_steps=1)
    with pytest.raises(ShapeError, match=r"\[4\]"):
        attraction(np.zeros(3), np.zeros((2, 3)))
