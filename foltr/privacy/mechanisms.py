"""The mechanisms that protect a device's weights: none, the published one, Laplace or Gaussian noise.

    local_bound               the L2 radius that theta is projected to after each local step, or None
    bounded(start, end)       what noise has to hide: `start` is the global theta that the device began with, `end` its
                              own
    release(start, end, rng)  what leaves: the same with noise, drawn by `rng`

A mechanism protects one device's whole contribution to one round (user level). How much that is over all rounds is
counted in foltr.privacy.accounting. Noise that protects people takes `rng` from foltr.privacy.noise
(`keyed_generator`); a simulation takes it from a seeded stream, and then protects nobody.

"Distributed" noise is a share of the noise: it protects only against someone who sees nothing but the sum of at least
`n_clients` honest shares. A server that opens a single update sees almost all of it.

What is hidden is clipped first: clip(x) = x * min(1, bound / ||x||), so that no device can move the sum by more than
the radius; L2 for Gaussian noise, L1 for Laplace noise, for the norm must be the one that the noise was made for.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from foltr.arithmetic import length
from foltr.arrays import FloatArray, FloatVector, Int64Vector
from foltr.errors import ShapeError, ValueRangeError
from foltr.privacy.noise import STEPS, discrete_gaussian, discrete_laplace, gamma_shares, laplace_shares, to_steps

ROUNDING_MARGIN = 2.0**-40
"""A radius shrunk by this share holds in exact arithmetic too: the norm, the factor and the product are each wrong by
less than 2**-44 for vectors of up to 2**32 numbers."""


def l1_norm(x: FloatVector) -> float:
    """sum |x_i|; ValueRangeError when a number is not finite, inf when the sum is too large for a float."""
    _refuse_not_finite(x)
    with np.errstate(over="ignore"):
        return float(np.abs(x).sum())


def l2_norm(x: FloatVector) -> float:
    """sqrt(sum x_i^2), without overflow of the squares; ValueRangeError when a number is not finite."""
    _refuse_not_finite(x)
    largest = float(np.abs(x).max(initial=0.0))
    if 1e-100 < largest < 1e100:
        return length(x)
    return 0.0 if largest == 0.0 else largest * float(np.sqrt(np.sum((x / largest) ** 2)))


def clip_l1(x: FloatVector, bound: float) -> FloatVector:
    """`x` `[n_params]` scaled into the L1 ball of that radius; `x` itself when it lies inside."""
    return _scaled(x, norm=l1_norm(x), bound=bound)


def clip_l2(x: FloatVector, bound: float) -> FloatVector:
    """`x` `[n_params]` scaled into the L2 ball of that radius; `x` itself when it lies inside.

    Thesis Eq. 3.19 with bound = Delta/2; the published program uses bound = Delta (its utils/dp.py).
    """
    return _scaled(x, norm=l2_norm(x), bound=bound)


def _scaled(x: FloatVector, *, norm: float, bound: float) -> FloatVector:
    if not bound > 0:
        raise ValueRangeError(f"a clipping bound must be positive, not {bound}")
    return x if norm <= bound else x * (bound / norm)


def _refuse_not_finite(x: FloatArray) -> None:
    if not np.isfinite(x).all():
        raise ValueRangeError("a vector to be clipped holds a number that is not finite")


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="mechanism"):
    """What all mechanisms are: strict records that name themselves in the field `mechanism`."""

    @property
    def local_bound(self) -> float | None:
        """None: theta is not projected while it is learned."""
        return None


class NoPrivacy(_Record, frozen=True, tag="none"):
    """The weights leave as they are.

    No guarantee of any kind: one update of a linear ranker gives away which results were opened, in closed form, to
    anyone who knows the feature vectors shown (gradient = sum of w_i x_i, and w_i > 0 means opened).
    """

    def bounded(self, start: FloatVector, end: FloatVector) -> FloatVector:
        """`end` `[n_params]`."""
        _check(start, end)
        return end

    def release(self, start: FloatVector, end: FloatVector, rng: np.random.Generator) -> FloatVector:
        """`end` `[n_params]`."""
        return self.bounded(start, end)


class FpdgdPaper(_Record, frozen=True, tag="fpdgd-paper"):
    """The mechanism of FPDGD: project theta, add a gamma share of Laplace noise to each weight.

        theta <- theta * min(1, bound / ||theta||_2)               after each local step (thesis Eq. 3.19)
        theta + gamma - gamma',  gamma, gamma' ~ Gamma(1/n, Delta/epsilon) for each weight (Eq. 3.21, 3.22, Algorithm 3)

    `variant` "printed" has bound = Delta/2, as Eq. 3.19 prints; "coded" has bound = Delta, as the published program
    does. Both add noise once for each message, as Algorithm 3 and the program do, to the weights themselves.

    What it does not guarantee: `epsilon` is a setting of the noise, not a privacy budget. The bound is on the L2 norm,
    while Laplace noise for each weight needs the L1 norm, so the true epsilon of one round is sqrt(n_params) (against
    absence) to 2 sqrt(n_params) (against any other weights) times as large as coded, half of that as printed
    (`foltr.privacy.accounting.fpdgd_paper_true_epsilon`). It is spent again in every round. It holds only for the sum
    of all `n_clients` shares, seen by someone who sees no single one. The noise is made of floats, as published, with
    the weakness that Mironov (CCS 2012) describes.
    """

    sensitivity: float
    """Delta, above 0"""
    epsilon: float
    """of the noise scale Delta / epsilon, above 0"""
    n_clients: int
    """|C|, how many shares make one Laplace variable"""
    variant: Literal["printed", "coded"] = "printed"

    def __post_init__(self) -> None:
        _positive(self.sensitivity, "sensitivity")
        _positive(self.epsilon, "epsilon")
        _counted(self.n_clients)

    @property
    def local_bound(self) -> float | None:
        """Delta/2 as printed, Delta as coded."""
        return self.sensitivity / 2 if self.variant == "printed" else self.sensitivity

    def bounded(self, start: FloatVector, end: FloatVector) -> FloatVector:
        """`end` projected to the bound, `[n_params]`."""
        _check(start, end)
        return clip_l2(end, self.sensitivity / 2 if self.variant == "printed" else self.sensitivity)

    def release(self, start: FloatVector, end: FloatVector, rng: np.random.Generator) -> FloatVector:
        """`end` projected to the bound, plus one gamma share for each weight, `[n_params]`."""
        shares = gamma_shares(self.sensitivity / self.epsilon, self.n_clients, len(end), rng)
        return self.bounded(start, end) + shares


class Laplace(_Record, frozen=True, tag="laplace"):
    """Clip the update to L1 norm `clip`, add Laplace noise of scale clip / epsilon to each number.

    Guarantees, for one round and one whole device: epsilon-differential privacy against its absence (zero-out), and
    2 epsilon against any other contribution in its place (replace); over T rounds see foltr.privacy.accounting. With
    `distributed` each device adds one of `n_clients` shares of that noise: the same guarantee, but only for the sum,
    only if all of the `n_clients` shares are honest and arrive, and none against a server that sees single updates.
    The noise is whole-numbered on a grid (foltr.privacy.noise), so its float form gives nothing away.
    """

    clip: float
    """L1 radius of the update, above 0"""
    epsilon: float
    """of one round under zero-out neighbours, above 0"""
    distributed: bool = False
    """whether a device adds only its share of the noise"""
    n_clients: int = 1
    """honest shares that are sure to arrive; only for distributed noise"""

    def __post_init__(self) -> None:
        _positive(self.clip, "clip")
        _positive(self.epsilon, "epsilon")
        _counted(self.n_clients)

    def bounded(self, start: FloatVector, end: FloatVector) -> FloatVector:
        """The clipped update `[n_params]`."""
        _check(start, end)
        return clip_l1(end - start, self.clip * (1.0 - ROUNDING_MARGIN))

    def release(self, start: FloatVector, end: FloatVector, rng: np.random.Generator) -> FloatVector:
        """start + the clipped and noised update, `[n_params]`."""
        step = self.clip / self.epsilon / STEPS
        steps = to_steps(self.bounded(start, end), step)
        if self.distributed:
            noise = laplace_shares(STEPS, self.n_clients, len(end), rng)
        else:
            noise = discrete_laplace(STEPS, len(end), rng)
        return start + step * (steps + noise)


FEWEST_COINS, MOST_FOR_MANY, LEAST_ROOM = 64, 128, 25


class Gaussian(_Record, frozen=True, tag="gaussian"):
    """Clip the update to L2 norm `clip`, add Gaussian noise of standard deviation z * clip to each number.

    Guarantees, for one round and one whole device: (epsilon, delta)-differential privacy by the exact curve of
    foltr.privacy.accounting with noise multiplier z against its absence (zero-out), z/2 against any other
    contribution in its place (replace). With `distributed` each device adds standard deviation
    z * clip / sqrt(n_clients): the same guarantee, but only for the sum, only if at least `n_clients` honest shares
    arrive, and against a server that sees single updates only that of multiplier z / sqrt(n_clients).
    The noise is whole-numbered on a grid of 2^20 steps to the standard deviation (foltr.privacy.noise): its
    zero-concentrated privacy is exactly that of the continuous Gaussian (Canonne et al. 2020, Theorem 4), while the
    curve of the accountant is that of the continuous one, from which a grid so fine differs by about 1e-6 of delta.

    With `coins` N the noise of a number is the heads of N fair coins less N / 2, in steps of 2 deviation / sqrt(N): it
    can be proved (foltr.federated.sealed.note_proof). The sum of n_clients parts is binomial; on the grids of
    `shared_out` its epsilon is no larger than the Gaussian's (tests/foltr/federated/sealed/test_accounting.py, where
    the losses of every change are added up exactly).
    """

    clip: float
    """L2 radius of the update, above 0"""
    noise_multiplier: float
    """z, standard deviation of the noise in the sum over `clip`, above 0"""
    distributed: bool = False
    """whether a device adds only its share of the noise"""
    n_clients: int = 1
    """honest shares that are sure to arrive; only for distributed noise"""
    coins: int = 0
    """of the noise of one number, even, only for distributed noise; 0: the discrete Gaussian"""

    def __post_init__(self) -> None:
        _positive(self.clip, "clip")
        _positive(self.noise_multiplier, "noise_multiplier")
        _counted(self.n_clients)
        if self.coins < 0 or self.coins % 2 or (self.coins and not self.distributed):
            raise ValueRangeError(f"coins are an even number, of distributed noise alone, not {self.coins}")

    def shared_out(self, n_honest: int) -> Gaussian:
        """One device's part of the noise of a sum, of which so many honest parts are sure to arrive: made of coins.

        There are enough coins for the squared length of a signal to have 25 steps of room or more, and for one part
        alone to hide about what the Gaussian would.
        """
        wanted = max(4 * self.noise_multiplier**2 * LEAST_ROOM / n_honest, min(1.25 * n_honest, MOST_FOR_MANY))
        coins = FEWEST_COINS
        while coins < wanted:
            coins *= 2
        return msgspec.structs.replace(self, distributed=True, n_clients=n_honest, coins=coins)

    def bounded(self, start: FloatVector, end: FloatVector) -> FloatVector:
        """The clipped update `[n_params]`."""
        _check(start, end)
        return clip_l2(end - start, self.clip * (1.0 - ROUNDING_MARGIN))

    def release(self, start: FloatVector, end: FloatVector, rng: np.random.Generator) -> FloatVector:
        """start + the clipped and noised update, `[n_params]`."""
        _check(start, end)
        return start + self.grid_step * self.release_steps(end - start, rng)

    @property
    def deviation(self) -> float:
        """Standard deviation of the noise that one device adds to each number."""
        return self.noise_multiplier * self.clip / math.sqrt(self.n_clients if self.distributed else 1)

    @property
    def grid_step(self) -> float:
        """The unit of `release_steps`: the same on every device, so that steps can be added up."""
        return 2 * self.deviation / math.sqrt(self.coins) if self.coins else self.deviation / STEPS

    @property
    def most(self) -> int:
        """The squared length of a signal in steps of the coins' grid, at most: a hundredth below (clip / step)^2."""
        return int(0.99 * (self.clip / self.grid_step) ** 2)

    def signal_steps(self, change: FloatVector, rng: np.random.Generator) -> Int64Vector:
        """The clipped change `[n]` in steps of the coins' grid, each number up or down at random, within `most`.

        Right on average, except where the result leaves the ball: there the numbers rounded farthest away from 0 are
        rounded back, so that a change that fills the clip loses some hundredths of its length.
        """
        whole = clip_l2(self.bounded(np.zeros_like(change), change) / self.grid_step, math.sqrt(self.most))
        rounded = np.floor(whole + rng.random(len(whole))).astype(np.int64)
        for place in np.argsort(np.abs(whole) - np.abs(rounded), kind="stable").tolist():
            if int(rounded @ rounded) <= self.most:
                break
            rounded[place] = np.trunc(whole[place])
        return rounded

    def release_steps(self, change: FloatVector, rng: np.random.Generator) -> Int64Vector:
        """The clipped and noised change `[n]` in whole steps of the grid."""
        if self.coins:
            heads: Int64Vector = rng.integers(2, size=(len(change), self.coins)).sum(axis=1)
            return self.signal_steps(change, rng) + heads - self.coins // 2
        steps = to_steps(self.bounded(np.zeros_like(change), change), self.grid_step)
        return steps + discrete_gaussian(STEPS, len(change), rng)


Mechanism: TypeAlias = NoPrivacy | FpdgdPaper | Laplace | Gaussian
"""a field of this type reads {"mechanism": "none" | "fpdgd-paper" | "laplace" | "gaussian", ...} strictly"""


def _check(start: FloatVector, end: FloatVector) -> None:
    if start.ndim != 1 or start.shape != end.shape:
        raise ShapeError(f"start and end must both be [n_params], not {list(start.shape)} and {list(end.shape)}")


def _positive(value: float, name: str) -> None:
    if not (value > 0 and math.isfinite(value)):
        raise ValueRangeError(f"{name} of a privacy mechanism must be positive and finite, not {value}")


def _counted(n_clients: int) -> None:
    if n_clients < 1:
        raise ValueRangeError(f"n_clients of a privacy mechanism must be at least 1, not {n_clients}")
