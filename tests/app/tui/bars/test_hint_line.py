"""The line under the search box says one thing, the most useful."""

from __future__ import annotations

from msgspec.structs import replace

from app.search.results import ResultPage, SearchRequest
from app.tui.bars.hint_line import hint_of
from indexer.query.nodes import Problem

PAGE = ResultPage(SearchRequest("wind (sea"), (), n_matches=0, n_documents=10, seconds=0.0)


def test_a_problem_points_at_its_character() -> None:
    """The arrow stands under the place, or at the left when the message would not fit there."""
    page = replace(PAGE, problems=(Problem(5, 1, "this bracket is never closed"),), suggestion="wind")
    assert hint_of(page, key="F8", width=60).plain == " " * 5 + "↑ this bracket is never closed"
    assert hint_of(page, key="F8", width=30).plain == "↑ this bracket is never closed"
    assert hint_of(page, key="F8", width=12).plain == "↑ this brac…"


def test_wide_characters_before_the_place_are_counted_in_cells() -> None:
    """漢 takes two cells."""
    page = replace(PAGE, request=SearchRequest("漢 ("), problems=(Problem(2, 1, "open"),))
    assert hint_of(page, key="", width=60).plain == " " * 3 + "↑ open"


def test_then_spelling_then_relaxation_then_nothing() -> None:
    """In this order."""
    assert hint_of(replace(PAGE, suggestion="wind sea"), key="F8", width=60).plain == "Did you mean wind sea ?   F8"
    assert hint_of(replace(PAGE, relaxed=True), key="F8", width=80).plain.startswith("Few documents hold all")
    assert hint_of(PAGE, key="F8", width=80).plain == ""


def test_a_correction_that_was_searched_for_is_named() -> None:
    """With the key that goes back to the words as typed."""
    page = replace(PAGE, searched="wind sea", relaxed=True)
    assert hint_of(page, key="F8", width=60).plain == "Results for wind sea   F8: as typed"
    assert hint_of(page, key="", width=60).plain == "Results for wind sea"
