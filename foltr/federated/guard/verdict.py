"""What a guard remembers from round to round, and what it says of one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foltr.arrays import FloatMatrix, IntVector


@dataclass(frozen=True, slots=True, eq=False)
class RunningSums:
    """What each member has sent in all its rounds, its rows in the order of the round's updates."""

    n_rounds: IntVector
    """[n_clients] T, how many"""
    sent: FloatMatrix
    """[n_clients, d] the sum of its updates, as foltr.federated.guard.guard takes them where the noise is not known"""
    counted: FloatMatrix
    """[n_clients, d] the part of it that the ranker was moved by, where the noise is known"""

    @classmethod
    def none(cls, n_clients: int, d: int) -> RunningSums:
        """Of members who have not sent anything."""
        return cls(np.zeros(n_clients, dtype=np.intp), np.zeros((n_clients, d)), np.zeros((n_clients, d)))


@dataclass(frozen=True, slots=True)
class GuardState:
    """What the guard remembers from round to round."""

    alert: bool = False
    calm: int = 0
    """rounds in a row without evidence since the last alarm, where the noise is not known"""
    n_judged: int = 0
    """rounds judged where the noise is known"""
    sums: RunningSums | None = None
    """of the members; None: of nobody yet where the noise is known, and else that no account of them is kept"""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why one device is suspected."""

    client: int
    """its row"""
    evidence: float
    """how many times what is allowed, at least 1"""
    reason: str
    """a clause for a person"""


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """What the guard thinks of a round."""

    alert: bool
    """whether the round was joined otherwise than in peace"""
    evidence: float
    """the largest of all devices; 1 raises the alarm"""
    suspicions: tuple[Suspicion, ...]
    """the strongest of each suspected device, strongest first"""
    summary: str
    """one sentence for a person"""
    judged: bool = True
    """False where nothing can be said, which is not the same as calm"""
    left_out: tuple[int, ...] = ()
    """rows that did not count"""


def not_judged(why: str) -> GuardVerdict:
    """Of a round that nobody can say anything about."""
    return GuardVerdict(alert=False, evidence=0.0, suspicions=(), summary=f"not judged: {why}", judged=False)
