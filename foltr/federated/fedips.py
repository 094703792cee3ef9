"""FedIPS: devices learn from position-biased clicks on a fixed ranker's pages, the server runs FedOpt on the mean step.

    w_u <- w_t;  for each clicked d:  w_u <- w_u - eta_l * (1 / p_d) * gradient of h_d
    w_{t+1} = w_t + eta_g * mean over users of (w_u - w_t)               (Li and Ouyang 2021, Algorithm 1)

Pages are shown by the production ranker that all devices have, not by what is being learned. What a device knows of its
user's propensities is part of its own state and never leaves it: `begin` takes (1 / rank)^position_bias, and
`begin_knowing` whatever the device was told or has measured. The mean is over all users who report, as printed,
including those who clicked nothing.

D_q, the documents that a clicked one is compared with, is all that was retrieved in Section 2, but in Section 3 devices
store "displayed documents". We compare within the page. Compared with all retrieved documents, each click would also
call worse what the production ranker did not show, which no propensity corrects; FedIPS and FedAvg then hardly differ.

With propensity="estimated" the model also carries a linear relevance function F, learned in the same rounds: a device
keeps its pages, at the end of the round finds its own propensities by EM under F, then learns from the pages with them,
and sends a step of F beside that of w. The paper says no more of F than that it is linear and optimised with FedOpt;
the server adds the mean step of F.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import msgspec
import numpy as np

from foltr.arrays import FloatMatrix, FloatVector, IntVector
from foltr.errors import ShapeError, ValueRangeError
from foltr.federated.joining import take_step
from foltr.federated.method import Model
from foltr.federated.optimizers import SGD, Optimizer, check_positive
from foltr.online import ips
from foltr.ranking.interaction import Interaction
from foltr.ranking.plackett_luce import rank_with_noise
from foltr.ranking.rankers import Ranker


@dataclass(frozen=True, slots=True, eq=False)
class FedIPSLocal:
    """A device in the middle of a round."""

    start: FloatVector
    """[n_params] the global theta it began with"""
    theta: FloatVector
    """[n_params] what it has learned since"""
    known: FloatVector | None = None
    """[k] the user's propensities by rank; None for (1 / rank)^position_bias"""
    relevance: FloatVector | None = None
    """[n_features + 1] F, when propensities are estimated"""
    pages: tuple[Interaction, ...] = ()
    """what is not learned from until propensities are estimated"""


class FedIPSMessage(msgspec.Struct, frozen=True, eq=False):
    """What leaves the device: how far its ranker moved, and F where that is learned."""

    delta: FloatVector
    """[n_params] w_u - w_t"""
    relevance_delta: FloatVector | None = None
    """[n_features + 1]"""


