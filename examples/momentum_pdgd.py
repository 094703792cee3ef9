"""A method by its four verbs, where a step alone is not enough: a device that remembers where it was going.

foltr-search --simulate sample --with examples/momentum_pdgd.py --method momentum-pdgd --rounds 100

Nothing is compiled: about a hundred times slower than `examples/sign_pdgd.py`. The verbs are those of
foltr/federated/method.py; what is not said here is FPDGD's.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from foltr.federated.fpdgd import FPDGD, FPDGDLocal
from foltr.online import pdgd


@dataclass(frozen=True, slots=True, eq=False)
class Moving(FPDGDLocal):
    """A device in the middle of a round, with its speed [n_params]."""

    speed: np.ndarray = field(default_factory=lambda: np.zeros(1))


@dataclass(frozen=True, slots=True)
class MomentumPDGD(FPDGD):
    """FPDGD with momentum within a round."""

    momentum: float = 0.5

    def begin(self, model, rng):
        """The global ranker, at rest."""
        return Moving(model.theta, model.theta)

    def learn(self, local, interaction, query=b""):
        """v <- momentum v + gradient, theta <- theta + eta v."""
        slope = pdgd.gradient(self.ranker, local.theta, interaction, temperature=self.temperature)
        speed = self.momentum * local.speed + slope
        theta = local.theta + self.learning_rate * speed
        return replace(local, theta=theta, speed=speed, n_interactions=local.n_interactions + 1)


METHODS = {"momentum-pdgd": MomentumPDGD}
