"""Progress lines: what they say, and how they are drawn."""

from __future__ import annotations

import io

import pytest

from app.following.progress_lines import ProgressWriter, describe, duration, summarise
from indexer.progress import Progress, UpdateSummary

INDEXING = Progress(
    phase="indexing", n_done=4210, n_total=12228, bytes_done=88_000_000, bytes_total=246_000_000, rate_mb_s=1.94,
    eta_seconds=83.0, current="/notes/a.txt", last_error="/notes/b.pdf: encrypted", n_failed=2,
)  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_indexing_tells_files_megabytes_rate_time_left_and_failures() -> None:
    """One line with all the numbers."""
    meaning = Progress(phase="meaning", n_done=3, n_total=10, generation=1, eta_seconds=5.0)
    assert describe(meaning) == "words can be searched; reading for meaning: 3 of 10 documents, 5.0 s left"
    assert describe(INDEXING) == "indexing: 4,210 of 12,228 files, 88 of 246 MB, 1.9 MB/s, 1:23 left, 2 failed"


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.42, "0.4 s"), (12.3, "12 s"), (3 * 60 + 5, "3:05"), (3600 + 2 * 60 + 3, "1:02:03")]
)
def test_durations(seconds: float, shown: str) -> None:
    """Seconds, then minutes, then hours."""
    assert duration(seconds) == shown


def test_without_a_terminal_there_are_plain_lines() -> None:
    """A log gets whole lines with the current file and the last error, no control codes, and not each report."""
    log = io.StringIO()
    with ProgressWriter(log) as line:
        for _ in range(100):
            line.show(INDEXING)
    assert log.getvalue() == f"{describe(INDEXING)}; /notes/a.txt; last error: /notes/b.pdf: encrypted\n"


def test_a_note_is_said_once() -> None:
    """What should stay visible, such as that changes cannot be watched, is a separate line."""
    log = io.StringIO()
    with ProgressWriter(log) as line:
        for phase in ("polling", "idle", "polling"):
            line.show(Progress(phase=phase, note="the limit of watches is reached"))
    assert log.getvalue().count("foltr-search: the limit of watches is reached\n") == 1


def test_on_a_terminal_the_line_is_drawn_in_place_and_taken_away() -> None:
    """Two lines are redrawn in place, and nothing is left at the end."""
    terminal = Terminal()
    with ProgressWriter(terminal) as line:
        line.show(INDEXING)
        line.show(Progress(phase="merging"))
    drawn = terminal.getvalue()
    assert drawn.startswith("\r" + describe(INDEXING)[:40])
    assert drawn.count("\n") == 1
    assert drawn.endswith("\r\x1b[J")


def test_quiet_says_nothing() -> None:
    """With --quiet not even a note is written."""
    terminal = Terminal()
    with ProgressWriter(terminal, quiet=True) as line:
        line.show(INDEXING)
    assert terminal.getvalue() == ""


def test_a_summary_names_what_happened_and_what_to_do() -> None:
    """Only counts above zero are shown, and each failure or missing folder has its line."""
    away = ("/usb is away",) * 7
    summary = UpdateSummary(n_new=1, n_failed=2, n_bytes=2_500_000, seconds=1.5, unavailable=away, stopped=True)
    lines = summarise(summary)
    assert lines[0] == "files: 1 new, 2 failed (2.5 MB, 1.5 s)"
    assert "status --failures" in lines[1]
    assert lines[2:8] == ["/usb is away"] * 5 + ["and 2 more, which `foltr-search status` lists"]
    assert "what was done is kept" in lines[8]
    assert summarise(UpdateSummary())[0] == "files: nothing to index (0.0 MB, 0.0 s)"
