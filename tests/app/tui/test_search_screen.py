"""The search screen, driven by keys."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from textual.command import CommandList

from app.settings import DevicesSettings, ScreenSettings, Settings
from app.tui.bars.query_input import QueryInput
from app.tui.bars.status_lines import HintLine
from app.tui.bars.welcome import Welcome
from app.tui.keys import actions_of
from app.tui.preview.preview_pane import PreviewBody
from app.tui.results_list import ResultsList
from tests.app.tui.conftest import WIDE, Document, Stages, _runs, wind


def _rows(stage: Any) -> list[str]:
    page = stage.app.search_screen.query_one(ResultsList).page
    return [hit.path.rsplit("/", 1)[-1] for hit in page.hits] if page else []


async def test_each_action_of_the_table_is_done_by_somebody(stage: Stages) -> None:
    """The screen does those of its own scope, the list those of its keys; quitting is the application's."""
    one = stage()
    async with one.app.run_test(size=WIDE):
        screen = one.app.search_screen
        assert set(screen._deeds) == {action.id for action in actions_of("search")} - {"quit"}
        for node in (screen, screen.results, screen.facets, screen.side.preview.body):
            for key in node._bindings.key_to_bindings.values():
                for binding in key:
                    name, targets = binding.action.rpartition(".")[2].partition("(")[0], (node, screen, one.app)
                    assert any(hasattr(target, f"action_{name}") for target in targets), binding


async def test_results_appear_while_typing(stage: Stages) -> None:
    """No Enter is needed; the last word counts as a beginning while it is typed."""
    one = stage()
    async with one.searched("win", size=WIDE):
        assert _rows(one) == ["turbine.md", "report.pdf", "inbox.mbox", "gone.txt"]
        assert one.engine.requests[-1].as_you_type or one.engine.requests[-2].as_you_type
        text = one.text
        assert "Wind turbines at sea" in text
        assert "~/energy/turbine.md" in text
        assert "Results 1 of 4" in text
        assert "4 of 5 documents" in text


async def test_the_unfinished_page_stays_when_the_whole_word_finds_nothing(stage: Stages) -> None:
    """A pause after "turb" must not empty the list, although no document holds that word."""
    one = stage()
    async with one.searched("turb", size=WIDE) as pilot:
        await one.until(pilot, lambda: not one.engine.requests[-1].as_you_type, "the request at rest")
        await one.settle(pilot)
        assert _rows(one) == ["turbine.md", "report.pdf"]


async def test_a_page_that_took_long_is_settled_too(stage: Stages) -> None:
    """An answer to what is typed that comes after the rest is followed by that for the finished word."""
    one = stage()
    one.engine.gate["wind"] = threading.Event()
    async with one.app.run_test(size=WIDE) as pilot:
        screen = one.app.search_screen
        screen.box.set_text("wind")
        await one.until(pilot, lambda: bool(one.engine.requests))
        await one.until(
            pilot, lambda: screen.questions._typing is None or not _runs(screen.questions._typing), "the rest"
        )
        one.engine.gate["wind"].set()
        await one.until(pilot, lambda: one.asked == "wind")
        await one.settle(pilot)
        assert not screen.session.page.request.as_you_type


async def test_stale_answers_are_dropped(stage: Stages) -> None:
    """An answer that was overtaken while the engine was slow never reaches the screen."""
    one = stage()
    one.engine.gate["solar"] = threading.Event()
    one.engine.reached["solar"] = threading.Event()
    async with one.app.run_test(size=WIDE) as pilot:
        await pilot.press(*"solar")
        await one.until(pilot, one.engine.reached["solar"].is_set)
        for _ in range(5):
            await pilot.press("backspace")
        await pilot.press(*"wind")
        one.engine.gate["solar"].set()
        await one.until(pilot, lambda: one.asked == "wind")
        shown = one.app.search_screen.query_one(ResultsList).page
        assert shown.request.text == "wind"
        await one.settle(pilot)
        assert one.asked == "wind"


