"""What one update gives away: guessing a user's clicks from what the server receives.

The attacker knows the rule by which the device learns and the features of every result that was shown, in their order;
it does not know what was opened. FPDGD adds up the PDGD gradients of the round's pages,

    (theta - theta_t) / eta = sum over pages q  sum over shown i  w_qi x_qi,      sum over i of w_qi = 0

and w_qi is above 0 where result i was opened, below 0 where it was passed over, and 0 where it was not looked at. That
theta moves within the round changes how large each w is, never its sign nor that the update is linear in the known x;
so no click needs to be tried. With Q pages of 10 results the 9 Q unknowns are determined while 9 Q <= n_params.

Baseline: the same guess from the rank alone, because users open what stands above. RAIFLE (NDSS 2025, arXiv
2310.19163) optimises over simulated clicks for the same end; for a linear ranker a linear system is enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from foltr.arrays import BoolVector, FloatMatrix, FloatVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.federated.payload import decode_message, encode_message
from foltr.ranking.interaction import Interaction
from simulation.click_models import Users

WEIGHT_SPREAD = 0.1
"""how large a document's weight w usually is, which an attacker can simulate; PDGD's stay below 10 / 4"""


@dataclass(frozen=True, slots=True, eq=False)
class SentUpdates:
    """One device's update as the server has it, the pages the attacker knows, and the truth that it wants."""

    update: FloatVector
    """[n_sent] the message less the global theta's shared weights"""
    pages: tuple[FloatMatrix, ...]
    """for each page the features of the results shown [k, n_params], best first"""
    clicks: tuple[BoolVector, ...]
    """for each page [k]"""


def send_update(
    method: FPDGD,
    model: Model,
    queries: Sequence[tuple[FloatMatrix, npt.NDArray[np.int8]]],
    *,
    users: Users,
    rng: np.random.Generator,
) -> SentUpdates:
    """A device's round by FPDGD's own verbs over `queries` (features, grades), through the payload of the wire."""
    local, pages, clicks = method.begin(model, rng), [], []
    for features, grades in queries:
        ranking = method.rank(local, features, rng, k=users.k)
        opened = users.clicks(grades[ranking], 0, rng)
        local = method.learn(local, Interaction(features, ranking, opened))
        pages.append(features[ranking])
        clicks.append(opened)
    received = decode_message(method, encode_message(method, method.report(local, rng)))
    return SentUpdates(received.theta - method.sent(model.theta), tuple(pages), tuple(clicks))


def estimated_weights(
    update: FloatVector, pages: Sequence[FloatMatrix], *, learning_rate: float, noise: float = 0.0
) -> FloatMatrix:
    """The weights `[n_pages, k]` that explain an update `[n_params]` best; every row adds up to 0.

        minimise  ||sum w x - update / eta||^2 + (noise / (eta * WEIGHT_SPREAD))^2 ||w||^2

    `pages` have k results each, `[k, n_params]`. `noise` is the standard deviation of the mechanism in each number,
    which is public; 0 gives least squares, and of many solutions the smallest. ShapeError when pages and update do not
    fit; ValueRangeError for a learning rate that is not positive or negative noise.
    """
    if not learning_rate > 0 or noise < 0:
        raise ValueRangeError(f"wanted learning_rate > 0 and noise >= 0, not {learning_rate} and {noise}")
    if not pages or any(page.shape != (len(pages[0]), len(update)) for page in pages):
        raise ShapeError(f"pages must all be [k, {len(update)}], not {[list(page.shape) for page in pages]}")
    # Weights that add up to 0 on a page see features only as they differ from the page's mean, and the smallest
    # solution on such features adds up to 0.
    known = np.concatenate([page - page.mean(axis=0) for page in pages]).T
    u, s, v = np.linalg.svd(known, full_matrices=False)
    seen = s > s.max(initial=0.0) * max(known.shape) * np.finfo(np.float64).eps
    damped = s[seen] / (s[seen] ** 2 + (noise / (learning_rate * WEIGHT_SPREAD)) ** 2)
    weights: FloatMatrix = (v[seen].T * damped) @ (u[:, seen].T @ (update / learning_rate))
    return weights.reshape(len(pages), -1)


def by_rank(pages: Sequence[FloatMatrix]) -> FloatMatrix:
    """The baseline's guesses `[n_pages, k]`: the higher a result stood, the likelier it was opened."""
    ranks = np.arange(len(pages[0]), dtype=np.float64)
    return np.tile(-ranks, (len(pages), 1))


def auc(guesses: npt.ArrayLike, truth: npt.ArrayLike) -> float:
    """How often a guess for something opened is above one for something not opened, ties as half.

    Of any shape, the same for both. NaN when all or nothing was opened.
    """
    values, opened = np.ravel(np.asarray(guesses, dtype=np.float64)), np.ravel(np.asarray(truth, dtype=np.bool_))
    if values.shape != opened.shape:
        raise ShapeError(f"one guess for each result: {len(values)} guesses for {len(opened)}")
    if opened.all() or not opened.any():
        return float("nan")
    over = values[opened][:, None] - values[~opened][None, :]
    return float((over > 0).mean() + (over == 0).mean() / 2)
