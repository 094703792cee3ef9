"""Simulated users: the click models of the thesis."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.users import click_model, clicks


def test_a_perfect_user_opens_exactly_what_is_best() -> None:
    """Table 2.1, perfect: grade 2 always, grade 0 never, and no stopping."""
    model = click_model("perfect", top_grade=2)
    opened = clicks(model, [2, 0, 2, 0, 0, 2], np.random.default_rng(0))
    assert opened.tolist() == [True, False, True, False, False, True]


def test_a_binary_collection_behaves_as_grades_0_and_2() -> None:
    """Relevant is the best there is: Table 2.1, navigational, columns 0 and 2."""
    model = click_model("navigational", top_grade=1)
    assert (model.click, model.stop) == ((0.05, 0.95), (0.2, 0.9))


def test_four_grades_take_the_ends_of_the_table_of_five() -> None:
    """Grades 0 to 3 behave as 0, 1, 2 and 4 of Table 2.2."""
    assert click_model("informational", top_grade=3).click == (0.4, 0.6, 0.7, 0.9)


def test_the_rates_are_those_of_the_table() -> None:
    """Of 4,000 navigational users, 95 % open a first result of grade 2, and 10 % of those look further."""
    model, rng = click_model("navigational", top_grade=2), np.random.default_rng(1)
    pages = np.array([clicks(model, [2, 2], rng) for _ in range(4000)])
    first = pages[:, 0].mean()
    second_after_first = pages[pages[:, 0], 1].mean()
    assert first == pytest.approx(0.95, abs=0.015)
    assert second_after_first == pytest.approx((1 - 0.9) * 0.95, abs=0.02)


def test_nobody_looks_below_the_page() -> None:
    """Only the first k results can be opened."""
    assert len(clicks(click_model("perfect", top_grade=1), np.ones(50), np.random.default_rng(0))) == 10


@pytest.mark.parametrize(("kind", "top_grade"), [("casual", 1), ("perfect", 7)])
def test_unknown_models_are_refused(kind: str, top_grade: int) -> None:
    """A kind or a number of grades that no table has is an error."""
    with pytest.raises(ValueError, match="click model"):
        click_model(kind, top_grade=top_grade)
