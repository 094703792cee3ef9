"""The side pane of the search screen: its place, and what is sent for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from app.search.results import SearchRequest
from app.tui.bars.status_lines import StatusLine
from app.tui.preview.preview_pane import PreviewBody, PreviewPane
from app.tui.preview.side_pane import SHARES
from app.tui.results_list import ResultsList
from app.tui.terminal.terminal_capabilities import TerminalCapabilities
from tests.app.tui.conftest import Stages, wind


async def test_a_picture_is_sent_again_when_another_program_had_the_terminal(
    stage: Stages, conftest_types: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once for all the times that it is painted, and once more after an editor or a shell."""
    pytest.importorskip("PIL.Image").new("RGB", (20, 20)).save(tmp_path / "a.png")
    monkeypatch.setenv("COLORTERM", "truecolor")
    picture = conftest_types.Document(str(tmp_path / "a.png"), "wind", "image", "")
    one = stage(engine=conftest_types.FakeSearch([picture]), terminal=TerminalCapabilities(name="ghostty 1.1.0"))
    sent: list[str] = []
    monkeypatch.setattr(one.app, "send", sent.append)
    async with one.searched("wind", size=(120, 40)) as pilot:
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
    async with one.searched("wind", size=(200, 40)) as pilot:
        side = one.app.search_screen.query_one("#side")
        for step, share in ((1, SHARES[-1]), (-1, SHARES[0])):
            for _ in SHARES:
                one.app.search_screen.side.widen(step)
            await one.until(pilot, lambda share=share: side.region.width == 200 * share // 100)


@pytest.mark.parametrize(("size", "shown"), [((40, 13), False), ((40, 14), True), ((120, 8), True)])
async def test_a_screen_without_room_keeps_its_lines_for_the_results(
    stage: Stages, size: tuple[int, int], shown: bool
) -> None:
    """Below the results a line of the text must be in view, else the pane is not shown, and that is said."""
    one = stage()
    async with one.searched("wind", size=size) as pilot:
        side = one.app.search_screen.side
        if not side.is_open:
            side.turn_preview()
        await one.until(pilot, lambda: ("no room" in one.app.search_screen.query_one(StatusLine).text) != shown)
        await one.settle(pilot)
        assert one.app.search_screen.query_one(PreviewBody).size.height >= shown
        assert side.is_open == shown


async def test_snippets_take_the_room_that_a_hidden_preview_leaves(stage: Stages, conftest_types: Any) -> None:
    """They are asked for anew at another width, and only then."""
    document = conftest_types.Document("/home/anna/a.txt", "A", "text", "wind " + "and rain " * 40 + "end")
    one = stage(engine=conftest_types.FakeSearch([document]))
    async with one.searched("wind", size=(160, 30)) as pilot:
        results = one.app.search_screen.query_one(ResultsList)
        before = len(results.make_line(1).text.rstrip())
        asked = len(one.engine.snippet_rows)
        await pilot.press("f2")
        await one.until(pilot, lambda: len(results.make_line(1).text.rstrip()) > 1.5 * before)
        assert len(one.engine.snippet_rows) == asked + 1


async def test_a_selection_of_the_page_before_does_not_take_the_preview(stage: Stages, conftest_types: Any) -> None:
    """Down as the answer arrives: the preview is of what is selected by then."""
    one = stage()
    async with one.searched("wind", size=(140, 40)) as pilot:
        screen = one.app.search_screen
        results, pane = screen.query_one(ResultsList), screen.query_one(PreviewPane)
        answer = conftest_types.FakeSearch().search(SearchRequest("panels"))
        results.cursor = 1
        screen._show_page(answer)
        screen.session.shown(answer)
        await one.until(pilot, lambda: pane.loaded is not None and pane.loaded.title == "Solar panels")
        await one.settle(pilot)
        assert results.selected == pane.hit == pane.loaded


async def test_what_cannot_be_read_leaves_no_other_text_below_its_heading(stage: Stages) -> None:
    """The text of the document before goes; the next one is shown again."""
    async with wind(stage()) as (one, pilot):
        body, preview = one.app.search_screen.side.preview.body, one.engine.preview
        assert body.preview is not None
        one.engine.preview = lambda page, hit, width=160: Path("/no such disk").read_text()
        await pilot.press("down")
        await one.until(pilot, lambda: bool(one.notes) and body.preview is None)
        one.engine.preview = preview
        await pilot.press("up")
        await one.until(pilot, lambda: body.preview is not None)
