"""All attacks by name: {"attack": NAME, ...}, NAME being a key of ATTACKS."""

from __future__ import annotations

from simulation.attacks import AttackSettings, PoisonedClicks
from simulation.attacks.backwards import Adaptive, Flip, InnerProductManipulation, NoisyReversal, Opposed
from simulation.attacks.fang import FangKrum, FangTrimmed
from simulation.attacks.lie import LittleIsEnough

ATTACKS: dict[str, type[AttackSettings]] = {
    "poisoned-clicks": PoisonedClicks,
    "opposed": Opposed,
    "lie": LittleIsEnough,
    "fang-krum": FangKrum,
    "fang-trimmed": FangTrimmed,
    "noisy-reversal": NoisyReversal,
    "flip": Flip,
    "ipm": InnerProductManipulation,
    "adaptive": Adaptive,
}
