"""The side pane of the search screen: its place, and what is sent for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.tui.side_pane import SHARES
from app.tui.terminal_traits import TerminalTraits

Stages = Callable[..., Any]


async def test_a_picture_is_sent_again_when_another_program_had_the_terminal(
    stage: Stages, conftest_types: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for all the times that it is painted, and once more after an editor or a shell."""
    pytest.importorskip("PIL.Image").new("RGB", (20, 20)).save(tmp_path / "a.png")
    monkeypatch.setenv("COLORTERM", "truecolor")
    picture = conftest_types.Document(str(tmp_path / "a.png"), "wind", "image", "")
    one = stage(engine=conftest_types.FakeSearch([picture]), terminal=TerminalTraits(name="ghostty 1.1.0"))
    sent: list[str] = []
    monkeypatch.setattr(one.app, "send", sent.append)
    async with one.app.run_test(size=(120, 40)) as pilot:
        await one.search(pilot, "wind")
        await one.until(pilot, lambda: "\U0010eeee" in one.text)
        await pilot.press("f3", "f2")
        await one.settle(pilot)
        assert len(sent) == 1
        one.app.app_resume_signal.publish(one.app)
        await one.until(pilot, lambda: len(sent) == 2)
        assert sent[1].startswith("\x1b_Ga=T,U=1,")


async def test_its_size_has_two_ends(stage: Stages) -> None:
    """More presses than there are sizes end at the largest and at the smallest."""
    one = stage()
    async with one.app.run_test(size=(200, 40)) as pilot:
        await one.search(pilot, "wind")
        side = one.app.search_screen.query_one("#side")
        for step, share in ((1, SHARES[-1]), (-1, SHARES[0])):
            for _ in SHARES:
                one.app.search_screen.side.widen(step)
            await one.until(pilot, lambda share=share: side.region.width == 200 * share // 100)
