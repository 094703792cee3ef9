from __future__ import annotations

import numpy as np
import pytest

from app.review import relevance
from app.review.relevance import PENALTY, fit
from tests.app.review.test_word_table import table

ROWS = [[1.0, 0.0, 0.2], [0.8, 0.6, 0.0], [0.0, 1.0, 0.1], [0.0, 0.3, 0.9], [0.1, 0.9, 0.0]]
MATTERS = np.array([True, True, False, False, False])


@pytest.fixture(autouse=True)
def _to_the_bottom(monkeypatch: pytest.MonkeyPatch) -> None:
    """More steps than a review takes."""
    monkeypatch.setattr(relevance, "STEPS", 1000)


def test_one_document_a_side_is_solved_by_hand() -> None:
    """x = 1 matters, x = -1 does not: the slope 1/(1 + e^w) of both halves together equals PENALTY w."""
    (weight,) = fit(table([[1.0], [-1.0]]), np.array([True, False])).tolist()
    assert 1 / (1 + np.exp(weight)) == pytest.approx(PENALTY * weight, rel=1e-5)


def test_nothing_around_is_better() -> None:
    """The function of the module's first lines, written plainly, is least at what is found."""
    x, best = np.array(ROWS), fit(table(ROWS), MATTERS)

    def f(weights: np.ndarray) -> float:  # type: ignore[type-arg]
        loss = np.log1p(np.exp(-np.where(MATTERS, 1, -1) * (x @ weights)))
        return float(loss[MATTERS].mean() / 2 + loss[~MATTERS].mean() / 2 + PENALTY / 2 * weights @ weights)

    for step in 0.01 * np.random.default_rng(0).normal(size=(200, 3)):
        assert f(best) < f(best + step)


def test_the_order_of_rows_does_not_matter() -> None:
    """Nor do documents of both sides that are judged twice."""
    order = np.array([4, 2, 0, 3, 1])
    turned = fit(table([ROWS[i] for i in order]), MATTERS[order])
    assert turned == pytest.approx(fit(table(ROWS), MATTERS), abs=1e-6)
    doubled = fit(table([*ROWS, *ROWS]), np.concatenate((MATTERS, MATTERS)))
    assert doubled == pytest.approx(fit(table(ROWS), MATTERS), abs=1e-6)


def test_one_side_alone_is_no_error() -> None:
    """At the beginning only the query matters, and nothing else may be left to presume."""
    assert np.isfinite(fit(table([[1.0, 0.5]]), np.array([True]))).all()
    assert np.isfinite(fit(table([[1.0, 0.5]]), np.array([False]))).all()


def test_the_steps_of_a_review_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they leave of the distance changes no order."""
    bottom = fit(table(ROWS), MATTERS)
    monkeypatch.undo()
    assert fit(table(ROWS), MATTERS) == pytest.approx(bottom, abs=1e-3 * float(np.abs(bottom).max()))
