"""Forgetting beside retraining: differences by hand, the verdicts where the truth is known, and who is the level."""

from __future__ import annotations

import io

import numpy as np
import pytest

from simulation.report.report import AgainstRetraining, against_retraining, make_report
from simulation.report.result_tables import show_report, summary
from simulation.report.statistics import Runs, Settings
from simulation.run_folder import Row, Setting


def way(unlearning: str, *, clicks: str = "perfect", **more: Setting) -> Settings:
    named = {"unlearning": unlearning, **more}
    return ("users.clicks", clicks), *((f"federation.unlearning.{key}", value) for key, value in named.items())


RETRAINED, ERASED = way("retrain", level=True), way("federaser", every=10)


def runs(seeds: list[float], *, folds: tuple[float, ...] = (0.0, 0.1)) -> Runs:
    """A value for each seed, folds that much higher."""
    return {(f, s): value + up for f, up in enumerate(folds, 1) for s, value in enumerate(seeds, 1)}


def only(values: dict[Settings, Runs]) -> AgainstRetraining:
    (found,) = against_retraining(values)
    return found


def test_the_difference_is_paired_by_seed() -> None:
    """Seeds that differ by .1 and ways that differ by .002: the interval is that of scipy's paired t."""
    from scipy import stats  # loads slowly

    level, own = [0.5, 0.6, 0.7, 0.55, 0.65], [0.498, 0.599, 0.697, 0.548, 0.647]
    found = only({RETRAINED: runs(level), ERASED: runs(own)})
    assert found.settings == ERASED
    assert found.retrained.mean == pytest.approx(0.65)
    assert found.difference is not None
    wanted = stats.ttest_rel(own, level).confidence_interval(0.9)
    assert found.difference.interval(0.9) == pytest.approx((wanted.low, wanted.high))
    assert found.verdict == "equivalent, yet different"


@pytest.mark.parametrize(
    ("shift", "spread", "n_seeds", "verdict"),
    [
        (0.0, 0.001, 5, "equivalent"),
        (0.0, 0.0, 5, "equivalent"),
        (-0.02, 0.001, 5, "different"),
        (-0.02, 0.05, 5, "undecided"),
        (-0.02, 0.001, 4, "too few"),
        (0.0, 0.0, 1, "too few"),
    ],
)
def test_verdicts_where_the_truth_is_known(shift: float, spread: float, n_seeds: int, verdict: str) -> None:
    """Differences of that mean and spread: nothing, something, too wide to tell, too few to tell."""
    z = np.linspace(-1, 1, n_seeds) if n_seeds > 1 else np.zeros(1)
    level = np.linspace(0.6, 0.7, n_seeds)
    found = only({RETRAINED: runs(list(level)), ERASED: runs(list(level + shift + spread * z))})
    assert found.verdict == verdict


def test_the_level_is_whole_retraining_under_the_same_conditions() -> None:
    """Not one that was cut short; other users have another level, and without one nothing is compared."""
    short, other = way("retrain", more=100), way("federaser", clicks="informational", every=10)
    five = runs([0.5, 0.5, 0.5, 0.5, 0.5])
    found = against_retraining({short: five, RETRAINED: five, ERASED: five, other: five})
    assert [one.settings for one in found] == [short, ERASED]
    assert against_retraining({short: five, ERASED: five}) == []
    assert against_retraining({(("method.name", "fpdgd"),): five}) == []


def test_seeds_and_folds_that_both_have_count() -> None:
    """A seed without its second fold is left out; nothing in common is no comparison."""
    level = runs([0.5, 0.6, 0.7])
    own = {run: value - 0.01 for run, value in runs([0.5, 0.6, 0.7]).items() if run != (2, 3)}
    found = only({RETRAINED: level, ERASED: own})
    assert (found.paired.n, found.paired.mean) == (2, pytest.approx(-0.01))
    assert found.retrained.mean == pytest.approx(0.6)
    assert against_retraining({RETRAINED: {(1, 1): 0.5}, ERASED: {(1, 2): 0.5}}) == []


def test_the_report_prints_and_keeps_it() -> None:
    """A table of its own, a list in summary.json; neither where nobody is forgotten."""
    rows = [
        Row(cell=f"{named}{seed}", settings=dict(named), fold=1, seed=seed, round=5, interactions=9, offline_ndcg=value)
        for named, up in ((RETRAINED, 0.0), (ERASED, -0.02))
        for seed, value in enumerate((0.5 + up, 0.501 + up, 0.502 + up, 0.5 + up, 0.501 + up), 1)
    ]
    report, stream = make_report(rows, k=10), io.StringIO()
    show_report(report, stream)
    assert "Against retraining, offline nDCG@10" in stream.getvalue()
    (kept,) = summary(report)["against_retraining"]
    assert (kept["settings"], kept["verdict"], kept["difference"]["n"]) == (dict(ERASED), "different", 5)
    plain = make_report(rows[:5])
    assert plain.forgotten == ()
    assert summary(plain)["against_retraining"] == []
