"""The lines of text below the search: the state, the hint and the keys."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from app.search.results import Hit, ResultPage, SearchRequest
from app.tui.bars.status_lines import Fact, HintLine, KeyLine, StatusLine, fitted, fitting, found_of, hint_of
from app.tui.keys import BY_ID
from indexer.query.nodes import Problem
from tests.app.tui.conftest import Stages

FOUND = (Fact("242 with all words", 1), Fact("302 with some", 5), Fact("9 ms", 8), Fact("learned order", 7))
WATCH = (Fact("watch (process 17792) follows the changes", 6),)
BUSY = (Fact("indexing 100 of 2,000 · 9.6 MB/s · 2 s left", 4),)


def test_counts_survive_a_sentence_beside_them() -> None:
    """At 80 columns both counts and the sentence; at 50 that of work is cut, what is known goes; at 20 one count."""
    assert fitted(FOUND, WATCH, 200)[0] == "242 with all words · 302 with some · 9 ms · learned order"
    assert fitted(FOUND, WATCH, 80) == ("242 with all words · 302 with some", WATCH[0].text)
    assert fitted(FOUND, WATCH, 50) == ("242 with all words · 302 with some", "")
    assert fitted(FOUND, BUSY, 50) == ("242 with all words", "indexing 100 of 2,000 · 9.6 M…")
    assert fitted((FOUND[0],), WATCH, 50) == ("242 with all words", "watch (process 17792) follows…")
    assert fitted(FOUND, WATCH, 20) == ("242 with all words", "")


def test_the_newest_sentence_stands_alone_where_there_is_no_room() -> None:
    """What has just been said goes before what was found, and is cut last; beside it at least 16 cells are kept."""
    said = (Fact("Esc again leaves", 0), *WATCH)
    assert fitted(FOUND, said, 20) == ("", "Esc again leaves")
    assert fitted(FOUND, said, 40) == ("242 with all words", "Esc again leaves")
    assert fitted(FOUND, (Fact("x" * 100, 0),), 40) == ("242 with all words", "x" * 19 + "…")
    assert fitted(FOUND, (), 10) == ("242 with…", "")
    assert fitted((), (), 10) == ("", "")


def test_what_was_found_is_told_in_whole_words() -> None:
    """Of how many documents; and where none holds the words, how the results were found."""
    hit = Hit(1, 1, "/a.txt", "", "A", "text", "", 0.0, 10, "", 1.0, 1)
    page = replace(PAGE, hits=(hit,), n_matches=3, n_all_words=3)
    assert [fact.text for fact in found_of(page)] == ["3 of 10 documents"]
    assert [fact.text for fact in found_of(replace(page, n_matches=0, n_all_words=0))] == ["found by meaning alone"]
    assert [fact.text for fact in found_of(PAGE)] == ["nothing found"]


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
    assert hint_of(replace(PAGE, relaxed=True), key="F8", width=80).plain.startswith("No document holds all")
    some = replace(PAGE, relaxed=True, n_all_words=1)
    assert hint_of(some, key="F8", width=80).plain.startswith("Few documents hold all")
    assert hint_of(PAGE, key="F8", width=80).plain == ""


def test_a_correction_that_was_searched_for_is_named() -> None:
    """With the key that goes back to the words as typed."""
    page = replace(PAGE, searched="wind sea", relaxed=True)
    assert hint_of(page, key="F8", width=60).plain == "Results for wind sea   F8: as typed"
    assert hint_of(page, key="", width=60).plain == "Results for wind sea"


@pytest.mark.parametrize(("columns", "least"), [(20, ("quit",)), (60, ("quit", "leader", "open", "mark", "help"))])
async def test_what_matters_is_there_on_a_narrow_screen(stage: Stages, columns: int, least: tuple[str, ...]) -> None:
    """How to leave at 20 columns; at 60 also all keys, opening, marking and help."""
    one = stage()
    async with one.app.run_test(size=(columns, 20)) as pilot:
        await one.settle(pilot)
        line = one.app.search_screen.query_one(KeyLine)
        assert {action.id for action, _, _ in line.shown} >= set(least)
        assert "^Q Quit" in one.text.splitlines()[-1]


def test_the_highest_rank_goes_first_and_the_order_stays() -> None:
    """Of "a Open" (8 cells with its gap), "b Order" (9) and "c Quit" (8) there is room for Quit and Open in 17."""
    labels = [(BY_ID["open"], "a", "Open"), (BY_ID["order"], "b", "Order"), (BY_ID["quit"], "c", "Quit")]
    assert [action.id for action, _, _ in fitting(labels, 17)] == ["open", "quit"]
    assert [action.id for action, _, _ in fitting(labels, 24)] == ["open", "order", "quit"]


async def test_what_is_said_is_on_the_screen_at_once(stage: Stages) -> None:
    """Each part of the state and each hint, without waiting for another to change."""
    one = stage()
    async with one.searched("wind", size=(120, 40)) as pilot:
        status, hint = one.app.search_screen.query_one(StatusLine), one.app.search_screen.query_one(HintLine)
        for say, words in (
            (lambda: status.show_doing("indexing 3", busy=True), "indexing 3"),
            (lambda: status.show_group("synced at noon"), "synced at noon"),
            (lambda: status.show_index(None), "opening the index"),
            (lambda: status.show_page(PAGE, narrowed="to text"), "to text"),
            (lambda: hint.show_page(replace(PAGE, suggestion="sea"), key="", width=60), "mean sea ?"),
            (lambda: hint.show_page(replace(PAGE, suggestion="tea"), key="", width=60), "mean tea ?"),
        ):
            say()
            await pilot.pause()
            assert words in one.text


async def test_a_click_is_the_key(stage: Stages) -> None:
    """On the title of an action as on its key."""
    one = stage()
    async with one.searched("wind", size=(120, 40)) as pilot:
        at = one.text.splitlines()[-1].index("Order")
        await pilot.click(KeyLine, offset=(at, 0))
        await one.until(pilot, lambda: one.app.search_screen.questions.order == "bm25")
