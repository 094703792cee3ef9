"""The program in a real pseudo-terminal: it comes up, and it leaves the terminal as it was, however it ends."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import zlib
from base64 import b64decode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.tui.terminal.terminal_capabilities import QUESTION
from tests import copied

LEFT = b"\x1b[?1049l"
"""leaves the alternate screen"""
CURSOR = b"\x1b[?25h"
CRASHING = """
import sys
from pathlib import Path
from app.paths import Paths
from app.settings import Settings
from app.tui.search_app import FoltrApp
from app.tui.screen_setup import Setup
from app.tui.background_indexing import Background
from app.tui.screen_setup import StoredHistory
from app.tui.search_app import show

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


LEADER = """exec "$0" -c '
import fcntl, runpy, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
sys.argv = ["foltr-search"]
runpy.run_module("app", run_name="__main__")
' 2>"$1" """
"""the program with a controlling terminal, as in a window, and its errors in a file"""


DEAF = CRASHING.replace(
    "paths = ",
    """
from app.tui.terminal.controlling_terminal import KeyParser

def feed(self, keys):
    raise ValueError("keys that nobody can read")

KeyParser.feed = feed
paths = """,
)


KITTY = b"\x1bP>|kitty(0.35.2)\x1b\\\x1b[?62;c"
"""its answers to what it is asked: its name, its attributes"""


class Terminal:
    """A program in a pseudo-terminal, and what it wrote."""

    def __init__(self, command: list[str], pass_fds: Sequence[int] = (), **env: str) -> None:
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave, start_new_session=True,
            pass_fds=pass_fds,
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
    terminal.read_until(b"Which folders do you want to search?")
    yield terminal
    terminal.process.kill()


def test_a_terminal_that_cannot_draw_gets_lines(environment: dict[str, str]) -> None:
    """A shell within Emacs is a terminal, too, and full of escape sequences otherwise."""
    terminal = Terminal([sys.executable, "-m", "app"], **environment | {"TERM": "dumb"})
    assert terminal.end() == 2
    assert b"foltr-search --plain" in terminal.output
    assert b"\x1b" not in terminal.output


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 2), (signal.SIGQUIT, 2), (signal.SIGINT, 130)])
def test_a_signal_restores_the_terminal(started: Terminal, number: signal.Signals, code: int) -> None:
    """A stop from outside is no reason to leave a mess; the exit code is that of an error, or of an interrupt."""
    started.process.send_signal(number)
    assert started.end() == code
    assert started.is_restored


def test_errors_may_go_to_a_file(environment: dict[str, str], tmp_path: Path) -> None:
    """`2>errors`: the screen is drawn on the terminal, and the file stays empty; Ctrl+Q is the ordinary way out."""
    command = ["sh", "-c", LEADER, sys.executable, str(tmp_path / "errors")]
    terminal = Terminal(command, **environment)
    terminal.read_until(b"Which folders do you want to search?")
    os.write(terminal.master, b"\x11")
    assert terminal.end() == 0
    assert terminal.is_restored
    assert (tmp_path / "errors").read_bytes() == b""


def crashed(program: str, key: bytes, environment: dict[str, str], folder: Path) -> bytes:
    """What a screen says when it fails over a key, with the exit code of an error and on a terminal as it was."""
    terminal = Terminal([sys.executable, "-c", program, str(folder)], **environment)
    terminal.read_until(b"cannot be searched")
    os.write(terminal.master, key)
    assert terminal.end() == 2  # 1 is that of a picker that found nothing
    assert terminal.is_restored
    return terminal.output[terminal.output.rfind(LEFT) :]


@pytest.mark.parametrize("debug", [False, True])
def test_a_crash_is_one_line_on_a_restored_terminal(environment: dict[str, str], tmp_path: Path, debug: bool) -> None:
    """An error in the screen itself ends with exit code 2 and one line; FOLTR_DEBUG shows where it was."""
    extra = {"FOLTR_DEBUG": "1"} if debug else {}
    said = crashed(CRASHING, b"\x11", environment | extra, tmp_path)
    assert b"foltr-search: the screen failed: RuntimeError: a key\xef\xbf\xbd[31m too many" in said
    assert (b"Traceback" in said) == debug


def test_keys_that_cannot_be_read_end_the_screen_as_any_crash_does(environment: dict[str, str], tmp_path: Path) -> None:
    """A screen that hears no keys is of no use: exit code 2 and one line, on a terminal as it was."""
    said = crashed(DEAF, b"x", environment, tmp_path)
    assert b"foltr-search: the screen failed: ValueError: keys that nobody can read" in said
    assert b"Traceback" not in said


