"""The words for how far indexing is, and what is kept from one start to the next."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.settings import Paths, Settings, remember_root, remembered_roots
from app.tui.results_list import ResultsList
from app.tui.screen_setup import (
    REMEMBERED,
    Background,
    Picking,
    Remembered,
    keep_remembered,
    progress_line,
    read_remembered,
)
from indexer.files.crawl import is_below
from indexer.progress import Progress


def test_indexing_says_how_far_how_fast_and_how_long() -> None:
    """4,210 of 12,228, the rate, the rest of the time, the failures; the file and the last error beside it."""
    line = progress_line(
        Progress(
            phase="indexing", n_done=4210, n_total=12228, rate_mb_s=2.31, eta_seconds=39.6, n_failed=3, generation=7,
            current="a.pdf", last_error="b.pdf: encrypted",
        )
    )  # fmt: skip
    assert line.text == "indexing 4,210 of 12,228 · 2.3 MB/s · 40 s left · 3 failed"
    assert line.details == ("a.pdf", "last error: b.pdf: encrypted")
    assert (line.generation, line.busy) == (7, True)


def test_following_is_silent_but_for_a_note() -> None:
    """Nothing to say while nothing happens; a fall-back to scans is said."""
    assert progress_line(Progress(phase="watching")).text == ""
    line = progress_line(Progress(phase="polling", note="watch limit reached", last_error="old"))
    assert line.text == "looking for changes from time to time · watch limit reached"
    assert (line.busy, line.details) == (False, ())


def test_a_folder_below_a_root_is_no_new_root() -> None:
    """A neighbour whose name begins alike is one."""
    assert is_below("/a/b", "/a")
    assert is_below("/a", "/a")
    assert is_below("/a", "/")
    assert not is_below("/ab", "/a")


def test_there_is_an_index_once_a_folder_was_chosen(tmp_path: Path) -> None:
    """A fresh device has none; one with a remembered folder has, even before it is read."""
    paths = Paths(config_dir=tmp_path / "config", data_dir=tmp_path / "data")
    assert not Background(Settings(), paths).has_index()
    remember_root(paths, tmp_path)
    assert remembered_roots(paths) == (str(tmp_path.resolve()),)
    assert Background(Settings(), paths).has_index()


Stages = Callable[..., Any]
WIDE = (120, 40)


async def test_panes_rows_filters_and_theme_are_as_they_were(stage: Stages, tmp_path: Path) -> None:
    """Changed by keys in one start, there in the next; a picker has the panes and the theme, and asks for all.

    The order is that of a question and begins anew.
    """
    one = stage()
    async with one.searched("wind", size=WIDE) as pilot:
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
    one = stage(remembered=kept)
    async with one.searched("wind", size=WIDE) as pilot:
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
