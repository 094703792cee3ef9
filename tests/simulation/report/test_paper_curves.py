"""The paper's curves on our axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from simulation.cells.preset import ExpectedCurve, decode_preset
from simulation.errors import PresetError
from simulation.report.paper_numbers import papers_beside
from simulation.report.statistics import Curve, Settings
from tests.simulation.small_study import STUDY

PERFECT: Settings = (("users.clicks", "perfect"),)
ROUNDS = np.arange(5, dtype=np.float64)
OURS = {PERFECT: Curve(PERFECT, ROUNDS, ROUNDS * 50, ROUNDS / 10, ROUNDS * 0)}


def papers(**given: Any) -> list[tuple[Settings, Curve]]:
    tables = {"metric": "offline_ndcg", "at": (50, 100, 500), "values": (0.1, 0.2, 0.3), **given}
    return papers_beside(OURS, "offline_ndcg", [ExpectedCurve(**tables)])


def test_points_have_both_axes() -> None:
    """50 interactions are a round here; a point beyond our last round is left out."""
    ((settings, curve),) = papers()
    assert settings == PERFECT
    assert (curve.rounds.tolist(), curve.interactions.tolist(), curve.mean.tolist()) == ([1, 2], [50, 100], [0.1, 0.2])
    ((_, by_rounds),) = papers(x="rounds", at=(1, 2, 9))
    assert by_rounds.interactions.tolist() == [50, 100]


def test_other_metrics_and_settings_have_none() -> None:
    """Nor has a curve that lies all beyond ours."""
    assert papers(metric="online_ndcg") == []
    assert papers(where={"users.clicks": "poison"}) == []
    assert papers(at=(500, 600, 700)) == []


def test_a_curve_wants_a_value_for_each_place() -> None:
    """In one line with its place, before anything runs."""
    for at in ([1, 2], [2, 1, 3]):
        wrong = {"curves": [{"metric": "offline_ndcg", "at": at, "values": [0.1, 0.2, 0.3]}]}
        with pytest.raises(PresetError, match=r"study: expect.curves.*wanted `?at`? rising"):
            decode_preset({**STUDY, "expect": wrong}, source="study")
