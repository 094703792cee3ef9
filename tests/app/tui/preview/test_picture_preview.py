"""Pictures and pages in the preview: the way of each terminal, bounds of time, what the terminal holds."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.settings import ScreenSettings
from app.tui.preview.picture_preview import MOST_KEPT, Pictures, way_of
from app.tui.preview.preview_pane import PreviewBody, PreviewPane
from app.tui.preview.preview_rows import cells
from app.tui.terminal.terminal_capabilities import TerminalCapabilities

Image = pytest.importorskip("PIL.Image")
Stages = Callable[..., Any]
FULL = {"COLORTERM": "truecolor"}
KITTY = "kitty(0.35.2)"


@pytest.fixture
def make() -> Iterator[Callable[..., Pictures]]:
    """Makes what shows pictures; its process ends with the test."""
    made: list[Pictures] = []

    def pictures(way: Any, **options: Any) -> Pictures:
        made.append(Pictures(way, **options))
        return made[-1]

    yield pictures
    for one in made:
        one.close()


def pdf_that_takes_minutes(path: Path) -> None:
    """A page of 600,000 dashed lines: more than a minute at a third of its size (130 us a line)."""
    content = zlib.compress(b"[1 1] 0 d\n" + b"0 0 m 600 800 l S\n" * 600_000)
    parts = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(content), content),
    )
    body = b"".join(b"%d 0 obj%b\nendobj\n" % (number, part) for number, part in enumerate(parts, 1))
    path.write_bytes(b"%PDF-1.4\n" + body + b"trailer\n<</Root 1 0 R/Size 5>>\n%%EOF")


@pytest.mark.parametrize(
    ("setting", "terminal", "env", "way"),
    [
        ("auto", KITTY, FULL, "kitty"),
        ("auto", "ghostty 1.1.0", FULL, "kitty"),
        ("auto", "kitty(0.27.1)", FULL, "blocks"),
        ("auto", "WezTerm 20240203", FULL, "blocks"),
        ("auto", "", FULL, "blocks"),
        ("auto", KITTY, {}, "blocks"),
        ("auto", KITTY, FULL | {"NO_COLOR": "1"}, "off"),
        ("kitty", "", FULL, "kitty"),
        ("kitty", "", FULL | {"TMUX": "/tmp/tmux"}, "tmux"),
        ("blocks", KITTY, FULL, "blocks"),
        ("off", KITTY, FULL, "off"),
    ],
)
def test_the_way_of_each_terminal(setting: str, terminal: str, env: dict[str, str], way: str) -> None:
    """By name where it is known to place pictures, as half blocks on all others and where colours are few."""
    assert way_of(setting, TerminalCapabilities(name=terminal), env) == way


@pytest.mark.parametrize(
    ("setting", "name", "cell", "way"),
    [
        ("auto", "foot(1.20)", (10, 20), "sixel"),
        ("auto", "", (10, 20), "sixel"),
        ("auto", "", (0, 0), "blocks"),
        ("auto", KITTY, (10, 20), "kitty"),
        ("sixel", "", (0, 0), "sixel"),
        ("blocks", "foot(1.20)", (10, 20), "blocks"),
    ],
)
def test_sixels_where_the_terminal_says_so(setting: str, name: str, cell: tuple[int, int], way: str) -> None:
    """Among its attributes, with the size of a cell; what places pictures by characters does that."""
    assert way_of(setting, TerminalCapabilities(name=name, has_sixels=True, cell=cell), FULL) == way


def test_a_row_of_cells_is_an_image(make: Callable[..., Pictures], tmp_path: Path) -> None:
    """Blanks that carry one each, as high as a cell; nothing is held by the terminal."""
    Image.new("RGB", (300, 200), (255, 0, 0)).save(tmp_path / "a.png")
    pictures = make("sixel", cell=(8, 16))
    rows = pictures.show(str(tmp_path / "a.png"), 20, threading.Event()).rows
    assert [row[0].text for row in rows] == [" " * 20] * 7
    assert [re.search(r'"1;1;(\d+);(\d+)', row[0].style).groups() for row in rows] == [("160", "16")] * 6 + [
        ("160", "11")
    ]
    assert pictures.take_unsent() == ""


@pytest.mark.parametrize(
    ("answer", "way"),
    [
        (f"on\\nbpaste,RGB,title\\n{KITTY}", "tmux"),
        (f"all\\nRGB\\n{KITTY}", "tmux"),
        (f"off\\nRGB\\n{KITTY}", "blocks"),
        (f"on\\n256,title\\n{KITTY}", "blocks"),
        ("on\\nRGB\\nXTerm(379)", "blocks"),
        ("on\\n", "blocks"),
        ("", "blocks"),
    ],
)
def test_tmux_is_asked_what_it_hands_on(answer: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must let sequences and all colours through, and the terminal around it must place pictures."""
    tmux = tmp_path / "tmux"
    tmux.write_text(f"#!/bin/sh\nprintf '{answer}'\n")
    tmux.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert way_of("auto", TerminalCapabilities(name="tmux 3.4"), FULL) == way


