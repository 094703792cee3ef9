"""What a page or a query can show: the bounds by arithmetic, by integration, and against pages made to break them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foltr.arrays import FloatVector
from foltr.errors import ValueRangeError
from foltr.privacy.accounting import (
    Caps,
    LaplaceRounds,
    Ledger,
    Neighbours,
    basic_sum,
    best_auc,
    best_guess,
    fpdgd_paper_true_epsilon,
    gaussian_epsilon,
    laplace_epsilon,
    log_delta,
    loss_masses,
    mu_of,
    noise_over_signal,
)
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, NoPrivacy, clip_l2

EMPTY = Ledger(46)


def gaussian(z: float) -> Gaussian:
    return Gaussian(clip=0.3, noise_multiplier=z)


def test_gaussian_rounds_add_up_exactly() -> None:
    """mu^2 = 50/5^2 + 20/2^2 gives epsilon 14.1912 at delta 1e-5, in whatever order the rounds were spent."""
    ledger = EMPTY.spend(gaussian(5), 50).spend(gaussian(2), 20)
    assert ledger.epsilon(1e-5) == pytest.approx(14.1912, abs=5e-5)
    mixed = EMPTY.spend(gaussian(5), 25).spend(gaussian(2), 20).spend(gaussian(5), 25)
    assert mixed.epsilon(1e-5) == pytest.approx(ledger.epsilon(1e-5), rel=1e-12)


def test_replacing_costs_as_half_the_noise_does() -> None:
    """Replace neighbours change the sum by 2 clip: z against replacement is z/2 against absence."""
    replaced = EMPTY.spend(gaussian(4), 9).epsilon(1e-5, neighbours="replace")
    assert replaced == pytest.approx(EMPTY.spend(gaussian(2), 9).epsilon(1e-5), rel=1e-12)
    laplace = EMPTY.spend(Laplace(clip=1.0, epsilon=0.5), 3)
    assert laplace.epsilon(0.0) == pytest.approx(3 * 0.5)
    assert laplace.epsilon(0.0, neighbours="replace") == pytest.approx(3 * 2 * 0.5)


def test_laplace_by_the_loss_distribution() -> None:
    """100 rounds of epsilon .1: 4.2203 at delta 1e-5, and 10 at delta 0."""
    ledger = EMPTY.spend(Laplace(clip=2.0, epsilon=0.1), 100)
    assert ledger.epsilon(1e-5) == pytest.approx(4.2203, abs=1e-4)
    assert ledger.epsilon(0.0) == pytest.approx(100 * 0.1)


def test_both_kinds_together_are_bounded_by_their_sums() -> None:
    """Gaussian and Laplace rounds cost more than either part, and no more than the Gaussian part plus the basic sum."""
    both = EMPTY.spend(gaussian(4), 10).spend(Laplace(clip=1.0, epsilon=0.1), 100).epsilon(1e-5)
    part = EMPTY.spend(gaussian(4), 10).epsilon(1e-5)
    assert max(part, 4.2203) < both <= part + 100 * 0.1
    assert EMPTY.spend(gaussian(4), 10).epsilon(0.0) == math.inf


def test_a_share_protects_only_the_sum() -> None:
    """Against a server that opens messages, Laplace shares guarantee nothing, Gaussian shares 1/sqrt(n) of z."""
    laplace = EMPTY.spend(Laplace(clip=1.0, epsilon=0.5, distributed=True, n_clients=20))
    assert laplace.epsilon(1e-5) <= 0.5
    assert laplace.epsilon(1e-5, against="server") == math.inf
    shared = EMPTY.spend(Gaussian(clip=1.0, noise_multiplier=4.0, distributed=True, n_clients=25))
    assert shared.epsilon(1e-5) == pytest.approx(gaussian_epsilon(1 / 4, 1e-5))
    assert shared.epsilon(1e-5, against="server") == pytest.approx(gaussian_epsilon(math.sqrt(25) / 4, 1e-5))


def test_local_noise_protects_against_the_server_too() -> None:
    """Without distribution there is no difference between who looks."""
    for mechanism in (gaussian(3), Laplace(clip=1.0, epsilon=0.5)):
        ledger = EMPTY.spend(mechanism, 5)
        assert ledger.epsilon(1e-5, against="server") == ledger.epsilon(1e-5, against="sum")


def test_no_mechanism_no_guarantee() -> None:
    """A single round without noise makes every epsilon infinite; none at all costs 0."""
    assert EMPTY.spend(NoPrivacy()).epsilon(0.5) == math.inf
    assert EMPTY.spend(gaussian(100), 1000).spend(NoPrivacy()).epsilon(1e-5) == math.inf
    assert EMPTY.spend(Gaussian(1.0, 1e-308)).epsilon(1e-5) == math.inf
    assert EMPTY.epsilon(0.0) == 0.0
    assert EMPTY.spend(NoPrivacy(), 0).epsilon(1e-5) == 0.0


@pytest.mark.parametrize(
    ("variant", "neighbours", "factor"),
    [("coded", "zero-out", 6.8), ("coded", "replace", 13.6), ("printed", "zero-out", 3.4), ("printed", "replace", 6.8)],
)
def test_the_true_epsilon_of_fpdgd(variant: str, neighbours: str, factor: float) -> None:
    """As coded sqrt(46) to 2 sqrt(46) times the printed epsilon in each round, as printed half of that."""
    paper = FpdgdPaper(sensitivity=3.0, epsilon=4.5, n_clients=100, variant=variant)  # type: ignore[arg-type]
    true = fpdgd_paper_true_epsilon(paper, 46, neighbours=neighbours)  # type: ignore[arg-type]
    assert true == pytest.approx(4.5 * factor, rel=5e-3)
    ledger = EMPTY.spend(paper, 7)
    assert ledger.epsilon(0.0, neighbours=neighbours) == pytest.approx(7 * true)  # type: ignore[arg-type]
    assert ledger.epsilon(0.0, neighbours=neighbours, against="server") == math.inf  # type: ignore[arg-type]


def test_a_ledger_never_forgets() -> None:
    """Spending makes a new ledger; rounds cannot be taken back."""
    ledger = EMPTY.spend(gaussian(1), 3)
    assert EMPTY.spent == ()
    assert ledger.spend(gaussian(1), 2).spent == ((gaussian(1), 5),)
    with pytest.raises(ValueRangeError, match="take back"):
        ledger.spend(gaussian(1), -1)


def test_noise_over_signal_by_who_adds_the_noise_and_by_rounds() -> None:
    """With noise of every device its mean is sqrt(N) times as long as shared-out noise of the same z."""
    every = Gaussian(clip=0.5, noise_multiplier=3.0)
    shared = Gaussian(clip=0.5, noise_multiplier=3.0, distributed=True, n_clients=9)
    assert noise_over_signal(shared, n_params=4, counts=[9]) == pytest.approx(3.0 * 2 / 9)
    assert noise_over_signal(every, n_params=4, counts=[9]) == pytest.approx(3.0 * 2 / 3)
    assert noise_over_signal(every, n_params=4, counts=[9] * 4) == pytest.approx(3.0 * 2 / 3 / 2)
    assert noise_over_signal(every, n_params=4, counts=[]) is None


@pytest.mark.parametrize(
    ("mu_squared", "epsilon"),
    [(1 / 1**2, 4.3772), (1000 / 4**2, 64.1688), (50 / 5**2 + 20 / 2**2, 14.1912)],
)
def test_known_epsilons(mu_squared: float, epsilon: float) -> None:
    """z=1 once, z=4 a thousand times, and z=5 fifty times then z=2 twenty times, at delta 1e-5."""
    assert gaussian_epsilon(math.sqrt(mu_squared), 1e-5) == pytest.approx(epsilon, abs=5e-5)


@pytest.mark.parametrize(
    ("epsilon", "n_rounds", "z"),
    [(1, 1, 3.73063), (0.5, 1, 7.03), (8, 10, 1.90), (4, 100, 10.8), (2, 500, 44.6), (1, 1000, 118)],
)
def test_known_noise_multipliers(epsilon: float, n_rounds: int, z: float) -> None:
    """The planning table of noise multipliers at delta 1e-5: its printed digits hold each epsilon between them."""
    below, above = (gaussian_epsilon(math.sqrt(n_rounds) / (z * (1 + h)), 1e-5) for h in (5e-3, -5e-3))
    assert below <= epsilon <= above
    assert gaussian_epsilon(1 / 3.73063, 1e-5) == pytest.approx(1, abs=5e-6)


@pytest.mark.parametrize("mu", [0.3, 1.0, 3.0, 6.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0, 8.0])
def test_the_curve_is_its_formula(mu: float, epsilon: float) -> None:
    """Where floats allow it, delta is Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) by erfc."""

    def phi(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    plain = phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * phi(-mu / 2 - epsilon / mu)
    assert math.exp(log_delta(mu, epsilon)) == pytest.approx(plain, rel=1e-9, abs=1e-15)


@given(st.floats(0.01, 100.0), st.floats(1e-12, 0.3))
@settings(max_examples=60)
def test_epsilon_and_delta_are_inverse(mu: float, delta: float) -> None:
    """The delta of the epsilon of delta is delta, wherever epsilon is above 0."""
    epsilon = gaussian_epsilon(mu, delta)
    if epsilon > 1e-6:
        assert log_delta(mu, epsilon) == pytest.approx(math.log(delta), rel=1e-6)


def test_epsilon_is_rounded_up() -> None:
    """The epsilon returned keeps delta, and a little less does not."""
    for mu in (0.1, 1.0, 10.0):
        epsilon = gaussian_epsilon(mu, 1e-6)
        assert log_delta(mu, epsilon) <= math.log(1e-6) < log_delta(mu, epsilon * (1 - 1e-9))


@pytest.mark.parametrize("mu", [1e-3, 1.0, 50.0, 1e4])
def test_extremes_stay_finite(mu: float) -> None:
    """Huge epsilons and tiny deltas neither overflow nor vanish, and more delta never costs more epsilon."""
    epsilons = [gaussian_epsilon(mu, delta) for delta in (1e-300, 1e-100, 1e-10, 0.1)]
    assert all(math.isfinite(e) for e in epsilons)
    assert epsilons == sorted(epsilons, reverse=True)


@pytest.mark.parametrize(
    ("mu", "delta"),
    [(1e-17, 1e-5), (1e-15, 1e-17), (1e-12, 1e-14), (1e-10, 1e-13), (1e-8, 1e-100), (0.0099, 1e-4), (0.0101, 1e-12)],
)
def test_epsilon_of_much_noise_has_ten_digits_too(mu: float, delta: float) -> None:
    """delta(epsilon) by 60 digits is delta within 1e-9 of it; noise beyond all floats needs no epsilon and no error."""
    epsilon = gaussian_epsilon(mu, delta)
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        true = mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)
        assert (true <= delta) if epsilon == 0 else abs(true / delta - 1) < 1e-9


def test_mills_ratio_joins_smoothly() -> None:
    """Around the change of method, x = 5, log delta is as smooth as elsewhere."""
    below, above = (log_delta(1.0, 5.5 + h) for h in (-1e-9, 1e-9))
    assert above - below == pytest.approx(-1e-8, rel=0.2)


def test_limits() -> None:
    """No noise guarantees nothing, endless noise everything, and a large delta needs no epsilon."""
    assert gaussian_epsilon(math.inf, 1e-5) == math.inf
    assert gaussian_epsilon(0.0, 1e-5) == 0.0
    assert log_delta(0.0, 0.0) == -math.inf
    assert gaussian_epsilon(0.1, 0.5) == 0.0


@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, math.nan])
def test_delta_must_be_a_probability(delta: float) -> None:
    """delta outside (0, 1) is refused."""
    with pytest.raises(ValueRangeError, match="between 0 and 1"):
        gaussian_epsilon(1.0, delta)


@pytest.mark.parametrize("mu", [-1.0, math.nan])
def test_mu_must_not_be_negative(mu: float) -> None:
    """Noise has no standard deviation below 0."""
    with pytest.raises(ValueRangeError, match="mu must not be negative"):
        gaussian_epsilon(mu, 1e-5)


@pytest.mark.parametrize("mu", [0.05, 1.0, 7.9, 40.0])
@pytest.mark.parametrize("delta", [1e-10, 1e-5, 1e-2])
def test_dp_accounting_agrees(mu: float, delta: float) -> None:
    """The epsilon of dp-accounting's exact Gaussian mechanism is ours to 1e-6."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_mechanism")
    theirs = pld.GaussianPrivacyLoss(1.0 / mu, pessimistic_estimate=True)
    epsilon = gaussian_epsilon(mu, delta)
    assert theirs.get_delta_for_epsilon(epsilon) == pytest.approx(delta, rel=1e-6)


