"""The device calls nobody: everything it does works in processes that may not open a network socket."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import copied

ROOT = Path(__file__).resolve().parents[2]

# An audit hook sees every socket of the process, those that C code opens through Python included, and cannot be
# taken away. As sitecustomize it also rules the worker processes. AF_UNIX stays: event loops wake themselves with it.
GUARD = """
import socket, sys

def refuse(event, arguments):
    if event == "socket.__new__" and arguments[1] != getattr(socket, "AF_UNIX", None):
        raise PermissionError("a network socket was asked for")
    if event in ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.getnameinfo"):
        raise PermissionError("a name was looked up")

sys.addaudithook(refuse)
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The variables of a device whose every Python process is guarded."""
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", "TMPDIR") if name in os.environ}
    return {
        **kept,
        "HOME": str(tmp_path),
        "PYTHONPATH": os.pathsep.join((str(tmp_path / "guard"), str(ROOT))),
        "FOLTR_CONFIG_DIR": str(tmp_path / "config"),
        "FOLTR_DATA_DIR": str(tmp_path / "data"),
        "PYTHONUTF8": "1",
    }


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL, timeout=300,
    )  # fmt: skip


def test_the_guard_refuses_sockets(environment: dict[str, str]) -> None:
    """Under the guard a network socket and a name look-up fail, and a local socket pair does not."""
    for code in ("import socket; socket.socket()", "import socket; socket.getaddrinfo('localhost', 80)"):
        assert "PermissionError" in run(environment, "-c", code).stderr
    assert run(environment, "-c", "import socket; socket.socketpair()").returncode == 0


def test_the_device_indexes_searches_opens_and_learns_without_a_socket(
    environment: dict[str, str], tmp_path: Path
) -> None:
    """Index, search, open, learn, explain, check: none of it asks for the network."""
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(4):
        (notes / f"{number}.txt").write_text(f"the heron number {number} " + "waits " * number, encoding="ascii")
    (notes / "page.html").write_text(
        "<html><head><link rel=stylesheet href='http://example.org/a.css'></head>"
        "<body><img src='http://example.org/heron.png'>heron</body></html>",
        encoding="ascii",
    )
    steps = (
        (("index", str(notes)), ""),
        (("status",), "5; 5 files read"),
        (("search", "heron"), "heron number"),
        (("open", "3", "--print"), "notes"),
        (("search", "heron", "--explain"), "heron"),
        (("stats",), "1 result opened"),
        (("model",), "1 pick on 1 result page"),
        (("why", str(notes / "0.txt")), "indexed"),
        (("doctor",), ""),
        (("index", "--rebuild"), ""),
    )
    for place, (arguments, expected) in enumerate(steps):
        if place < 3:  # from a process's first line on
            done = run(environment, "-m", "app", *arguments)
        else:
            code = f"{GUARD}\n{copied.COMMAND}"
            done = copied.run(arguments, variables=environment, cwd=tmp_path, code=code)
        assert done.returncode == 0, (arguments, done.stderr)
        assert expected in done.stdout, arguments
        assert "PermissionError" not in done.stderr
        assert "network socket" not in done.stdout + done.stderr


def test_the_screen_runs_without_a_socket(environment: dict[str, str], tmp_path: Path) -> None:
    """The screen starts, answers a query and ends, guarded as everything else."""
    script = """
import asyncio, sys
from app.settings import Paths, Settings
import app.tui
import app.tui.search_app as starting

seen = []

async def drive(app):
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"heron")
        await pilot.pause(0.5)
        seen.append(app.screen is not None)

def show(app):
    asyncio.run(drive(app))
    app.setup.indexing.stop()
    return 0

starting.show = show
paths = Paths.from_environment()
if __name__ == "__main__":
    code = app.tui.run(Settings.load(paths), paths)
    assert seen == [True]
    sys.exit(code)
"""
    file = tmp_path / "drive.py"
    file.write_text(script, encoding="utf-8")
    done = run(environment, str(file))
    assert done.returncode == 0, done.stderr
    assert "PermissionError" not in done.stderr
