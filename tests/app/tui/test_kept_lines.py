"""Lines that are kept are those that would be made, whatever a user did before."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from textual.strip import Strip

from app.tui.line_view import LineView
from app.tui.preview.preview_pane import PreviewBody
from app.tui.results_list import ResultsList
from tests.app.tui.conftest import Stages

KEYS = (
    "space", "backspace", "d", "down", "down", "up", "pagedown", "tab", "escape", "f2", "f3",
    "ctrl+s", "ctrl+right", "enter", "n", "j", "G", "g",
)  # fmt: skip
SIZES = ((120, 40), (60, 20), (80, 24), (200, 60))
THEMES = ("textual-dark", "textual-light", "nord", "ansi-dark")
N_STEPS = 20


def _cells(lines: list[Strip]) -> list[list[tuple[str, object]]]:
    """Each letter with its style, however the line is cut in pieces."""
    return [[(letter, piece.style) for piece in line for letter in piece.text] for line in lines]


@pytest.mark.parametrize("seed", [1, 2])
async def test_kept_lines_are_as_made_anew(stage: Stages, conftest_types: SimpleNamespace, seed: int) -> None:
    """After each key, size or theme both views show what they show with all that they keep thrown away."""
    lot = random.Random(seed)
    notes = (
        conftest_types.Document(
            f"/home/anna/{n}.txt", f"Wind {n}", "text", f"{n}\n" + "".join(f"{i} wind\n" for i in range(99))
        )
        for n in range(30)
    )
    one = stage(engine=conftest_types.FakeSearch(tuple(notes)))
    async with one.searched("wind", size=SIZES[0]) as pilot:
        screen = one.app.search_screen
        views = screen.query_one(ResultsList), screen.query_one(PreviewBody)
        for step in range(N_STEPS):
            kind = lot.random()
            if kind < 0.1:
                await pilot.resize_terminal(*lot.choice(SIZES))
            elif kind < 0.2:
                one.app.theme = lot.choice(THEMES)
            elif kind < 0.4:
                lot.choice(views).scroll_relative(y=lot.choice((-3, 2, 5)), animate=False, immediate=True)
            elif kind < 0.5:
                lot.choice(views).focus()
            else:
                await pilot.press(lot.choice(KEYS))
            await one.settle(pilot)
            if one.app.screen is not screen:
                await pilot.press("escape")
                continue
            for view in views:
                if view.size.height and view.region.width:
                    assert _cells(view.render_lines(view.size.region)) == _cells(_anew(view)), (seed, step, view)


def _anew(view: LineView) -> list[Strip]:
    view.notify_style_update()
    return view.render_lines(view.size.region)
