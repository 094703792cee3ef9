"""Every theme can be read, and NO_COLOR most of all."""

from __future__ import annotations

from typing import Any

import pytest
from rich.color import Color as RichColor
from rich.color import ColorSystem
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from app.settings import ScreenSettings
from app.tui.preview.preview_pane import PreviewBody
from app.tui.terminal.terminal_capabilities import TerminalCapabilities
from app.tui.themes import DAY, contrast, problem_of
from tests.app.tui.conftest import Stages

TEXT_CONTRAST = 4.5
"""WCAG's least contrast of text: what matches is read first"""
BARS = "─│╭╮╰╯▌▁▂▃▄▅▆▇█▔ "
CONTRAST = 3.0
"""WCAG's least contrast of large text and of what is less important"""


def _painted(stage: Any) -> list[tuple[str, Style]]:
    """Every piece of text with the style that reaches the terminal, after the filters."""
    app = stage.app
    pieces = []
    for strip in app.screen._compositor.render_strips():
        for segment in strip:
            if segment.text.strip() and segment.style is not None:
                pieces.append((segment.text, segment.style))
    return pieces


def _contrast(style: Style) -> float:
    """The contrast of two given colours; dimmed text counts as painted by Textual."""
    assert style.color is not None
    assert style.bgcolor is not None
    return contrast(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))


def _colours(style: Style) -> tuple[str, str]:
    assert style.color is not None
    assert style.bgcolor is not None
    return style.color.name, style.bgcolor.name


async def _show_everything(stage: Any, pilot: Any) -> None:
    await stage.search(pilot, "wind")
    await pilot.press("f4", "right")
    await stage.settle(pilot)


async def test_colours_have_contrast(stage: Stages) -> None:
    """No text of a colour theme is close to its background, whichever one the palette chooses."""
    one = stage()
    async with one.app.run_test(size=(120, 30)) as pilot:
        await _show_everything(one, pilot)
        for theme in ("night", "day", *(name for name in BUILTIN_THEMES if "ansi" not in name)):
            one.app.theme = theme
            await one.settle(pilot)
            poor = {
                (text.strip(), round(_contrast(style), 1))
                for text, style in _painted(one)
                if style.color and style.bgcolor and not set(text) <= set(BARS) and _contrast(style) < CONTRAST
            }
            assert not poor, theme
            marked = [style for text, style in _painted(one) if text.strip().lower() == "wind" and style.bold]
            assert len(marked) > 20, theme
            assert min(_contrast(style) for style in marked) >= TEXT_CONTRAST, theme


@pytest.mark.parametrize("theme", ["textual-light", "dark", "light", "nord", "ansi"])
async def test_what_the_mouse_selects_in_the_preview_can_be_read(stage: Stages, theme: str) -> None:
    """It is told from the rest, and never in the colour of its own background."""
    one = stage(screen=ScreenSettings(theme=theme))
    async with one.searched("wind", size=(120, 30)) as pilot:
        body = one.app.search_screen.query_one(PreviewBody)
        await one.until(pilot, lambda: body.preview is not None)
        plain = body.make_line(0)
        await pilot.mouse_down(body, offset=(0, 0))
        await pilot.hover(body, offset=(8, 0))
        await pilot.mouse_up(body, offset=(8, 0))
        selected = list(body.make_line(0).crop(0, 8))
        assert [piece.style for piece in selected] != [piece.style for piece in plain.crop(0, 8)]
        for _, style, _ in selected:
            assert style.reverse or style.color.is_default or style.color != style.bgcolor
        assert body.make_line(0).text == plain.text


def test_paper_is_paper_in_256_colours_too() -> None:
    """What lies behind text by day is grey or cream in the nearest of them: neither pink nor olive."""
    for colour in (DAY.background, DAY.surface, DAY.panel):
        assert colour is not None
        red, green, blue = RichColor.parse(colour).downgrade(ColorSystem.EIGHT_BIT).get_truecolor()
        assert red == green >= blue >= 215