@dataclass(frozen=True, slots=True)
class FedIPS:
    """Federated unbiased learning to rank; ValueRangeError for a setting outside its range."""

    ranker: Ranker
    learning_rate: float = 0.001
    """eta_l, of each click's step"""
    server: Optimizer = field(default_factory=SGD)
    """eta_g is its learning rate"""
    propensity: Literal["true", "estimated", "none"] = "true"
    """what a click is divided by: what the device knows, what it estimates, or 1, which is FedAvg on clicks"""
    against: Literal["shown", "retrieved"] = "shown"
    """D_q, what a clicked document is compared with: what its page showed, or all that was found for the query"""
    position_bias: float = 1.0
    """gamma in p = (1 / rank)^gamma: for a device that knows nothing better of its user, and where EM starts"""
    smallest_propensity: float = 0.0
    """smaller propensities are raised to this"""
    clicks: int = 10
    """m: a device's round ends with the page that brings its clicks to this many"""
    em_steps: int = 10
    """E-steps on the pages of a round"""
    relevance_rate: float = 1.0
    """of the one step by which a device's round moves F"""
    production: tuple[float, ...] = ()
    """[n_params] theta_0 of the ranker that shows the pages; () for the round's global model"""
    start: Literal["production", "random"] = "production"
    """w_0: the production ranker where there is one, or the ranker's own starting point"""

    def __post_init__(self) -> None:
        check_positive(learning_rate=self.learning_rate, relevance_rate=self.relevance_rate)
        if self.clicks < 1 or self.em_steps < 0:
            raise ValueRangeError(f"clicks must be at least 1 and em_steps 0, not {self.clicks} and {self.em_steps}")
        ips.position_propensities(self.position_bias, k=0)
        ips.clipped_propensities([1.0], smallest=self.smallest_propensity)
        if self.production and len(self.production) != self.ranker.n_params:
            raise ShapeError(f"production must be [{self.ranker.n_params}] or empty, not [{len(self.production)}]")

    @property
    def estimates(self) -> bool:
        """Whether devices estimate their propensities."""
        return self.propensity == "estimated"

    def initial(self, rng: np.random.Generator) -> Model:
        """w_0, which the paper leaves open; moments begin with F = 1/2 when propensities are estimated.

        Pages show only the top of long lists. A ranker that begins from nothing learns from them to order that top and
        never meets what the production ranker keeps below; one that begins as the production ranker keeps that there.
        """
        own = self.ranker.initial(rng)
        relevance = (np.zeros(self.ranker.n_features + 1),) if self.estimates else ()
        return Model(self.shown_by(own) if self.start == "production" else own, moments=relevance)

    def begin(self, model: Model, rng: np.random.Generator) -> FedIPSLocal:
        """The global ranker on a device that knows nothing of its user; draws nothing."""
        return self.begin_knowing(model, None)

    def begin_knowing(self, model: Model, propensities: FloatVector | None) -> FedIPSLocal:
        """`begin` on a device that knows its user's propensities `[k]`; only propensity="true" uses them."""
        known = propensities if self.propensity == "true" else None
        return FedIPSLocal(model.theta, model.theta, known, self.relevance(model))

    def rank(self, local: FedIPSLocal, features: FloatMatrix, rng: np.random.Generator, *, k: int) -> IntVector:
        """The production ranker's best, equal ones by row; draws nothing."""
        scores = self.ranker.score(self.shown_by(local.start), features)
        return rank_with_noise(scores, np.zeros(len(scores)), k=k)

    def learn(self, local: FedIPSLocal, interaction: Interaction) -> FedIPSLocal:
        """A step for each clicked document; with estimated propensities the page is kept for `report` instead."""
        if self.estimates:
            return replace(local, pages=(*local.pages, interaction))
        return replace(local, theta=self._stepped(local.theta, interaction, local.known))

    def report(self, local: FedIPSLocal, rng: np.random.Generator) -> FedIPSMessage:
        """The difference that the round made; draws nothing."""
        if local.relevance is None:
            return FedIPSMessage(local.theta - local.start)
        shown = impressions(local.pages, n_features=self.ranker.n_features)
        propensities = self.estimated(local.relevance, shown)
        theta = local.theta
        for page in local.pages:
            theta = self._stepped(theta, page, propensities)
        step = self.relevance_rate * ips.relevance_gradient(local.relevance, shown, propensities)
        return FedIPSMessage(theta - local.start, step)

    def aggregate(self, model: Model, messages: Sequence[FedIPSMessage]) -> Model:
        """The server's step along the mean difference; the same theta when there are no messages.

        ShapeError for a difference of another length than theta or F, ValueRangeError for one that is not finite.
        """
        if not messages:
            return replace(model, round=model.round + 1)
        mean = _mean([message.delta for message in messages], n=len(model.theta))
        relevance = self.relevance(model)
        if relevance is None:
            return self.moved(model, mean)
        return self.moved(model, mean, _mean([message.relevance_delta for message in messages], n=len(relevance)))

    def moved(self, model: Model, mean: FloatVector, relevance_mean: FloatVector | None = None) -> Model:
        """`aggregate` for the means of what the devices sent, `[n_params]` and `[n_features + 1]`."""
        relevance = self.relevance(model)
        remembered = model.moments if relevance is None else model.moments[1:]
        after = take_step(self.server, replace(model, moments=remembered), mean)
        if relevance is None or relevance_mean is None:
            return after
        return replace(after, moments=(relevance + relevance_mean, *after.moments))

    def relevance(self, model: Model) -> FloatVector | None:
        """F `[n_features + 1]`, the first of the moments; None when propensities are not estimated.

        ShapeError for a model that was begun without it.
        """
        if not self.estimates:
            return None
        if not model.moments or model.moments[0].shape != (self.ranker.n_features + 1,):
            raise ShapeError(f"the moments must begin with F, [{self.ranker.n_features + 1}]")
        return model.moments[0]

    def shown_by(self, theta: FloatVector) -> FloatVector:
        """The parameters `[n_params]` that pages are ranked by in a round that began with theta."""
        return np.array(self.production) if self.production else theta

    def propensities(self, known: FloatVector | None, *, k: int) -> FloatVector:
        """What clicks at the ranks 1 to k are divided by, `[k]`, clipped; many devices' `known` `[n, k]` go at once."""
        if self.propensity == "none":
            return np.ones(k)
        found = ips.position_propensities(self.position_bias, k=k) if known is None else known
        return ips.clipped_propensities(found, smallest=self.smallest_propensity)

    def estimated(self, relevance: FloatVector, shown: ips.Impressions) -> FloatVector:
        """The device's propensities for what was shown in its round, `[longest page]`."""
        k = int(shown.ranks.max()) + 1 if len(shown.ranks) else 0
        start = ips.position_propensities(self.position_bias, k=k)
        attracted = ips.attraction(relevance, shown.features)
        return ips.estimated_propensities(shown.ranks, shown.clicks, attracted, start=start, n_steps=self.em_steps)

    def _stepped(self, theta: FloatVector, page: Interaction, known: FloatVector | None) -> FloatVector:
        propensities = self.propensities(known, k=len(page.ranking))
        if self.against == "shown":
            page = ips.display(page)
        return ips.update(self.ranker, theta, page, propensities, learning_rate=self.learning_rate)


def impressions(pages: Sequence[Interaction], *, n_features: int) -> ips.Impressions:
    """What the pages showed, page after page."""
    return ips.Impressions(
        np.concatenate([np.zeros((0, n_features)), *(page.features[page.ranking] for page in pages)]),
        np.concatenate([np.zeros(0, dtype=np.intp), *(np.arange(len(page.ranking)) for page in pages)]),
        np.concatenate([np.zeros(0, dtype=np.bool_), *(page.clicks for page in pages)]),
    )


def _mean(deltas: Sequence[FloatVector | None], *, n: int) -> FloatVector:
    """The mean `[n]`, added up in the order of the messages."""
    total = np.zeros(n)
    for delta in deltas:
        if delta is None or np.shape(delta) != (n,):
            raise ShapeError(f"a difference must be [{n}], not {None if delta is None else list(np.shape(delta))}")
        total += delta
    mean: FloatVector = total / len(deltas)
    if not np.isfinite(mean).all():
        raise ValueRangeError("a message holds a number that is not finite")
    return mean
