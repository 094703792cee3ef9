"""The search box: keys that are typed and keys that are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual import events

from app.tui.query_input import QueryInput

Stages = Callable[..., Any]
WIDE = (120, 40)


async def test_history_is_walked_with_the_arrows_in_an_empty_box(stage: Stages) -> None:
    """Up in the empty box brings past queries back, newest first; Down returns to the empty box."""

    class Past:
        def queries(self) -> list[str]:
            return ["solar", "wind sea"]

        def add(self, query: str) -> None:
            raise AssertionError(query)

    one = stage(history=Past())
    async with one.app.run_test(size=WIDE) as pilot:
        box = one.app.search_screen.query_one(QueryInput)
        await one.settle(pilot)
        seen = []
        for key in ("up", "up", "up", "down", "down"):
            await pilot.press(key)
            seen.append(box.value)
        assert seen == ["solar", "wind sea", "wind sea", "solar", ""]


async def test_alt_and_a_letter_is_a_key_and_not_typed(stage: Stages) -> None:
    """Most terminals send the letter itself along with Alt; the search box must not take it."""
    one = stage()
    async with one.app.run_test(size=WIDE) as pilot:
        await one.search(pilot, "wind")
        one.app.post_message(events.Key("alt+y", "y"))
        await one.until(pilot, lambda: one.app.clipboard == "/home/anna/energy/turbine.md")
        assert one.app.search_screen.query_one(QueryInput).value == "wind"
