"""A terminal that goes away without a SIGHUP ends the program that was on it."""

from __future__ import annotations

import os
import pty
import sys
import threading
from pathlib import Path

import pytest

from app.tui.hang_up import watch_terminal
from tests.app.tui.test_terminal import Terminal


def test_it_calls_when_the_other_end_is_closed_and_not_before() -> None:
    """A key is no hang-up."""
    master, slave = pty.openpty()
    gone = threading.Event()
    watch_terminal(slave, gone.set)
    os.write(master, b"x\n")
    assert os.read(slave, 10) == b"x\n"
    assert not gone.is_set()
    os.close(master)
    assert gone.wait(60)
    os.close(slave)


def test_a_file_is_not_watched(tmp_path: Path) -> None:
    """No thread is started for what is no terminal."""
    before = threading.active_count()
    with (tmp_path / "file").open("w") as file:
        watch_terminal(file.fileno(), pytest.fail)
        assert threading.active_count() == before


@pytest.mark.parametrize(
    ("command", "shown"), [([], b"Which folders shall be searchable?"), (["--pick"], b"earch your files")]
)
def test_the_screen_and_the_picker_end(tmp_path: Path, command: list[str], shown: bytes) -> None:
    """It has no controlling terminal, as below a program that ignores SIGHUP: no signal comes, and it ends."""
    (tmp_path / "home").mkdir()
    environment = {"FOLTR_CONFIG_DIR": str(tmp_path / "config"), "FOLTR_DATA_DIR": str(tmp_path / "data")}
    terminal = Terminal([sys.executable, "-m", "app.cli", *command], HOME=str(tmp_path / "home"), **environment)
    try:
        terminal.read_until(shown)
        os.close(terminal.slave)
        os.close(terminal.master)
        assert terminal.process.wait(180) == 2
    finally:
        terminal.process.kill()
