from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, NoPrivacy
from foltr.privacy.noise import gamma_shares
from foltr.ranking import plackett_luce
from simulation.batched.fpdgd_rounds import noise_of
from simulation.batched.random_numbers import (
    LANES,
    Noise,
    add_noise,
    draw,
    exponentials,
    standard_exponential,
    standard_gamma,
    uniforms,
)
from simulation.rounds.streams import StreamStates, make_streams, user_generator


def with_room(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The scores in an array that has room for whole vectors."""
    return np.concatenate([scores, np.full(LANES, np.nan)])


def compiled_draw(scores: npt.NDArray[np.float64], k: int, state: StreamStates) -> tuple[list[int], list[float], float]:
    """The ranking, the weights of the shown documents, and what draw returns."""
    n_docs, rows = len(scores), with_room(scores)
    weights, sums, numbers = np.empty_like(rows), np.empty_like(rows), np.empty(min(k, n_docs))
    ranking, placed = np.empty(len(numbers), dtype=np.int64), np.empty(len(numbers))
    exponentials(rows, scores.max(), n_docs, weights)
    uniforms(state, len(numbers), numbers)
    rest = draw(rows, n_docs, len(numbers), numbers, weights, sums, ranking, placed)
    return ranking.tolist(), placed.tolist(), rest


@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0, 1000.0, 1e8])
def test_the_ranking_is_that_of_the_learning_core(spread: float) -> None:
    """200 pages of 1 to 99 documents: the same ranking from the same stream, and the stream as far."""
    rng, streams = np.random.default_rng(0), make_streams(2, 1)
    for _ in range(200):
        scores = rng.normal(0, spread, int(rng.integers(1, 100)))
        numbers = user_generator(streams, 0)
        expected = plackett_luce.draw(scores, 10, numbers)
        ranking, _, _ = compiled_draw(scores, 10, streams.users[0])
        assert ranking == expected.tolist()
        assert streams.users[0].tolist() == numbers.bit_generator.state["state"]["state"].tolist()


def test_weights_of_the_shown_and_of_the_rest() -> None:
    """Scores log 1 .. log 6: weights 1/6 .. 6/6, and the rest is what the two shown leave of 21/6."""
    ranking, placed, rest = compiled_draw(np.log(np.arange(1.0, 7.0)), 2, make_streams(0, 1).users[0])
    assert placed == pytest.approx([(row + 1) / 6 for row in ranking], rel=1e-15)
    assert rest == pytest.approx(21 / 6 - sum(placed), rel=1e-14)


def test_weights_on_two_scales_are_reported() -> None:
    """Beside a dominant document the others' weights are 0 and have to be measured anew: -1."""
    ranking, _, rest = compiled_draw(np.array([0.0, 1e4, 1.0]), 3, make_streams(0, 1).users[0])
    assert ranking[0] == 1
    assert rest == -1.0


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_scores_that_are_not_finite_are_reported(bad: float) -> None:
    """Every score NaN, or one infinite: NaN, and no row outside the page."""
    scores = np.full(5, np.nan) if np.isnan(bad) else np.array([0.0, bad, 1.0])
    assert np.isnan(compiled_draw(scores, 2, make_streams(0, 1).users[0])[2])


def test_exponentials_are_those_of_numpy() -> None:
    """5,000 scores from 0 to -690: within two units in the last place; 0 below, to the end of the block."""
    scores = np.concatenate([np.linspace(-690.0, 0.0, 5000), [-701.0, -1e300]])
    weights = np.full(len(scores) + LANES, np.nan)
    exponentials(with_room(scores), 0.0, len(scores), weights)
    np.testing.assert_allclose(weights[:5000], np.exp(scores[:5000]), rtol=4.5e-16)
    whole = -(-len(scores) // LANES) * LANES
    assert weights[5000:whole].tolist() == [0.0] * (whole - 5000)
    assert weights[4999] == 1.0


@pytest.mark.parametrize("n", [1, 2, 10, 49, 1000])
def test_numbers_are_those_of_numpy(n: int) -> None:
    """50,000 exponential and 50,000 gamma numbers of one stream, and the stream as far."""
    streams = make_streams(5, 1)
    numbers, state = user_generator(streams, 0), streams.users[0]
    expected = np.concatenate([numbers.standard_exponential(50_000), numbers.standard_gamma(1 / n, 50_000)])
    found = [standard_exponential(state) for _ in range(50_000)] + [standard_gamma(n, state) for _ in range(50_000)]
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=0.0)
    assert state.tolist() == numbers.bit_generator.state["state"]["state"].tolist()


def test_noise_goes_to_the_places_of_the_message() -> None:
    """Three weights learned in the order 2 0 1: each gets the share that the message draws for it."""
    streams = make_streams(6, 1)
    expected = gamma_shares(0.4, 5, 3, user_generator(streams, 0))
    theta = np.zeros(3)
    add_noise(Noise(5, 0.4, np.array([2, 0, 1])), theta, streams.users[0])
    np.testing.assert_allclose(theta[[2, 0, 1]], expected, rtol=1e-12)


def test_mechanisms_that_are_compiled() -> None:
    """None has no shares, the published one has as many as clients, the Gaussian is foltr's own."""
    places = np.arange(2)
    none, paper = noise_of(NoPrivacy(), places), noise_of(FpdgdPaper(sensitivity=3.0, epsilon=4.0, n_clients=7), places)
    assert none is not None
    assert paper is not None
    assert none.n_shares == 0
    assert (paper.n_shares, paper.scale) == (7, 0.75)
    assert noise_of(Gaussian(clip=1.0, noise_multiplier=1.0), places) is None
