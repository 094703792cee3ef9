"""A terminal that goes away without a SIGHUP ends the program that was on it."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import sys
import threading
from pathlib import Path

import pytest
from textual.drivers.linux_driver import LinuxDriver
from textual.events import Key, Paste

from app.tui.terminal.controlling_terminal import KeyParser, outliving, placed, watch_terminal
from console.wording import columns, count_vowel_signs
from tests.app.tui.terminal.test_terminal import Terminal


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


@pytest.mark.parametrize("sign", ["❤️", "👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "1️⃣", "❤️‍🔥"])
def test_what_follows_an_emoji_of_several_signs_stands_in_its_column(sign: str) -> None:
    """However wide a terminal draws it, two cells are cleared for it, and the next letter comes behind them."""
    assert placed(f"│ {sign} wind │") == f"│ \x1b7  \x1b8{sign}\x1b8\x1b[2C wind │"


def test_what_follows_a_word_of_india_stands_in_its_column() -> None:
    """A cell is cleared for each vowel sign beside its letter, which terminals give one or none."""
    count_vowel_signs()
    assert placed("│ किराया घर │") == "│ \x1b7      \x1b8किराया\x1b8\x1b[6C \x1b7  \x1b8घर\x1b8\x1b[2C │"
    assert [columns(text) for text in ("किराया", "हिन्दी", "வாடகை", "น้ำ", "e\u0301")] == [6, 5, 5, 2, 1]


def test_other_text_is_sent_as_it_is() -> None:
    """Letters with marks that no terminal gives a cell of their own, too."""
    text = "│ \x1b[38;2;1;2;3m1 # ☎ ⚠ 👍 風力 e\u0301 ▌"
    assert placed(text) == text


LEADER = """
import fcntl, subprocess, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
subprocess.run(sys.argv[2:], pass_fds=[int(sys.argv[1])])
"""


def test_it_ends_with_the_shell_that_it_was_started_from(tmp_path: Path) -> None:
    """A window is closed: its shell ends, and the kernel sends the program SIGHUP and then SIGCONT, which begins the
    screen anew on a terminal that is gone."""
    (tmp_path / "home").mkdir()
    environment = {"FOLTR_CONFIG_DIR": str(tmp_path / "config"), "FOLTR_DATA_DIR": str(tmp_path / "data")}
    lives, program_holds = os.pipe()
    os.set_inheritable(program_holds, True)
    command = [sys.executable, "-c", LEADER, str(program_holds), sys.executable, "-m", "app.cli"]
    terminal = Terminal(command, pass_fds=[program_holds], HOME=str(tmp_path / "home"), **environment)
    os.close(program_holds)
    try:
        terminal.read_until(b"Which folders do you want to search?")
        os.close(terminal.slave)
        os.close(terminal.master)
        assert select.select([lives], [], [], 180)[0], "the program goes on without its terminal"
        assert os.read(lives, 1) == b""
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(terminal.process.pid, signal.SIGKILL)
        terminal.process.wait()
        os.close(lives)


def test_the_thread_that_reads_ends_with_the_terminal() -> None:
    """A screen that SIGCONT began anew while it ended leaves nobody who would stop it: it would read for ever."""
    reader, writer = os.pipe()
    driver = object.__new__(outliving(LinuxDriver))
    driver.fileno, driver.exit_event, driver.process_message = reader, threading.Event(), (keys := []).append
    driver._key_thread = threading.Thread(target=driver.run_input_thread, daemon=True)
    driver._key_thread.start()
    os.write(writer, b"x")
    os.close(writer)
    driver._key_thread.join(60)
    assert not driver._key_thread.is_alive()
    assert [key.key for key in keys] == ["x"]
    os.close(reader)


def test_a_file_is_not_watched(tmp_path: Path) -> None:
    """No thread is started for what is no terminal."""
    before = threading.active_count()
    with (tmp_path / "file").open("w") as file:
        watch_terminal(file.fileno(), pytest.fail)
        assert threading.active_count() == before


@pytest.mark.parametrize(
    ("command", "shown"), [([], b"Which folders do you want to search?"), (["--pick"], b"earch your files")]
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


def test_what_is_pasted_is_text_alone_however_it_is_read() -> None:
    """An Escape in it begins no key, a line end is no Enter; the mark of its end may come in two reads."""
    begins = "a\x1b[200~"
    sent = begins + "qu\x1b[31max\r\x1b\x1b[201~b"
    for cut in range(len(begins), len(sent)):
        parser = KeyParser()
        events = [event for part in (sent[:cut], sent[cut:]) for event in parser.feed(part)]
        said = [
            event.text if isinstance(event, Paste) else event.character
            for event in events
            if isinstance(event, Key | Paste)
        ]
        assert said == ["a", "qu[31max\r", "b"], cut


def test_escape_and_a_control_key_of_one_read_are_two_keys() -> None:
    """As a slow connection brings them; Escape and a letter are Alt and the letter, but for steps of a word."""
    sent = "\x1b\x07\x1b\r\x1bn\x1b\x11\x1bf"
    keys = [event.key for event in KeyParser().feed(sent) if isinstance(event, Key)]
    assert keys == ["escape", "ctrl+g", "escape", "enter", "alt+n", "escape", "ctrl+q", "ctrl+right"]
