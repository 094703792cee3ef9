"""What a page or a query can show: the bounds by arithmetic, by integration, and against pages made to break them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from foltr.arrays import FloatVector
from foltr.errors import ValueRangeError
from foltr.privacy.accounting import Neighbours
from foltr.privacy.caps import Caps, mu_of
from foltr.privacy.clipping import clip_l2
from foltr.privacy.gaussian_accounting import best_auc, best_guess, gaussian_epsilon

DEFAULT = Caps(clip=0.8, longest_step=0.15, longest_query=0.15, n_pages=40)
BOTH: tuple[Neighbours, ...] = ("zero-out", "replace")
GRID = np.linspace(-40.0, 40.0, 80_001)
STEP = GRID[1] - GRID[0]


def density(x: FloatVector) -> FloatVector:
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def integrated_auc(mu: float) -> float:
    """P(Y > X) for X ~ N(0, 1), Y ~ N(mu, 1): the density of Y times the mass of X below it, added up on a grid."""
    below = np.cumsum(density(GRID)) * STEP - density(GRID) * STEP / 2
    return float((density(GRID - mu) * below).sum() * STEP)


def integrated_delta(mu: float, epsilon: float) -> float:
    """The mass of N(mu, 1) above e^epsilon N(0, 1)."""
    return float(np.maximum(density(GRID - mu) - math.exp(epsilon) * density(GRID), 0.0).sum() * STEP)


@pytest.mark.parametrize(
    ("z", "everything", "page", "query", "auc"),
    [
        (1.0, (10.0, 24.4), (0.68, 1.45), (1.45, 3.15), 0.702),
        (2.16, (4.0, 9.1), (0.29, 0.62), (0.62, 1.33), 0.597),
        (3.99, (2.0, 4.4), (0.15, 0.32), (0.32, 0.68), 0.553),
    ],
)
def test_the_table_of_the_default(
    z: float, everything: tuple[float, float], page: tuple[float, float], query: tuple[float, float], auc: float
) -> None:
    """Clip .8, caps .15, four rounds, delta 1e-5: what docs/privacy.md says, by the formula and by integration."""
    noise = 0.8 * z
    claims = [
        *((mu_of(DEFAULT.device(n), noise=noise, n_rounds=4), e, 0.05) for n, e in zip(BOTH, everything, strict=True)),
        *((mu_of(DEFAULT.page(n), noise=noise), e, 0.005) for n, e in zip(BOTH, page, strict=True)),
        *((mu_of(DEFAULT.query(n), noise=noise, n_rounds=4), e, 0.005) for n, e in zip(BOTH, query, strict=True)),
    ]
    for mu, expected, digits in claims:
        epsilon = gaussian_epsilon(mu, 1e-5)
        assert epsilon == pytest.approx(expected, abs=digits)
        assert integrated_delta(mu, epsilon * 1.0001) < 1e-5 < integrated_delta(mu, epsilon * 0.9999)
    worst = mu_of(DEFAULT.query("replace"), noise=noise, n_rounds=4)
    assert worst == pytest.approx(0.3 * 2 / (0.8 * z))
    assert best_auc(worst) == pytest.approx(auc, abs=5e-4)
    assert best_auc(worst) == pytest.approx(integrated_auc(worst), abs=1e-6)


def test_changes_by_hand() -> None:
    """Each cap alone, and which of two is the tighter one."""
    assert (DEFAULT.page("zero-out"), DEFAULT.page("replace")) == (0.15, 0.3)
    assert (DEFAULT.query("zero-out"), DEFAULT.query("replace")) == (0.15, 0.3)
    assert (DEFAULT.device("zero-out"), DEFAULT.device("replace")) == (0.8, 1.6)
    assert [DEFAULT.query("replace", n) for n in (2, 5, 6)] == pytest.approx([0.6, 1.5, 1.6])
    bare = Caps(clip=0.8)
    assert [bare.page(n) for n in BOTH] == [bare.query(n) for n in BOTH] == [1.6, 1.6]
    # a page of .5 in a query of .1: from one end of the query's ball to the other
    assert Caps(clip=0.8, longest_step=0.5, longest_query=0.1).page("zero-out") == 0.2
    # forty pages of .02 for one query are .8 long together, no more than the clip
    steps = Caps(clip=0.8, longest_step=0.02, n_pages=40)
    assert steps.query("zero-out") == pytest.approx(0.8)
    assert Caps(clip=0.8, longest_step=0.02, n_pages=5).query("replace") == pytest.approx(0.2)


def update(queries: Sequence[Sequence[FloatVector]], caps: Caps) -> FloatVector:
    """The update of a round by its definition: each page's step, each query's sum and the whole projected in turn."""
    held = [
        clip_l2(np.sum([clip_l2(step, caps.longest_step) for step in steps], axis=0), caps.longest_query)
        for steps in queries
        if steps
    ]
    return clip_l2(np.sum(held, axis=0), caps.clip)


LENGTHS = st.floats(0.01, 2.0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 4), LENGTHS, LENGTHS, LENGTHS, st.floats(0.0, 3.0))
def test_no_page_and_no_query_moves_more_than_its_bound(
    seed: int, n_pages: int, n_features: int, step: float, query: float, clip: float, size: float
) -> None:
    """Steps of any length and direction, clips in any order of size: what is measured stays within what is proven."""
    rng = np.random.default_rng(seed)
    caps = Caps(clip=clip, longest_step=step, longest_query=query, n_pages=n_pages)

    def steps(n: int) -> list[FloatVector]:
        return [size * rng.normal() * direction for direction in rng.normal(size=(n, n_features))]

    mine, others = steps(n_pages), [steps(3), steps(2)]
    whole = update([mine, *others], caps)

    def moved(instead: list[FloatVector]) -> float:
        return float(np.linalg.norm(update([instead, *others], caps) - whole))

    margin = 1 + 1e-9
    assert moved([*mine[1:]]) <= caps.page("zero-out") * margin
    assert moved([*steps(1), *mine[1:]]) <= caps.page("replace") * margin
    assert moved([-mine[0], *mine[1:]]) <= caps.page("replace") * margin
    assert moved([]) <= caps.query("zero-out") * margin
    assert moved([-step for step in mine]) <= caps.query("replace") * margin
    assert moved(steps(n_pages)) <= caps.query("replace") * margin


def test_the_bounds_are_reached() -> None:
    """No smaller number would be true: a step the other way round, and a query of many pages that all point one way."""
    e = np.eye(3)
    assert np.linalg.norm(update([[e[0]]], DEFAULT) - update([[-e[0]]], DEFAULT)) == pytest.approx(0.3)
    habit = update([[e[0]] * 10, [e[1]]], DEFAULT)
    assert np.linalg.norm(habit - update([[-e[0]] * 10, [e[1]]], DEFAULT)) == pytest.approx(0.3)
    assert np.linalg.norm(habit - update([[], [e[1]]], DEFAULT)) == pytest.approx(0.15)


def test_guesses_by_hand() -> None:
    """Chance without a difference, certainty with an endless one, the prior alone where nothing is seen."""
    assert best_auc(0.0) == best_guess(0.0) == 0.5
    assert best_auc(math.inf) == 1.0
    assert best_guess(0.0, 0.9) == 0.9
    assert best_guess(2.0) == pytest.approx(0.841345, abs=1e-6)  # Phi(1)
    assert best_auc(math.sqrt(2.0)) == pytest.approx(0.841345, abs=1e-6)


@pytest.mark.parametrize("mu", [0.2, 0.75, 2.0])
@pytest.mark.parametrize("prior", [0.5, 0.2, 0.97])
def test_the_best_guess_is_what_no_threshold_beats(mu: float, prior: float) -> None:
    """Of all thresholds between N(0, 1) and N(mu, 1) the best is right exactly so often."""
    mass = np.cumsum(density(GRID)) * STEP
    second = np.cumsum(density(GRID - mu)) * STEP
    right = (1 - prior) * mass + prior * (1 - second)
    assert best_guess(mu, prior) == pytest.approx(float(right.max()), abs=1e-4)


def test_what_makes_no_sense_is_refused() -> None:
    """Lengths of nothing, rounds that were taken back, noise of nothing, probabilities beyond 1."""
    bad: tuple[Callable[[], object], ...] = (
        lambda: Caps(clip=0.0),
        lambda: Caps(clip=1.0, longest_step=-1.0),
        lambda: Caps(clip=1.0, n_pages=0),
        lambda: DEFAULT.query("replace", 0),
        lambda: mu_of(0.3, noise=0.0),
        lambda: mu_of(-1.0, noise=1.0),
        lambda: mu_of(0.3, noise=1.0, n_rounds=-1),
        lambda: best_guess(1.0, 1.0),
        lambda: best_auc(-1.0),
    )
    for senseless in bad:
        with pytest.raises(ValueRangeError):
            senseless()
