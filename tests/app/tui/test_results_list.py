"""One result as three lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.style import Style

from app.search.results import Hit, Snippet
from app.tui.results_list import RowStyles, marks_of, row_lines, title_of

HIT = Hit(2, 1, "/srv/a/report.pdf", "", "Annual report", "pdf", "", 1_750_000_000.0, 10, "", 1.0, 7, copies=("/b",))
PLAIN, BOLD = Style(), Style(bold=True)
STYLES = RowStyles(PLAIN, PLAIN, PLAIN, PLAIN, BOLD, PLAIN, PLAIN, PLAIN)


def _lines(hit: Hit, snippet: Snippet | None, width: int) -> list[str]:
    strips = row_lines(
        hit, snippet=snippet, why="exact title", words=("report",), width=width, styles=STYLES, now=0.0, chosen=True
    )
    assert all(strip.cell_length == width for strip in strips)
    return [strip.text for strip in strips]


def test_the_three_lines() -> None:
    """Title and marks, snippet, place with type and date."""
    first, second, third = _lines(HIT, Snippet("the report of the year", ((4, 10),), 1, 0), 50)
    assert first == "▌ Annual report" + " " * (50 - 15 - 15 - 1) + "exact title  +1" + " "
    assert second.rstrip() == "▌ the report of the year"
    assert third.split() == ["▌", "/srv/a/report.pdf", "pdf", "·", "15", "Jun", "2025"]


def test_matches_are_marked_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly the characters of the word in title and path, and those of the span in the snippet, are bold."""
    monkeypatch.setenv("HOME", "/home/anna")
    snippet = Snippet("the report", ((4, 10),), 1, 0)
    strips = row_lines(HIT, snippet=snippet, why="", words=("report",), width=40, styles=STYLES, now=0.0, chosen=False)
    bold = ["".join(piece.text for piece in strip if piece.style and piece.style.bold) for strip in strips]
    assert bold == ["report", "report", "report"]


def test_the_sender_stands_before_the_path() -> None:
    """The name of an address; where there is little room an author gives way to the path, the sender of a mail not."""
    book = replace(HIT, author="Ann Lee", path="/srv/library/annual/report.pdf")
    letter = replace(book, type="mail", author='"Ann Lee" <ann@example.org>')
    assert _lines(book, None, 80)[2].startswith("▌ Ann Lee · /srv/library/annual/report.pdf ")
    assert _lines(letter, None, 46)[2].startswith("▌ Ann Lee · /…/report.pdf ")
    assert _lines(book, None, 46)[2].startswith("▌ /…/annual/report.pdf ")


def test_what_has_no_text_shows_what_is_known_of_it() -> None:
    """Artist and album in the second line, the minute a picture was taken; a text goes before them."""
    song = replace(HIT, type="audio", properties=(("artist", "Nina Simone"), ("album", "Pastel Blues"), ("is", "x")))
    shot = replace(HIT, type="image", properties=(("camera", "Canon"), ("taken", "2026-05-01T10:00:00")))
    empty = Snippet("", (), 0, 0)
    assert _lines(song, empty, 60)[1].rstrip() == "▌ Nina Simone · Pastel Blues"
    assert _lines(shot, empty, 60)[1].rstrip() == "▌ Canon · 2026-05-01 10:00"
    assert _lines(replace(HIT, type="mail"), empty, 60)[1].rstrip() == "▌"
    assert _lines(song, Snippet("a text", (), 1, 0), 60)[1].rstrip() == "▌ a text"
    assert _lines(HIT, empty, 60)[1].rstrip() == "▌ no text inside"


def test_a_title_is_read_in_the_narrowest_window() -> None:
    """What is special about a row is said in a few cells where it would take more than half of them."""
    mail = replace(HIT, type="mail", title="Roof repair", copies=(), n_in_thread=3)
    assert _lines(mail, None, 20)[0] == "▌ Roof repair   (3) "
    assert _lines(replace(mail, missing=True), None, 20)[0] == "▌ Roof repair  gone "


def test_the_size_is_shown_when_it_is_wanted() -> None:
    """Before type and date."""
    hit = replace(HIT, size=1_500_000)
    (line,) = row_lines(
        hit, snippet=None, why="", words=(), width=60, styles=STYLES, now=0.0, chosen=False, sized=True
    )[2:]
    assert line.text.split()[1:] == ["1.5", "MB", "·", "pdf", "·", "15", "Jun", "2025"]


def test_why_comes_first_and_gives_way_to_a_title() -> None:
    """Reason, then copies; on a row without room for both the title stays."""
    assert marks_of(HIT, "exact title") == "exact title  +1"
    assert marks_of(replace(HIT, missing=True, copies=()), "") == "file is gone"
    assert "exact title" in _lines(HIT, None, 50)[0]
    assert "exact title" not in _lines(HIT, None, 40)[0]


def test_a_document_without_a_title_has_its_file_name() -> None:
    """Control characters in a name are made visible."""
    assert title_of(replace(HIT, title="")) == "report.pdf"
    assert title_of(replace(HIT, title="a\x1b[2Jb")) == "a\N{REPLACEMENT CHARACTER}[2Jb"


PLACES = st.lists(st.integers(0, 60), min_size=2, max_size=6)


@given(st.text(max_size=40), st.text(max_size=60), st.integers(1, 100), PLACES)
def test_any_text_fits_any_width(title: str, snippet: str, width: int, edges: list[int]) -> None:
    """Wide characters, controls and spans beyond the end never break a line or raise."""
    edges = sorted(edges)
    spans = tuple(zip(edges[::2], edges[1::2], strict=False))
    for line in _lines(replace(HIT, title=title, path="/" + title), Snippet(snippet, spans, 1, 0), width):
        assert "\x1b" not in line
        assert "\n" not in line
