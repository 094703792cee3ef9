"""All attacks by name: {"attack": NAME, ...}, NAME being a key of ATTACKS."""

from __future__ import annotations

from simulation.attacks.adaptive import Adaptive
from simulation.attacks.fang_krum import FangKrum
from simulation.attacks.fang_trimmed import FangTrimmed
from simulation.attacks.flip import Flip
from simulation.attacks.ipm import InnerProductManipulation
from simulation.attacks.lie import LittleIsEnough
from simulation.attacks.noisy_reversal import NoisyReversal
from simulation.attacks.opposed import Opposed
from simulation.attacks.poisoned_clicks import PoisonedClicks
from simulation.attacks.settings import AttackSettings

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
