"""Clients that adopt a ranker only if it explains their own clicks better: RankGuard's defence.

Gregoriadis, de Vos, Biswas, Kermarrec and Pouwelse, "Efficient and Robust Online Learning to Rank in Decentralized
Systems", arXiv 2606.12246: users exchange rankers, and each tests what comes in against its own click history,
corrected for position bias, by a t-test. We could read its abstract, not its formulas; the test here is that of the
device's own adoption (app.federation.adoption), but for superiority instead of non-inferiority:

    worth of a page = sum over opened d of  1 / p(rank shown) * 1 / log2(1 + new rank of d),   p(r) = max(1 / r, .1)
    taken over where  mean difference > level * its standard error,   over the newest pages of the client

In a round every client learns from its own ranker on, as FPDGD does, and remembers its pages; the malicious replace
what they send. Incoming are the rankers of all others ("peers", as in the paper: those that pass are averaged with the
own) or the one that the server makes of all ("server": it takes the place of the own).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import Struct, field

from foltr.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.method import Model
from foltr.online.ips import clipped_propensities, position_propensities
from foltr.ranking.interaction import Interaction
from foltr.ranking.metrics import discounts
from foltr.ranking.rankers import Ranker
from simulation.cells.preset import FEWEST_PAGES, Acceptance
from simulation.rounds.federation import Population, Shown, attacked_thetas, joined_thetas, learned
from simulation.rounds.streams import Streams

SMALLEST_PROPENSITY = 0.1


class History(Struct):
    """The newest pages of one client on which something was opened."""

    longest: int
    pages: deque[Interaction] = field(default_factory=deque)

    def add(self, page: Interaction) -> None:
        """A page on which nothing was opened says nothing."""
        if page.clicks.any():
            self.pages.append(page)
            if len(self.pages) > self.longest:
                self.pages.popleft()

    def worths(self, ranker: Ranker, thetas: Sequence[FloatVector]) -> FloatMatrix:
        """What ranking by each of these thetas would have been worth on each page, `[n_thetas, n_pages]`.

        The new rank of what was opened is one more than how many documents of its page are ahead of it: by their score,
        or equal and before it. All pages are asked at once.
        """
        features = np.concatenate([page.features for page in self.pages])
        scores = np.stack([ranker.score(theta, features) for theta in thetas])
        n_docs = np.array([page.n_docs for page in self.pages])
        n_opened = np.array([page.clicks.sum() for page in self.pages])
        first_of_page = np.cumsum(n_docs) - n_docs
        shown_at = np.concatenate([np.flatnonzero(page.clicks) for page in self.pages])
        opened = np.concatenate([page.ranking[page.clicks] for page in self.pages]) + np.repeat(first_of_page, n_opened)
        rivals, first_rival = _ranges(np.repeat(first_of_page, n_opened), np.repeat(n_docs, n_opened))
        beside = np.repeat(opened, np.repeat(n_docs, n_opened))
        theirs, own = scores[:, rivals], scores[:, beside]
        ahead = (theirs > own) | ((theirs == own) & (rivals < beside))
        ranks = 1.0 + np.add.reduceat(ahead, first_rival, axis=1, dtype=np.float64)
        propensities = position_propensities(1.0, k=int(shown_at.max()) + 1)
        weights = 1.0 / clipped_propensities(propensities, smallest=SMALLEST_PROPENSITY)[shown_at]
        discount = discounts(int(n_docs.max()))[ranks.astype(np.intp) - 1]
        worths: FloatMatrix = np.add.reduceat(weights * discount, np.cumsum(n_opened) - n_opened, axis=1)
        return worths


def _ranges(starts: IntVector, sizes: IntVector) -> tuple[IntVector, IntVector]:
    """start, start + 1, ... of each range, one range after another; and where each begins among them."""
    begins = np.cumsum(sizes) - sizes
    return np.arange(sizes.sum()) + np.repeat(starts - begins, sizes), begins


def passes(worths: FloatMatrix, own: FloatVector, *, level: float) -> BoolVector:
    """Which rankers, worth `[n_thetas, n_pages]`, explain the pages better than the own, worth `[n_pages]`."""
    differences = worths - own
    n = len(own)
    if n < FEWEST_PAGES:
        return np.zeros(len(worths), dtype=np.bool_)
    error = differences.std(axis=1, ddof=1) / np.sqrt(n)
    better: BoolVector = differences.mean(axis=1) > level * error
    return better


class AcceptingRounds(Struct):
    """A `simulation.rounds.federation.Round` of clients with rankers of their own; for the rounds of one cell."""

    acceptance: Acceptance
    own: FloatMatrix = field(default_factory=lambda: np.zeros((0, 0)))
    """[n_clients, n_params] each client's ranker"""
    histories: list[History] = field(default_factory=list)
    """[n_clients]"""

    def __call__(self, method: FPDGD, model: Model, population: Population, streams: Streams) -> tuple[Model, Shown]:
        """Learn, attack, test, take over; the model is what the server makes of what was sent."""
        n_clients = population.n_clients
        if not len(self.own):
            self.own = np.tile(model.theta, (n_clients, 1))
            self.histories = [History(self.acceptance.pages) for _ in range(n_clients)]
        pages = [
            page for client in range(n_clients) for page in self._learn(method, model, population, streams, client)
        ]
        honest = range(n_clients - population.n_malicious)

        def accepts(theta: FloatVector) -> float:
            """The share of the honest clients who would take it over."""
            return float(np.mean([self._passes(method, client, theta[None, :])[0] for client in honest]))

        sent = attacked_thetas(method, model, self.own, population, streams, accepts=accepts)
        following = joined_thetas(method, model, sent, population)
        self.own = np.stack([self._after(method, client, sent, following) for client in range(n_clients)])
        if population.personal is not None:
            population.personal[:] = self.own
        return following, Shown.total(pages)

    def _learn(self, method: FPDGD, model: Model, population: Population, streams: Streams, client: int) -> list[Shown]:
        """A round of one client, from its own ranker on; what its pages were worth."""
        local = method.begin(replace(model, theta=self.own[client]), streams.devices[client])
        local, interactions, pages = learned(method, local, population, streams, client, model.round)
        for interaction in interactions:
            self.histories[client].add(interaction)
        self.own[client] = method.report(local, streams.devices[client]).theta
        return pages

    def _passes(self, method: FPDGD, client: int, thetas: FloatMatrix) -> BoolVector:
        """Which of some rankers a client finds better than its own."""
        history = self.histories[client]
        if len(history.pages) < FEWEST_PAGES:
            return np.zeros(len(thetas), dtype=np.bool_)
        worths = history.worths(method.ranker, [self.own[client], *thetas])
        return passes(worths[1:], worths[0], level=self.acceptance.level)

    def _after(self, method: FPDGD, client: int, sent: FloatMatrix, following: Model) -> FloatVector:
        """A client's ranker after what came in."""
        if self.acceptance.incoming == "server":
            taken = self._passes(method, client, following.theta[None, :])[0]
            return following.theta if taken else self.own[client]
        others = np.delete(sent, client, axis=0)
        mean: FloatVector = np.vstack([self.own[client], others[self._passes(method, client, others)]]).mean(axis=0)
        return mean
