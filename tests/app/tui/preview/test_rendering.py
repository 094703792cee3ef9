"""Each kind of document in its own form, with what describes it above its text."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from app.search.results import Hit, Preview
from app.tui.preview.picture_preview import Picture
from app.tui.preview.preview_pane import PreviewBody
from app.tui.preview.rendering import MOST_ABOVE, render
from tests.app.tui.conftest import Stages

HIT = Hit(1, 1, "/srv/a.txt", "", "A letter", "text", "", 1_750_000_000.0, 10, "", 1.0, 1)


def _shown(hit: Hit, text: str, **options: Any) -> list[str]:
    rows = render(hit, Preview(text, (), (), ""), 40, **options)
    return ["".join(piece[0] for piece in rows.pieces(row, text)).rstrip() for row in range(len(rows))]


def test_a_mail_begins_with_its_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """From, To and Date before the text, then what else is known of it."""
    letter = replace(
        HIT, type="mail", author="Ann <a@x.org>", properties=(("to", "Bo"), ("attachment", "a.pdf"), ("to", "Cy"))
    )
    from_, to, date, attachment, blank, text = _shown(letter, "Dear Bo")
    assert (from_, to, attachment) == ("From      Ann <a@x.org>", "To        Bo, Cy", "Attached  a.pdf")
    assert date.startswith("Date      2025-06-1")
    assert (blank, text) == ("", "Dear Bo")


def test_what_describes_a_document_is_bounded_and_safe() -> None:
    """So many rows at most, without control characters; a document of which nothing is known has none."""
    properties = tuple((f"name{n}", "value\x1b[2J" * 50) for n in range(40))
    shown = _shown(replace(HIT, properties=properties), "text")
    assert len(shown) == MOST_ABOVE + 2
    assert "\x1b" not in "".join(shown)
    assert _shown(HIT, "text") == ["text"]


def test_forms_and_as_written() -> None:
    """Markdown and tables have a form of their own until they are wanted as written; other notes never have."""
    assert _shown(replace(HIT, type="markdown"), "**a** b") == ["a b"]
    assert _shown(replace(HIT, type="markdown"), "**a** b", as_written=True) == ["**a** b"]
    org = replace(HIT, type="markdown", path="/srv/a.org")
    assert _shown(org, "* Starter\nFeed it.\n* Baking") == ["* Starter", "Feed it.", "* Baking"]
    table = replace(HIT, type="data", path="/srv/a.csv")
    assert _shown(table, "aa,b\n1,22\n") == ["aa   b", " 1  22"]
    assert _shown(table, "aa,b\n1,22\n", as_written=True) == ["aa,b", "1,22"]


@pytest.mark.parametrize(
    ("text", "turned", "is_drawn"), [("text", {}, False), ("text", {"turned": True}, True), (" ", {}, True)]
)
def test_a_pdf_is_shown_by_its_text_where_it_has_one(text: str, turned: dict[str, bool], is_drawn: bool) -> None:
    """Until its pages are asked for."""
    asked: list[int] = []
    render(
        replace(HIT, type="pdf"),
        Preview(text, (), (), ""),
        40,
        show=lambda page: asked.append(page) or Picture(()),
        **turned,
    )
    assert asked == [0] * is_drawn


@pytest.mark.parametrize("width", [100, 120, 150])
@pytest.mark.parametrize("text", ["0123456789" * 60, "東京都の検索エンジンは文書を順位付けする。" * 30])
async def test_nothing_is_lost_at_the_right_edge(stage: Stages, conftest_types: Any, width: int, text: str) -> None:
    """What is painted of a long line is that line, character by character, in Latin and in Japanese."""
    document = conftest_types.Document("/home/anna/notes/long.txt", "long", "text", "wind " + text)
    one = stage(engine=conftest_types.FakeSearch([document]))
    async with one.searched("wind", size=(width, 60)) as pilot:
        body = one.app.search_screen.query_one(PreviewBody)
        await one.until(pilot, lambda: body.preview is not None and len(body.preview.text) > 0)
        region = body.region
        painted = [strip.crop(region.x, region.right - 1).text for strip in one.app.screen._compositor.render_strips()]
        shown = "".join(line.rstrip() for line in painted[region.y : region.bottom])
        assert shown.replace(" ", "") == "wind" + text


async def test_text_is_selected_with_the_mouse(stage: Stages, conftest_types: Any) -> None:
    """From one character of a row to another of the next: exactly those, and they are painted so."""
    document = conftest_types.Document("/home/anna/a.txt", "A", "text", "the wind blows\nfrom the sea")
    one = stage(engine=conftest_types.FakeSearch([document]))
    async with one.searched("wind", size=(120, 30)) as pilot:
        body = one.app.search_screen.query_one(PreviewBody)
        await one.until(pilot, lambda: "the wind blows" in body.make_line(0).text)
        await pilot.mouse_down(body, offset=(4, 0))
        await pilot.hover(body, offset=(8, 1))
        await pilot.mouse_up(body, offset=(8, 1))
        await pilot.pause()
        selected = one.app.screen.get_selected_text()
        assert selected is not None
        assert selected.startswith("wind blows\nfrom the")
        assert len(selected) <= len("wind blows\nfrom the ")


async def test_a_key_shows_the_text_as_written(stage: Stages, conftest_types: Any) -> None:
    """Rendered first, with its match marked; as written after the key, and back."""
    document = conftest_types.Document("/home/anna/a.md", "A", "markdown", "some **wind** here")
    one = stage(engine=conftest_types.FakeSearch([document]))
    async with one.searched("wind", size=(120, 30)) as pilot:
        body = one.app.search_screen.query_one(PreviewBody)
        await one.until(pilot, lambda: "some wind here" in body.make_line(0).text)
        marked = [segment.text for segment in body.make_line(0) if segment.style and segment.style.bold]
        assert marked == ["wind"]
        await pilot.press("alt+u")
        await one.until(pilot, lambda: "some **wind** here" in body.make_line(0).text)
        await pilot.press("alt+u")
        await one.until(pilot, lambda: "some wind here" in body.make_line(0).text)