def test_a_picture_is_sent_once(make: Callable[..., Pictures], tmp_path: Path) -> None:
    """Shown again it takes no byte; changed, in another size, or after another program had the terminal it is sent."""
    path = tmp_path / "a.png"
    Image.new("RGB", (300, 200), (255, 0, 0)).save(path)
    pictures, stop = make("kitty"), threading.Event()
    picture = pictures.show(str(path), 20, stop)
    sent = pictures.take_unsent()
    assert re.match(r"\x1b_Ga=T,U=1,i=\d+,f=24,o=z,s=200,v=133,c=20,r=7,q=2,m=0;", sent)
    assert [cells(row) for row in picture.rows] == [20] * 7
    assert (pictures.show(str(path), 20, stop), pictures.take_unsent()) == (picture, "")
    for change in (lambda: Image.new("RGB", (30, 30)).save(path), pictures.forget):
        change()
        pictures.show(str(path), 20, stop)
        assert pictures.take_unsent().count("a=T") == 1
    pictures.show(str(path), 2, stop)
    assert "c=2," in pictures.take_unsent()


def test_the_terminal_holds_so_many_pictures(make: Callable[..., Pictures], tmp_path: Path) -> None:
    """The one that was not shown for longest is let go, each by its own number; through tmux all is wrapped."""
    pictures, stop, numbers = make("tmux"), threading.Event(), []
    for number in range(MOST_KEPT + 1):
        Image.new("RGB", (1, 1)).save(tmp_path / f"{number}.png")
        pictures.show(str(tmp_path / f"{number}.png"), 20, stop)
        sent = pictures.take_unsent()
        assert sent.startswith("\x1bPtmux;\x1b\x1b_G")
        numbers += re.findall(r"a=T,U=1,i=(\d+)", sent)
    assert len(set(numbers)) == MOST_KEPT + 1
    assert f"a=d,d=I,i={numbers[0]}," in sent


def test_what_takes_too_long_or_cannot_be_read_is_one_line(
    make: Callable[..., Pictures], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page that would take minutes, a picture that is none; the next one is shown as ever."""
    monkeypatch.setattr("app.tui.preview.picture_preview.SECONDS", 0.1)
    pdf_that_takes_minutes(tmp_path / "slow.pdf")
    (tmp_path / "words.png").write_text("no picture")
    Image.new("RGB", (20, 4), (0, 0, 255)).save(tmp_path / "a.png")
    pictures, stop = make("kitty"), threading.Event()
    names = ("slow.pdf", "words.png", "a.png")
    slow, words, picture = (pictures.show(str(tmp_path / name), 20, stop) for name in names)
    for shown, why in ((slow, "not read after 0.2 s of processor time"), (words, "damaged, or no picture of a kind")):
        assert f"not shown: {why}" in " ".join(row[0].text for row in shown.rows)
        assert all(len(row[0].text) <= 20 for row in shown.rows), "in the width of the pane"
    assert (slow.n_pages, words.n_pages, picture.n_pages) == (0, 0, 1)
    assert pictures.take_unsent().count("a=T") == 1


def test_nothing_is_drawn_once_it_was_overtaken_or_is_not_wanted(make: Callable[..., Pictures], tmp_path: Path) -> None:
    """No row, no byte, no process."""
    Image.new("RGB", (20, 4)).save(tmp_path / "a.png")
    stop = threading.Event()
    assert make("off").show(str(tmp_path / "a.png"), 20, stop).rows == ()
    stop.set()
    pictures = make("kitty")
    assert (pictures.show(str(tmp_path / "a.png"), 20, stop).rows, pictures.take_unsent()) == ((), "")


async def test_a_slow_page_holds_up_no_other_preview(
    stage: Stages, conftest_types: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is drawn the cursor moves on, and the text there is shown long before the page could be."""
    monkeypatch.setattr("app.tui.preview.picture_preview.SECONDS", 10_000.0)
    monkeypatch.setenv("COLORTERM", "truecolor")
    pdf_that_takes_minutes(tmp_path / "slow.pdf")
    documents = [
        conftest_types.Document(str(tmp_path / "slow.pdf"), "wind scanned", "pdf", ""),
        conftest_types.Document("/home/anna/notes/wind.txt", "wind", "text", "the wind blows"),
    ]
    one = stage(engine=conftest_types.FakeSearch(documents), terminal=TerminalCapabilities(name=KITTY))
    async with one.app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*"wind")
        session, pane = one.app.search_screen.session, one.app.search_screen.query_one(PreviewPane)
        await one.until(pilot, lambda: session._pictures is not None and session._pictures._pool is not None)
        await one.until(pilot, lambda: bool(session._pictures._pool._workers))
        await pilot.press("down")
        await one.until(pilot, lambda: "the wind blows" in pane.body.make_line(0).text)


