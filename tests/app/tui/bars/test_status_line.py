"""The status line keeps what matters on narrow screens."""

from __future__ import annotations

from app.tui.bars.status_line import Fact, fitted

FOUND = (Fact("242 with all words", 1), Fact("302 with some", 5), Fact("9 ms", 8), Fact("learned order", 7))
WATCH = (Fact("watch (process 17792) follows the changes", 6),)
BUSY = (Fact("indexing 100 of 2,000 · 9.6 MB/s · 2 s left", 4),)


def test_counts_survive_a_sentence_beside_them() -> None:
    """At 80 columns both counts and the sentence; at 50 that of work is cut, what is known goes; at 20 one count."""
    assert fitted(FOUND, WATCH, 200)[0] == "242 with all words · 302 with some · 9 ms · learned order"
    assert fitted(FOUND, WATCH, 80) == ("242 with all words · 302 with some", WATCH[0].text)
    assert fitted(FOUND, WATCH, 50) == ("242 with all words · 302 with some", "")
    assert fitted(FOUND, BUSY, 50) == ("242 with all words", "indexing 100 of 2,000 · 9.6 M…")
    assert fitted((FOUND[0],), WATCH, 50) == ("242 with all words", "watch (process 17792) follows…")
    assert fitted(FOUND, WATCH, 20) == ("242 with all words", "")


def test_the_newest_sentence_stands_alone_where_there_is_no_room() -> None:
    """What has just been said goes before what was found, and is cut last; beside it at least 16 cells are kept."""
    said = (Fact("Esc again leaves", 0), *WATCH)
    assert fitted(FOUND, said, 20) == ("", "Esc again leaves")
    assert fitted(FOUND, said, 40) == ("242 with all words", "Esc again leaves")
    assert fitted(FOUND, (Fact("x" * 100, 0),), 40) == ("242 with all words", "x" * 19 + "…")
    assert fitted(FOUND, (), 10) == ("242 with…", "")
    assert fitted((), (), 10) == ("", "")
