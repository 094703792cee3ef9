"""The preview, driven by keys."""

from __future__ import annotations

from typing import Any

from app.tui.preview.preview_pane import PreviewBody
from tests.app.tui.conftest import Stages, wind


async def test_the_preview_shows_matches_and_steps_through_them(stage: Stages) -> None:
    """n and N go around the matches; the heading says which one and on which page."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("down")
        body = one.app.search_screen.query_one(PreviewBody)
        await one.until(pilot, lambda: body.preview is not None and "Page two" in body.preview.text)
        assert "match 1 of 4 · page 1 of 2" in one.text
        await pilot.press("ctrl+o", "n", "n", "n")
        assert "match 4 of 4 · page 2 of 2" in one.text
        assert "── page 2" in one.text
        await pilot.press("n")
        assert body.current == 0
        await pilot.press("N")
        assert body.current == 3


async def test_a_mail_of_a_maildir_stands_under_the_name_of_the_maildir(stage: Stages, conftest_types: Any) -> None:
    """In the heading as in the row: the name of its file says nothing."""
    letter = conftest_types.Document("/home/anna/Mail/work/cur/1795.M67P1.vm:2,S", "Re: wind", "mail", "the wind")
    one = stage(engine=conftest_types.FakeSearch([letter]))
    async with one.searched("wind", size=(120, 30)) as pilot:
        await one.until(pilot, lambda: "match 1 of 1" in one.text)
        assert one.text.count("~/Mail/work") == 2
        assert "1795" not in one.text


async def test_the_heading_says_where_one_reads(stage: Stages, conftest_types: Any) -> None:
    """The line of the match while it is in view, else that of the first row: what the editor goes to as well."""
    text = "the wind\n" + "".join(f"row {number}\n" for number in range(2, 400))
    document = conftest_types.Document("/home/anna/a.log", "A", "text", text)
    one = stage(engine=conftest_types.FakeSearch([document]))
    async with one.searched("wind", size=(140, 30)) as pilot:
        await one.until(pilot, lambda: "match 1 of 1 · line 1" in one.text)
        body = one.app.search_screen.query_one(PreviewBody)
        body.focus()
        await pilot.press("G")
        first = 400 - body.size.height
        await one.until(pilot, lambda: f"1 match · line {first}" in one.text)
        assert body.position == (first, 0)
        await pilot.press("n")
        await one.until(pilot, lambda: "match 1 of 1 · line 1" in one.text)


async def test_the_place_in_a_long_text_is_whole_in_a_small_pane(stage: Stages, conftest_types: Any) -> None:
    """The path, which stands in the row as well, gives way to the number of the line."""
    document = conftest_types.Document("/home/anna/wind.log", "A", "text", "wind\n" + "row\n" * 2000 + "wind\n")
    one = stage(engine=conftest_types.FakeSearch([document]))
    async with one.searched("wind", size=(110, 30)) as pilot:
        await pilot.press("ctrl+g", ">", "ctrl+g", ">", "alt+n")
        await one.until(pilot, lambda: "match 2 of 2 · line 2,002 " in one.text)