async def test_other_machines_are_waited_for_by_nobody(stage: Stages) -> None:
    """The own rows stand at once, another question is answered meanwhile, and what came late is shown when it comes."""
    one = stage(settings=Settings(devices=DevicesSettings(ask=["desk"])))
    for query in ("wind@desk", "solar@desk"):
        one.engine.gate[query], one.engine.reached[query] = threading.Event(), threading.Event()
    async with one.app.run_test(size=WIDE) as pilot:
        results = one.app.search_screen.query_one(ResultsList)
        for query in ("wind", "solar"):
            one.app.search_screen.query_one(QueryInput).set_text(query)
            await one.until(pilot, lambda query=query: one.asked == query and not results.page.request.as_you_type)
            assert results.page.request.on == ()
            if query == "wind":
                await one.until(pilot, one.engine.reached["wind@desk"].is_set)
        for gate in one.engine.gate.values():
            gate.set()
        await one.until(pilot, lambda: results.page.request.on == ("desk",))
        assert one.asked == "solar"


async def test_late_rows_of_other_machines_wait_for_a_key_where_the_page_is_read(stage: Stages) -> None:
    """They are offered; F5 shows those that came, and asks nobody again."""
    one = stage(settings=Settings(devices=DevicesSettings(ask=["desk"])))
    one.engine.gate["wind@desk"], one.engine.reached["wind@desk"] = threading.Event(), threading.Event()
    async with one.searched("wind", size=WIDE) as pilot:
        await one.until(pilot, one.engine.reached["wind@desk"].is_set)
        await pilot.press("down")
        one.engine.documents.append(Document("/home/anna/late.txt", "Late wind", "text", "wind\n"))
        one.engine.gate["wind@desk"].set()
        await one.until(pilot, lambda: "newer results: F5" in one.text)
        assert "late.txt" not in _rows(one)
        n_asked = len(one.engine.requests)
        await pilot.press("f5")
        await one.until(pilot, lambda: "late.txt" in _rows(one))
        assert len(one.engine.requests) == n_asked
        assert one.app.search_screen.query_one(ResultsList).cursor == 1


async def test_keys_are_taken_while_the_engine_is_stuck(stage: Stages) -> None:
    """No key press waits for an answer."""
    one = stage()
    one.engine.gate["w"] = threading.Event()
    one.engine.reached["w"] = threading.Event()
    async with one.app.run_test(size=WIDE) as pilot:
        await pilot.press("w")
        await one.until(pilot, one.engine.reached["w"].is_set)
        await pilot.press(*"ind")
        assert one.app.search_screen.query_one(QueryInput).value == "wind"
        assert len(one.engine.requests) == 1
        one.engine.gate["w"].set()
        await one.until(pilot, lambda: one.asked == "wind")
        assert [r.text for r in one.engine.requests if r.text not in ("w", "wind")] == []


