from __future__ import annotations

import numpy as np
import pytest

from foltr.arrays import BoolVector, FloatVector, Int64Vector
from foltr.online import pdgd
from foltr.ranking.interaction import Interaction
from simulation.batched.pdgd_linear import pair_weights, pair_weights_by_logarithms


def plain(scores: FloatVector, ranking: Int64Vector, clicks: BoolVector) -> tuple[int, FloatVector]:
    """What pair_weights returns, and the weights by rank."""
    e = np.exp(scores - scores.max())
    k, rest = len(ranking), float(np.delete(e, ranking).sum())
    wanted = np.full(k, np.nan)
    seen = pair_weights(e[ranking], rest, clicks, k, np.empty(k + 1), np.empty(k, dtype=np.uint64), wanted)
    return seen, wanted


def logarithmic(scores: FloatVector, ranking: Int64Vector, clicks: BoolVector) -> tuple[int, FloatVector]:
    """The same by logarithms."""
    k = len(ranking)
    wanted = np.full(k, np.nan)
    seen = pair_weights_by_logarithms(
        scores, len(scores), ranking, clicks, k, np.empty(len(scores)), np.empty(k + 1), wanted
    )
    return seen, wanted


def expected(scores: FloatVector, ranking: Int64Vector, clicks: BoolVector) -> FloatVector:
    """The learning core's weights, by rank."""
    page = Interaction(np.zeros((len(scores), 1)), ranking, clicks)
    return pdgd.document_weights(pdgd.preference_pairs(scores, page), len(scores))[ranking]


def test_by_hand() -> None:
    """Weights 2 and 1 shown, 1 more not shown, the second opened.

    Denominator of rank 1: 1 + 1 = 2 as shown, 2 + 1 = 3 exchanged: rho = 2 / (2 + 3); and 2/3 * 1/3 for the slope.
    """
    seen, wanted = plain(np.log([2.0, 1.0, 1.0]), np.array([0, 1]), np.array([False, True]))
    assert seen == 2
    assert wanted == pytest.approx([-2 / 5 * 2 / 9, 2 / 5 * 2 / 9])


@pytest.mark.parametrize(("weigh", "spreads"), [(plain, (0.1, 1.0, 5.0)), (logarithmic, (0.1, 5.0, 60.0, 1e4))])
def test_pages_are_weighed_as_in_the_learning_core(weigh: object, spreads: tuple[float, ...]) -> None:
    """300 random pages of up to 10 of up to 40 documents, rankings not sampled from the scores: equal to 1e-11."""
    rng = np.random.default_rng(1)
    for _ in range(300):
        n_docs = int(rng.integers(2, 40))
        scores = rng.normal(0, rng.choice(spreads), n_docs)
        ranking = rng.permutation(n_docs)[: min(10, n_docs)]
        clicks = rng.random(len(ranking)) < rng.choice([0.1, 0.5, 0.9])
        seen, wanted = weigh(scores, ranking, clicks)  # type: ignore[operator]
        target = expected(scores, ranking, clicks)
        np.testing.assert_allclose(wanted[:seen], target[:seen], rtol=1e-11, atol=1e-300)
        assert not target[seen:].any()


@pytest.mark.parametrize("clicks", [[False, False, False], [True, True, True], [False]])
def test_pages_without_a_preference(clicks: list[bool]) -> None:
    """No click, or nothing passed over: no rank has a weight."""
    k = len(clicks)
    assert plain(np.zeros(k), np.arange(k), np.array(clicks))[0] == 0
    assert logarithmic(np.zeros(k), np.arange(k), np.array(clicks))[0] == 0


def test_a_page_beyond_plain_numbers_is_declined() -> None:
    """A seen document with e^-800 of the first one's weight: -1, weigh it by logarithms."""
    assert plain(np.array([0.0, -800.0, -1.0]), np.array([0, 1, 2]), np.array([True, False, True]))[0] == -1


def test_many_documents_of_equal_score() -> None:
    """100 shown of 100,000: products of 100 denominators of 1e5 are declined, and logarithms find rho = 1/2."""
    scores, ranking = np.zeros(100_000), np.arange(100)
    clicks = np.arange(100) == 99
    assert plain(scores, ranking, clicks)[0] == -1
    _, wanted = logarithmic(scores, ranking, clicks)
    assert wanted[99] == pytest.approx(99 * 0.5 * 0.25)
