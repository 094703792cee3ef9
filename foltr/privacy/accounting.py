"""A ledger: which mechanisms a device used, in how many rounds, and what that guarantees its owner.

The unit is a device's whole contribution to all rounds (user level), full participation, no credit for sampling.

    neighbours  "zero-out": the device was absent, a change of at most `clip`
                "replace":  it sent anything else, a change of at most 2 `clip`
    against     "sum":      someone who sees only the sum of at least n_clients honest shares, round by round
                "server":   someone who opens each device's own message

The two differ for distributed noise alone. inf says that there is no guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from foltr.errors import ValueRangeError
from foltr.privacy.gaussian_accounting import gaussian_epsilon
from foltr.privacy.laplace_accounting import LaplaceRounds, laplace_epsilon
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism

Neighbours: TypeAlias = Literal["zero-out", "replace"]
Against: TypeAlias = Literal["sum", "server"]

_CHANGE: dict[Neighbours, float] = {"zero-out": 1.0, "replace": 2.0}


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was spent: immutable; `spend` gives a new ledger."""

    n_params: int
    """of the vectors sent; the true epsilon of FPDGD's mechanism grows with it"""
    spent: tuple[tuple[Mechanism, int], ...] = ()
    """each mechanism with its number of rounds"""

    def spend(self, mechanism: Mechanism, n_rounds: int = 1) -> Ledger:
        """The ledger after `n_rounds` more rounds."""
        if n_rounds < 0:
            raise ValueRangeError(f"a ledger cannot take back {-n_rounds} rounds")
        rounds = dict(self.spent)
        rounds[mechanism] = rounds.get(mechanism, 0) + n_rounds
        return Ledger(self.n_params, tuple(rounds.items()))

    def epsilon(self, delta: float, *, neighbours: Neighbours = "zero-out", against: Against = "sum") -> float:
        """An upper bound of epsilon for `delta`: exact for Gaussian noise alone, the basic sum at delta 0.

        Gaussian and Laplace noise in one ledger: the better of all delta for the Gaussian part and half for each.
        """
        laplace = [r for m, n in self.spent if n for r in _laplace(m, n, self.n_params, neighbours, against)]
        mu = math.sqrt(math.fsum(n * (one := _mu(m, neighbours, against)) * one for m, n in self.spent if n))
        if math.isinf(mu) or any(math.isinf(r.sensitivity) for r in laplace):
            return math.inf
        if mu == 0:
            return laplace_epsilon(laplace, delta)
        if delta == 0:
            return math.inf
        whole = gaussian_epsilon(mu, delta) + laplace_epsilon(laplace)
        halves = gaussian_epsilon(mu, delta / 2) + laplace_epsilon(laplace, delta / 2)
        return min(whole, halves)


def fpdgd_paper_true_epsilon(mechanism: FpdgdPaper, n_params: int, *, neighbours: Neighbours) -> float:
    """The pure epsilon that FPDGD's mechanism really has in each round, for the sum of all shares.

        epsilon sqrt(d) bound / Delta * (1 zero-out, 2 replace)

    Two weights vectors within L2 `bound` of 0 are up to 2 bound sqrt(d) apart in the L1 norm that Laplace noise counts.
    As coded (bound Delta): sqrt(d) and 2 sqrt(d) times the printed epsilon. As printed (bound Delta/2): half of that.
    The worst vectors, all weights of one size, are reached, so no smaller pure epsilon holds.
    """
    bound = mechanism.sensitivity / 2 if mechanism.variant == "printed" else mechanism.sensitivity
    share = math.sqrt(n_params) * bound / mechanism.sensitivity
    return mechanism.epsilon * share * _CHANGE[neighbours]


def noise_over_signal(mechanism: Mechanism, *, n_params: int, counts: Sequence[int]) -> float | None:
    """How far the noise of T rounds of N_t updates moves the ranker, over how far what their members say can.

        own sqrt(d sum_t 1 / N_t) / T,    own = z, where the noise is shared out z / sqrt(n_clients)

    Signals of rounds add up, T clips at most; noise adds by its square. z is sqrt(2) / epsilon for Laplace noise. None
    without rounds, and for a mechanism whose noise is not told by its settings.
    """
    if not counts or not isinstance(mechanism, (Gaussian, Laplace)):
        return None
    z = mechanism.noise_multiplier if isinstance(mechanism, Gaussian) else math.sqrt(2.0) / mechanism.epsilon
    own = z / math.sqrt(mechanism.n_clients) if mechanism.distributed else z
    return own * math.sqrt(n_params * math.fsum(1.0 / n for n in counts)) / len(counts)


def _mu(mechanism: Mechanism, neighbours: Neighbours, against: Against) -> float:
    """What one round adds to mu: change / standard deviation of the noise that is seen; 0 for no Gaussian noise."""
    if not isinstance(mechanism, Gaussian):
        return 0.0
    shares = mechanism.n_clients if mechanism.distributed and against == "server" else 1
    return _CHANGE[neighbours] * math.sqrt(shares) / mechanism.noise_multiplier


def _laplace(
    mechanism: Mechanism, n_rounds: int, n_params: int, neighbours: Neighbours, against: Against
) -> Iterator[LaplaceRounds]:
    """The rounds in scales of Laplace noise; an infinite sensitivity where a mechanism guarantees nothing.

    A share of Laplace noise alone has a density with a pole at 0: it is far likelier to be nearly nothing than
    anything else, which no epsilon describes.
    """
    if isinstance(mechanism, Gaussian):
        return
    if isinstance(mechanism, Laplace):
        split = mechanism.distributed and mechanism.n_clients > 1
        one = mechanism.epsilon * _CHANGE[neighbours]
    elif isinstance(mechanism, FpdgdPaper):
        split = mechanism.n_clients > 1
        one = fpdgd_paper_true_epsilon(mechanism, n_params, neighbours=neighbours)
    else:
        split, one = False, math.inf
    yield LaplaceRounds(math.inf if split and against == "server" else one, n_rounds)
