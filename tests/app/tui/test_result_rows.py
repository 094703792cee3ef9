"""One result as two lines."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.cells import cell_len
from rich.style import Style

from app.search.results import Hit, Snippet, title_of
from app.tui.result_rows import SIGNS, RowStyles, marks_of, row_lines
from indexer.documents import TYPES

HIT = Hit(2, 1, "/srv/a/report.pdf", "", "Annual report", "pdf", "", 1_750_000_000.0, 10, "", 1.0, 7, copies=("/b",))
PLAIN, BOLD = Style(), Style(bold=True)
STYLES = RowStyles(PLAIN, PLAIN, PLAIN, PLAIN, BOLD, PLAIN, PLAIN, PLAIN)


def _lines(hit: Hit, snippet: Snippet | None, width: int) -> list[str]:
    strips = row_lines(hit, snippet=snippet, why="exact title", width=width, styles=STYLES, now=0.0, chosen=True)
    assert all(strip.cell_length == width for strip in strips)
    return [strip.text for strip in strips]


def test_the_two_lines() -> None:
    """What it is, its title, where it lies and when it changed; a passage, and what is special about it."""
    first, second = _lines(HIT, Snippet("the report of the year", ((4, 10),), 1, 0), 60)
    assert first == "▌ § Annual report  /srv/a/report.pdf" + " " * (60 - 36 - 12) + "15 Jun 2025 "
    assert second == "▌   the report of the year" + " " * (60 - 26 - 17) + "exact title · +1 "


def test_matches_are_marked_in_the_passage_alone() -> None:
    """Exactly the characters of its spans are bold, and no word of title and path."""
    strips = row_lines(
        HIT, snippet=Snippet("the report", ((4, 10),), 1, 0), why="", width=60, styles=STYLES, now=0.0, chosen=False
    )
    bold = ["".join(piece.text for piece in strip if piece.style and piece.style.bold) for strip in strips]
    assert bold == ["", "report"]


def test_the_sender_stands_before_the_path() -> None:
    """The name of an address; where there is little room an author gives way to the path, the path to a sender."""
    book = replace(HIT, author="Ann Lee", path="/srv/library/annual/report.pdf")
    letter = replace(book, type="mail", author='"Ann Lee" <ann@example.org>')
    assert "  Ann Lee · /srv/library/annual/report.pdf  " in _lines(book, None, 90)[0]
    assert "Annual report  /srv/library/annual/report.pdf " in _lines(book, None, 70)[0]
    assert _lines(letter, None, 50)[0].startswith("▌ @ Annual report  Ann Lee  ")


def test_a_name_is_told_once() -> None:
    """Source is known by the name of its file, and beside a name stands the folder alone; a part says what holds it."""
    code = replace(HIT, path="/srv/app/search.py", title="The one way a query is answered", type="source")
    assert _lines(code, None, 60)[0].startswith("▌ λ search.py  /srv/app  ")
    odd = replace(HIT, path="/srv/a/bad\udcff name.txt", title="", type="text")
    assert _lines(odd, None, 60)[0].startswith("▌ ≡ bad\ufffd name.txt  /srv/a  ")
    member = replace(HIT, path="/srv/a.zip", part="b/list.txt", title="list.txt", type="text")
    assert _lines(member, None, 60)[0].startswith("▌ ≡ list.txt  /srv/a.zip  ")


def test_what_has_no_text_shows_what_is_known_of_it() -> None:
    """Artist and album in the second line, when a picture was taken, a bookmark's address; a text goes before them."""
    song = replace(HIT, type="audio", properties=(("artist", "Nina Simone"), ("album", "Pastel Blues"), ("is", "x")))
    shot = replace(HIT, type="image", properties=(("camera", "Canon"), ("taken", "2026-05-01T10:00:00")))
    page = replace(HIT, type="site", properties=(("url", "https://example.org/a"),))
    empty = Snippet("", (), 0, 0)
    assert _lines(page, empty, 60)[1].startswith("▌   https://example.org/a  ")
    assert _lines(song, empty, 60)[1].startswith("▌   Nina Simone · Pastel Blues  ")
    assert _lines(shot, empty, 60)[1].startswith("▌   Canon · 2026-05-01 10:00  ")
    assert _lines(replace(HIT, type="mail"), empty, 60)[1].split() == ["▌", "exact", "title", "·", "+1"]
    assert _lines(song, Snippet("a text", (), 1, 0), 60)[1].startswith("▌   a text  ")
    assert _lines(HIT, empty, 60)[1].startswith("▌   no text inside  ")


