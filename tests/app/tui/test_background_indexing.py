"""The words for how far indexing is."""

from __future__ import annotations

from pathlib import Path

from app.chosen_folders import remember_root, remembered_roots
from app.settings import Paths, Settings
from app.tui.background_indexing import Background, progress_line
from indexer.progress import Progress


def test_indexing_says_how_far_how_fast_and_how_long() -> None:
    """4,210 of 12,228, the rate, the rest of the time, the failures; the file and the last error beside it."""
    line = progress_line(
        Progress(
            phase="indexing", n_done=4210, n_total=12228, rate_mb_s=2.31, eta_seconds=39.6, n_failed=3, generation=7,
            current="a.pdf", last_error="b.pdf: encrypted",
        )
    )  # fmt: skip
    assert line.text == "indexing 4,210 of 12,228 · 2.3 MB/s · 40 s left · 3 failed"
    assert line.details == ("a.pdf", "last error: b.pdf: encrypted")
    assert (line.generation, line.busy) == (7, True)


def test_following_is_silent_but_for_a_note() -> None:
    """Nothing to say while nothing happens; a fall-back to scans is said."""
    assert progress_line(Progress(phase="watching")).text == ""
    line = progress_line(Progress(phase="polling", note="watch limit reached", last_error="old"))
    assert line.text == "looking for changes from time to time · watch limit reached"
    assert (line.busy, line.details) == (False, ())


def test_there_is_an_index_once_a_folder_was_chosen(tmp_path: Path) -> None:
    """A fresh device has none; one with a remembered folder has, even before it is read."""
    paths = Paths(config_dir=tmp_path / "config", data_dir=tmp_path / "data")
    assert not Background(Settings(), paths).has_index()
    remember_root(paths, tmp_path)
    assert remembered_roots(paths) == (str(tmp_path.resolve()),)
    assert Background(Settings(), paths).has_index()
