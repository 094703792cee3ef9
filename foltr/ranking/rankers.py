"""Rankers: a score for each document, from one flat parameter vector theta `[n_params]`.

A ranker knows shapes, never values: theta is always an argument, so that a device, a server and a simulation can
add, average and send it without knowing what it parametrises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct

from foltr.arithmetic import dots, length, normals, table, weighted_sum
from foltr.arrays import FloatArray, FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError


class Ranker(Protocol):
    """What every ranker can do."""

    @property
    def name(self) -> str: ...
    @property
    def n_features(self) -> int: ...
    @property
    def n_params(self) -> int: ...

    def initial(self, rng: np.random.Generator) -> FloatVector:
        """A starting theta `[n_params]` that knows nothing."""

    def from_linear(self, theta0: FloatVector, rng: np.random.Generator) -> FloatVector:
        """The theta `[n_params]` whose score is theta0 . x for every x with no negative feature."""

    def score(self, theta: FloatVector, features: FloatMatrix) -> FloatVector:
        """f_theta(x_d) for each row of features `[n_docs, n_features]`: `[n_docs]`."""

    def weighted_gradient(self, theta: FloatVector, features: FloatMatrix, weights: FloatVector) -> FloatVector:
        """sum over d of weights[d] * (gradient of f_theta(x_d) by theta): `[n_params]`."""

    def by_feature(self, values: FloatVector) -> FloatVector:
        """Feature values `[n_features]` spread over their parameters `[n_params]`; 1 for those of no one feature."""

    def attributions(self, theta: FloatVector, x: FloatArray, reference: FloatVector) -> FloatArray:
        """f(x) - f(reference) shared out over the features, as x `[..., n_features]`; the shares add up to it.

        Integrated gradients along the straight line (Sundararajan et al. 2017, Eq. 1), in closed form.
        """

    def with_features(self, theta: FloatVector, columns: Sequence[int | None]) -> FloatVector:
        """Theta for other features: new feature i is the present feature columns[i], or has no effect if None."""


class Linear(Struct, frozen=True):
    """f_theta(x) = theta . x."""

    n_features: int
    name: str = "linear"

    @property
    def n_params(self) -> int:
        return self.n_features

    def initial(self, rng: np.random.Generator) -> FloatVector:
        """A random direction of length 0.01, as in the published FPDGD code."""
        direction = normals(rng, self.n_features)
        return 0.01 * direction / max(length(direction), 1e-12)

    def from_linear(self, theta0: FloatVector, rng: np.random.Generator) -> FloatVector:
        return np.array(_vector(theta0, self.n_features, "theta0"))

    def score(self, theta: FloatVector, features: FloatMatrix) -> FloatVector:
        scores: FloatVector = dots(_matrix(features, self.n_features), _vector(theta, self.n_params, "theta"))
        return scores

    def weighted_gradient(self, theta: FloatVector, features: FloatMatrix, weights: FloatVector) -> FloatVector:
        x = _matrix(features, self.n_features)
        return weighted_sum(_vector(weights, len(x), "weights"), x)

    def by_feature(self, values: FloatVector) -> FloatVector:
        return _vector(values, self.n_features, "values")

    def attributions(self, theta: FloatVector, x: FloatArray, reference: FloatVector) -> FloatArray:
        shares: FloatArray = _vector(theta, self.n_params, "theta") * (x - reference)
        return shares

    def with_features(self, theta: FloatVector, columns: Sequence[int | None]) -> FloatVector:
        kept: FloatVector = _columns(_vector(theta, self.n_params, "theta")[None, :], columns)[0]
        return kept


class Neural(Struct, frozen=True):
    """f_theta(x) = v . relu(W x + b): one hidden layer and no output bias, which no order would depend on.

    theta is W `[n_hidden, n_features]` row by row, then b `[n_hidden]`, then v `[n_hidden]`.
    """

    n_features: int
    n_hidden: int = 64
    name: str = "neural"

    @property
    def n_params(self) -> int:
        return self.n_hidden * (self.n_features + 2)

    def initial(self, rng: np.random.Generator) -> FloatVector:
        """Both layers drawn with variance 1 / fan-in, no bias: hidden units of the inputs' size."""
        w = self._random_inputs(rng)
        v = normals(rng, self.n_hidden) / np.sqrt(self.n_hidden)
        return np.concatenate([w.ravel(), np.zeros(self.n_hidden), v])

    def from_linear(self, theta0: FloatVector, rng: np.random.Generator) -> FloatVector:
        """Unit 0 carries the positive part of theta0, unit 1 the negative part.

        The other units see random inputs and have output weight zero: they change no score until they learn.
        """
        if self.n_hidden < 2:
            raise ValueRangeError(f"a net that begins as a linear ranker needs 2 hidden units, not {self.n_hidden}")
        linear = _vector(theta0, self.n_features, "theta0")
        w, v = self._random_inputs(rng), np.zeros(self.n_hidden)
        w[0], w[1] = np.maximum(linear, 0.0), np.maximum(-linear, 0.0)
        v[0], v[1] = 1.0, -1.0
        return np.concatenate([w.ravel(), np.zeros(self.n_hidden), v])

    def score(self, theta: FloatVector, features: FloatMatrix) -> FloatVector:
        w, b, v = self.layers(theta)
        scores: FloatVector = dots(np.maximum(table(_matrix(features, self.n_features), w) + b, 0.0), v)
        return scores

    def weighted_gradient(self, theta: FloatVector, features: FloatMatrix, weights: FloatVector) -> FloatVector:
        x = _matrix(features, self.n_features)
        w, b, v = self.layers(theta)
        hidden = table(x, w) + b
        by_hidden = _vector(weights, len(x), "weights")[:, None] * (hidden > 0) * v
        by_v = weighted_sum(weights, np.maximum(hidden, 0.0))
        return np.concatenate([table(by_hidden.T, x.T).ravel(), by_hidden.sum(axis=0), by_v])

    def by_feature(self, values: FloatVector) -> FloatVector:
        spread = np.tile(_vector(values, self.n_features, "values"), self.n_hidden)
        return np.concatenate([spread, np.ones(2 * self.n_hidden)])

    def attributions(self, theta: FloatVector, x: FloatArray, reference: FloatVector) -> FloatArray:
        w, b, v = self.layers(theta)
        slope: FloatArray = (v * _share_above_zero(w @ reference + b, x @ w.T + b)) @ w
        return (x - reference) * slope

    def with_features(self, theta: FloatVector, columns: Sequence[int | None]) -> FloatVector:
        w, b, v = self.layers(theta)
        return np.concatenate([_columns(w, columns).ravel(), b, v])

    def layers(self, theta: FloatVector) -> tuple[FloatMatrix, FloatVector, FloatVector]:
        """W `[n_hidden, n_features]`, b `[n_hidden]` and v `[n_hidden]`, views into theta."""
        flat = _vector(theta, self.n_params, "theta")
        n_weights = self.n_hidden * self.n_features
        w = flat[:n_weights].reshape(self.n_hidden, self.n_features)
        return w, flat[n_weights : n_weights + self.n_hidden], flat[n_weights + self.n_hidden :]

    def _random_inputs(self, rng: np.random.Generator) -> FloatMatrix:
        drawn: FloatMatrix = normals(rng, self.n_hidden, self.n_features) / np.sqrt(max(self.n_features, 1))
        return drawn


