"""Unlearning by gradient ascent: the leavers make the ranker worse on their own data (PGA).

Halimi et al., Federated Unlearning: How to Efficiently Erase a Client in FL? (arXiv 2207.05521): a leaver i begins at
the reference, the mean of the others' rankers of the last round, and ascends on its own loss within a ball around it,

    theta_ref = (n theta - theta_i) / (n - 1);    theta <- P_ball(theta_ref, r)(theta - learning_rate * gradient)

where PDGD's gradient points to where the ranker gets better, and r is a third of the mean distance from theta_ref to
random rankers, as the method begins with: for the linear one all near 0. Then the others go on. They also stop once
theta is further than a threshold from theta_i; it is chosen for a data set, and left out here. Their momentum and their
clipping of gradients are left out as well.

The program published with the study of 2025 (Tao et al., SIGIR) computes reference and radius and uses neither: all
clients learn on together, the leavers with the sign of their steps turned (`at_once`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated

import msgspec
import numpy as np

from foltr.arithmetic import length
from foltr.arrays import FloatVector
from foltr.federated.fpdgd import FPDGD, FPDGDLocal
from foltr.federated.method import Model
from foltr.online import pdgd
from foltr.privacy.mechanisms import clip_l2
from foltr.ranking.interaction import Interaction
from simulation.rounds import federation
from simulation.unlearning.past import Count, KeptRound, Moment, Past, Step, fields_of, only_last, recorded
from simulation.unlearning.retraining import ForSoLong

N_RANDOM = 10
"""rankers to which the reference's distance is measured"""


class GradientAscent(ForSoLong, frozen=True, tag="pga"):
    """The leavers ascend, and the others go on for `more` rounds; or, with `at_once`, all do both together."""

    ascent: Count = 20
    """rounds of pages that each leaver ascends on"""
    radius: Annotated[float, msgspec.Meta(gt=0)] = 1 / 3
    """of the ball, in mean distances from the reference to random rankers"""
    at_once: bool = False
    """as the published program: no reference, no ball, leavers and others in the same rounds"""

    def kept(self, together: range) -> range:
        """The last round."""
        return range(0) if self.at_once else together[-1:]

    def forget(self, past: Past) -> Iterator[Step]:
        """From the ranker that the leavers spoiled; or, with `at_once`, from the one that was learned."""
        return self._together(past) if self.at_once else self._apart(past)

    def _apart(self, past: Past) -> Iterator[Step]:
        reference = past.kept[-1].thetas[: past.n_staying].mean(axis=0)
        fresh = copy.deepcopy(past.fresh)
        random = [past.method.initial(fresh.model).theta for _ in range(N_RANDOM)]
        radius = self.radius * float(np.mean([length(reference - theta) for theta in random]))
        leavers, streams = only_last(past.everyone, fresh, past.n_leaving)
        leavers = msgspec.structs.replace(leavers, n_local=leavers.local * self.ascent)
        method = AscendingFPDGD(**fields_of(past.method), centre=reference, radius=radius)
        spoiled, _ = federation.run_round(method, Model(reference, past.now.model.round), leavers, streams)
        return past.go_on(Moment(spoiled, past.now.streams), past.staying, self.rounds(past.together))

    def _together(self, past: Past) -> Iterator[Step]:
        model, streams = past.now.model, copy.deepcopy(past.now.streams)
        staying = past.staying
        leavers, theirs = only_last(past.everyone, streams, past.n_leaving)
        yield Step(model)
        for _ in range(self.rounds(past.together)):
            both: list[KeptRound] = []
            climbing = recorded(AscendingFPDGD(**fields_of(past.method)), both)
            _, (shown,) = past.play(recorded(past.method, both), model, staying, streams, 1)
            _, _ = federation.run_round(climbing, model, leavers, theirs)
            thetas = np.concatenate([one.thetas for one in both])
            model = past.method.joined(model, thetas, np.concatenate([one.counts for one in both])).model
            yield Step(model, (shown,))


@dataclass(frozen=True, slots=True)
class AscendingFPDGD(FPDGD):
    """FPDGD whose devices step against the gradient, within a ball."""

    centre: FloatVector | None = None
    """[n_params] of the ball; None: there is none"""
    radius: float = field(default=np.inf)

    def learn(self, local: FPDGDLocal, interaction: Interaction, query: bytes = b"") -> FPDGDLocal:
        """One PDGD step the other way."""
        slope = pdgd.gradient(self.ranker, local.theta, interaction, temperature=self.temperature)
        theta = local.theta - self.learning_rate * slope
        if self.centre is not None:
            theta = self.centre + clip_l2(theta - self.centre, self.radius)
        return FPDGDLocal(local.start, theta, local.n_interactions + 1)
