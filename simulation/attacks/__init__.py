"""What every attack is: its settings, and what it makes of a round that is about to be joined.

An attack stands between what clients learned and what the server joins (thesis Section 5.2): the malicious clients, who
know of each other, first learn honestly, then send something else. How much more they know is a setting of the attack.
Data poisoning changes what they learn from instead, and leaves their updates as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Literal, TypeAlias

import msgspec
import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from foltr.federated.fpdgd import FPDGD

Knowledge: TypeAlias = Literal["full", "partial"]
"""what attackers know of a round: what everybody learned, or what they learned themselves"""


class AttackedRound(msgspec.Struct, frozen=True, eq=False):
    """A round before it is joined."""

    reported: FloatMatrix
    """[n_clients, n_sent] the weights that every client would send if all were honest, the malicious ones last"""
    start: FloatVector
    """[n_sent] the common ranker that all began with"""
    n_malicious: int
    """at least 1"""
    method: FPDGD
    """with the server's rule, which attackers may know"""
    rng: np.random.Generator
    """the attackers' own"""
    accepts: Callable[[FloatVector], float] | None = None
    """the share of the honest clients who would take over a ranker `[n_sent]`, where clients decide"""

    @property
    def benign(self) -> FloatMatrix:
        """[n_clients - n_malicious, n_sent] what the honest clients send."""
        return self.reported[: -self.n_malicious]

    @property
    def own(self) -> FloatMatrix:
        """[n_malicious, n_sent] what the malicious clients learned before they attack."""
        return self.reported[-self.n_malicious :]


class AttackSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="attack"):
    """What the settings of all attacks are: strict records that name themselves in the field `attack`."""

    clicks: ClassVar[str] = ""
    """the click model of malicious clients, where the attack is on their data; "": that of everybody"""
    of_the_honest: ClassVar[bool] = False
    """whether it is made of what honest clients send, so that there must be one"""

    def check(self, n_clients: int, n_malicious: int) -> None:
        """ValueRangeError where so many of `n_clients` clients cannot carry it out, or a setting is not finite."""
        for name, value in msgspec.structs.asdict(self).items():
            if isinstance(value, float) and not np.isfinite(value):
                raise ValueRangeError(f"{name} must be finite, not {value}")
        if self.of_the_honest and n_malicious >= n_clients:
            who = f"{n_malicious} malicious of {n_clients} clients"
            raise ValueRangeError(f"{self.__struct_config__.tag}: {who} leave no benign one")

    def send(self, scene: AttackedRound) -> FloatMatrix | None:
        """The weights that the malicious clients send `[n_malicious, n_sent]`; None: what they learned."""
        return None


class PoisonedClicks(AttackSettings, frozen=True, tag="poisoned-clicks"):
    """Data poisoning (thesis Section 5.2.2): malicious clients click the worst results, and learn and send honestly.

    The clicks of Table 5.1: the less relevant a result, the likelier; never stopping.
    """

    clicks: ClassVar[str] = "poison"
