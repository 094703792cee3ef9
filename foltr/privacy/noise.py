"""Noise on a grid, drawn exactly, and the generator that it must come from when it protects people.

Laplace and Gaussian noise made from floats is not what the proofs speak of: which doubles can come out depends on the
secret, and one released number can give it away (Mironov, "On significance of the least significant bits for
differential privacy", CCS 2012). So nothing here adds a float to a secret. The clipped vector is cut to whole multiples
of a step (towards 0, so its norm cannot grow), whole-numbered noise is added, and only the sum becomes a float again:
a function of a released integer, which can reveal nothing more. The samplers use whole numbers alone and are exact for
ideal random bits (Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy", NeurIPS 2020).

What remains: `laplace_shares` draws gamma and Poisson variables in floats, so its probabilities (not its grid) are
rounded in about the 15th digit; how long rejection sampling takes depends on the noise (Jin et al., arXiv 2112.05307),
which matters to someone who can time a device to the microsecond.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from foltr.arithmetic import log
from foltr.arrays import BoolVector, FloatVector, Int64Vector
from foltr.errors import ValueRangeError

STEPS = 1 << 20
"""grid steps in one scale (Laplace) or one standard deviation (Gaussian) of a device's noise"""
LARGEST_STEPS = 2.0**50
"""a clipped vector longer than this many steps would not be a whole number in a float"""
NOISE_KEY_BYTES = 32


def keyed_generator(key: bytes, context: bytes) -> np.random.Generator:
    """The generator that a secret key `[32 bytes]` and what is released determine: the same inputs, the same noise.

        state = BLAKE2b-384 of context under key      128 bits are Philox's key, 256 its counter

    So a device that releases one thing twice, as after its state was restored, releases the same bytes, and nobody can
    average the noise away. `context` must hold everything that a release depends on, the secret vector too: two vectors
    under one context would get the same noise, and their difference would stand in the clear. Without the key the state
    is pseudorandom (BLAKE2b); Philox4x64-10 is a reduced block cipher in counter mode, without a known attack. Whoever
    has the key can work out all noise. The same NumPy gives the same numbers. ValueRangeError for another length.
    """
    if len(key) != NOISE_KEY_BYTES:
        raise ValueRangeError(f"a noise key has {NOISE_KEY_BYTES} bytes, not {len(key)}")
    state = hashlib.blake2b(context, key=key, digest_size=48, person=b"foltr-noise").digest()
    words = np.frombuffer(state, dtype="<u8").astype(np.uint64)
    return np.random.Generator(np.random.Philox(key=words[:2], counter=words[2:]))


def to_steps(x: FloatVector, step: float) -> Int64Vector:
    """`x` `[n_params]` in whole steps, cut towards 0; ValueRangeError when it is too long to be counted."""
    counts = x / step
    if not np.abs(counts).max(initial=0.0) < LARGEST_STEPS:
        raise ValueRangeError(f"the noise is too small for the vector: a step of {step} divides it too finely")
    return np.trunc(counts).astype(np.int64)


def discrete_laplace(scale: int, size: int, rng: np.random.Generator) -> Int64Vector:
    """P(X = x) proportional to exp(-|x| / scale), exactly, `[size]` (Canonne et al., Algorithm 2)."""
    return _first_accepted(lambda n: _laplace_proposals(scale, n, rng), size)


def discrete_gaussian(deviation: int, size: int, rng: np.random.Generator) -> Int64Vector:
    """P(X = x) proportional to exp(-x^2 / (2 deviation^2)), exactly, `[size]` (Canonne et al., Algorithm 3).

    Their Laplace proposal has scale floor(deviation) + 1; here it has scale `deviation`, which is also exact and keeps
    all fractions within 64 bits.
    """

    def accepted(n: int) -> Int64Vector:
        proposed = _laplace_proposals(deviation, n, rng)
        excess = np.abs(proposed) - deviation
        return proposed[_bernoulli_exp(excess * excess, 2 * deviation * deviation, rng)]

    return _first_accepted(accepted, size)


def laplace_shares(scale: int, n_shares: int, size: int, rng: np.random.Generator) -> Int64Vector:
    """One of `n_shares` whole-numbered shares `[size]` whose sum has the law of `discrete_laplace(scale)`.

        share = NB(1/n, 1 - e^(-1/scale)) - NB(1/n, 1 - e^(-1/scale))

    the whole-numbered twin of thesis Eq. 3.21 (negative binomial for gamma). If only a part s of the shares arrives
    the sum is no longer Laplace, and for s <= 1/2 its worst privacy loss has no bound that holds for continuous noise.
    """
    p = -np.expm1(-1.0 / scale)
    gains: Int64Vector = rng.negative_binomial(1.0 / n_shares, p, size)
    losses: Int64Vector = rng.negative_binomial(1.0 / n_shares, p, size)
    difference: Int64Vector = gains - losses
    return difference


