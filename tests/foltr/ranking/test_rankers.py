from __future__ import annotations

import numpy as np
import pytest

from foltr.errors import ShapeError, ValueRangeError
from foltr.ranking.rankers import RANKERS, Linear, Neural, Ranker, make_ranker


def rankers() -> list[Ranker]:
    return [Linear(6), Neural(6, n_hidden=9)]


@pytest.mark.parametrize("ranker", rankers(), ids=lambda r: r.name)
def test_weighted_gradient_is_the_numeric_slope(ranker: Ranker) -> None:
    """sum w_d f(x_d) changes with theta as weighted_gradient says, to 1e-7."""
    rng = np.random.default_rng(0)
    theta, features, weights = rng.normal(0, 1, ranker.n_params), rng.random((8, 6)), rng.normal(0, 1, 8)
    step = 1e-6
    numeric = [
        weights @ (ranker.score(theta + step * e, features) - ranker.score(theta - step * e, features)) / (2 * step)
        for e in np.eye(ranker.n_params)
    ]
    np.testing.assert_allclose(ranker.weighted_gradient(theta, features, weights), numeric, atol=1e-7)


def test_neural_score_by_hand() -> None:
    """Two features, two units: 2 * relu(1*3 - 1*1 + 0.5) - 1 * relu(-3 + 0) = 5."""
    theta = np.array([1.0, -1.0, -1.0, 0.0, 0.5, 0.0, 2.0, -1.0])
    assert Neural(2, n_hidden=2).score(theta, np.array([[3.0, 1.0]])).tolist() == [2 * (3 - 1 + 0.5)]


@pytest.mark.parametrize("ranker", rankers(), ids=lambda r: r.name)
def test_from_linear_gives_the_linear_score(ranker: Ranker) -> None:
    """Every ranker can start as theta0 . x, also where theta0 has negative weights."""
    rng = np.random.default_rng(1)
    theta0, features = rng.normal(0, 3, 6), rng.random((50, 6))
    theta = ranker.from_linear(theta0, rng)
    np.testing.assert_allclose(ranker.score(theta, features), features @ theta0, rtol=0, atol=1e-13)


def test_neural_that_began_linear_can_learn_in_its_other_units() -> None:
    """The output weights of the random units have a slope, so they do not stay at zero."""
    rng = np.random.default_rng(2)
    ranker = Neural(6)
    theta = ranker.from_linear(np.ones(6), rng)
    slope = ranker.weighted_gradient(theta, rng.random((4, 6)), np.array([1.0, -1.0, 0.5, -0.5]))
    assert np.count_nonzero(slope[-62:]) > 20


@pytest.mark.parametrize("ranker", rankers(), ids=lambda r: r.name)
def test_attributions_add_up(ranker: Ranker) -> None:
    """The shares of the features sum to f(x) - f(reference); a feature that does not differ gets nothing."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        theta, x, reference = rng.normal(0, 1, ranker.n_params), rng.random(6), rng.random(6)
        reference[2] = x[2]
        shares = ranker.attributions(theta, x, reference)
        difference = ranker.score(theta, np.array([x, reference])) @ [1.0, -1.0]
        assert shares.sum() == pytest.approx(difference, abs=1e-12)
        assert shares[2] == 0.0
        many = ranker.attributions(theta, np.array([x, reference, x]), reference)
        np.testing.assert_allclose(many, [shares, np.zeros(6), shares], rtol=0, atol=1e-14)


def test_neural_attributions_are_integrated_gradients() -> None:
    """The closed form is the mean slope along the straight line, here by 20,000 midpoints."""
    rng = np.random.default_rng(4)
    ranker = Neural(6, n_hidden=9)
    theta, x, reference = rng.normal(0, 1, ranker.n_params), rng.random(6), rng.random(6)
    w, b, v = ranker.layers(theta)
    points = reference + (np.arange(20_000)[:, None] + 0.5) / 20_000 * (x - reference)
    slope = (((points @ w.T + b) > 0) * v @ w).mean(axis=0)
    np.testing.assert_allclose(ranker.attributions(theta, x, reference), slope * (x - reference), atol=1e-3)


@pytest.mark.parametrize("name", RANKERS)
def test_a_start_that_knows_nothing(name: str) -> None:
    """The initial theta is finite, of the right length, and the same for the same seed."""
    ranker = make_ranker(name, 5)
    theta = ranker.initial(np.random.default_rng(0))
    assert theta.shape == (ranker.n_params,)
    assert np.isfinite(theta).all()
    assert theta.tolist() == ranker.initial(np.random.default_rng(0)).tolist()


def test_unknown_names_and_wrong_shapes_are_refused() -> None:
    """Errors list the rankers there are, and say which shape was wanted."""
    with pytest.raises(ValueRangeError, match="linear, neural"):
        make_ranker("forest", 5)
    with pytest.raises(ShapeError, match=r"theta must be \[5\], not \[4\]"):
        Linear(5).score(np.zeros(4), np.zeros((2, 5)))
    with pytest.raises(ShapeError, match=r"features must be \[n_docs, 5\]"):
        Linear(5).score(np.zeros(5), np.zeros((2, 4)))
    with pytest.raises(ShapeError, match="weights"):
        Neural(5).weighted_gradient(np.zeros(64 * 7), np.zeros((2, 5)), np.zeros(3))
