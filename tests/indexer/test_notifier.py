"""The notifier at the limits of the system."""

from __future__ import annotations

import gc
import os
import threading
from pathlib import Path

import pytest

from indexer.watch import CannotWatch, Notifier


def test_it_reports_the_paths_that_changed(tmp_path: Path) -> None:
    """A new file is reported by its path; a quiet moment reports nothing."""
    notifier = Notifier([str(tmp_path)], [str(tmp_path)])
    assert notifier.wait(0.05, threading.Event()) == []
    (tmp_path / "a.txt").write_text("x")
    assert set(notifier.wait(180, threading.Event()) or ()) == {str(tmp_path / "a.txt")}
    notifier.close()


def test_an_exhausted_system_is_no_crash(tmp_path: Path) -> None:
    """Without a file descriptor left for the notifier, the answer is CannotWatch, which means polling."""
    resource = pytest.importorskip("resource")
    gc.collect()  # what other tests left open is closed now, not in the middle of this one
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (used[0] + 2, before[1]))
    try:
        while True:
            try:
                used.append(os.open(os.devnull, os.O_RDONLY))
            except OSError:
                break
        with pytest.raises(CannotWatch, match="too many open files"):
            Notifier([str(tmp_path)], [str(tmp_path)])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        for descriptor in used:
            os.close(descriptor)


def test_a_folder_that_cannot_be_named_is_left_to_the_scans(tmp_path: Path) -> None:
    """The notifier takes no folder whose name is not UTF-8: it says that it is blind there."""
    bad = os.fsdecode(os.path.join(os.fsencode(tmp_path), b"\xff"))
    os.mkdir(bad)
    notifier = Notifier([str(tmp_path), bad], [str(tmp_path)])
    assert notifier.blind
    notifier.close()
