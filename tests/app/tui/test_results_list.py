"""One result as three lines."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from app.search.results import Hit, Snippet
from app.tui.results_list import RowStyles, marks_of, row_lines, title_of

HIT = Hit(2, 1, "/srv/a/report.pdf", "", "Annual report", "pdf", "", 1_750_000_000.0, 10, "", 1.0, 7, copies=("/b",))
PLAIN, BOLD = Style(), Style(bold=True)
STYLES = RowStyles(PLAIN, PLAIN, PLAIN, PLAIN, BOLD, PLAIN, PLAIN, PLAIN)


def _lines(hit: Hit, snippet: Snippet | None, width: int) -> list[str]:
    strips = row_lines(hit, snippet=snippet, order="learned", width=width, styles=STYLES, now=0.0, chosen=True)
    assert all(strip.cell_length == width for strip in strips)
    return [strip.text for strip in strips]


def test_the_three_lines() -> None:
    """Title and marks, snippet, place with type and date."""
    first, second, third = _lines(HIT, Snippet("the report of the year", ((4, 10),), 1, 0), 50)
    assert first == "▌ Annual report" + " " * (50 - 15 - 6 - 1) + "+1  ↑5" + " "
    assert second.rstrip() == "▌ the report of the year"
    assert third.split() == ["▌", "/srv/a/report.pdf", "pdf", "·", "15", "Jun", "2025"]


def test_matches_in_the_snippet_are_marked() -> None:
    """Exactly the characters of the span are bold."""
    snippet = Snippet("the report", ((4, 10),), 1, 0)
    strips = row_lines(HIT, snippet=snippet, order="name", width=40, styles=STYLES, now=0.0, chosen=False)
    assert "".join(segment.text for segment in strips[1] if segment.style and segment.style.bold) == "report"


def test_places_are_compared_in_the_learned_order_only() -> None:
    """Up from 7 to 2 is five places; in another order it would say nothing."""
    assert marks_of(HIT, "learned") == "+1  ↑5"
    assert marks_of(replace(HIT, rank=9), "learned") == "+1  ↓2"
    assert marks_of(HIT, "bm25") == "+1"
    assert marks_of(replace(HIT, missing=True, copies=()), "name") == "file is gone"


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
