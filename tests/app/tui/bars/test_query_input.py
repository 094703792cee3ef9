"""The search box: keys that are typed and keys that are not."""

from __future__ import annotations

import pytest
from textual import events

from app.tui.bars.query_input import QueryInput, Recall
from app.tui.results_list import ResultsList
from indexer.query.parse import MAX_CHARACTERS
from tests.app.tui.conftest import WIDE, Stages, wind


async def test_history_is_walked_with_the_arrows_in_an_empty_box(stage: Stages) -> None:
    """Up in the empty box brings past queries back, newest first; Down returns to the empty box."""

    class Past:
        def queries(self) -> list[str]:
            return ["solar", "wind sea"]

        def add(self, query: str) -> None:
            raise AssertionError(query)

    one = stage(history=Past())
    async with one.app.run_test(size=WIDE) as pilot:
        box = one.app.search_screen.query_one(QueryInput)
        await one.settle(pilot)
        seen = []
        for key in ("up", "up", "up", "down", "down"):
            await pilot.press(key)
            seen.append(box.value)
        assert seen == ["solar", "wind sea", "wind sea", "solar", ""]


async def test_all_lines_of_what_is_pasted_are_taken(stage: Stages) -> None:
    """A title that was wrapped, copied with the line end before it, is asked for as a whole."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.settle(pilot)
        one.app.post_message(events.Paste("\nwind and\nsea"))
        await one.until(pilot, lambda: one.app.search_screen.box.value.strip() == "wind and sea")


async def test_nothing_that_is_pasted_or_recalled_acts_on_the_terminal(stage: Stages) -> None:
    """Controls of one byte or two and changes of direction become signs; soft hyphens go, as they do in the index."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        box = one.app.search_screen.query_one(QueryInput)
        one.app.post_message(events.Paste("wi\xadnd\x9b31m\u202e\x1b[31m sea"))
        await one.until(pilot, lambda: one.asked != "")
        assert box.value == one.asked == "wind\ufffd31m \ufffd[31m sea"
        box.set_text("\x9b31m")
        assert box.value == "\ufffd31m"


async def test_of_megabytes_that_are_pasted_a_query_is_taken(stage: Stages) -> None:
    """A character more than a query holds, so that it says so."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.settle(pilot)
        one.app.post_message(events.Paste("wind " * 600_000))
        await one.until(pilot, lambda: one.app.search_screen.box.value.startswith("wind wind"))
        assert len(one.app.search_screen.box.value) == MAX_CHARACTERS + 1


async def test_alt_and_a_letter_is_a_key_and_not_typed(stage: Stages) -> None:
    """Most terminals send the letter itself along with Alt; the search box must not take it."""
    async with wind(stage()) as (one, pilot):
        one.app.post_message(events.Key("alt+y", "y"))
        await one.until(pilot, lambda: one.app.clipboard == "/home/anna/energy/turbine.md")
        assert one.app.search_screen.query_one(QueryInput).value == "wind"


async def test_the_keys_of_other_finders_move_and_mark_while_typing(stage: Stages) -> None:
    """Ctrl+N, Ctrl+J, Ctrl+P and Ctrl+K choose a row, Tab and Shift+Tab mark one; the box keeps focus and text."""
    async with wind(stage()) as (one, pilot):
        results = one.app.search_screen.query_one(ResultsList)
        places = []
        for key in ("ctrl+n", "ctrl+j", "ctrl+p", "ctrl+k", "tab", "tab", "shift+tab"):
            await pilot.press(key)
            places.append(results.cursor)
        assert places == [1, 2, 1, 0, 1, 2, 1]
        assert [hit.path.rsplit("/", 1)[-1] for _, hit in results.marks] == ["turbine.md", "report.pdf", "inbox.mbox"]
        box = one.app.search_screen.query_one(QueryInput)
        assert (box.value, box.has_focus) == ("wind", True)
        assert "3 marked" in one.text


@pytest.mark.parametrize("keys", [["ctrl+l", *"sun"], ["ctrl+u", *"sx", "backspace", *"un"]])
async def test_editing_keys_take_effect_before_the_letters_that_follow(stage: Stages, keys: list[str]) -> None:
    """Keys that wait together: Ctrl+L and Ctrl+U take what was there and not what is typed behind them."""
    async with wind(stage()) as (one, pilot):
        for key in keys:
            one.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await one.until(pilot, lambda: one.asked == "sun")
        assert one.app.search_screen.query_one(QueryInput).value == "sun"


async def test_escape_twice_in_an_empty_box_leaves(stage: Stages) -> None:
    """The first one clears, the second says what a third would do; another key in between takes that back."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("escape", "escape", "left", "escape")
        assert one.app.is_running
        assert "again leaves" in one.text
        await pilot.press("escape")
        assert one.app.return_value == 0


async def test_this_sessions_queries_come_back_with_history_off(stage: Stages) -> None:
    """What was cleared away is one Up away, whether something was opened or not; nothing of it is kept."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("escape")
        await one.search(pilot, "solar")
        await pilot.press("escape")
        box, seen = one.app.search_screen.query_one(QueryInput), []
        for key in ("up", "up", "down"):
            await pilot.press(key)
            seen.append(box.value)
        assert seen == ["solar", "wind", "solar"]


def test_a_query_that_goes_on_takes_the_place_of_its_beginning() -> None:
    """Resting on "wi" and then on "wind" is one query; one that was opened from stays."""
    recall = Recall()
    for text in ("wi", "wind", "win", "solar"):
        recall.rested_on(text)
    assert recall.newest == ("solar", "win")
    recall.add("solar")
    recall.rested_on("solar panel")
    assert recall.newest == ("solar panel", "solar", "win")
    recall.fill(["wind", "win"])
    assert recall.newest == ("solar panel", "solar", "win", "wind")
    recall.add("")  # a result of the empty box was opened, or blanks were cleared
    assert recall.step(back=True) == "solar panel"
