"""What users saw, added up over rounds: means since the last row, and a discounted sum over all rounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from simulation.federation import Shown
from simulation.results import DISCOUNT

_NOTHING = Shown(0, 0.0, 0.0, 0.0, 0)


class Means(NamedTuple):
    """Over the interactions since the last row."""

    ndcg: float
    mrr: float
    max_rr: float


@dataclass(slots=True)
class Tally:
    """Adds up rounds."""

    interactions: int = 0
    cumulative_ndcg: float = 0.0
    """sum over rounds t of (mean nDCG of the round) * gamma^(t - 1) (thesis Eq. 2.1)"""
    _weight: float = 1.0
    _shown: Shown = field(default=_NOTHING)

    def add(self, shown: Shown) -> None:
        """One more round."""
        before = self._shown
        self._shown = Shown(
            before.interactions + shown.interactions,
            before.ndcg + shown.ndcg,
            before.reciprocal_rank + shown.reciprocal_rank,
            before.max_rr + shown.max_rr,
            before.clicks + shown.clicks,
        )
        self.interactions += shown.interactions
        self.cumulative_ndcg += self._weight * shown.ndcg / max(shown.interactions, 1)
        self._weight *= DISCOUNT

    def means_since_last_row(self) -> Means | None:
        """The means since this was last asked; None when nobody saw anything."""
        shown, self._shown = self._shown, _NOTHING
        n = shown.interactions
        return Means(shown.ndcg / n, shown.reciprocal_rank / n, shown.max_rr / n) if n else None
