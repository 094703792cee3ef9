"""What documents are known by, and how far habits move them."""

from __future__ import annotations

from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.traits import (
    CAP,
    FLATTEST,
    SLOPE,
    TEST,
    Traits,
    feature_of,
    moved,
    points_at,
    raised,
    scale,
    wording,
)


def test_traits_by_hand() -> None:
    """1.5 times the year's curve, and 1 for each mark that a document has."""
    own = Traits.of(np.array([[0.5], [1.0]]), ("recent_year",), [("pdf", "folder a"), ("html", "folder b", "folder a")])
    assert own.names == ("new", "pdf", "folder a", "html", "folder b")
    assert own.held.tolist() == [[0.75, 1, 1, 0, 0], [1.5, 0, 1, 1, 1]]


@pytest.mark.parametrize(
    ("lengths", "long", "short"),
    [
        ([0.9, 0.1, 0.5, 0.2, 0.8, 0.4], [0, 4], [1, 3]),
        ([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], [5, 6], [0, 1]),
        ([0.5, 0.5, 0.5], [], []),
        ([0.5, 0.5, 0.5, 0.9], [3], []),
        ([0.3], [], []),
        ([0.0, 1.0], [1], [0]),
    ],
)
def test_long_and_short_are_thirds(lengths: list[float], long: list[int], short: list[int]) -> None:
    """Of six or seven the longest two and the shortest two; of equal ones none."""
    own = Traits.of(np.array(lengths)[:, None], ("body_length",))
    assert [np.flatnonzero(column).tolist() for column in own.held.T] == [long, short]


def test_without_marks_there_are_measures_alone() -> None:
    """As of a page that was kept before marks were; and of features of other names nothing."""
    assert Traits.of(np.ones((2, 1)), ("recent_year",)).names == ("new",)
    assert Traits.of(np.ones((2, 1)), ("title",)).held.shape == (2, 0)


@pytest.mark.parametrize(
    ("trait", "liking", "words", "feature"),
    [
        ("new", 1.0, "newer files", "recent_year"),
        ("new", -1.0, "older files", "recent_year"),
        ("short", 1.0, "shorter files", "body_length"),
        ("pdf", 1.0, "PDFs", "type_share"),
        ("oddity", 1.0, "oddity", "type_share"),
        ("folder 3f", 1.0, "this folder", "folder_share"),
    ],
)
def test_a_trait_in_words(trait: str, liking: float, words: str, feature: str) -> None:
    """As a person says it, and the feature under which its points stand."""
    assert (wording(trait, liking), feature_of(trait)) == (words, feature)


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
