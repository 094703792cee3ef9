"""Results for editors: path, line, column and text of each match."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app.commands.results_text import LONGEST, MATCHES, match_lines
from app.search.results import Hit, Preview
from indexer.documents import page_name

if TYPE_CHECKING:
    from tests.app.conftest import Device

HIT = Hit(1, 1, "/n/a.txt", "", "", "text", "", 0.0, 9, "", 1.0, 1)


def lines(text: str, *spans: tuple[int, int], pages: tuple[int, ...] = ()) -> list[str]:
    return list(match_lines(HIT, Preview(text, spans, pages, "")))


def test_each_match_is_a_line_and_columns_are_bytes() -> None:
    """As editors count: from 1, two bytes for a letter with an accent."""
    assert lines("one\nä two two\n", (6, 9), (10, 13)) == ["/n/a.txt:2:4:ä two two", "/n/a.txt:2:8:ä two two"]


def test_a_recording_tells_the_moment() -> None:
    """One of its pages is five seconds."""
    heard = msgspec.structs.replace(HIT, type="audio")
    (line,) = match_lines(heard, Preview("one two", ((4, 7),), (0,) * 732 + (4,), ""))
    assert line.endswith(":[1:01:00] one two")
    assert [page_name("video", page) for page in (1, 153, 720, 721)] == ["0:00", "12:40", "59:55", "1:00:00"]


def test_pages_are_told_in_the_text() -> None:
    """Line and column are those of the extracted text."""
    assert lines("one\ntwo\nthree", (4, 7), (8, 13), pages=(0, 8)) == [
        "/n/a.txt:2:1:[page 1] two",
        "/n/a.txt:3:1:[page 2] three",
    ]


def test_without_a_match_it_is_the_beginning() -> None:
    """As for a file that was found only by its name."""
    assert lines("one\ntwo") == ["/n/a.txt:1:1:one"]
    assert lines("") == ["/n/a.txt:1:1:"]


def test_long_lines_and_many_matches_are_bounded() -> None:
    """The text that is shown holds the match, and nothing that a terminal would obey."""
    long = "x" * 1000 + "\x1b two " + "y" * 1000
    (only,) = lines(long, (1002, 1005))
    text = only.removeprefix("/n/a.txt:1:1003:")
    assert len(text) == LONGEST
    assert "\ufffd two y" in text
    assert len(lines("a " * 500, *((2 * i, 2 * i + 1) for i in range(500)))) == MATCHES


def test_vimgrep_names_places_in_files(indexed: Device) -> None:
    """Each printed line names a line of the file with the word at that column."""
    done = indexed.run("search", "fish", "--vimgrep")
    assert done.returncode == 0
    found = [line.split(":", 3) for line in done.stdout.splitlines()]
    assert {Path(path).name for path, *_ in found} >= {"heron.txt", "kingfisher.md", "fish_counter.py"}
    for path, line, column, text in found:
        written = Path(path).read_text(encoding="utf-8").splitlines()[int(line) - 1]
        assert written == text
        assert written[int(column) - 1 :].lower().startswith("fish")


def test_a_file_that_is_gone_has_no_lines(indexed: Device) -> None:
    """Nothing is printed for it."""
    path = indexed.notes / "short.txt"
    path.write_text("A shoebill.\n")
    indexed.index()
    path.unlink()
    assert indexed.run("search", "shoebill", "--vimgrep").stdout == ""
    indexed.index()
