"""Server optimisers: what the server does with the mean of what the devices found (FedOpt).

    theta_{t+1} = theta_t + step(pseudo-gradient)      (Reddi et al., Adaptive Federated Optimization, Algorithm 2)

The pseudo-gradient `[n_params]` is the direction to move in: the mean of the clients' differences, or for evolution
strategies the estimated ascent gradient. What an optimiser remembers is a tuple of arrays `[n_params]`, as in
foltr.federated.method.Model.moments; `()` stands for zeros, where every run begins. Reddi et al. begin v at tau^2 or
more; the published federated programs begin at 0, as is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import msgspec
import numpy as np

from foltr.arithmetic import power
from foltr.arrays import FloatVector
from foltr.errors import ShapeError, ValueRangeError

Moments = tuple[FloatVector, ...]


class SGD(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="optimizer", tag="sgd"):
    """theta + eta * gradient; with eta = 1 and the mean of the clients' differences this is FedAvg."""

    learning_rate: float = 1.0
    """eta"""

    def __post_init__(self) -> None:
        check_positive(learning_rate=self.learning_rate)

    def step(self, theta: FloatVector, pseudo_gradient: FloatVector, moments: Moments) -> tuple[FloatVector, Moments]:
        """The next theta; remembers nothing."""
        recall(moments, theta, pseudo_gradient, n=0)
        return theta + self.learning_rate * pseudo_gradient, ()


class Momentum(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="optimizer", tag="momentum"):
    """m = momentum * m + gradient, theta + eta * m: FedAvgM (Hsu et al. 2019, Section 4.3)."""

    learning_rate: float = 1.0
    """eta"""
    momentum: float = 0.9

    def __post_init__(self) -> None:
        check_positive(learning_rate=self.learning_rate)
        _decay("momentum", self.momentum)

    def step(self, theta: FloatVector, pseudo_gradient: FloatVector, moments: Moments) -> tuple[FloatVector, Moments]:
        """The next theta, and (m,)."""
        (m,) = recall(moments, theta, pseudo_gradient, n=1)
        m = self.momentum * m + pseudo_gradient
        return theta + self.learning_rate * m, (m,)


class Adagrad(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="optimizer", tag="adagrad"):
    """v = v + gradient^2, theta + eta * gradient / (sqrt(v) + tau): FedAdagrad with beta1 = 0 (Reddi et al.)."""

    learning_rate: float = 0.1
    """eta"""
    tau: float = 1e-3
    """the degree of adaptivity: the smaller, the more the step of each parameter is rescaled"""

    def __post_init__(self) -> None:
        check_positive(learning_rate=self.learning_rate, tau=self.tau)

    def step(self, theta: FloatVector, pseudo_gradient: FloatVector, moments: Moments) -> tuple[FloatVector, Moments]:
        """The next theta, and (v,)."""
        (v,) = recall(moments, theta, pseudo_gradient, n=1)
        v = v + pseudo_gradient**2
        return theta + self.learning_rate * pseudo_gradient / (np.sqrt(v) + self.tau), (v,)