def curve(sensitivity: float, epsilon: float) -> float:
    """delta of one round in closed form."""
    return max(0.0, 1 - math.exp((epsilon - sensitivity) / 2))


def hockey_stick(masses: np.ndarray, losses: np.ndarray, epsilon: float) -> float:
    """sum of p(l) (1 - e^(epsilon - l)) over the losses above epsilon."""
    return float(np.sum(np.where(losses > epsilon, masses * -np.expm1(epsilon - losses), 0.0)))


@pytest.mark.parametrize(("sensitivity", "delta"), [(1.0, 1e-5), (0.2, 1e-3), (5.0, 0.1)])
def test_one_round_is_its_closed_form(sensitivity: float, delta: float) -> None:
    """epsilon = s + 2 ln(1 - delta) after one round."""
    exact = sensitivity + 2 * math.log(1 - delta)
    assert laplace_epsilon([LaplaceRounds(sensitivity, 1)], delta) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("steps", [1, 2, 7, 50])
@pytest.mark.parametrize("sensitivity", [0.1, 1.0, 4.0])
def test_the_dots_lie_on_the_curve_and_the_chords_above(sensitivity: float, steps: int) -> None:
    """The masses are a distribution whose delta equals the closed form at every dot and exceeds it between them."""
    masses = loss_masses(sensitivity, steps)
    losses = sensitivity / steps * np.arange(-steps, steps + 1)
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    for loss, between in itertools.pairwise(losses):
        middle = (loss + between) / 2
        assert hockey_stick(masses, losses, loss) == pytest.approx(curve(sensitivity, loss), abs=1e-12)
        assert hockey_stick(masses, losses, middle) >= curve(sensitivity, middle) - 1e-12


