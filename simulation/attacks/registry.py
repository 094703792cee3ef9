"""All attacks by name: {"attack": NAME, ...}, NAME being a key of ATTACKS."""

from __future__ import annotations

from simulation.attacks.opposed import Opposed
from simulation.attacks.poisoned_clicks import PoisonedClicks
from simulation.attacks.settings import AttackSettings

ATTACKS: dict[str, type[AttackSettings]] = {
    "poisoned-clicks": PoisonedClicks,
    "opposed": Opposed,
}
