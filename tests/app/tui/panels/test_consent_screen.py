"""The question before the first sync."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.app.tui.fake_group import FakeGroup


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


async def test_the_question_and_the_answers_stay_in_sight(stage: Callable[..., Any]) -> None:
    """A long explanation scrolls between them, by the arrow keys and page by page, also on a small terminal."""
    group = FakeGroup("Sync with herons by itself, daily?", *(f"Paragraph {i} of what leaves." for i in range(40)))
    group.gate.set()
    one = stage(group=lambda: group)
    async with one.app.run_test(size=(80, 24)) as pilot:
        await one.until(pilot, lambda: "Sync with herons" in one.text)
        assert "Paragraph 0 of" in one.text
        assert "Agree" in one.text
        await pilot.press(*["pagedown"] * 8, "down")
        await one.until(pilot, lambda: "Paragraph 39 of" in one.text)
        assert "Sync with herons" in one.text
        assert "Agree" in one.text