class Adam(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="optimizer", tag="adam"):
    """FedAdam (Reddi et al., Algorithm 2), or with `bias_correction` the Adam of Kingma and Ba as PyTorch computes it.

        m = beta1 * m + (1 - beta1) * gradient,    v = beta2 * v + (1 - beta2) * gradient^2
        theta + eta * m / (sqrt(v) + tau)                                                    without correction
        theta + eta / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + tau)                with it, t from 1

    In PyTorch tau is called eps and is 1e-8, and beta2 is 0.999. The defaults here are those of Reddi et al.
    """

    learning_rate: float = 0.1
    """eta"""
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3
    bias_correction: bool = False

    def __post_init__(self) -> None:
        _adaptive(self.learning_rate, self.beta1, self.beta2, self.tau)

    def step(self, theta: FloatVector, pseudo_gradient: FloatVector, moments: Moments) -> tuple[FloatVector, Moments]:
        """The next theta, and (m, v), or (m, v, t) with bias correction: t is the step's number in every place."""
        if not self.bias_correction:
            m, v = recall(moments, theta, pseudo_gradient, n=2)
            m, v = self._averages(m, v, pseudo_gradient)
            return theta + self.learning_rate * m / (np.sqrt(v) + self.tau), (m, v)
        m, v, t = recall(moments, theta, pseudo_gradient, n=3)
        m, v = self._averages(m, v, pseudo_gradient)
        t = t + 1.0
        rate = self.learning_rate / (1.0 - power(self.beta1, t))
        spread = np.sqrt(v) / np.sqrt(1.0 - power(self.beta2, t)) + self.tau
        return theta + rate * m / spread, (m, v, t)

    def _averages(self, m: FloatVector, v: FloatVector, gradient: FloatVector) -> tuple[FloatVector, FloatVector]:
        return self.beta1 * m + (1 - self.beta1) * gradient, self.beta2 * v + (1 - self.beta2) * gradient**2


class Yogi(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="optimizer", tag="yogi"):
    """FedYogi: Adam whose v moves by (1 - beta2) * gradient^2 whatever its size (Reddi et al., Algorithm 2).

    m = beta1 * m + (1 - beta1) * gradient,    v = v - (1 - beta2) * gradient^2 * sign(v - gradient^2)
    theta + eta * m / (sqrt(v) + tau)
    """

    learning_rate: float = 0.1
    """eta"""
    beta1: float = 0.9
    beta2: float = 0.99
    tau: float = 1e-3

    def __post_init__(self) -> None:
        _adaptive(self.learning_rate, self.beta1, self.beta2, self.tau)

    def step(self, theta: FloatVector, pseudo_gradient: FloatVector, moments: Moments) -> tuple[FloatVector, Moments]:
        """The next theta, and (m, v)."""
        m, v = recall(moments, theta, pseudo_gradient, n=2)
        square = pseudo_gradient**2
        m = self.beta1 * m + (1 - self.beta1) * pseudo_gradient
        v = v - (1 - self.beta2) * square * np.sign(v - square)
        return theta + self.learning_rate * m / (np.sqrt(v) + self.tau), (m, v)


Optimizer = SGD | Momentum | Adagrad | Adam | Yogi
"""told apart in settings by `optimizer`: sgd, momentum, adagrad, adam or yogi"""


def recall(moments: Sequence[FloatVector], theta: FloatVector, gradient: FloatVector, *, n: int) -> Moments:
    """The `n` moments, zeros `[n_params]` when there are none yet.

    ShapeError when the gradient or a moment has another shape than theta, or there are moments of another optimiser;
    ValueRangeError for a gradient that is not finite, which would spoil the moments for all rounds to come.
    """
    if gradient.shape != theta.shape:
        raise ShapeError(f"the pseudo-gradient must be {list(theta.shape)}, not {list(gradient.shape)}")
    if not np.isfinite(gradient).all():
        raise ValueRangeError("the pseudo-gradient must be finite")
    if not moments:
        return tuple(np.zeros_like(theta) for _ in range(n))
    if len(moments) != n or any(moment.shape != theta.shape for moment in moments):
        shapes = [list(moment.shape) for moment in moments]
        raise ShapeError(f"this optimiser remembers {n} arrays of shape {list(theta.shape)}, not {shapes}")
    return tuple(moments)


def check_positive(**settings: float) -> None:
    """ValueRangeError names the first setting that is not above 0, or is not finite."""
    for name, value in settings.items():
        if not 0 < value < inf:
            raise ValueRangeError(f"{name} must be positive, not {value}")


def _decay(name: str, value: float) -> None:
    if not 0 <= value < 1:
        raise ValueRangeError(f"{name} must lie in [0, 1), not {value}")


def _adaptive(learning_rate: float, beta1: float, beta2: float, tau: float) -> None:
    check_positive(learning_rate=learning_rate, tau=tau)
    _decay("beta1", beta1)
    _decay("beta2", beta2)
