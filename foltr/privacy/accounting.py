"""A ledger: which mechanisms a device used, in how many rounds, and what that guarantees its owner.

The unit is a device's whole contribution to all rounds (user level), full participation, no credit for sampling.

    neighbours  "zero-out": the device was absent, a change of at most `clip`
                "replace":  it sent anything else, a change of at most 2 `clip`
    against     "sum":      someone who sees only the sum of at least n_clients honest shares, round by round
                "server":   someone who opens each device's own message

The two differ for distributed noise alone. inf means that there is no guarantee.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from msgspec import Struct

from foltr.arrays import FloatVector
from foltr.errors import ValueRangeError
from foltr.privacy.mechanisms import FpdgdPaper, Gaussian, Laplace, Mechanism


class Caps(Struct, frozen=True):
    """The L2 lengths to which one device's update in a round is limited; ValueRangeError for one that is not above 0.

    A device's update of a round, when every page takes its step at the announced theta (FPDGD, update="batch"):

        g_p = step of page p at theta_t, projected to length `longest_step`           L
        h_q = sum of g_p over the round's pages of query q, projected to `longest_query`   Lq
        u_t = sum of h_q, projected to length `clip`                                  C;   sent: u_t + N(0, s^2 I)

    Projecting onto a ball never moves two points further apart, and g_p depends on page p and theta_t alone. So

        u_t moves by at most    where it was absent    where anything else stands in its place
        one page                min(L, 2 Lq, 2 C)      min(2 L, 2 Lq, 2 C)
        all pages of a query    min(Lq, 2 C)           min(2 Lq, 2 C)
        the whole device        C                      2 C

    Over T rounds the change shows with mu = change sqrt(T) / s: each round is a Gaussian shift whatever theta_t was and
    however it came about, so the rounds compose adaptively (Dong, Roth and Su, JRSS B 2022, Theorem 3.2 and Corollary
    3.3). No bound better than 2 C holds where pages take their steps one after another (update="each"), since a page
    then changes the steps of all that follow. Infinite caps in `Caps` say so.

    What the proof takes as given: which pages were shown, in which order, in which round each teaches, and that a page
    teaches once. It does not cover that a device's own learning leads to other pages later. The noise has standard
    deviation s in what the attacker sees: in an open group that is the device's own message; in a sealed one it is the
    sum, against the server and fewer committee members than can open it, while at least n_honest devices that add their
    noise are in the list. Two wordings are two queries: n of them together move at most n times as much. Cutting to the
    grid of foltr.privacy.noise adds at most sqrt(d) 2^-20 to the mu of a round.
    """

    clip: float
    """C, of the whole update"""
    longest_step: float = math.inf
    """L, of one page; infinite where nothing holds it"""
    longest_query: float = math.inf
    """Lq, of all pages of one query in a round; infinite where nothing limits it"""
    n_pages: int | None = None
    """pages in a round, at most; None: any number"""

    def __post_init__(self) -> None:
        for name in ("clip", "longest_step", "longest_query"):
            value = getattr(self, name)
            if not value > 0:
                raise ValueRangeError(f"{name} must be above 0, not {value}")
        if self.n_pages is not None and self.n_pages < 1:
            raise ValueRangeError(f"a round has at least one page, not {self.n_pages}")

    def page(self, neighbours: Neighbours) -> float:
        """By how much one page moves the update."""
        one = self.longest_step if neighbours == "zero-out" else 2 * self.longest_step
        return min(one, 2 * self._query, 2 * self.clip)

    def query(self, neighbours: Neighbours) -> float:
        """By how much all pages of one query move the update of one round."""
        return min(self._query if neighbours == "zero-out" else 2 * self._query, 2 * self.clip)

    def device(self, neighbours: Neighbours) -> float:
        """By how much everything that the device did moves its update."""
        return self.clip if neighbours == "zero-out" else 2 * self.clip

    @property
    def _query(self) -> float:
        """How far the pages of one query move the update together: each at most L, where Lq does not limit them."""
        return self.longest_query if self.n_pages is None else min(self.longest_query, self.n_pages * self.longest_step)


def mu_of(change: float, *, noise: float, n_rounds: int = 1) -> float:
    """change sqrt(n_rounds) / noise: how much a `change` in each round shows under noise of that deviation."""
    if not noise > 0 or not change >= 0 or n_rounds < 0:
        raise ValueRangeError(f"a change of {change} under noise of {noise} in {n_rounds} rounds makes no sense")
    return change * math.sqrt(n_rounds) / noise


N_BINS = 1 << 20
"""of the grid of privacy losses"""


class LaplaceRounds(NamedTuple):
    """Rounds of equal Laplace noise."""

    sensitivity: float
    """s, what a device can change over the scale of the noise: the epsilon of one round"""
    n_rounds: int


def laplace_epsilon(spent: Sequence[LaplaceRounds], delta: float = 0.0) -> float:
    """An upper bound of epsilon for `delta` after these rounds; never above the basic sum, and for delta 0 equal to it.

    Beyond 250,000 rounds, where the grid would be too coarse, it is the basic sum too.

    One round with sensitivity s (in scales of the noise) has, for the worst pair, delta(epsilon) = 1 - e^((epsilon -
    s)/2) for |epsilon| <= s. Over rounds the privacy losses add up, so their distributions are convolved (Sommer,
    Meiser and Mohammadi, PETS 2019). The distribution is put on a grid by joining the dots of the curve (Doroshenko et
    al., PETS 2022): delta is convex in e^epsilon, so the chords lie above it and the answer is never too small; what
    the fast Fourier transform may lose is added to delta. The worst pair moves one number by s: moving several by s in
    all costs no more, which a test checks on a grid.
    """
    basic = basic_sum(spent)
    if delta == 0 or basic == 0 or math.isinf(basic):
        return basic
    check_delta(delta)
    real = [rounds for rounds in spent if rounds.n_rounds and rounds.sensitivity]
    step = _step(real, basic)
    if step is None:
        return basic
    masses = _composed(real, step)
    n_rounds = sum(r.n_rounds for r in real)
    # the transform's relative error in each frequency, carried to the sum of all masses by Parseval and Cauchy-Schwarz
    slack = math.sqrt(N_BINS) * math.log2(N_BINS) * n_rounds * 2.0**-52 * float(np.sqrt(masses @ masses))
    return min(basic, _epsilon(masses, step, delta - slack))


def basic_sum(spent: Sequence[LaplaceRounds]) -> float:
    """sum of s * rounds: pure epsilon-differential privacy, delta 0."""
    for sensitivity, n_rounds in spent:
        if not sensitivity >= 0 or n_rounds < 0:
            raise ValueRangeError(f"Laplace noise of sensitivity {sensitivity} over {n_rounds} rounds makes no sense")
    return math.fsum(sensitivity * n_rounds for sensitivity, n_rounds in spent if n_rounds)


def loss_masses(sensitivity: float, steps: int) -> FloatVector:
    """P(loss = k sensitivity / steps) for k from -steps to steps, `[2 steps + 1]`, of one round with the dots joined.

    The chords of delta over e^epsilon between neighbouring dots l and l + h change their slope by the mass that the
    other distribution has at a dot, and e^l times that is the mass here: e^((l - s)/2) tanh(h/4) inside,
    1 / (1 + e^(-h/2)) at l = s, and e^(-s) times that at l = -s.
    """
    h = sensitivity / steps
    losses = h * np.arange(-steps, steps + 1)
    masses: FloatVector = np.exp((losses - sensitivity) / 2) * math.tanh(h / 4)
    masses[-1] = 1.0 / (1.0 + math.exp(-h / 2))
    masses[0] = math.exp(-sensitivity) * masses[-1]
    return masses


def _step(spent: Sequence[LaplaceRounds], basic: float) -> float | None:
    """The grid's step: fits all losses into the bins and divides the sensitivity that costs most; None: too coarse."""
    n_rounds = sum(r.n_rounds for r in spent)
    if n_rounds >= N_BINS // 4:
        return None
    widest = max(spent, key=lambda r: r.sensitivity * r.n_rounds).sensitivity
    steps = int(widest * (N_BINS // 2 - 1 - n_rounds) / basic)
    return widest / steps if steps else None


def _composed(spent: Sequence[LaplaceRounds], step: float) -> FloatVector:
    """The masses `[N_BINS]` of the summed losses step * (-N_BINS / 2), ..., step * (N_BINS / 2 - 1)."""
    spectrum = np.ones(N_BINS // 2 + 1, dtype=np.complex128)
    for sensitivity, n_rounds in spent:
        steps = math.ceil(sensitivity / step - 1e-9)
        masses = loss_masses(steps * step, steps)
        circle = np.zeros(N_BINS)
        circle[: steps + 1], circle[N_BINS - steps :] = masses[steps:], masses[:steps]
        spectrum *= np.fft.rfft(circle) ** n_rounds
    composed: FloatVector = np.maximum(np.roll(np.fft.irfft(spectrum, N_BINS), N_BINS // 2), 0.0)
    return composed


def _epsilon(masses: FloatVector, step: float, delta: float) -> float:
    """The smallest epsilon from 0 with sum over losses l > epsilon of p(l) (1 - e^(epsilon - l)) <= `delta`."""
    if delta <= 0:
        return math.inf
    positive = masses[N_BINS // 2 :]
    low, high = 0, len(positive) - 1
    if _tail(positive, step, low, 0.0)[0] <= delta:
        return 0.0
    while high - low > 1:  # delta at the dot `low` is too much, at the dot `high` it is enough
        middle = (low + high) // 2
        enough = _tail(positive, step, middle, step * middle)[0] <= delta
        low, high = (low, middle) if enough else (middle, high)
    _, mass, discounted = _tail(positive, step, high, step * high)
    return step * high + math.log((mass - delta) / discounted) if mass > delta else step * low


def _tail(masses: FloatVector, step: float, first: int, epsilon: float) -> tuple[float, float, float]:
    """delta, sum p(l) and sum p(l) e^(epsilon - l) over the losses l = step * first and above."""
    losses = step * np.arange(first, len(masses))
    tail = masses[first:]
    return (float(tail @ -np.expm1(epsilon - losses)), float(tail.sum()), float(tail @ np.exp(epsilon - losses)))


@lru_cache(1_024)  # a device asks of the same rounds several times in each sync
def gaussian_epsilon(mu: float, delta: float) -> float:
    """The smallest epsilon for `delta` in (0, 1), rounded up; inf for an infinite mu, 0 when delta needs none.

    Exact when every device takes part in every round:

        delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu),   mu^2 = sum over rounds of 1/z_r^2

    (Balle and Wang, ICML 2018, Theorem 8; Dong, Roth and Su, "Gaussian differential privacy", JRSS B 2022, Corollary
    2.13 and 3.3). z is the standard deviation of the noise over the sensitivity. Nothing is gained by sampling: a
    server sees who takes part. Computed in logarithms, to about 10 digits, for any epsilon and any delta above 1e-300.
    """
    check_delta(delta)
    if math.isinf(mu):
        return math.inf
    return _smallest(lambda epsilon: log_delta(mu, epsilon) <= math.log(delta))


def best_auc(mu: float) -> float:
    """Phi(mu / sqrt 2): the AUC that no test between two cases mu apart exceeds; chance is 1/2, inf gives 1.

    The area under the curve of the most powerful tests, 1 - beta = Phi(Phi^-1(alpha) + mu) (Dong, Roth and Su,
    Eq. 6), which lies above that of any other score.
    """
    _check_mu(mu)
    return math.erfc(-mu / 2) / 2


def best_guess(mu: float, prior: float = 0.5) -> float:
    """How often the best guess between two cases mu apart is right, when the first is true with probability `prior`.

        p Phi(mu/2 + l/mu) + (1 - p) Phi(mu/2 - l/mu),   l = ln(p / (1 - p));   Phi(mu/2) for p = 1/2

    Bayes' rule between N(0, 1) and N(mu, 1); no mechanism whose cases are at most mu apart tells more, since none has
    a lower curve of errors. ValueRangeError for a prior that is not between 0 and 1.
    """
    _check_mu(mu)
    if not 0 < prior < 1:
        raise ValueRangeError(f"a prior must be between 0 and 1, not {prior}")
    if mu == 0:
        return max(prior, 1 - prior)
    lean = math.log(prior / (1 - prior)) / mu
    return prior * _phi(mu / 2 + lean) + (1 - prior) * _phi(mu / 2 - lean)


def log_delta(mu: float, epsilon: float) -> float:
    """log delta(epsilon), -inf for mu = 0; ValueRangeError for a mu below 0.

    With x = epsilon/mu - mu/2 and y = epsilon/mu + mu/2 the density phi obeys phi(x) = e^epsilon phi(y), so that
    delta = phi(x) (R(x) - R(y)), R = (1 - Phi) / phi being Mills' ratio: nothing overflows. Where mu is small the two
    are nearly equal, and delta = Phi(y) - Phi(x) - (e^epsilon - 1) (1 - Phi(y)) for x < 0.
    """
    _check_mu(mu)
    if mu == 0:
        return -math.inf
    x, y = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    log_density = -x * x / 2 - math.log(2 * math.pi) / 2
    if x < 0 and mu < 1:
        between = (math.erf(y / math.sqrt(2)) - math.erf(x / math.sqrt(2))) / 2
        return math.log(between - math.expm1(epsilon) * _phi(-y))
    if x < 0:
        return math.log1p(-math.exp(log_density) * (_mills_ratio(-x) + _mills_ratio(y)))
    difference = _mills_fall(x, mu)
    return log_density + math.log(difference) if difference > 0 else -math.inf


def _smallest(holds: Callable[[float], bool]) -> float:
    """The smallest number from 0 for which `holds`, which is false below it and true above, rounded up by 1e-13."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def check_delta(delta: float) -> None:
    """ValueRangeError unless 0 < delta < 1."""
    if not 0 < delta < 1:
        raise ValueRangeError(f"delta must be between 0 and 1, not {delta}")


def _check_mu(mu: float) -> None:
    if not mu >= 0:
        raise ValueRangeError(f"mu must not be negative, and is {mu}")


def _phi(x: float) -> float:
    """The standard normal distribution function."""
    return math.erfc(-x / math.sqrt(2)) / 2


def _mills_fall(x: float, mu: float) -> float:
    """R(x) - R(x + mu), x >= 0: where mu is small by Simpson's rule from R'(t) = t R(t) - 1, 12 digits of it."""
    if mu > 0.01:
        return _mills_ratio(x) - _mills_ratio(x + mu)
    first, middle, last = (1.0 - t * _mills_ratio(t) for t in (x, x + mu / 2, x + mu))
    return mu * (first + 4.0 * middle + last) / 6.0


def _mills_ratio(x: float) -> float:
    """(1 - Phi(x)) / phi(x) for x >= 0: by erfc, from 5 on by Laplace's continued fraction 1/(x + 1/(x + 2/(x + ..."""
    if x < 5:
        return math.sqrt(math.pi / 2) * math.exp(x * x / 2) * math.erfc(x / math.sqrt(2))
    tail = x
    for numerator in range(60, 0, -1):
        tail = x + numerator / tail
    return 1.0 / tail


Neighbours: TypeAlias = Literal["zero-out", "replace"]
Against: TypeAlias = Literal["sum", "server"]

_CHANGE: dict[Neighbours, float] = {"zero-out": 1.0, "replace": 2.0}


class Ledger(Struct, frozen=True):
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

        Gaussian and Laplace noise in one ledger: the better of all delta for the Gaussian part and of half for each.
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
    """How far the noise of T rounds of N_t updates moves the ranker, divided by how far their members' signals can.

        own sqrt(d sum_t 1 / N_t) / T,    own = z, where the noise is shared out z / sqrt(n_clients)

    Signals of rounds add up, T clips at most; noise adds by its square. z is sqrt(2) / epsilon for Laplace noise. None
    without rounds, and for a mechanism whose settings do not tell its noise.
    """
    if not counts or not isinstance(mechanism, (Gaussian, Laplace)):
        return None
    z = mechanism.noise_multiplier if isinstance(mechanism, Gaussian) else math.sqrt(2.0) / mechanism.epsilon
    own = z / math.sqrt(mechanism.n_clients) if mechanism.distributed else z
    return own * math.sqrt(n_params * math.fsum(1.0 / n for n in counts)) / len(counts)


def _mu(mechanism: Mechanism, neighbours: Neighbours, against: Against) -> float:
    """What one round adds to mu: change / standard deviation of the noise that is seen; 0 without Gaussian noise."""
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
