"""How far habits move a document."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.bonus import CAP, FLATTEST, SLOPE, moved, points_at, raised, scale
from app.learning.traits import TEST, Traits


def traits(**held: list[float]) -> Traits:
    return Traits(tuple(name.replace("_", " ") for name in held), np.array(list(held.values())).T)


def test_the_scale_by_hand() -> None:
    """ln sigma(SLOPE (t - 5)) where the best has 5 points: ln 1/2 for it; one point more for all changes nothing."""
    text = np.array([2.0, 5.0, 4.0])
    expected = [-log(1 + exp(SLOPE * 3)), -log(2), -log(1 + exp(SLOPE))]
    assert scale(text).tolist() == pytest.approx(expected)
    assert scale(text + 1).tolist() == pytest.approx(expected)


@given(st.floats(-500, 500), st.floats(-500, 0))
def test_the_scale_has_an_inverse(best: float, below: float) -> None:
    """Points to the scale and back."""
    text = np.array([best, best + below])
    np.testing.assert_allclose(points_at(scale(text), best), text, atol=1e-8)


def test_beyond_the_best_the_scale_goes_straight_on() -> None:
    """Where it is FLATTEST it has no jump, and from there on each point is worth FLATTEST * SLOPE."""
    points = points_at(np.linspace(-1, 1, 2001), 0.0)
    rates = 1e-3 / np.diff(points)
    assert (np.diff(rates) < 1e-9).all()
    assert rates[-1] == pytest.approx(FLATTEST * SLOPE)


def test_the_more_there_are_the_less_they_rise() -> None:
    """(1 - share)^2: one PDF of four rises by (3/4)^2 of the liking, two by (1/2)^2, a page of PDFs by nothing."""
    for n, room in ((1, (3 / 4) ** 2), (2, (1 / 2) ** 2), (4, 0.0)):
        pdf = [1.0] * n + [0.0] * (4 - n)
        gained = raised(traits(pdf=pdf), {"pdf": 0.8}, np.zeros(4))
        assert gained[:, 0].tolist() == pytest.approx([0.8 * room * own for own in pdf])


def test_the_share_is_that_of_the_best_thirty() -> None:
    """What the text puts below them does not count; of `new`, which goes to 1.5, the share is of 1.5."""
    pdf = [1.0] + [0.0] * 29 + [1.0] * 70
    gained = raised(traits(pdf=pdf), {"pdf": 0.8}, -np.arange(100.0))
    assert gained[0, 0] == pytest.approx(0.8 * (29 / 30) ** 2)
    assert raised(traits(new=[0.75] * 4), {"new": 0.8}, np.zeros(4))[0, 0] == pytest.approx(0.75 * 0.8 * (1 / 2) ** 2)


def test_no_habit_is_worth_more_than_the_cap() -> None:
    """A liking beyond CAP counts as CAP, to both sides."""
    gained = raised(traits(long=[1.0, 0.0, 0.0, 0.0]), {"long": -50.0}, np.zeros(4))
    assert gained[0, 0] == pytest.approx(-CAP * (3 / 4) ** 2)


def test_of_nested_folders_the_one_that_is_worth_most_counts() -> None:
    """A document in a liked folder below a liked folder gains once."""
    own = traits(folder_a=[1.0, 1, 0, 0], folder_ab=[1.0, 0, 0, 0])
    gained = raised(own, {"folder a": 0.4, "folder ab": 0.5}, np.zeros(4))
    assert gained.sum(axis=1).tolist() == pytest.approx([0.5 * (3 / 4) ** 2, 0.4 * (1 / 2) ** 2, 0, 0])


def test_parts_add_up_to_the_way() -> None:
    """The points of all habits of a document bring it exactly to where their sum on the scale is."""
    text, gained = np.array([2.0, 5.0, 12.0]), np.array([[0.2, 0.1], [0.3, -0.1], [0.0, 0.0]])
    way = moved(text, gained).sum(axis=1)
    expected = points_at(scale(text) + gained.sum(axis=1), 12.0)
    np.testing.assert_allclose(text + way, expected, atol=1e-12)
    assert way[2] == 0.0


def test_the_surer_both_are_the_further_it_moves() -> None:
    """The same habit moves the best document further than one six points below it."""
    low, high = moved(np.array([2.0, 8.0]), np.full((2, 1), 0.5))[:, 0]
    assert 0.5 < low < high


def test_a_role_moves_as_far_whatever_the_page_has_of_it() -> None:
    """Three of four are tests and PDFs: (1 - 3/4)^2 of a liking for the type is left, all of a dislike for the role."""
    own = Traits(("pdf", TEST), np.array([[1.0, 1.0, 1.0, 0.0]] * 2).T)
    gained = raised(own, {"pdf": 0.5, TEST: -0.5}, np.zeros(4))
    assert gained[0].tolist() == pytest.approx([0.5 / 16, -0.5])
    assert gained[3].tolist() == [0, 0]
