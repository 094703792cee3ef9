"""Syncing with the group while the screen is up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from app.federation.background_sync import News
from tests.app.tui.fake_group import FakeGroup


async def test_searching_does_not_wait_for_a_server_that_does_not_answer(stage: Callable[..., Any]) -> None:
    """While a sync hangs, a query is answered; when it ends, the status line tells what became of it."""
    group = FakeGroup(news=News("answered round 7", important=True))
    one = stage(group=lambda: group)
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, group.reached.is_set)
        await one.search(pilot, "wind")
        assert "answered round 7" not in one.text
        group.gate.set()
        await one.until(pilot, lambda: "answered round 7" in one.text)


async def test_leaving_does_not_wait_for_the_server_either(stage: Callable[..., Any]) -> None:
    """The session closes while a sync hangs."""
    group = FakeGroup()
    one = stage(group=lambda: group)
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, group.reached.is_set)
        closing = threading.Thread(target=one.app.search_screen.session.close)
        closing.start()
        closing.join(60)
        assert not closing.is_alive()
        group.gate.set()
