"""Pacing: a change is read at once, a file that keeps changing after growing pauses, nothing is forgotten."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from indexer.watch import FIRST_PAUSE, LONGEST_PAUSE, SECONDS_PER_MEGABYTE, Pacer, longest_pause


@pytest.fixture
def note(tmp_path: Path) -> str:
    (tmp_path / "note.txt").write_bytes(b"x" * 100_000)
    return str(tmp_path / "note.txt")


def test_the_first_change_is_read_at_once(note: str) -> None:
    """And one in the pause after it waits exactly for the pause's end."""
    pacer = Pacer()
    assert pacer.changed([note], 100.0) == [note]
    assert pacer.changed([note], 100.5) == []
    assert pacer.seconds_to_next(100.5) == FIRST_PAUSE - 0.5
    assert pacer.due(100.0 + FIRST_PAUSE) == [note]
    assert pacer.seconds_to_next(100.0 + FIRST_PAUSE) is None


def test_a_file_that_changes_all_the_time_is_read_rarely(tmp_path: Path) -> None:
    """A growing log of 50 MB, changed each second for an hour, is read about every two minutes."""
    log = tmp_path / "log"
    with open(log, "wb") as file:
        file.truncate(50_000_000)
    pacer = Pacer()
    readings = [now for now in range(3600) if pacer.changed([str(log)], float(now))]
    assert 3600 / LONGEST_PAUSE <= len(readings) <= 3600 / LONGEST_PAUSE + 10


def test_a_small_note_saved_again_and_again_is_never_long_out_of_date(note: str) -> None:
    """For 100 kB the longest pause is three seconds."""
    assert longest_pause(note) == FIRST_PAUSE + 0.1 * SECONDS_PER_MEGABYTE
    pacer = Pacer()
    readings = [now for now in range(100) if pacer.changed([note], float(now))]
    assert max(b - a for a, b in pairwise(readings)) <= longest_pause(note) + 1


def test_after_calm_a_file_is_new_again(note: str) -> None:
    """A file left alone for some pauses is read at once, and forgotten until then."""
    pacer = Pacer()
    pacer.changed([note], 0.0)
    assert pacer.changed([note], 1000.0) == [note]
    assert pacer.changed([note], 1000.5) == []
    assert pacer.seconds_to_next(1000.5) == FIRST_PAUSE - 0.5


def test_a_deleted_file_never_waits(note: str) -> None:
    """A path that is gone is passed on at once, also in its pause."""
    pacer = Pacer()
    pacer.changed([note], 0.0)
    Path(note).unlink()
    assert pacer.changed([note], 0.1) == [note]


def test_what_could_not_be_read_comes_again(note: str) -> None:
    """Paths handed back, for somebody else held the lock, are due after a first pause."""
    pacer = Pacer()
    pacer.again([note], 0.0)
    assert pacer.due(FIRST_PAUSE - 0.1) == []
    assert pacer.due(FIRST_PAUSE) == [note]
