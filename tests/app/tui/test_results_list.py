"""The marked results."""

from __future__ import annotations

from app.search.results import Hit, ResultPage, SearchRequest
from app.tui.results_list import Marks

PAGE = ResultPage(request=SearchRequest("wind"), hits=(), n_matches=0, n_documents=0, seconds=0.0)


def _hit(path: str, part: str = "") -> Hit:
    return Hit(1, 1, path, part, "", "text", "", 0.0, 1, "", 1.0, 1)


def test_marks_keep_their_order_and_are_taken_away_by_marking_again() -> None:
    """b, a, c without a: b, c."""
    marks = Marks()
    for name in ("/b", "/a", "/c", "/a"):
        marks.turn(PAGE, _hit(name))
    assert [hit.path for _, hit in marks] == ["/b", "/c"]
    assert (len(marks), marks.holds(_hit("/b")), marks.holds(_hit("/a"))) == (2, True, False)