def test_three_rounds_are_a_brute_force_convolution() -> None:
    """The bound for three rounds lies just above 1,000,000 simulated privacy losses, never below by chance."""
    rng = np.random.default_rng(0)
    x = rng.laplace(size=(1_000_000, 3))
    losses = (np.abs(x - 0.8) - np.abs(x)).sum(axis=1)
    epsilon = laplace_epsilon([LaplaceRounds(0.8, 3)], 0.05)
    simulated = np.mean(np.maximum(0.0, -np.expm1(epsilon - losses)))
    assert simulated == pytest.approx(0.05, abs=0.001)


def test_unequal_rounds_cost_between_their_extremes() -> None:
    """Rounds of .1 and .3 cost more than all at .1 and less than all at .3, and their order does not matter."""
    low, mixed, high = (
        laplace_epsilon([LaplaceRounds(a, 30), LaplaceRounds(b, 20)], 1e-5)
        for a, b in ((0.1, 0.1), (0.1, 0.3), (0.3, 0.3))
    )
    assert low < mixed < high
    other = laplace_epsilon([LaplaceRounds(0.3, 20), LaplaceRounds(0.1, 30)], 1e-5)
    assert other == pytest.approx(mixed, rel=1e-9)


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("total", [0.2, 1.0, 4.0])
def test_splitting_a_change_over_two_numbers_never_costs_more(total: float, share: float) -> None:
    """Two numbers moved by share and the rest of s have at every epsilon at most the delta of one moved by s."""
    steps = 1000
    first, second = round(share * steps), steps - round(share * steps)
    masses = np.convolve(loss_masses(total * first / steps, first), loss_masses(total * second / steps, second))
    losses = total / steps * np.arange(-steps, steps + 1)
    for epsilon in np.linspace(0.0, total, 41):
        assert hockey_stick(masses, losses, epsilon) <= curve(total, epsilon) + 1e-6