def gamma_shares(scale: float, n_shares: int, size: int, rng: np.random.Generator) -> FloatVector:
    """gamma - gamma', `[size]`, gamma and gamma' ~ Gamma(1/n, scale), floats (thesis Eq. 3.21 and 3.22).

    The sum of n independent shares is Laplace(scale). First all gammas are drawn, then all gamma primes.
    """
    drawn = np.array([_standard_gamma(n_shares, rng) for _ in range(2 * size)])
    shares: FloatVector = scale * drawn[:size] - scale * drawn[size:]
    return shares


def _standard_gamma(n: int, rng: np.random.Generator) -> float:
    """The next `rng.standard_gamma(1 / n)`, but for last digits: those here are the same on every processor.

    numpy's rejection (Ahrens and Dieter 1974, algorithm GS) takes the library's powers, which are products here.
    """
    if n == 1:
        return rng.standard_exponential()
    shape = 1.0 / n
    while True:
        u, at_most = rng.random(), rng.standard_exponential()
        if u > 1.0 - shape:
            y = -float(log((1.0 - u) / shape))
            u, at_most = 1.0 - shape + shape * y, at_most + y
        x, square, left = 1.0, u, n
        while left:
            x, square, left = x * square if left & 1 else x, square * square, left >> 1
        if x <= at_most:
            return x


def _laplace_proposals(scale: int, n: int, rng: np.random.Generator) -> Int64Vector:
    """Discrete Laplace variables: those of `n` proposals that are accepted, so fewer than `n`."""
    remainder = rng.integers(scale, size=n)
    remainder = remainder[_bernoulli_exp(remainder, scale, rng)]
    magnitude = remainder + scale * _successes(len(remainder), rng)
    negative = rng.integers(2, size=len(remainder)).astype(np.bool_)
    once = ~(negative & (magnitude == 0))  # else 0 would be twice as likely
    signed: Int64Vector = np.where(negative, -magnitude, magnitude)[once]
    return signed


def _first_accepted(accepted: Callable[[int], Int64Vector], size: int) -> Int64Vector:
    """The first `size` accepted variables; proposing more at once than are needed saves most of the time."""
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < size:
        drawn = np.concatenate([drawn, accepted(3 * (size - len(drawn)) + 8)])
    return drawn[:size]


def _bernoulli_exp(numerator: Int64Vector, denominator: int, rng: np.random.Generator) -> BoolVector:
    """True with probability exp(-numerator / denominator), for fractions from 0 (Canonne et al., Algorithm 1)."""
    whole, rest = np.divmod(numerator, denominator)
    happened = np.ones(len(numerator), dtype=np.bool_)
    pending = np.flatnonzero(whole)
    while pending.size:
        happened[pending] = _bernoulli_exp_below_one(np.ones(pending.size, dtype=np.int64), 1, rng)
        whole[pending] -= 1
        pending = pending[happened[pending] & (whole[pending] > 0)]
    alive = np.flatnonzero(happened)
    happened[alive] = _bernoulli_exp_below_one(rest[alive], denominator, rng)
    return happened


def _bernoulli_exp_below_one(numerator: Int64Vector, denominator: int, rng: np.random.Generator) -> BoolVector:
    """The same for fractions gamma in [0, 1]: draw Bernoulli(gamma / k), k = 1, 2, ..., until one fails; was k odd?"""
    odd = np.zeros(len(numerator), dtype=np.bool_)
    pending = np.arange(len(numerator))
    k = 0
    while pending.size:
        k += 1
        succeeded = rng.integers(denominator * k, size=pending.size) < numerator[pending]
        odd[pending[~succeeded]] = k % 2 == 1
        pending = pending[succeeded]
    return odd


def _successes(size: int, rng: np.random.Generator) -> Int64Vector:
    """How often Bernoulli(1/e) succeeds before it first fails, `[size]`."""
    counts = np.zeros(size, dtype=np.int64)
    pending = np.arange(size)
    while pending.size:
        pending = pending[_bernoulli_exp_below_one(np.ones(pending.size, dtype=np.int64), 1, rng)]
        counts[pending] += 1
    return counts
