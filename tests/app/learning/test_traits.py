"""What documents are known by."""

from __future__ import annotations

import numpy as np
import pytest

from app.learning.traits import Traits, feature_of, wording


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