async def test_arrows_choose_while_the_box_keeps_the_focus(stage: Stages) -> None:
    """Down and up move in the list, and typing goes on at once."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("down", "down", "up")
        screen = one.app.search_screen
        assert screen.query_one(ResultsList).cursor == 1
        assert screen.query_one(QueryInput).has_focus
        await pilot.press("s")
        assert screen.query_one(QueryInput).value == "winds"


async def test_vim_keys_move_in_the_focused_list(stage: Stages) -> None:
    """j, k, g, G and half pages, once the list has the focus; Esc goes back."""
    async with wind(stage()) as (one, pilot):
        results = one.app.search_screen.query_one(ResultsList)
        await pilot.press("ctrl+o")
        assert results.has_focus
        places = []
        for key in ("j", "j", "k", "G", "g", "ctrl+d", "ctrl+u"):
            await pilot.press(key)
            places.append(results.cursor)
        assert places == [1, 2, 1, 3, 0, 3, 0]
        await pilot.press("escape")
        assert one.app.search_screen.query_one(QueryInput).has_focus


async def test_snippets_are_made_for_visible_rows_only(stage: Stages, conftest_types: Any) -> None:
    """A hundred results appear at once, and only those in view ask for a snippet, once."""
    many = [conftest_types.Document(f"/home/anna/{n}.txt", f"Wind {n}", "text", "wind\n") for n in range(100)]
    one = stage(engine=conftest_types.FakeSearch(many))
    async with one.searched("wind", size=(80, 24)) as pilot:
        await one.until(pilot, lambda: bool(one.engine.snippet_rows))
        assert set(one.engine.snippet_rows) <= set(range(1, 10))
        one.engine.snippet_rows.clear()
        await pilot.press("ctrl+o", "j", "k", "G")
        await one.until(pilot, lambda: 100 in one.engine.snippet_rows)
        assert set(one.engine.snippet_rows) <= set(range(90, 101))
        assert len(one.engine.snippet_rows) == len(set(one.engine.snippet_rows))


async def test_a_narrow_screen_shows_the_list_alone(stage: Stages) -> None:
    """At 80 columns the preview is out of the way until it is asked for, and then it is below."""
    one = stage()
    async with one.searched("wind", size=(80, 24)) as pilot:
        side = one.app.search_screen.query_one("#side")
        assert not side.display
        await pilot.press("f2")
        await one.until(pilot, lambda: side.display and side.region.width == 80)
        assert side.region.y > one.app.search_screen.query_one(ResultsList).region.y
        assert side.region.width == 80
        await pilot.press("f2")
        assert not side.display


async def test_the_screen_follows_a_resize(stage: Stages) -> None:
    """Wide to narrow and back changes the layout and loses nothing."""
    async with wind(stage()) as (one, pilot):
        side = one.app.search_screen.query_one("#side")
        assert side.display
        await pilot.resize_terminal(60, 20)
        await one.until(pilot, lambda: not side.display)
        assert "Wind turbines at sea" in one.text
        await pilot.resize_terminal(200, 50)
        await one.until(pilot, lambda: side.display and side.region.x > 80)


async def test_the_order_changes_with_one_key(stage: Stages) -> None:
    """Date and name sort one key away, and the cursor stays on its document."""
    async with wind(stage()) as (one, pilot):
        orders = []
        for _ in range(4):
            await pilot.press("ctrl+s")
            wanted = one.app.search_screen.questions.order
            await one.until(pilot, lambda wanted=wanted: one.engine.requests[-1].order == wanted)
            orders.append(wanted)
        assert orders == ["bm25", "modified", "name", "learned"]


async def test_a_problem_points_at_its_place(stage: Stages) -> None:
    """A malformed query still answers, with an arrow under the character concerned."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.search(pilot, 'wind "se')
        hint = one.app.search_screen.query_one(HintLine)
        assert hint.display
        assert hint.hint.plain == " " * 5 + "↑ no partner"
        column = hint.region.x + 4 + 5
        assert one.app.search_screen.query_one(QueryInput).region.x + 5 == column


async def test_a_suggested_spelling_is_one_key_away(stage: Stages) -> None:
    """F8 searches for what was probably meant."""
    one = stage()
    async with one.searched("wimd", size=WIDE) as pilot:
        hint = one.app.search_screen.query_one(HintLine)
        await one.until(pilot, lambda: "Did you mean wind" in hint.hint.plain, "a suggestion")
        await pilot.press("f8")
        await one.until(pilot, lambda: one.asked == "wind")


async def test_nothing_found_says_what_to_do(stage: Stages) -> None:
    """An empty list is never just empty."""
    one = stage()
    async with one.searched("zebra", size=WIDE):
        assert one.app.search_screen.query_one(Welcome).display
        assert "Nothing found for zebra" in one.text
        assert "foltr-search why FILE" in one.text