@contextmanager
def searching(environment: dict[str, str], folder: Path) -> Iterator[Terminal]:
    """The program in 120 columns over an index of a folder, of a terminal of which nothing else is known; Ctrl+Q ends
    it well."""
    indexed = copied.run(["index", "-q", str(folder)], variables={**os.environ, **environment}, cwd=folder)
    assert indexed.returncode == 0, indexed.stderr
    with pytest.MonkeyPatch.context() as patch:
        for name in ("COLORTERM", "TMUX", "NO_COLOR", "COLUMNS", "LINES"):
            patch.delenv(name, raising=False)
        terminal = Terminal([sys.executable, "-m", "app"], **environment)
    fcntl.ioctl(terminal.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    try:
        yield terminal
        os.write(terminal.master, b"\x11")
        assert terminal.end() == 0
    finally:
        terminal.process.kill()
    assert terminal.is_restored


def test_kitty_shows_a_picture_as_it_is(environment: dict[str, str], tmp_path: Path) -> None:
    """A real index, a terminal that answers as kitty: it gets the points, then the cells that place them."""
    image = pytest.importorskip("PIL.Image").new("RGB", (40, 40), (255, 0, 0))
    image.paste((0, 0, 255), (20, 0, 40, 40))
    (tmp_path / "photos").mkdir()
    image.save(tmp_path / "photos" / "lisbon.png")
    with searching(environment | {"TERM": "xterm-kitty"}, tmp_path / "photos") as terminal:
        terminal.read_until(QUESTION)
        os.write(terminal.master, KITTY)
        terminal.read_until(b"indexed")
        os.write(terminal.master, b"lisbon")
        terminal.read_until(b"\xf4\x8e\xbb\xae\xcc\x8d\xcc\x85")
    sent = re.search(rb"\x1b_Ga=T,U=1,i=(\d+),f=24,o=z,s=40,v=40,c=4,r=2,q=2,m=0;([^\x1b]*)\x1b", terminal.output)
    assert sent is not None
    assert zlib.decompress(b64decode(sent[2])) == image.tobytes()
    number = int(sent[1])
    colour = b"38;2;%d;%d;%d;" % (number >> 16, number >> 8 & 255, number & 255)
    signs = (b"\xcc\x85", b"\xcc\x8d", b"\xcc\x8e", b"\xcc\x90")
    for row in range(2):
        cells = b"".join(b"\xf4\x8e\xbb\xae" + signs[row] + signs[column] for column in range(4))
        place = terminal.output.find(cells, sent.end())
        assert place > 0
        assert colour in terminal.output[place - 60 : place]


def test_sixels_are_sent_behind_the_frame_at_their_place(environment: dict[str, str], tmp_path: Path) -> None:
    """A terminal that names them among its attributes gets an image for each row of cells, below the preview's head."""
    image = pytest.importorskip("PIL.Image").new("RGB", (40, 40), (252, 4, 4))
    (tmp_path / "photos").mkdir()
    image.save(tmp_path / "photos" / "lisbon.png")
    with searching(environment, tmp_path / "photos") as terminal:
        terminal.read_until(QUESTION)
        os.write(terminal.master, b"\x1b[6;20;10t\x1b[?62;4;22c")
        terminal.read_until(b"indexed")
        os.write(terminal.master, b"lisbon")
        terminal.read_until(b'"1;1;40;20')
        terminal.read_until(b"\x1b\\\x1b8")
    sent = re.findall(
        rb"\x1b\[(\d+);(\d+)H\x1bP0;1q\"1;1;40;20#0;2;99;2;2#0!40~-#0!40~-#0!40~-#0!40B\x1b", terminal.output
    )
    rows = [(int(y), int(x)) for y, x in sent]
    assert rows[1] == (rows[0][0] + 1, rows[0][1])
    assert rows[0][1] > 60


def test_what_a_terminal_sends_in_one_read(environment: dict[str, str], tmp_path: Path) -> None:
    """The leader key, then three letters at once: the first is its action, the others are typed. A byte that no text
    holds is one odd character; Alt sent as Escape is a key even if another follows at once."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "heron.txt").write_text("The heron waits for fish.\n")
    with searching(environment, tmp_path / "notes") as terminal:
        terminal.read_until(b"indexed")
        for sent, shown in (
            ((b"\x07nqu", b"\x07pax"), "Nothing found for quax"),
            ((b"\x15qu\xffox",), "Nothing found for qu\ufffdox"),
            ((b"\x15", b"\x1bd\x1bdquux"), "Nothing found for quux"),
        ):
            for keys in sent:
                os.write(terminal.master, keys)
            terminal.read_until(shown.encode())
