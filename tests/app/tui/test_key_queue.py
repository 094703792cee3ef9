"""Keys that arrive together, in every panel and dialogue."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from app.tui.group_syncing import ConsentScreen
from app.tui.keys import ACTIONS, keys_of
from app.tui.panels.first_start import FirstStart
from tests.app.tui.conftest import WIDE, Stages, wind


def burst(app: Any, keys: Sequence[str]) -> None:
    """What a terminal sends in one read."""
    for key in keys:
        app.post_message(events.Key(key, key if len(key) == 1 else None))


async def typed(one: Any, pilot: Pilot[int], text: str, after: Sequence[str] = ()) -> None:
    """Wait until the box holds this and no panel is over it."""
    screen = one.app.search_screen
    await one.until(pilot, lambda: screen.box.value == text and one.app.screen is screen, f"{text!r} typed {after}")


BURSTS = (
    ["ctrl+g", "n", "n"], ["ctrl+g", "x", "n"], ["ctrl+g", "escape", "n"], ["ctrl+g", "Z", "n"],
    ["ctrl+g", "escape", "f3", "n"], ["f1", "q", "n"], ["f6", "escape", "n"], ["ctrl+g", "F", "q", "n"],
    ["ctrl+g", "D", "escape", "n"], ["ctrl+g", "C", "escape", "n"], ["ctrl+g", "O", "enter", "n"],
    ["ctrl+t", "escape", "n"], ["f4", "escape", "n"], ["ctrl+o", "slash", "n", "backspace", *"windn"],
)  # fmt: skip


async def test_what_follows_a_panel_is_typed(stage: Stages) -> None:
    """A panel that is opened and closed by keys of one read leaves the rest of them to the search box."""
    async with wind(stage()) as (one, pilot):
        for keys in BURSTS:
            burst(one.app, keys)
            await typed(one, pilot, "windn", keys)
            burst(one.app, ["backspace"])
            await one.until(pilot, lambda: one.asked == "wind", "the former page")


async def test_letters_keep_their_order(stage: Stages) -> None:
    """A text that comes in two reads, the second at any moment of what a key before the first still does."""
    async with wind(stage()) as (one, pilot):
        for pauses in range(10, 45):
            burst(one.app, ["ctrl+u", *"abcdef"])
            for _ in range(pauses):
                await asyncio.sleep(0)
            burst(one.app, "ghijkl")
            await typed(one, pilot, "abcdefghijkl", [str(pauses)])


async def test_what_follows_the_opening_key_reaches_the_panel(stage: Stages) -> None:
    """The folder to copy to is typed before its box is there."""
    async with wind(stage()) as (one, pilot):
        burst(one.app, ["ctrl+g", "C", *"ab"])
        await one.until(pilot, lambda: [b.value for b in one.app.screen.query("#filing-folder")] == ["ab"])


@pytest.mark.parametrize("keys", [["escape", "escape", "n"], ["ctrl+s", "escape", "n"], ["tab", "escape", "n"]])
async def test_the_first_start_lets_go_once(stage: Stages, conftest_types: Any, keys: list[str]) -> None:
    """Two keys that close it close nothing else."""
    folders = (conftest_types.Folder("/home/anna/Documents", "12 files"),)
    one = stage(indexing=conftest_types.FakeIndexing(indexed=False, folders=folders))
    async with one.app.run_test(size=WIDE) as pilot:
        await one.until(pilot, lambda: isinstance(one.app.screen, FirstStart) and "Documents" in one.text)
        burst(one.app, keys)
        await typed(one, pilot, "n")


async def test_consent_is_given_once(stage: Stages) -> None:
    """The question about the group, answered twice in one read."""
    async with wind(stage()) as (one, pilot):
        for keys in (["enter", "enter"], ["escape", "escape"], ["left", "enter", "escape"]):
            await one.app.push_screen(ConsentScreen(["Sync with the group?", "It means this."]))
            burst(one.app, keys)
            await one.until(pilot, lambda: one.app.screen is one.app.search_screen)
            burst(one.app, ["ctrl+l", "ctrl+u", "n"])
            await typed(one, pilot, "n", keys)


async def test_two_clicks_on_a_button_close_one_panel(stage: Stages) -> None:
    """The second one belongs to a panel that is gone."""
    async with wind(stage()) as (one, pilot):
        await one.app.push_screen(panel := ConsentScreen(["Sync with the group?", "It means this."]))
        panel.dismiss(None)
        panel.dismiss(None)
        await one.until(pilot, lambda: one.app.screen is one.app.search_screen)


@pytest.mark.parametrize("seed", range(3))
async def test_no_burst_takes_the_search_screen_away(stage: Stages, seed: int) -> None:
    """Thirty keys at random in one read; afterwards the search box can be reached and typed into."""
    rng = random.Random(seed)
    known = [key for action in ACTIONS if action.id not in ("quit", "back") for key in keys_of(action, {})]
    async with wind(stage()) as (one, pilot):
        burst(one.app, [key for _ in range(10) for key in ("ctrl+g", rng.choice(known), rng.choice(known))])
        burst(one.app, ["f1", "escape"] + ["escape"] * 2)
        while one.app.screen is not one.app.search_screen:
            await pilot.press("escape")
        burst(one.app, ["ctrl+l", "ctrl+u", *"sun"])
        await typed(one, pilot, "sun")