@pytest.mark.parametrize("theme", ["textual-dark", "textual-light", "ansi-dark", "ansi-light", "ansi"])
async def test_no_color_uses_the_terminals_own_two_colours(
    stage: Stages, theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With NO_COLOR no colour is sent at all, so that nothing can be black on black; marks are attributes."""
    monkeypatch.setenv("NO_COLOR", "1")
    one = stage(screen=ScreenSettings(theme=theme))
    monkeypatch.setenv("NO_COLOR", "1")
    async with one.app.run_test(size=(120, 30)) as pilot:
        await _show_everything(one, pilot)
        pieces = _painted(one)
        default = RichColor.default()
        assert {style.color for _, style in pieces} <= {None, default}
        assert {style.bgcolor for _, style in pieces} <= {None, default}
        matches = [style for text, style in pieces if text.strip().lower() == "wind" and style.bold]
        assert len(matches) > 20
        selected = [style for text, style in pieces if "turbines at sea" in text]
        assert any(style.reverse for style in selected)


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light", "ansi"])
async def test_ansi_themes_send_only_the_terminals_palette(stage: Stages, theme: str) -> None:
    """The sixteen colours that the user chose for the terminal, and none of ours; text is never on its own colour."""
    one = stage(screen=ScreenSettings(theme=theme))
    async with one.app.run_test(size=(120, 30)) as pilot:
        await _show_everything(one, pilot)
        for text, style in _painted(one):
            for color in (style.color, style.bgcolor):
                assert color is None or color.triplet is None, (text, color)
            if style.color is not None and not style.color.is_default:
                assert style.color != style.bgcolor, text


@pytest.mark.parametrize("theme", ["dark", "ansi"])
async def test_what_lies_behind_a_panel_stays_in_sight(stage: Stages, theme: str) -> None:
    """One reads on which result an action would act; and a button that waits for a folder takes one line."""
    one = stage(screen=ScreenSettings(theme=theme))
    async with one.searched("wind", size=(120, 40)) as pilot:
        for key, title in (("ctrl+g", "To the end"), ("C", "Copy 1 file to a folder")):
            await pilot.press(key)
            await one.until(pilot, lambda panel=title: panel in one.text, title)
            await one.until(pilot, lambda: "turbines&#160;at&#160;sea" in one.app.export_screenshot(), title)
        assert one.app.screen.query_one("#filing-yes").size.height == 1


@pytest.mark.parametrize(("is_light", "theme"), [(False, "ansi-dark"), (True, "ansi-light")])
async def test_a_terminal_of_sixteen_colours_gets_its_own(stage: Stages, is_light: bool, theme: str) -> None:
    """Ours would be turned into the nearest of them, amber into red; one that was asked for by name is given."""
    one = stage(terminal=TerminalCapabilities(is_light=is_light))
    two = stage(screen=ScreenSettings(theme="nord"))
    for made, wanted in ((one, theme), (two, "nord")):
        made.app.console._color_system = ColorSystem.STANDARD
        async with made.app.run_test(size=(120, 30)):
            assert made.app.theme == wanted


async def test_an_unknown_theme_is_one_line(stage: Stages) -> None:
    """A typing error in screen.theme names the themes there are, and the screen comes up all the same."""
    one = stage(screen=ScreenSettings(theme="drak"))
    async with one.app.run_test(size=(120, 30)) as pilot:
        await one.until(pilot, lambda: bool(one.notes), "the line")
        (note,) = one.notes
        assert note.startswith("screen.theme: there is no theme 'drak'; the nearest one is dark")


def test_an_unknown_theme_is_told_in_a_line() -> None:
    """The nearest name, else the short ones: a list of all would push its own beginning off a small screen."""
    assert problem_of("nord") == problem_of("dark") == ""
    assert problem_of("nrd") == "screen.theme: there is no theme 'nrd'; the nearest one is nord"
    assert len(problem_of("x" * 8)) < 120


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_buttons_and_scroll_bars_are_seen_in_the_terminals_colours(stage: Stages, theme: str) -> None:
    """What has the focus is reversed, as black on blue and blue on black cannot be read; what is cut off has a bar."""
    one = stage(screen=ScreenSettings(theme=theme))
    async with one.searched("wind", size=(60, 20)) as pilot:
        await pilot.press("ctrl+g", "D")
        await one.until(pilot, lambda: "Put 1 file into the trash?" in one.text)
        for is_chosen in (True, False):
            button = [style for text, style in _painted(one) if text.strip() == "No"]
            assert [(bool(style.reverse), *_colours(style)) for style in button] == [(is_chosen, "default", "default")]
            await pilot.press("left")
            await one.settle(pilot)
        await pilot.press("escape", "f1")
        await one.until(pilot, lambda: "Keys" in one.text)
        bar = one.app.screen.query_one("#help-panel").styles.scrollbar_color
        assert bar.rich_color.number == 8
