"""Data poisoning (thesis Section 5.2.2): malicious clients click the worst results, and learn and send honestly."""

from __future__ import annotations

from typing import ClassVar

from simulation.attacks.settings import AttackSettings


class PoisonedClicks(AttackSettings, frozen=True, tag="poisoned-clicks"):
    """The clicks of Table 5.1: the less relevant a result, the likelier; never stopping."""

    clicks: ClassVar[str] = "poison"
