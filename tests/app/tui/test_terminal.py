"""The program in a real pseudo-terminal: it comes up, and it leaves the terminal as it was, however it ends."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

LEFT = b"\x1b[?1049l"
"""leaves the alternate screen"""
CURSOR = b"\x1b[?25h"
CRASHING = """
import sys
from pathlib import Path
from app.paths import Paths
from app.settings import Settings
from app.tui.application import FoltrApp
from app.tui.parts import Setup
from app.tui.parts import Background, StoredHistory
from app.tui.starting import show

class Crashing(FoltrApp):
    async def action_quit(self) -> None:
        raise RuntimeError("a key\\x1b[31m too many")

paths = Paths(config_dir=Path(sys.argv[1]), data_dir=Path(sys.argv[1]))

class Never:
    def status(self): raise OSError("no index here")

settings = Settings()
indexing, history = Background(settings, paths), StoredHistory(settings, paths)
setup = Setup(settings, paths.data_dir, Never, indexing, history, tuple, folder=sys.argv[1])
raise SystemExit(show(Crashing(setup)))
"""


class Terminal:
    """A program in a pseudo-terminal, and what it wrote."""

    def __init__(self, command: list[str], **env: str) -> None:
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            env={**{k: v for k, v in os.environ.items() if not k.startswith("FOLTR_")}, "TERM": "xterm", **env},
        )  # fmt: skip

    def read_until(self, wanted: bytes) -> None:
        """Collect output until it holds `wanted`; fails after three minutes."""
        end = time.monotonic() + 180
        while wanted not in self.output:
            assert time.monotonic() < end, f"{wanted!r} never came: {self.output[-2000:]!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65536)

    def end(self) -> int:
        """Wait for the end, collecting what is still written."""
        end = time.monotonic() + 180
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                self.output += os.read(self.master, 65536)
        while select.select([self.master], [], [], 0.1)[0]:
            self.output += os.read(self.master, 65536)
        return self.process.wait(1)

    @property
    def is_restored(self) -> bool:
        """The normal screen, a visible cursor, and the terminal's modes as they were."""
        left = self.output.rfind(LEFT)
        after = termios.tcgetattr(self.slave)
        return left > 0 and self.output.rfind(CURSOR) > left and after[3] == self.before[3]


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "home").mkdir()
    return {
        "FOLTR_CONFIG_DIR": str(tmp_path / "config"),
        "FOLTR_DATA_DIR": str(tmp_path / "data"),
        "HOME": str(tmp_path / "home"),
    }


@pytest.fixture
def started(environment: dict[str, str]) -> Iterator[Terminal]:
    """The program on a fresh device."""
    terminal = Terminal([sys.executable, "-m", "app.cli"], **environment)
    terminal.read_until(b"Which folders shall be searchable?")
    yield terminal
    terminal.process.kill()


def test_ctrl_q_ends_with_0_and_restores_the_terminal(started: Terminal) -> None:
    """The ordinary way out."""
    os.write(started.master, b"\x11")
    assert started.end() == 0
    assert started.is_restored


def test_sigterm_restores_the_terminal(started: Terminal) -> None:
    """A stop from outside is no reason to leave a mess; the exit code is that of an error."""
    started.process.send_signal(signal.SIGTERM)
    assert started.end() == 2
    assert started.is_restored


@pytest.mark.parametrize("debug", [False, True])
def test_a_crash_is_one_line_on_a_restored_terminal(environment: dict[str, str], tmp_path: Path, debug: bool) -> None:
    """An error in the screen itself ends with exit code 1 and one line; FOLTR_DEBUG shows where it was."""
    extra = {"FOLTR_DEBUG": "1"} if debug else {}
    terminal = Terminal([sys.executable, "-c", CRASHING, str(tmp_path)], **environment, **extra)
    terminal.read_until(b"cannot be searched")
    os.write(terminal.master, b"\x11")
    assert terminal.end() == 1
    assert terminal.is_restored
    said = terminal.output[terminal.output.rfind(LEFT) :]
    assert b"foltr-search: the screen failed: RuntimeError: a key\xef\xbf\xbd[31m too many" in said
    assert (b"Traceback" in said) == debug