async def test_escape_backs_out_step_by_step(stage: Stages) -> None:
    """From the list to the box, then the box is cleared, then the filters go; it never leaves."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("f4", "right", "enter", "escape")
        screen = one.app.search_screen
        assert screen.query_one(QueryInput).has_focus
        await pilot.press("escape")
        assert screen.query_one(QueryInput).value == ""
        assert screen.questions.filters["type"] == "mail"
        await pilot.press("escape")
        assert screen.questions.filters["type"] == ""
        await pilot.press("escape")
        assert one.app.is_running
        assert "documents ready" in one.text


async def test_results_refresh_after_a_commit(stage: Stages, conftest_types: Any) -> None:
    """What was indexed meanwhile appears without a key press, as long as nobody is reading the list."""
    async with wind(stage()) as (one, pilot):
        one.engine.documents.append(conftest_types.Document("/home/anna/new.txt", "New wind", "text", "wind\n"))
        one.engine.generation = 2
        line = conftest_types.ProgressLine("indexing 4,210 of 12,228", 2, True)
        one.indexing.report(line)
        await one.until(pilot, lambda: "new.txt" in _rows(one), "the new document")
        assert "indexing 4,210 of 12,228" in one.text


async def test_a_list_that_is_read_is_left_alone(stage: Stages, conftest_types: Any) -> None:
    """After the cursor was moved a commit only announces itself; F5 asks again."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("down")
        one.engine.documents.append(conftest_types.Document("/home/anna/new.txt", "New wind", "text", "wind\n"))
        one.engine.generation = 2
        one.indexing.report(conftest_types.ProgressLine("", 2, False))
        await one.until(pilot, lambda: "newer results: F5" in one.text)
        assert "new.txt" not in _rows(one)
        await pilot.press("f5")
        await one.until(pilot, lambda: "new.txt" in _rows(one))
        assert one.app.search_screen.query_one(ResultsList).cursor == 1


async def test_a_cursor_that_nobody_moved_stays_on_the_first_row(stage: Stages, conftest_types: Any) -> None:
    """A better result that comes in is the selected one then; a moved cursor stays with its document."""
    async with wind(stage()) as (one, pilot):
        results = one.app.search_screen.query_one(ResultsList)
        one.engine.documents.insert(0, conftest_types.Document("/home/anna/new.txt", "New wind", "text", "wind\n"))
        one.engine.generation = 2
        one.indexing.report(conftest_types.ProgressLine("", 2, False))
        await one.until(pilot, lambda: results.selected is not None and results.selected.title == "New wind")
        assert (results.cursor, results.moved) == (0, False)


async def test_an_answer_that_comes_after_the_cursor_moved_is_only_offered(stage: Stages, conftest_types: Any) -> None:
    """The page was asked for without a key press; until it came the user had begun to read the old one."""
    async with wind(stage()) as (one, pilot):
        shown = _rows(one)
        one.engine.documents.insert(0, conftest_types.Document("/home/anna/new.txt", "New wind", "text", "wind\n"))
        one.engine.gate["wind"], one.engine.reached["wind"] = threading.Event(), threading.Event()
        one.engine.generation = 2
        one.indexing.report(conftest_types.ProgressLine("", 2, False))
        await one.until(pilot, one.engine.reached["wind"].is_set)
        await pilot.press("down")
        one.engine.gate["wind"].set()
        await one.until(pilot, lambda: "newer results: F5" in one.text)
        assert _rows(one) == shown


async def test_a_scrolled_preview_counts_as_reading(stage: Stages) -> None:
    """Going to another match or turning the wheel there, the focus in the search box all the time."""
    async with wind(stage()) as (one, pilot):
        screen = one.app.search_screen
        await one.until(pilot, lambda: screen.query_one(PreviewBody).preview is not None)
        assert not screen.questions.is_reading
        await pilot.press("alt+n")
        assert screen.questions.is_reading


