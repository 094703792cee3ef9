"""Propensities by EM: by hand, recovered from generated clicks, and untouched where there is nothing to find."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.online.ips import position_propensities
from foltr.online.propensity import (
    LEAST,
    Impressions,
    attraction,
    estimated_propensities,
    hidden,
    relevance_gradient,
)

K = 5


def impressions(gamma: float, n_pages: int, rng: np.random.Generator) -> tuple[Impressions, np.ndarray]:
    """Pages of random documents and clicks by p_r * F(x); and the relevance that made them."""
    relevance = np.array([3.0, -2.0, 0.5, -1.0])
    features = rng.random((n_pages * K, 3))
    ranks = np.tile(np.arange(K), n_pages)
    looked = position_propensities(gamma, k=K)[ranks]
    clicks = rng.random(len(ranks)) < looked * attraction(relevance, features)
    return Impressions(features, ranks, clicks), relevance


def test_hand_worked() -> None:
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


@pytest.mark.parametrize("gamma", [0.0, 0.5, 1.0, 2.0])
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
    shown, truth = impressions(1.0, 4000, rng)
    relevance, p = np.zeros(4), np.array([1.0, 0.9, 0.9, 0.9, 0.9])
    for _ in range(600):
        attracted = attraction(relevance, shown.features)
        p = estimated_propensities(shown.ranks, shown.clicks, attracted, start=p, n_steps=1)
        relevance = relevance + 2.0 * relevance_gradient(relevance, shown, p)
    np.testing.assert_allclose(p, position_propensities(1.0, k=K), atol=0.06)
    error = attraction(relevance, shown.features) - attraction(truth, shown.features)
    assert np.abs(error).mean() < 0.05


def test_no_op_when_all_is_looked_at() -> None:
    """From ones EM stays at ones, whatever was clicked."""
    shown, relevance = impressions(0.0, 50, np.random.default_rng(17))
    attracted = attraction(relevance, shown.features)
    found = estimated_propensities(shown.ranks, shown.clicks, attracted, start=np.ones(K), n_steps=20)
    np.testing.assert_allclose(found, 1.0, rtol=1e-12)


def test_rank_one_is_always_looked_at() -> None:
    """The first propensity stays 1, which fixes the scale of the others."""
    shown, relevance = impressions(2.0, 20, np.random.default_rng(19))
    start = position_propensities(1.0, k=K)
    attracted = attraction(relevance, shown.features)
    found = estimated_propensities(shown.ranks, shown.clicks, attracted, start=start, n_steps=50)
    assert found[0] == pytest.approx(1.0, rel=1e-12)


def test_order_of_pages_does_not_matter() -> None:
    """The estimate is the same when the impressions come in another order."""
    rng = np.random.default_rng(23)
    shown, relevance = impressions(1.0, 30, rng)
    attracted, order = attraction(relevance, shown.features), rng.permutation(30 * K)
    start = position_propensities(1.0, k=K)
    one = estimated_propensities(shown.ranks, shown.clicks, attracted, start=start, n_steps=7)
    other = estimated_propensities(shown.ranks[order], shown.clicks[order], attracted[order], start=start, n_steps=7)
    np.testing.assert_allclose(one, other, rtol=1e-12)


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
