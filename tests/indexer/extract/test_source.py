"""Sizes shown and texts cut."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.source import HEAD_BYTES, Gathered, Limits, Sink, cut, fingerprint, shown_size


@pytest.mark.parametrize(
    ("n_bytes", "shown"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (4_000_000, "4 MB"), (2 * 10**9, "2 GB")],
)
def test_sizes_are_shown_as_file_managers_do(n_bytes: int, shown: str) -> None:
    """Decimal units, one decimal place where it says something."""
    assert shown_size(n_bytes) == shown


@given(st.text(max_size=200), st.integers(0, 400))
def test_a_cut_text_is_the_longest_beginning_that_fits(text: str, max_bytes: int) -> None:
    """What is kept begins the text, fits, and lacks less than one character of the limit."""
    kept, truncated = cut(text, max_bytes)
    assert text.startswith(kept)
    assert len(kept.encode()) <= max_bytes
    assert bool(truncated) == (kept != text)
    assert kept == text or max_bytes - len(kept.encode()) < 4


def test_a_sink_stops_when_the_time_is_up() -> None:
    """It looks at the clock now and then, keeps what it has and says how much."""
    sink = Sink(Limits(cpu_ends=0.0))
    for _ in range(1000):
        sink.add("ten bytes\n")
    assert 1 < len(sink.text) < 10_000
    assert sink.truncated == f"first {len(sink.text)} bytes, then the time was up"


def test_a_container_keeps_its_members_when_time_or_memory_end() -> None:
    """What was read before stays, one note says where it ended; without anything read, memory is a failure."""
    late, ended = Gathered(Limits(cpu_ends=0.0)), Gathered(Limits())
    one = Extraction(documents=(ExtractedDocument(text="zebra", type="text"),))
    late.read("a.txt", lambda: one)
    assert late.full
    assert (len(late.extraction().documents), "a.txt" in late.extraction().notes[0]) == (1, True)

    def too_much() -> Extraction:
        raise MemoryError

    with pytest.raises(MemoryError):
        ended.read("a.txt", too_much)
    ended.read("b.txt", lambda: one)
    ended.read("c.txt", too_much)
    assert ended.full
    assert [document.part for document in ended.extraction().documents] == ["b.txt"]
    assert "memory" in ended.extraction().notes[0]


def test_a_sink_stops_at_its_limit() -> None:
    """Text beyond the limit is dropped, said once, and pages count characters."""
    sink = Sink(Limits(max_text_bytes=7))
    sink.add("äb")
    sink.begin_page()
    sink.add("cdefg")
    sink.add("h")
    assert (sink.text, sink.pages, sink.full, sink.truncated) == ("äbcdef", [2], True, "first 7 bytes")


def test_one_byte_makes_another_fingerprint(tmp_path: Path) -> None:
    """Content counts, name and time do not."""
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"zebra")
    two.write_bytes(b"zebra")
    os.utime(two, (1, 1))
    assert fingerprint(str(one)) == fingerprint(str(two)) != b""
    two.write_bytes(b"zebrA")
    assert fingerprint(str(one)) != fingerprint(str(two))


def test_a_large_file_counts_by_its_beginning_end_and_size(tmp_path: Path) -> None:
    """A change in the first 32 MB or the last one is seen, and a byte more."""
    path = tmp_path / "large"
    path.touch()
    found = set()
    for size, at in [
        (HEAD_BYTES + 5_000_000, 0),
        (HEAD_BYTES + 5_000_000, HEAD_BYTES + 4_500_000),
        (HEAD_BYTES + 1, 0),
    ]:
        with path.open("wb") as stream:
            stream.truncate(size)
            stream.seek(at)
            stream.write(b"x")
        found.add(fingerprint(str(path)))
    assert len(found) == 3


def test_what_cannot_be_read_has_none(tmp_path: Path) -> None:
    """A missing file and a folder give nothing."""
    assert fingerprint(str(tmp_path / "none")) == fingerprint(str(tmp_path)) == b""


def test_a_container_keeps_no_more_notes_than_it_tells() -> None:
    """Whatever a hostile file is full of, room is made for the first ones alone."""
    gathered = Gathered(Limits())
    for i in range(1000):
        gathered.note(f"member {i}: damaged")
    assert len(gathered._notes) == 20
    assert gathered.extraction().notes[-1] == "and 980 more"