async def test_another_order_starts_at_its_first_row(stage: Stages) -> None:
    """Newest first begins at the newest, wherever the cursor was."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("down", "down")
        results = one.app.search_screen.query_one(ResultsList)
        assert results.cursor == 2
        await pilot.press("ctrl+s", "ctrl+s")
        await one.until(pilot, lambda: results.page is not None and results.page.request.order == "modified")
        assert (results.cursor, results.scroll_offset.y) == (0, 0)
        dates = [hit.modified for hit in results.page.hits]
        assert dates == sorted(dates, reverse=True)


async def test_typing_before_the_index_is_open_is_not_lost(stage: Stages, conftest_types: Any) -> None:
    """The first frame does not wait for the index, and what was typed meanwhile is asked as soon as it is there."""
    ready = threading.Event()
    engine = conftest_types.FakeSearch()

    def slow_engine() -> Any:
        ready.wait(120)
        return engine

    one = stage(engine=engine, open_engine=slow_engine)
    async with one.app.run_test(size=WIDE) as pilot:
        await pilot.press(*"wind")
        await one.until(pilot, lambda: "opening the index" in one.text)
        ready.set()
        await one.until(pilot, lambda: one.asked == "wind")


async def test_an_index_that_cannot_be_opened_is_explained(stage: Stages) -> None:
    """A damaged index is a sentence and a command, never a traceback."""

    def broken() -> Any:
        raise OSError("the index is damaged")

    one = stage(open_engine=broken)
    async with one.app.run_test(size=WIDE) as pilot:
        await one.until(pilot, lambda: "The index cannot be searched" in one.text)
        assert "the index is damaged" in one.text
        assert "foltr-search index --rebuild" in one.text


async def test_own_keys_work_and_mistakes_are_reported(stage: Stages) -> None:
    """An action can be moved to another key; an unknown action is one line at the start."""
    one = stage(screen=ScreenSettings(keys={"order": "f9", "opne": "f7"}))
    async with one.searched("wind", size=WIDE) as pilot:
        assert one.notes == ["screen.keys: there is no action opne; did you mean open?"]
        await pilot.press("ctrl+s")
        assert one.app.search_screen.questions.order == "learned"
        await pilot.press("f9")
        assert one.app.search_screen.questions.order == "bm25"
        assert "F9" in one.text


async def test_mouse_click_selects_and_wheel_scrolls(stage: Stages, conftest_types: Any) -> None:
    """The mouse does what it does everywhere."""
    many = [conftest_types.Document(f"/home/anna/{n}.txt", f"Wind {n}", "text", "wind\n") for n in range(100)]
    one = stage(engine=conftest_types.FakeSearch(many))
    async with one.searched("wind", size=(80, 24)) as pilot:
        results = one.app.search_screen.query_one(ResultsList)
        await pilot.click(ResultsList, offset=(10, 7))
        assert results.cursor == 2
        assert one.engine.opened_paths == []
        before = results.scroll_offset.y
        results.scroll_relative(y=9, animate=False)
        await pilot.pause()
        assert results.scroll_offset.y > before


async def test_the_palette_runs_actions(stage: Stages) -> None:
    """Ctrl+T, a few letters, Enter."""
    one = stage()
    async with one.searched("wind", size=(110, 70)) as pilot:
        await pilot.press("ctrl+t")
        await pilot.press(*"newest")
        await one.until(pilot, lambda: one.app.screen.query_one(CommandList).option_count == 1, "the only one left")
        assert "Order: newest first" in one.text
        await pilot.press("enter")
        await one.until(pilot, lambda: one.app.search_screen.questions.order == "modified")
        await one.until(pilot, lambda: one.engine.requests[-1].order == "modified")


@pytest.mark.parametrize("size", [(60, 20), (120, 40)])
async def test_a_message_covers_neither_status_nor_keys(stage: Stages, size: tuple[int, int]) -> None:
    """A long one stands above the two lines at the bottom."""
    one = stage()
    async with one.searched("wind", size=size, notifications=True) as pilot:
        one.app.notify("a long message of several lines " * 8, timeout=60)

        def bottoms() -> list[int]:
            return [toast.region.bottom for toast in one.app.screen.query("Toast") if toast.region.height > 1]

        await one.until(pilot, lambda: bool(bottoms()), "the message")
        assert bottoms()[0] <= one.app.screen.query_one("#status").region.y
