"""Does forgetting end where learning again without the forgotten does? Paired over seeds, judged by equivalence.

What a way of forgetting should come to is 9H-0M, those who stay trained from the beginning (thesis Section 6.2). Both
meet the same queries with the same luck, so their difference is taken seed by seed, of the mean of the folds; its error
is s / sqrt(n) of n seeds, with n - 1 degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from simulation.report.equivalence import MARGIN, Difference, Equivalence
from simulation.report.names import group_by
from simulation.report.paper_numbers import ENOUGH_SEEDS
from simulation.report.statistics import Runs, Settings, Summary, over_seeds, whole_seeds

TABLE = "federation.unlearning."
"""what its keys begin with: all other settings are the same on both sides"""


@dataclass(frozen=True, slots=True)
class AgainstRetraining:
    """A combination of settings minus retraining under the same conditions, at the end."""

    settings: Settings
    retrained: Summary
    paired: Summary
    """of the differences, over the seeds that both have"""

    @property
    def difference(self) -> Difference | None:
        """With its error; None for a single seed."""
        if self.paired.se is None:
            return None
        return Difference(self.paired.mean, self.paired.se, self.paired.n - 1)

    @property
    def verdict(self) -> Equivalence | Literal["too few"]:
        if self.difference is None or self.paired.n < ENOUGH_SEEDS:
            return "too few"
        return self.difference.judged(MARGIN)


def against_retraining(values: Mapping[Settings, Runs]) -> list[AgainstRetraining]:
    """Each combination beside retraining, where a seed has both; `values` are of a metric between 0 and 1."""
    conditions = tuple({key for settings in values for key, _ in settings if not key.startswith(TABLE)})
    found = []
    for group in group_by(values, conditions).values():
        level = next(filter(_is_level, group), None)
        if level is None:
            continue
        for settings in group:
            own, retrained = values[settings], values[level]
            both = {run: retrained[run] for run in own if run in retrained}
            if settings != level and whole_seeds(both):
                paired = over_seeds({run: own[run] - value for run, value in both.items()})
                found.append(AgainstRetraining(settings, over_seeds(both), paired))
    return found


def _is_level(settings: Settings) -> bool:
    ways = dict(settings)
    return ways.get(f"{TABLE}unlearning") == "retrain" and f"{TABLE}more" not in ways
