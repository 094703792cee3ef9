from __future__ import annotations

import math

import pytest

from foltr.errors import ValueRangeError
from foltr.privacy.accounting import Ledger, fpdgd_paper_true_epsilon, noise_over_signal
from foltr.privacy.gaussian_accounting import gaussian_epsilon
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, NoPrivacy

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


@pytest.mark.parametrize(("n_clients", "share"), [(10, 1.29), (30, 0.43), (100, 0.13)])
def test_noise_over_signal(n_clients: int, share: float) -> None:
    """Shared out, z sqrt(46) / N at z = 1.90, which is epsilon 8 over 10 rounds: 1.29, .43 and .13."""
    noise = Gaussian(clip=0.5, noise_multiplier=1.90, distributed=True, n_clients=n_clients)
    assert noise_over_signal(noise, n_params=46, counts=[n_clients]) == pytest.approx(share, abs=5e-3)


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
