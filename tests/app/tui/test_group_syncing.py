"""Syncing with the group while the screen is up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from app.federation.background_sync import News


class FakeGroup:
    """A group whose server answers when the test lets it."""

    def __init__(self, *lines: str, news: News | None = None) -> None:
        self.lines, self.news = lines, news
        self.answers: list[bool] = []
        self.reached, self.gate = threading.Event(), threading.Event()

    def question(self) -> tuple[str, ...]:
        return self.lines

    def answer(self, *, agreed: bool) -> None:
        self.answers.append(agreed)

    def sync_when_due(self) -> News | None:
        self.reached.set()
        self.gate.wait(120)
        return self.news


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


async def test_the_user_is_asked_before_the_first_sync(stage: Callable[..., Any]) -> None:
    """The question and what it means are shown; No is preselected, and is kept as the answer."""
    group = FakeGroup("Sync with herons by itself, daily?", "What leaves this device: numbers.")
    group.gate.set()
    one = stage(group=lambda: group)
    async with one.app.run_test(size=(100, 30)) as pilot:
        await one.until(pilot, lambda: "Sync with herons by itself, daily?" in one.text)
        assert "What leaves this device" in one.text
        assert not group.reached.is_set()
        await pilot.press("enter")
        await one.until(pilot, lambda: group.answers == [False])


async def test_agreeing_syncs_and_escape_leaves_the_question_open(stage: Callable[..., Any]) -> None:
    """Agree is answered with a sync; Escape answers nothing."""
    for keys, answers in ((("shift+tab", "enter"), [True]), (("escape",), [])):
        group = FakeGroup("Sync with herons by itself, daily?", "What leaves.")
        group.gate.set()
        one = stage(group=lambda made=group: made)
        async with one.app.run_test(size=(100, 30)) as pilot:
            await one.until(pilot, lambda shown=one: "Sync with herons" in shown.text)
            await pilot.press(*keys)
            await one.until(pilot, lambda shown=one: "Sync with herons" not in shown.text)
            await one.until(pilot, lambda told=group, wanted=answers: told.answers == wanted)
            if answers:
                await one.until(pilot, group.reached.is_set)