def test_the_size_is_shown_when_it_is_wanted() -> None:
    """Before type and date, for both of which a wide row has room."""
    hit = replace(HIT, size=1_500_000)
    first, _ = row_lines(hit, snippet=None, why="", width=80, styles=STYLES, now=0.0, chosen=False, sized=True)
    assert first.text.rstrip().endswith("1.5 MB · pdf · 15 Jun 2025")


def test_a_title_is_read_in_the_narrowest_window() -> None:
    """The place gives way to it, and what is special takes half of the second line at most."""
    mail = replace(HIT, type="mail", title="Roof repair", copies=(), n_in_thread=3)
    first, second = _lines(mail, None, 30)
    assert first.startswith("▌ @ Roof repair  ")
    assert second.strip("▌ ") == "exact title ·…"


def test_a_title_that_fits_is_not_cut_for_its_place() -> None:
    """A few letters of a path tell less than the end of a title; one that is cut anyway leaves them room."""
    hit = replace(HIT, title="Annual report of the wind farm")
    assert _lines(hit, None, 60)[0].rstrip() == "▌ § Annual report of the wind farm" + " " * 14 + "15 Jun 2025"
    assert "…  …/report.pdf" in _lines(replace(HIT, title="Annual report of all the wind farms there are"), None, 60)[0]


def test_the_date_gives_way_to_a_title_that_is_cut() -> None:
    """In a narrow window; what is read first is what it is."""
    hit = replace(HIT, title="Annual report of the wind farm")
    assert _lines(hit, None, 40)[0].rstrip() == "▌ § Annual report of the wind farm"
    assert "15 Jun 2025" in _lines(hit, None, 50)[0]
    assert "15 Jun 2025" in _lines(HIT, None, 32)[0]


def test_why_comes_before_the_copies() -> None:
    """And before both that the file is gone."""
    assert marks_of(HIT, "exact title") == "exact title · +1"
    assert marks_of(replace(HIT, missing=True, copies=()), "") == "file is gone"


def test_a_document_without_a_title_has_its_file_name() -> None:
    """Control characters in a name are made visible."""
    assert title_of(replace(HIT, title="")) == "report.pdf"
    assert title_of(replace(HIT, title="", part="b/list.txt")) == "list.txt"
    assert title_of(replace(HIT, title="a\x1b[2Jb")) == "a\N{REPLACEMENT CHARACTER}[2Jb"


def test_each_kind_has_a_sign_of_one_cell() -> None:
    """Of a type that there is."""
    assert set(SIGNS) <= set(TYPES)
    assert {cell_len(sign) for sign, _ in SIGNS.values()} == {1}


PLACES = st.lists(st.integers(0, 60), min_size=2, max_size=6)


@given(st.text(max_size=40), st.text(max_size=60), st.integers(1, 100), PLACES)
def test_any_text_fits_any_width(title: str, snippet: str, width: int, edges: list[int]) -> None:
    """Wide characters, controls and spans beyond the end never break a line or raise."""
    edges = sorted(edges)
    spans = tuple(zip(edges[::2], edges[1::2], strict=False))
    for line in _lines(replace(HIT, title=title, path="/" + title), Snippet(snippet, spans, 1, 0), width):
        assert "\x1b" not in line
        assert "\n" not in line
