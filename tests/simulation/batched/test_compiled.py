"""What is compiled is kept on disk for other processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from simulation.batched import compiled


def first(values):  # type: ignore[no-untyped-def]
    """The first."""
    return values[0]


def test_two_processes_that_compile_at_once_never_run_each_others_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both read the index before either writes, and the first one's code is written last: integers stay integers."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    floats, integers, later = (compiled()(first) for _ in range(3))
    early, late = (dispatcher._cache._cache_file for dispatcher in (floats, integers))
    save = early._save_data
    monkeypatch.setattr(late, "_load_index", dict)
    monkeypatch.setattr(early, "_save_data", lambda *entry: (integers(np.array([7])), save(*entry)))
    assert floats(np.array([1.5])) == 1.5
    assert later(np.array([7])) == 7
    assert later.stats.cache_hits, "what the others compiled was not kept"