RANKERS: dict[str, Callable[[int], Ranker]] = {"linear": Linear, "neural": Neural}
"""Rankers by the name used in settings and stored models, each made from n_features."""


def make_ranker(name: str, n_features: int) -> Ranker:
    """The ranker of that name; ValueRangeError lists the names there are."""
    if name not in RANKERS:
        raise ValueRangeError(f"no ranker {name!r}; there are {', '.join(RANKERS)}")
    return RANKERS[name](n_features)


def _share_above_zero(start: FloatVector, end: FloatArray) -> FloatArray:
    """Which share of the way from `start` to `end` lies above zero, in [0, 1]."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    share = (high > 0).astype(np.float64)
    crosses = (low < 0) & (high > 0)
    share[crosses] = high[crosses] / (high[crosses] - low[crosses])
    return share


def _columns(weights: FloatMatrix, columns: Sequence[int | None]) -> FloatMatrix:
    """The named columns of `[n_rows, n_features]`, zeros where None."""
    chosen = np.zeros((len(weights), len(columns)))
    for new, old in enumerate(columns):
        if old is not None:
            chosen[:, new] = weights[:, old]
    return chosen


def _vector(values: FloatVector, n: int, what: str) -> FloatVector:
    if values.shape != (n,):
        raise ShapeError(f"{what} must be [{n}], not {list(values.shape)}")
    return values


def _matrix(features: FloatMatrix, n_features: int) -> FloatMatrix:
    if features.ndim != 2 or features.shape[1] != n_features:
        raise ShapeError(f"features must be [n_docs, {n_features}], not {list(features.shape)}")
    return features
