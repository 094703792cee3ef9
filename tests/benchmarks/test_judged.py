"""Many pages as one array."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.judged import Batch, JudgedPage


def loss(pages: list[JudgedPage], theta: np.ndarray, steepness: float) -> float:
    """The mean ListNet loss, page by page, as its definition says."""
    values = []
    for page in pages:
        gains = 2.0**page.grades - 1
        scores = steepness * page.features @ theta
        values.append(-np.sum(gains / gains.sum() * (scores - np.log(np.exp(scores).sum()))) if gains.any() else 0.0)
    return float(np.mean(values))


def test_the_listwise_gradient_is_that_of_the_loss() -> None:
    """By differences, on pages of unequal length, one of them without a relevant document."""
    rng = np.random.default_rng(0)
    grades = ([2.0, 0.0, 1.0], [0.0, 1.0], [0.0, 0.0, 0.0, 0.0])
    pages = [JudgedPage("q", rng.random((len(own), 5)), np.array(own), (1,)) for own in grades]
    theta, steepness, step = rng.random(5), 1.7, 1e-6
    gradient, steeper = Batch(pages).listwise_gradient(theta, steepness)
    moved = [
        loss(pages, theta + step * unit, steepness) - loss(pages, theta - step * unit, steepness) for unit in np.eye(5)
    ]
    assert gradient == pytest.approx(np.array(moved) / (2 * step), abs=1e-7)
    both = (loss(pages, theta, steepness * np.exp(x)) for x in (step, -step))
    assert steeper == pytest.approx((next(both) - next(both)) / (2 * step), abs=1e-7)
