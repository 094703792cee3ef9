"""Nobody waits: a client learns when its user searches, and the server takes each message in as it comes.

A client arrives, learns from the ranker theta_b that it took at its last arrival, sends, and takes the newest. With s
the arrivals since then, its own among them (1: nobody came between), and w = weight (1 + s)^-decay,

    theta <- theta + w (theta_c - theta)          "rankers"    (Xie, Koyejo and Gupta, FedAsync, arXiv 1903.03934)
    theta <- theta + w (theta_c - theta_b)        "updates"    (Nguyen et al., FedBuff, AISTATS 2022; a buffer of one)

FedBuff has weight 1 and decay 1/2, and counts one arrival fewer: a message that nobody came before has weight 1. The
program of AOL4FOLTR (Gregoriadis, Kang and Pouwelse, CIKM 2025, arXiv 2508.12353) is "rankers" with weight 1 and decay
1, but for one thing: there, clients never take the server's ranker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from msgspec import Struct, field

from foltr.arithmetic import power
from foltr.arrays import FloatMatrix, FloatVector, Int64Vector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from simulation.batched.fpdgd_rounds import is_compiled, learned_alone
from simulation.cells.preset import Asynchrony
from simulation.rounds.federation import Population, Shown, learned
from simulation.rounds.streams import Streams


class AsynchronousRounds(Struct):
    """A `simulation.rounds.federation.Round` of as many arrivals as there are clients; for the rounds of one cell."""

    asynchrony: Asynchrony
    copies: FloatMatrix = field(default_factory=lambda: np.zeros((0, 0)))
    """[n_clients, n_params] what each client learns from when it arrives next"""
    taken: Int64Vector = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """[n_clients] how many arrivals there had been when it took that"""
    visits: Int64Vector = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """[n_clients] how often each arrived"""

    def __call__(self, method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
        """One arrival after another; a client that has asked all its queries arrives no more."""
        if not len(self.copies):
            self.copies = np.tile(model.theta, (population.n_clients, 1))
            self.taken, self.visits = np.zeros((2, population.n_clients), dtype=np.int64)
        theta, seen = model.theta, list[Shown]()
        for client in self._arriving(population.n_clients, streams.model):
            copy = self.copies[client]
            ended, shown = self._learned(method, replace(model, theta=copy), population, streams, client)
            if not shown.interactions:
                continue
            seen.append(shown)
            self.visits[client] += 1
            so_far = int(self.visits.sum())
            base = theta if self.asynchrony.joins == "rankers" else copy
            theta = theta + self.share(so_far - int(self.taken[client])) * (ended - base)
            self.copies[client], self.taken[client] = theta, so_far
        return replace(model, theta=theta, round=model.round + 1), Shown.total(seen)

    def _learned(
        self, method: FPDGD, model: Model, population: Population, streams: Streams, client: int
    ) -> tuple[FloatVector, Shown]:
        """What a client makes of a ranker on its next pages, compiled where that can be, and those pages."""
        if is_compiled(method) and not population.in_order:
            return learned_alone(method, population, streams, client, model.theta)
        local = method.begin(model, streams.devices[client])
        local, _, pages = learned(method, local, population, streams, client, int(self.visits[client]))
        return local.theta, Shown.total(pages)

    def share(self, staleness: int) -> float:
        """w of a message that is so many arrivals old, from 1."""
        return self.asynchrony.weight / float(power(1.0 + staleness, self.asynchrony.decay))

    def _arriving(self, n_clients: int, rng: np.random.Generator) -> Iterator[int]:
        """Clients as they arrive: each time client c, from 0, with a probability in proportion to (c + 1)^-pace."""
        until = np.cumsum(1.0 / power(np.arange(1.0, n_clients + 1.0), self.asynchrony.pace))
        for _ in range(n_clients):
            yield int(np.searchsorted(until, rng.random() * until[-1], side="right"))
