"""What the guard of a study's server saw: its alarms, and whom of the malicious and of the honest it suspected.

A server knows its suspicions alone; a study knows who was malicious, and so what they are worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from foltr.federated.guard.verdict import GuardVerdict


class SeenByGuard(NamedTuple):
    """Over the rounds since the last row."""

    alert: float
    """share of the rounds that were joined otherwise than in peace"""
    malicious: float | None
    """mean share of the malicious clients who were suspected in a round; None where there are none"""
    honest: float | None
    """the same of the honest"""


@dataclass(slots=True)
class Sightings:
    """Adds up the verdicts of rounds."""

    n_clients: int
    n_malicious: int
    """the last clients"""
    _rounds: int = 0
    _alerts: int = 0
    _malicious: int = 0
    _honest: int = 0

    def add(self, verdict: GuardVerdict) -> None:
        """One more round; who was left out was suspected."""
        suspects = {*verdict.left_out, *(suspicion.client for suspicion in verdict.suspicions)}
        malicious = sum(client >= self.n_clients - self.n_malicious for client in suspects)
        self._rounds += 1
        self._alerts += verdict.alert
        self._malicious += malicious
        self._honest += len(suspects) - malicious

    def since_last_row(self) -> SeenByGuard | None:
        """The means since this was last asked; None when no round was joined."""
        rounds, alerts, malicious, honest = self._rounds, self._alerts, self._malicious, self._honest
        self._rounds = self._alerts = self._malicious = self._honest = 0
        if not rounds:
            return None
        n_honest = self.n_clients - self.n_malicious
        return SeenByGuard(
            alerts / rounds,
            malicious / (rounds * self.n_malicious) if self.n_malicious else None,
            honest / (rounds * n_honest) if n_honest else None,
        )
