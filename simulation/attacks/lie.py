"""Little Is Enough: colluders deviate by less than honest clients differ (Baruch et al., NeurIPS 2019).

    theta_mal = mean - z sd        of what the malicious clients learned, for each parameter (thesis Section 5.2.3)

z is how far a rule can be led by those honest clients who happen to be on the attackers' side of it, s of which make a
majority with them:

    s = floor(n / 2 + 1) - m
    z = Phi^-1((n - m - s) / (n - m))      "baruch": the paper's Algorithm 3, over the honest clients
    z = Phi^-1((n - s) / n)                "share": a variant in circulation, over all

By the first z is -.14, 0, .18, .43 for one to four of ten clients: two send the plain mean. Most published programs
take a fixed number instead. The thesis does not say which it means, nor whether its standard deviation divides by m or
m - 1; Baruch et al. divide by m. One attacker alone has none and sends its own update.
"""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal

import numpy as np

from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ValueRangeError
from simulation.attacks import AttackedRound, AttackSettings


class LittleIsEnough(AttackSettings, frozen=True, tag="lie"):
    """mean - z sd, the same from all."""

    z: Literal["baruch", "share"] | float = "baruch"
    ddof: Literal[0, 1] = 0
    """what is taken from m in the variance"""

    def check(self, n_clients: int, n_malicious: int) -> None:
        """ValueRangeError where z has no value."""
        super().check(n_clients, n_malicious)
        if n_malicious:
            self.shift(n_clients, n_malicious)

    def shift(self, n_clients: int, n_malicious: int) -> float:
        """z among so many clients."""
        return hidden_shift(n_clients, n_malicious, by=self.z) if isinstance(self.z, str) else self.z

    def send(self, scene: AttackedRound) -> FloatMatrix:
        """See the module."""
        z = self.shift(len(scene.reported), scene.n_malicious)
        return np.tile(beside_the_mean(scene.own, z=z, ddof=self.ddof), (scene.n_malicious, 1))


def hidden_shift(n_clients: int, n_malicious: int, *, by: Literal["baruch", "share"]) -> float:
    """z; ValueRangeError for malicious clients who are a majority by themselves, and fewer than three clients."""
    needed = n_clients // 2 + 1 - n_malicious
    if needed < 1 or n_clients < 3:
        raise ValueRangeError(f"lie: no z for {n_malicious} malicious of {n_clients} clients: they must be a minority")
    among = n_clients - n_malicious if by == "baruch" else n_clients
    return round(NormalDist().inv_cdf((among - needed) / among), 12)  # the digits that every processor has


def beside_the_mean(rows: FloatMatrix, *, z: float, ddof: int) -> FloatVector:
    """mean - z sd of `rows` `[n_clients, n_params]` for each parameter; the sd of a single row is 0."""
    deviation = rows.std(axis=0, ddof=ddof) if len(rows) > 1 else 0.0
    shifted: FloatVector = rows.mean(axis=0) - z * deviation
    return shifted
