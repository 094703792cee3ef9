"""The preview, driven by keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.tui.preview import PreviewBody

Stages = Callable[..., Any]
WIDE = (120, 40)


async def test_the_preview_shows_matches_and_steps_through_them(stage: Stages) -> None:
    """n and N go around the matches; the heading says which one and on which page."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.search(pilot, "wind")
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
