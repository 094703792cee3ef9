"""Help for what has the focus."""

from __future__ import annotations

from app.settings import ScreenSettings
from app.tui.panels.action_lists import HelpScreen
from tests.app.tui.conftest import Stages

TALL = (110, 74)


async def test_help_is_about_the_focused_part(stage: Stages) -> None:
    """In the search box F1 explains the search box, in the list ? explains the list, with its own keys."""
    one = stage()
    async with one.searched("wind", size=TALL) as pilot:
        await pilot.press("f1")
        await one.until(pilot, lambda: isinstance(one.app.screen, HelpScreen) and "The search box." in one.text)
        assert "Half a page down" not in one.text
        assert "modified:last-week" in one.text
        await pilot.press("escape")
        await pilot.press("ctrl+o", "question_mark")
        await one.until(pilot, lambda: "The results." in one.text)
        assert "Half a page down" in one.text


async def test_help_shows_the_keys_as_they_were_remapped(stage: Stages) -> None:
    """What the user chose is what the help says."""
    one = stage(screen=ScreenSettings(keys={"stats": "f9"}))
    async with one.app.run_test(size=TALL) as pilot:
        await pilot.press("f1")
        await one.until(pilot, lambda: "whether the learned order helps" in one.text)
        line = next(line for line in one.text.splitlines() if "whether the learned order helps" in line)
        assert "F9" in line
        assert "F6" not in line


async def test_what_is_too_long_goes_on_in_its_own_column(stage: Stages) -> None:
    """On a small screen no word of a description stands below the keys."""
    one = stage()
    async with one.app.run_test(size=(80, 60)) as pilot:
        await pilot.press("f1")
        await one.until(pilot, lambda: "Copy its path to the clipboard" in one.text)
        lines = one.text.splitlines()
        at = next(i for i, line in enumerate(lines) if "Copy its path to the clipboard" in line)
        column = lines[at].index("Copy its path")
        assert not lines[at + 1][column - 12 : column].strip(" │")
        assert lines[at + 1][column] != " "
