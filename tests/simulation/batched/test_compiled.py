"""What is compiled is kept on disk for other processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simulation.batched import compiled


def first(values):  # type: ignore[no-untyped-def]
    """The first."""
    return values[0]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is kept."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    return tmp_path


def test_two_processes_that_compile_at_once_never_run_each_others_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both read the index before either writes, and the first one's code is written last: integers stay integers."""
    floats, integers, later = (compiled()(first) for _ in range(3))
    early, late = (dispatcher._cache._cache_file for dispatcher in (floats, integers))
    save = early._save_data
    monkeypatch.setattr(late, "_load_index", dict)
    monkeypatch.setattr(early, "_save_data", lambda *entry: (integers(np.array([7])), save(*entry)))
    assert floats(np.array([1.5])) == 1.5
    assert later(np.array([7])) == 7
    assert later.stats.cache_hits, "what the others compiled was not kept"


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("left", [b"", bytes(64), b"\x80\x04"], ids=["empty", "zeros", "cut"])
def test_what_a_power_cut_left_is_compiled_again_and_kept(folder: Path, ending: str, left: bytes) -> None:
    """Files that are empty, of zeros, or cut."""
    compiled()(first)(np.array([7]))
    for path in folder.rglob(f"*.{ending}"):
        path.write_bytes(left)
    assert compiled()(first)(np.array([7])) == 7
    later = compiled()(first)
    assert later(np.array([7])) == 7
    assert later.stats.cache_hits


def test_where_nothing_can_be_kept_it_is_compiled_each_time(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not beside the source, where an edit of another file would run on old code: the folder's name is a file's."""
    (folder / "file").touch()
    monkeypatch.setattr("numba.config.CACHE_DIR", str(folder / "file"))
    kernel = compiled()(first)
    assert kernel(np.array([7])) == 7
    assert kernel._cache.cache_path is None


def test_a_full_disk_leaves_what_was_compiled_in_memory() -> None:
    """No file may grow beyond 100 bytes, as on a disk that fills while code is written."""
    program = (
        "import resource, signal, tempfile, numba, numpy as np\n"
        "from simulation.batched import compiled\n"
        "from tests.simulation.batched.test_compiled import first\n"
        "numba.config.CACHE_DIR = tempfile.mkdtemp()\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "print(compiled()(first)(np.array([7])))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("7\n", "")


def test_python_itself_runs_the_kernels_where_numba_is_told_not_to_compile() -> None:
    """NUMBA_DISABLE_JIT, by which an author looks into one step by step."""
    program = "from simulation.batched import compiled; print(compiled()(lambda values: values[0])([7]))"
    environment = {"NUMBA_DISABLE_JIT": "1", "PATH": ""}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("7\n", "")
