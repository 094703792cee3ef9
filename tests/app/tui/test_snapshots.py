"""The screen as pictures and as text; the pictures are compared only on the Textual that drew them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import textual

from app.settings import ScreenSettings
from app.tui.bars.query_input import QueryInput
from app.tui.preview.preview_pane import PreviewPane
from app.tui.results_list import ResultsList

Stages = Callable[..., Any]
DRAWN_WITH = "8.2.8"
same_textual = pytest.mark.skipif(textual.__version__ != DRAWN_WITH, reason=f"drawn with Textual {DRAWN_WITH}")


def _after(stage: Any, *keys: str) -> Callable[..., Any]:
    """Search for wind and press keys, with a cursor that does not blink."""

    async def prepare(pilot: Any) -> None:
        stage.app.search_screen.query_one(QueryInput).cursor_blink = False
        await stage.search(pilot, "wind")
        await pilot.press(*keys)
        screen = stage.app.search_screen
        results, preview = screen.query_one(ResultsList), screen.query_one(PreviewPane)
        await stage.until(pilot, lambda: results.snippet_of(3) is not None, "the snippets")
        if screen.has_class("-wide"):
            await stage.until(pilot, lambda: preview.loaded is not None or not preview.display, "the preview")
        await stage.settle(pilot)

    return prepare


@same_textual
@pytest.mark.parametrize(
    ("name", "theme", "size", "keys"),
    [
        ("results_and_preview", "dark", (110, 30), ()),
        ("narrow_and_light", "light", (80, 24), ("down",)),
        ("explanation_in_the_terminals_colours", "ansi-dark", (110, 30), ("f3",)),
        ("filters", "dark", (160, 40), ("f4", "right")),
        ("one_line_each", "light", (110, 30), ("ctrl+g", "d", "ctrl+s")),
    ],
)
async def test_the_screen_looks_as_it_did(
    stage: Stages, tmp_path: Path, name: str, theme: str, size: tuple[int, int], keys: tuple[str, ...]
) -> None:
    """The screen drawn as a picture is the one that somebody looked at and kept."""
    one = stage(screen=ScreenSettings(theme=theme))
    async with one.app.run_test(size=size) as pilot:
        await _after(one, *keys)(pilot)
        drawn = tmp_path / f"{name}.svg"
        drawn.write_text(re.sub(r"terminal-\d+-", "terminal-", one.app.export_screenshot(simplify=True)))
    kept = Path(__file__).parent / "pictures" / drawn.name
    assert drawn.read_text() == kept.read_text(), f"look at {drawn}; if it is right: cp {drawn} {kept.parent}"


async def test_the_screen_reads_as_it_did(stage: Stages, tmp_path: Path) -> None:
    """At 80x24 the text of the whole screen is this, whatever Textual draws it."""
    one = stage()
    async with one.app.run_test(size=(80, 24)) as pilot:
        await _after(one)(pilot)
        drawn = tmp_path / "narrow_screen.txt"
        drawn.write_text("".join(f"{line.rstrip()}\n" for line in one.text.splitlines()))
    kept = Path(__file__).parent / drawn.name
    assert drawn.read_text() == kept.read_text(), f"look at {drawn}; if it is right: cp {drawn} {kept.parent}"