def test_never_above_the_basic_sum() -> None:
    """A delta too small for the grid, or too many rounds, gives the basic sum."""
    assert laplace_epsilon([LaplaceRounds(0.1, 10)], 1e-30) == pytest.approx(0.1 * 10)
    assert laplace_epsilon([LaplaceRounds(0.1, 10**7)], 1e-5) == pytest.approx(0.1 * 10**7)
    assert laplace_epsilon([LaplaceRounds(2.0, 1), LaplaceRounds(1e-9, 200_000)], 1e-5) <= 2.0 + 1e-9 * 200_000


def test_nothing_spent_and_nothing_guaranteed() -> None:
    """No rounds cost 0; an infinite sensitivity costs inf; a negative one is refused."""
    assert laplace_epsilon([], 1e-5) == 0.0
    assert laplace_epsilon([LaplaceRounds(1.0, 0), LaplaceRounds(math.inf, 0)], 1e-5) == 0.0
    assert laplace_epsilon([LaplaceRounds(math.inf, 1)], 1e-5) == math.inf
    with pytest.raises(ValueRangeError, match="makes no sense"):
        basic_sum([LaplaceRounds(-1.0, 1)])


@pytest.mark.parametrize(
    ("scale", "n_rounds", "delta"), [(10, 100, 1e-5), (1, 10, 1e-5), (100, 1000, 1e-6), (3, 30, 1e-8)]
)
def test_dp_accounting_agrees_on_laplace_noise(scale: float, n_rounds: int, delta: float) -> None:
    """The privacy loss distribution of dp-accounting gives the same epsilon to 1e-4."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    theirs = pld.from_laplace_mechanism(scale, value_discretization_interval=1e-4).self_compose(n_rounds)
    ours = laplace_epsilon([LaplaceRounds(1 / scale, n_rounds)], delta)
    assert ours == pytest.approx(theirs.get_epsilon_for_delta(delta), rel=1e-4)


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
        lambda: mu_of(0.3, noise=0.0),
        lambda: mu_of(-1.0, noise=1.0),
        lambda: mu_of(0.3, noise=1.0, n_rounds=-1),
        lambda: best_guess(1.0, 1.0),
        lambda: best_auc(-1.0),
    )
    for senseless in bad:
        with pytest.raises(ValueRangeError):
            senseless()
