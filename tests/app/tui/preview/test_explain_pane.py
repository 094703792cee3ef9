"""Why a result ranks where it does, beside the list."""

from __future__ import annotations

import re

import pytest

from app.tui.preview.explain_pane import ExplainPane
from app.tui.preview.preview_pane import PreviewPane
from tests.app.tui.conftest import Stages, wind


async def test_the_explanation_follows_the_cursor(stage: Stages) -> None:
    """x shows what moved the selected result, F3 does so from the search box."""
    async with wind(stage()) as (one, pilot):
        await pilot.press("f3")
        pane = one.app.search_screen.query_one(ExplainPane)
        await one.until(pilot, lambda: "words found in the title" in one.text)
        assert "+2.25    +0.50" in one.text
        assert "▪▪▪··· BM25 of the text" in one.text
        assert "−0.25" in one.text
        assert "against the row below: Annual wind report" in one.text
        assert re.search(r"together +\+1\.25", one.text)
        await pilot.press("down")
        await one.until(pilot, lambda: "it would stand at 5." in one.text)
        await pilot.press("ctrl+o", "x")
        assert not pane.display
        assert one.app.search_screen.query_one(PreviewPane).display


@pytest.mark.parametrize(("size", "back"), [((40, 12), ("f3",)), ((40, 20), ("f3", "f2")), ((120, 9), ("f3",))])
async def test_a_small_screen_reads_the_explanation_to_its_end(
    stage: Stages, size: tuple[int, int], back: tuple[str, ...]
) -> None:
    """Where there is no room below the results it takes theirs; the keys of the preview scroll it; F3 goes back."""
    one = stage()
    async with one.searched("wind", size=size) as pilot:
        before = one.text
        await pilot.press("f3")
        await one.until(pilot, lambda: "place 1" in one.text)
        assert "−0.25" not in one.text
        for _ in range(12):
            await pilot.press("shift+down")
        await one.until(pilot, lambda: "−0.25" in one.text)
        assert "place 1" not in one.text
        await pilot.press("down")
        await one.until(pilot, lambda: "place 2" in one.text)  # from its beginning
        await pilot.press("up", *back)
        await one.until(pilot, lambda: one.text == before)
