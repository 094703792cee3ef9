"""A lock that ends with its process; where there is no flock too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from indexer.storage.file_lock import HAS_FLOCK, FileLock

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import sys
if sys.argv[2] == "without":
    sys.modules["fcntl"] = None
from pathlib import Path
from indexer.storage.file_lock import HAS_FLOCK, FileLock
lock = FileLock(Path(sys.argv[1]))
print(HAS_FLOCK, lock.take(), lock.read(), flush=True)
lock.write("held by " + sys.argv[3])
for line in sys.stdin:
    if line == "close\\n":
        lock.close()
    print("done", flush=True)
"""


def holder(path: Path, flock: str, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), flock, name], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip


def said(process: subprocess.Popen[str], line: str = "") -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    if line:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    return process.stdout.readline().strip()


@pytest.mark.parametrize("flock", ["with", "without"])
def test_one_process_holds_it_until_it_closes_it_or_is_killed(tmp_path: Path, flock: str) -> None:
    """The second is refused and reads who the first is; after a close, and after a kill, it is free."""
    if flock == "with" and not HAS_FLOCK:
        pytest.skip("this system has no flock")
    path = tmp_path / "lock"
    processes = []
    try:
        first = holder(path, flock, "the first")
        processes.append(first)
        assert said(first) == f"{flock == 'with'} True"
        assert said(first, "name") == "done"
        second = holder(path, flock, "the second")
        processes.append(second)
        assert said(second) == f"{flock == 'with'} False held by the first"
        assert said(first, "close") == "done"
        third = holder(path, flock, "the third")
        processes.append(third)
        assert said(third).startswith(f"{flock == 'with'} True")
        third.kill()
        third.wait()
        fourth = holder(path, flock, "the fourth")
        processes.append(fourth)
        assert said(fourth).startswith(f"{flock == 'with'} True")
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def test_it_is_for_its_owner_only_and_closes_twice(tmp_path: Path) -> None:
    """The file has the mode 0600 whatever the umask."""
    lock = FileLock(tmp_path / "lock")
    assert (tmp_path / "lock").stat().st_mode & 0o077 == 0
    assert lock.take()
    lock.close()
    lock.close()
    again = FileLock(tmp_path / "lock")
    assert again.take()
    again.close()
