"""The paper's curves in the place of ours: on the same axes, and no further than ours go."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from simulation.preset import ExpectedCurve
from simulation.report.statistics import Curve, Settings


def papers_beside(
    ours: Mapping[Settings, Curve], metric: str, given: Iterable[ExpectedCurve]
) -> list[tuple[Settings, Curve]]:
    """For each of our curves the paper's of that metric; those without a point in our range are left out."""
    pairs = [
        (settings, _placed(number, curve))
        for number in given
        for settings, curve in ours.items()
        if number.metric == metric and number.where.items() <= dict(settings).items()
    ]
    return [(settings, curve) for settings, curve in pairs if len(curve.rounds)]


def _placed(given: ExpectedCurve, ours: Curve) -> Curve:
    """Rounds and interactions by how many of these our rounds have."""
    per_round = ours.interactions[-1] / ours.rounds[-1] if ours.rounds[-1] else 1.0
    at = np.array(given.at, dtype=np.float64)
    rounds = at if given.x == "rounds" else at / per_round
    reached = rounds <= ours.rounds[-1]
    rounds, values = rounds[reached], np.array(given.values)[reached]
    return Curve(ours.settings, rounds, rounds * per_round, values, np.full(len(values), math.nan))
