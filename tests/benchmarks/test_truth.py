"""What is said of results, held against the files: a small lot of what the benchmark does."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.collections import shared_folder
from benchmarks.truth import measure


def test_nothing_false_is_said(tmp_path: Path) -> None:
    """Of two hundred rows by lot, with openings in between: reasons, places, points, dates, what is lacking."""
    try:
        shared_folder()
    except FileNotFoundError:
        pytest.skip("the sentences are of a shared collection")
    table, false = measure(tmp_path, n_rows=200, seed=5, n_files=30, n_names=1)
    assert false == []
    assert int(table.rows[-1][1]) > 200
