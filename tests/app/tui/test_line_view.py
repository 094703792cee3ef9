"""Lines are repainted where they changed, and nothing is laid out anew for them."""

from __future__ import annotations

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.geometry import Region
from textual.strip import Strip

from app.tui.line_view import LineView


class Words(LineView):
    """Shows a list of words."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.made: list[int] = []
        self.painted: list[int] = []

    def show(self, words: list[str]) -> None:
        self.words = words
        self.set_length(len(words))
        self.repaint()

    def make_line(self, row: int) -> Strip:
        self.made.append(row)
        word = self.words[row] if row < len(self.words) else ""
        return Strip([Segment(word)]).adjust_cell_length(self.text_width)

    def _set_dirty(self, *regions: Region) -> None:
        self.painted += [y for region in regions for y in region.line_range]
        super()._set_dirty(*regions)


class WordsApp(App[None]):
    def compose(self) -> ComposeResult:
        yield Words()


async def test_only_changed_lines_are_painted_and_nothing_is_laid_out() -> None:
    """Of ten lines two are others: the terminal gets those, made once; a longer list keeps its width and its place."""
    app = WordsApp()
    async with app.run_test(size=(20, 10)) as pilot:
        view, layouts = app.query_one(Words), []
        view.show([f"word {n}" for n in range(10)])
        await pilot.pause()
        app.screen.screen_layout_refresh_signal.subscribe(view, lambda screen: layouts.append(screen))
        view.made.clear()
        view.painted.clear()
        view.show([f"word {n}" if n not in (3, 7) else "other" for n in range(10)])
        await pilot.pause()
        assert view.painted == [3, 7]
        assert sorted(view.made) == list(range(10))
        width = view.text_width
        view.show(["other"] * 500)
        await pilot.pause()
        assert (view.text_width, view.max_scroll_y) == (width, 490)
        assert not layouts


async def test_what_is_scrolled_to_is_painted() -> None:
    """After scrolling the lines in view are those of the place, and `repaint` knows them."""
    app = WordsApp()
    async with app.run_test(size=(20, 5)) as pilot:
        view = app.query_one(Words)
        view.show([f"word {n}" for n in range(100)])
        view.scroll_to(y=50, animate=False, immediate=True)
        await pilot.pause()
        shown = [strip.text.split("▁")[0].strip() for strip in app.screen._compositor.render_strips()]
        assert shown[0].startswith("word 50")
        view.painted.clear()
        view.repaint()
        await pilot.pause()
        assert not view.painted


async def test_what_others_ask_to_be_painted_is_made_anew() -> None:
    """A refresh of Textual's, of one line or of all, shows what the line is by then; and a narrower pane cuts it."""
    app = WordsApp()
    async with app.run_test(size=(20, 5)) as pilot:
        view = app.query_one(Words)
        view.show(["one", "two", "three"])
        view.words = ["four", "five", "six"]
        view.refresh_line(1)  # nothing is waited for, so that Textual asks for nothing in between
        assert [line.text.split() for line in view.render_lines(view.size.region)][:3] == [["one"], ["five"], ["three"]]
        view.refresh()
        assert [line.text.split() for line in view.render_lines(view.size.region)][:3] == [["four"], ["five"], ["six"]]
        await pilot.resize_terminal(4, 5)
        while view.size.width != 4:
            await pilot.pause(0.01)
        assert [line.text.strip() for line in view.render_lines(view.size.region)][:2] == ["fou", "fiv"]
