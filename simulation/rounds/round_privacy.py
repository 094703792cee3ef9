"""Noise in the rounds of a study that remembers the rounds before, and the epsilon of all rounds together.

The setting stays that of the method, Gaussian with multiplier z: independent noise of that multiplier in every round
fixes what is guaranteed, and correlated noise is made just strong enough to guarantee the same over all rounds of the
study (foltr.privacy.noise). With `separation` 1 every client is a device that correlates its own noise. Above it the
clients of a round are other people than those of the rounds before, each of whom comes back after b rounds, and the
noise is that of somebody trusted: it is drawn in as many parts as there are clients, and only its sum means anything.
Simulated users draw their queries alike, so that who they are changes only the accounting.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import Struct, field

from foltr.arithmetic import normals
from foltr.arrays import FloatArray
from foltr.federated.aggregation.averaging import Mean
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.privacy.accounting import gaussian_epsilon
from foltr.privacy.correlated_noise import Correlation
from foltr.privacy.mechanisms import Gaussian, NoPrivacy
from foltr.privacy.noise import STEPS
from simulation.batched.fpdgd_rounds import is_compiled, reported_thetas
from simulation.errors import PresetError
from simulation.rounds import federation as rounds
from simulation.rounds.federation import Population, Shown
from simulation.rounds.streams import Streams

DELTA = 1e-5
"""of every epsilon that the laboratory reports"""


class CorrelatedRounds(Struct):
    """A `simulation.rounds.federation.Round` that remembers; for the rounds of one cell."""

    correlation: Correlation
    n_rounds: int
    """of the whole study: all of them together have the guarantee"""
    memory: FloatArray = field(default_factory=lambda: np.zeros(0))
    """[n_buffers, n_clients, n_params] of the rounds so far"""

    def __call__(self, method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
        """Learn, clip, add this round's noise, join."""
        privacy, start = _gaussian(method), model.theta
        thetas, shown = reported_thetas(replace(method, privacy=NoPrivacy()), model, population, streams)
        updates = np.array([privacy.bounded(start, theta) for theta in thetas])
        if not self.memory.size:
            self.memory = self.correlation.memory(*updates.shape)
        fresh = np.array([normals(device, method.n_sent) for device in streams.devices])
        noise, self.memory = self.correlation.next(fresh, self.memory)
        deviation = STEPS * privacy.grid_step * self.correlation.excess(self.n_rounds)
        thetas = rounds.attacked_thetas(method, model, start + updates + deviation * noise, population, streams)
        return rounds.joined_thetas(method, model, thetas, population), shown


def check_correlated(method: Any) -> None:
    """PresetError for a method whose noise cannot be correlated."""
    if not (isinstance(method, FPDGD) and is_compiled(method) and isinstance(method.privacy, Gaussian)):
        raise PresetError("federation.correlation: noise is correlated for fpdgd with method.privacy = gaussian alone")


def epsilon_spent(
    method: Any, correlation: Correlation | None, *, n_rounds: int, so_far: int, n_honest: int, exchanged: bool = False
) -> float:
    """What one person's part in the first `so_far` of `n_rounds` rounds has cost, against its absence, at `DELTA`.

    Of Gaussian noise. Where it is shared out, whoever sees only the sum counts, and in it the shares of `n_honest`
    clients, if they are fewer than the mechanism wants; a rule or a guard that looks at single messages, and clients
    who exchange them (`exchanged`), see the noise of one share.
    """
    correlation, privacy = correlation or Correlation(), _gaussian(method)
    z = privacy.noise_multiplier * correlation.excess(n_rounds)
    if privacy.distributed:
        compared = isinstance(method, FPDGD) and (method.guard or not isinstance(method.aggregation, Mean))
        z *= math.sqrt(min(privacy.n_clients, 1 if compared or exchanged else n_honest) / privacy.n_clients)
    return gaussian_epsilon(correlation.sensitivity(so_far) / z, DELTA) if z else math.inf


def _gaussian(method: FPDGD) -> Gaussian:
    assert isinstance(method.privacy, Gaussian)  # check_correlated
    return method.privacy
