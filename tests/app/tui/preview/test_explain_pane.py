"""Why a result stands where it stands, beside the list."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from app.tui.preview.explain_pane import ExplainPane
from app.tui.preview.preview_pane import PreviewPane

Stages = Callable[..., Any]
WIDE = (120, 40)


async def test_the_explanation_follows_the_cursor(stage: Stages) -> None:
    """x shows what moved the selected result, F3 does so from the search box."""
    one = stage()
    async with one.searched("wind", size=WIDE) as pilot:
        await pilot.press("f3")
        pane = one.app.search_screen.query_one(ExplainPane)
        await one.until(pilot, lambda: "words found in the title" in one.text)
        assert "+2.25    +0.50" in one.text
        assert "−0.25" in one.text
        assert "against the row below: Annual wind report" in one.text
        assert re.search(r"together +\+1\.25", one.text)
        await pilot.press("down")
        await one.until(pilot, lambda: "it would stand at 5." in one.text)
        await pilot.press("ctrl+o", "x")
        assert not pane.display
        assert one.app.search_screen.query_one(PreviewPane).display
