"""The line of keys: what is in it, and that leaving always is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.tui.bars.key_line import KeyLine, fitting
from app.tui.keys import BY_ID

Stages = Callable[..., Any]


@pytest.mark.parametrize(("columns", "least"), [(20, ("quit",)), (60, ("quit", "leader", "open", "mark", "help"))])
async def test_what_matters_is_there_on_a_narrow_screen(stage: Stages, columns: int, least: tuple[str, ...]) -> None:
    """How to leave at 20 columns; at 60 also all keys, opening, marking and help."""
    one = stage()
    async with one.app.run_test(size=(columns, 20)) as pilot:
        await one.settle(pilot)
        line = one.app.search_screen.query_one(KeyLine)
        assert {action.id for action, _, _ in line.shown} >= set(least)
        assert "^Q Quit" in one.text.splitlines()[-1]


def test_the_highest_rank_goes_first_and_the_order_stays() -> None:
    """Of "a Open" (8 cells with its gap), "b Order" (9) and "c Quit" (8) there is room for Quit and Open in 17."""
    labels = [(BY_ID["open"], "a", "Open"), (BY_ID["order"], "b", "Order"), (BY_ID["quit"], "c", "Quit")]
    assert [action.id for action, _, _ in fitting(labels, 17)] == ["open", "quit"]
    assert [action.id for action, _, _ in fitting(labels, 24)] == ["open", "order", "quit"]


async def test_a_click_is_the_key(stage: Stages) -> None:
    """On the title of an action as on its key."""
    one = stage()
    async with one.app.run_test(size=(120, 40)) as pilot:
        await one.search(pilot, "wind")
        at = one.text.splitlines()[-1].index("Order")
        await pilot.click(KeyLine, offset=(at, 0))
        await one.until(pilot, lambda: one.app.search_screen.questions.order == "bm25")
