"""The files that could not be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from textual.events import Key

from app.tui.bars.query_input import QueryInput
from app.tui.bars.status_line import StatusLine
from app.tui.panels.failures_screen import FailuresScreen

Stages = Callable[..., Any]
WIDE = (120, 40)


async def _open(one: Any, pilot: Any) -> None:
    await pilot.press("ctrl+g", "F")
    await one.until(pilot, lambda: isinstance(one.app.screen, FailuresScreen) and "read" in one.text)


async def test_each_has_its_reason_and_its_folder_is_one_key_away(stage: Stages, tmp_path: Path) -> None:
    """Enter opens the folder of the second one."""
    one = stage()
    (tmp_path / "papers").mkdir()
    one.engine.unread = [("/home/anna/a.pdf", "it is encrypted"), (str(tmp_path / "papers" / "b.doc"), "it is damaged")]
    async with one.app.run_test(size=WIDE) as pilot:
        await one.settle(pilot)
        await _open(one, pilot)
        await one.until(pilot, lambda: "2 files could not be read" in one.text)
        assert "it is encrypted" in one.text
        await pilot.press("j", "enter")
        opened = tmp_path / "opened"
        await one.until(pilot, lambda: opened.exists() and opened.read_text().strip() == str(tmp_path / "papers"))


async def test_a_letter_right_behind_the_leader_key_is_not_typed(stage: Stages) -> None:
    """Both keys are here before the first is acted on, as from a fast hand or a macro."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.settle(pilot)
        one.app.post_message(Key("ctrl+g", None))
        one.app.post_message(Key("F", "F"))
        await one.until(pilot, lambda: isinstance(one.app.screen, FailuresScreen))
        await pilot.press("escape")
        assert one.app.screen.query_one(QueryInput).value == ""


async def test_they_are_read_again_when_asked(stage: Stages) -> None:
    """One key starts the indexing anew with the failures; without any it does nothing."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.settle(pilot)
        await _open(one, pilot)
        await one.until(pilot, lambda: "All files could be read" in one.text)
        await pilot.press("r", "escape")
        one.engine.unread = [("/home/anna/a.pdf", "it took too long")]
        await pilot.click(StatusLine)
        await one.until(pilot, lambda: "it took too long" in one.text)
        await pilot.press("r")
        await one.until(pilot, lambda: one.indexing.retried == 1)