async def test_pages_are_turned_as_text_is_scrolled(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """A scan shows its pages, each drawn when it comes into view; the heading says which; of a text none is shown."""
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255)]
    images = [Image.new("RGB", (600, 300), colour) for colour in colours]
    images[0].save(tmp_path / "a.pdf", save_all=True, append_images=images[1:], quality=100)
    documents = [
        conftest_types.Document(str(tmp_path / "a.pdf"), "wind scanned", "pdf", ""),
        conftest_types.Document(str(tmp_path / "a.pdf"), "wind", "pdf", "no w\fmy wind\f", pages=(0, 5, 13)),
    ]
    one = stage(engine=conftest_types.FakeSearch(documents))
    async with one.searched("wind", size=(120, 20)) as pilot:
        screen = one.app.search_screen
        body = screen.query_one(PreviewBody)

        def colour_of(y: int) -> tuple[int, int, int] | None:
            style = next(iter(body.make_line(y))).style
            return tuple(style.bgcolor.triplet) if style and style.bgcolor and style.bgcolor.triplet else None

        def close(one: tuple[int, int, int] | None, other: tuple[int, int, int]) -> bool:
            return one is not None and all(abs(a - b) < 8 for a, b in zip(one, other, strict=True))

        await one.until(pilot, lambda: body.pages is not None and close(colour_of(3), colours[0]))
        assert body.pages is not None
        assert "page 1 of 3" in one.text
        assert sorted(body.pages.drawn) == [0]
        screen.action_do("to-preview")
        await pilot.press("G")
        last = 2 * body.pages.page_height + 3
        await one.until(pilot, lambda: close(colour_of(last), colours[2]))
        await one.until(pilot, lambda: "page 3 of 3" in one.text)
        screen.action_do("to-results")
        await pilot.press("j")
        await one.until(pilot, lambda: body.pages is None and "no w" in body.make_line(0).text)
        await pilot.press("i")
        await one.until(pilot, lambda: "cannot show a readable page" in one.text)
        assert body.pages is None


async def test_a_page_that_can_be_read_stands_for_its_text(stage: Stages, conftest_types: Any, tmp_path: Path) -> None:
    """In sixels `i` shows the page of the match, and the text again."""
    images = [Image.new("RGB", (600, 300), colour) for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255))]
    images[0].save(tmp_path / "a.pdf", save_all=True, append_images=images[1:], quality=100)
    document = conftest_types.Document(str(tmp_path / "a.pdf"), "wind", "pdf", "no w\fmy wind\f", pages=(0, 5, 13))
    one = stage(engine=conftest_types.FakeSearch([document]), screen=ScreenSettings(pictures="sixel"))
    async with one.searched("wind", size=(120, 20)) as pilot:
        body = one.app.search_screen.query_one(PreviewBody)
        await pilot.press("ctrl+g", "i")
        await one.until(pilot, lambda: body.pages is not None and int(body.scroll_offset.y) == body.pages.page_height)
        await one.until(pilot, lambda: "match 1 of 1 · page 2 of 3" in one.text)
        sent: list[str] = []
        one.app.send = sent.append  # type: ignore[method-assign]
        body.refresh()
        await one.until(pilot, lambda: '\x1bP0;1q"1;1;' in "".join(sent))
        await pilot.press("ctrl+g", "i")
        await one.until(pilot, lambda: body.pages is None)


async def test_a_page_that_comes_into_view_is_sent_to_the_terminal(
    stage: Stages, conftest_types: Any, tmp_path: Path
) -> None:
    """Where the terminal places pictures itself: the first page with the document, the next one on the way."""
    images = [Image.new("RGB", (600, 600), colour) for colour in ((255, 0, 0), (0, 255, 0))]
    images[0].save(tmp_path / "a.pdf", save_all=True, append_images=images[1:])
    engine = conftest_types.FakeSearch([conftest_types.Document(str(tmp_path / "a.pdf"), "wind scanned", "pdf", "")])
    one, sent = stage(engine=engine, screen=ScreenSettings(pictures="kitty")), []
    one.app.send = sent.append
    async with one.searched("wind", size=(120, 20)) as pilot:
        await one.until(pilot, lambda: len(sent) == 1, "the first page")
        one.app.search_screen.action_do("to-preview")
        await pilot.press("G")
        await one.until(pilot, lambda: len(sent) == 2, "the second page")
        assert all(pictures.startswith("\x1b_G") for pictures in sent)
