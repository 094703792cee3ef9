"""The panel after the leader key."""

from __future__ import annotations

import pytest

from app.settings import ScreenSettings
from app.tui.bars.query_input import QueryInput
from app.tui.key_queue import Panel
from app.tui.keys import BY_ID
from app.tui.panels.action_lists import LeaderPanel, as_text, in_columns
from app.tui.panels.stats_screen import StatsScreen
from app.tui.results_list import ResultsList
from tests.app.tui.conftest import WIDE, Stages, wind


@pytest.mark.parametrize("leader", ["ctrl+g", "ctrl+@"])
async def test_a_letter_after_the_leader_key_does_what_it_does_in_the_list(stage: Stages, leader: str) -> None:
    """While the search box has the focus: the last row, the preview, and nothing is typed."""
    async with wind(stage()) as (one, pilot):
        screen = one.app.search_screen
        await pilot.press(leader)
        await one.until(pilot, lambda: isinstance(one.app.screen, LeaderPanel) and "Statistics" in one.text)
        await pilot.press("G")
        await one.until(pilot, lambda: screen.query_one(ResultsList).cursor == 3)
        await pilot.press(leader, "p")
        await one.until(pilot, lambda: not screen.query_one("#side").display)
        box = screen.query_one(QueryInput)
        assert (box.value, box.has_focus) == ("wind", True)


async def test_keys_are_written_as_on_a_keyboard(stage: Stages) -> None:
    """PgUp, and no Pgup."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("ctrl+g")
        await one.until(pilot, lambda: "PgUp Page up" in one.text)


async def test_escape_and_unknown_keys_only_close_it(stage: Stages) -> None:
    """Nothing happens by mistake."""
    async with wind(stage()) as (one, pilot):
        for key in ("escape", "ctrl+g", "Z"):
            await pilot.press("ctrl+g", key)
            await one.until(pilot, lambda: one.app.screen is one.app.search_screen)
        assert one.asked == "wind"
        assert one.app.is_running


async def test_a_click_on_an_action_does_it(stage: Stages) -> None:
    """In any column and row; on none, nothing."""
    async with wind(stage()) as (one, pilot):
        share = one.app.search_screen.side.share
        for title, is_done in (
            ("Statistics", lambda: isinstance(one.app.screen, StatsScreen)),
            ("Wider preview", lambda: one.app.search_screen.side.share > share),
        ):
            await pilot.press("escape", "ctrl+g")
            await one.until(pilot, lambda: isinstance(one.app.screen, LeaderPanel) and "Statistics" in one.text)
            row, line = next((n, line) for n, line in enumerate(one.text.splitlines()) if title in line)
            await pilot.click(offset=(line.index(title), row))
            await one.until(pilot, is_done)
        await pilot.press("escape", "ctrl+g")
        row = next(n for n, line in enumerate(one.text.splitlines()) if "Any of these keys" in line)
        await pilot.click(offset=(5, row))
        await pilot.click(offset=(0, row - 1))
        assert isinstance(one.app.screen, LeaderPanel)


@pytest.mark.parametrize("key", ["ctrl+g", "f1", "f6", "f7"])
async def test_a_click_beside_a_panel_closes_it(stage: Stages, key: str) -> None:
    """As Esc does; one in it does not."""
    async with wind(stage()) as (one, pilot):
        await pilot.press(key)
        await one.until(pilot, lambda: isinstance(one.app.screen, Panel))
        await one.settle(pilot)
        await pilot.click(offset=one.app.screen.children[0].region.offset)
        assert isinstance(one.app.screen, Panel)
        await pilot.click(offset=(1, 1))
        await one.until(pilot, lambda: one.app.screen is one.app.search_screen)


async def test_the_leader_key_and_its_letters_can_be_chosen(stage: Stages) -> None:
    """screen.keys moves both."""
    one = stage(screen=ScreenSettings(keys={"leader": "ctrl+x", "order": "O"}))
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("ctrl+g")
        assert one.app.screen is one.app.search_screen
        await pilot.press("ctrl+x", "O")
        await one.until(pilot, lambda: one.app.search_screen.questions.order == "bm25")


def test_columns_are_read_downwards() -> None:
    """Three actions in room for two columns: two rows, the first two in the first column."""
    actions = [("e", BY_ID["edit"]), ("v", BY_ID["page"]), ("o", BY_ID["folder"])]
    lines = as_text(in_columns(actions, len("v Pager  o Folder  "))).plain.splitlines()
    assert lines[0].split() == ["e", "Edit", "o", "Folder"]
    assert lines[1].split() == ["v", "Pager"]


async def test_a_long_key_keeps_its_column_in_line(stage: Stages) -> None:
    """Shift+Tab is wider than the other keys: each title begins where those above and below it do."""
    one = stage()
    async with one.searched("wind", size=(80, 40)) as pilot:
        await pilot.press("ctrl+g")
        await one.until(pilot, lambda: "Any of these keys" in one.text)
        lines = one.text.splitlines()
        above = next(n for n, line in enumerate(lines) if "No marks" in line) - 2
        at = {line.index(title) for line, title in zip(lines[above:], ("Mark", "Mark back", "No marks"), strict=False)}
        assert len(at) == 1
