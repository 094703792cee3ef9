"""A method: federated PDGD whose devices take steps of equal length in every feature, the gradient's signs alone.

foltr-search --simulate sample --with examples/sign_pdgd.py --method sign-pdgd,fpdgd --rounds 100

`step` is the whole method; numba compiles it, and rounds run at the speed of those that come with the program.
"""

from dataclasses import dataclass

import numpy as np

from simulation import StepMethod


def step(theta, shown, clicks, wanted, numbers):
    """theta + eta * sign(PDGD gradient); numbers[0] is eta."""
    for f in range(len(theta)):
        slope = 0.0
        for rank in range(len(wanted)):
            slope += wanted[rank] * shown[rank, f]
        if abs(slope) > 1e-6:  # a feature that all results share has a slope of nothing but rounding
            theta[f] += numbers[0] * np.sign(slope)


@dataclass(frozen=True, slots=True)
class SignPDGD(StepMethod):
    """FPDGD by signs."""

    learning_rate: float = 0.01
    step = staticmethod(step)


METHODS = {"sign-pdgd": SignPDGD}
