"""What is kept from one start to the next."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from app.tui.remembered_choices import REMEMBERED, Remembered, keep_remembered, read_remembered
from app.tui.results_list import ResultsList
from app.tui.screen_setup import Picking
from tests.app.tui.conftest import WIDE, Stages, wind


async def test_panes_rows_filters_and_theme_are_as_they_were(stage: Stages, tmp_path: Path) -> None:
    """Changed by keys in one start, there in the next; a picker has the panes and the theme, and asks for all.

    The order is that of a question and begins anew.
    """
    async with wind(stage()) as (one, pilot):
        await pilot.press("f2", "ctrl+s", "ctrl+g", "<", "ctrl+g", "d", "f4", "right", "enter")
        await one.until(pilot, lambda: one.engine.requests[-1].type == "mail")
        one.app.theme = "nord"
        await pilot.pause()
    kept = one.app.to_remember()
    assert (kept.preview, kept.dense, kept.filters, kept.share) == (False, True, {"type": "mail"}, 3)
    keep_remembered(tmp_path, kept)

    two = stage(remembered=read_remembered(tmp_path))
    async with two.searched("wind", size=WIDE) as pilot:
        assert two.app.theme == "nord"
        assert not two.app.search_screen.query_one("#side").display
        assert two.app.search_screen.results.is_dense
        assert (two.engine.requests[-1].order, two.engine.requests[-1].type) == ("learned", "mail")
    assert two.app.to_remember() == kept

    three = stage(remembered=kept, picking=Picking(query="wind"))
    async with three.app.run_test(size=WIDE) as pilot:
        await three.until(pilot, lambda: three.asked == "wind")
        assert three.app.theme == "nord"
        assert len(three.app.search_screen.query_one(ResultsList).page.hits) == 4


async def test_resetting_brings_the_settings_back(stage: Stages, tmp_path: Path) -> None:
    """One key, and nothing is kept any more."""
    kept = Remembered(theme="nord", theme_over="auto", preview=False, dense=True, filters={"type": "mail"}, share=4)
    keep_remembered(tmp_path, kept)
    async with wind(stage(remembered=kept)) as (one, pilot):
        assert "as last time" in one.app.search_screen.line.text
        await pilot.press("ctrl+g", "R")
        await one.until(pilot, lambda: not one.app.search_screen.results.is_dense)
        await one.until(pilot, lambda: one.app.search_screen.query_one("#side").display)
        assert one.app.theme == "night"
    assert one.app.to_remember() == Remembered()
    keep_remembered(tmp_path, one.app.to_remember())
    assert not (tmp_path / REMEMBERED).exists()


def test_a_setting_that_is_changed_later_wins() -> None:
    """What was chosen over another value of it is not what is wanted now."""
    kept = Remembered(theme="nord", theme_over="auto", preview=False, preview_over=True)
    assert (kept.theme_for("auto"), kept.theme_for("gruvbox")) == ("nord", "gruvbox")
    assert (kept.preview_for(True), kept.preview_for(False)) == (False, False)
    assert Remembered(preview=True, preview_over=False).preview_for(True)


@pytest.mark.parametrize("content", [b"", b"{", b'{"v":2}', b'{"v":1,"share":"wide"}'])
def test_a_file_that_cannot_be_used_is_a_first_start(tmp_path: Path, content: bytes) -> None:
    """Damage, or another version: the defaults."""
    (tmp_path / REMEMBERED).write_bytes(content)
    assert read_remembered(tmp_path) == Remembered()


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    """A filter may name a folder."""
    keep_remembered(tmp_path, Remembered(filters={"folder": "/home/anna/secret"}))
    assert stat.S_IMODE((tmp_path / REMEMBERED).stat().st_mode) == 0o600
    assert read_remembered(tmp_path).filters == {"folder": "/home/anna/secret"}


async def test_a_folder_whose_name_cannot_be_stored_ends_no_program(stage: Stages, tmp_path: Path) -> None:
    """The other choices are kept, and so is a folder of any other name."""
    for name, kept in (("/home/anna/caf\udce9", {"type": "mail"}), ("/a\n😀", {"type": "mail", "folder": "/a\n😀"})):
        one = stage()
        one.app.search_screen.questions.filters.update(type="mail", folder=name)
        keep_remembered(tmp_path, one.app.search_screen.to_remember())
        assert read_remembered(tmp_path).filters == kept
