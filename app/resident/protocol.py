"""The messages between a command and the resident process, as bytes.

A question holds the version that asks, the kind of request, and everything besides files on which a command's output
depends: its arguments, folder, terminal and the variables below. An empty message from the resident process says
that it begins; it does no work for a caller that is gone. An answer is the command's output and exit code, or the
advice to work alone, or a program that the asking process must start itself.
"""

from __future__ import annotations

import os
import sys

import app

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PROTOCOL = b"foltr-search resident 2"
"""its number is raised when a message changes its meaning"""

RUN, STATUS, STOP = b"run", b"status", b"stop"
"""requests: run a command; report your state; end"""

OUT, ERR, CODE, ALONE, PROGRAM = b"o", b"e", b"x", b"a", b"p"
"""parts of an answer: bytes for stdout and stderr, the exit code; work alone, for this reason; start this program, and
ask this once it has opened something"""

_NAMES = frozenset({
    "BROWSER", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "COMP_CWORD", "COMP_WORDS", "DISPLAY", "EDITOR",
    "FORCE_COLOR", "HOME", "LANG", "LANGUAGE", "LINES", "LOGNAME", "NO_COLOR", "PAGER", "PATH", "SSH_TTY", "TERM",
    "TMUX", "TZ", "USER", "VISUAL", "WAYLAND_DISPLAY", "_FOLTR_SEARCH_COMPLETE",
})  # fmt: skip
_BEGINNINGS = ("FOLTR_", "LC_", "XDG_")


def matters(variable: str) -> bool:
    """Whether a command's output may depend on this environment variable."""
    return variable in _NAMES or variable.startswith(_BEGINNINGS)


def identity() -> bytes:
    """What client and server must share to give the same answers: version, place, Python, encoding of file names."""
    place = os.path.dirname(os.path.abspath(app.__file__))
    return os.fsencode(f"{app.VERSION} {sys.hexversion:x} {sys.getfilesystemencoding()} {place}")


def is_of_another_version(message: bytes) -> bool:
    """Whether this program asks in a protocol of another number."""
    spoken = message.partition(b"\0")[0]
    name, _, number = spoken.rpartition(b" ")
    return spoken != PROTOCOL and name == PROTOCOL.rpartition(b" ")[0] and number.isdigit()


def question(wanted: bytes, arguments: Sequence[str] = ()) -> bytes:
    """A question of this process, with its folder, terminal and variables; OSError when its folder is gone."""
    env = os.environ
    columns, lines = _terminal_size(env)
    streams = (sys.stdout, sys.stderr)
    fields = [
        PROTOCOL, identity(), wanted, os.fsencode(os.getcwd()), b"%d" % columns, b"%d" % lines,
        *(b"%d" % stream.isatty() for stream in streams),
        *(os.fsencode(f"{stream.encoding} {stream.errors}") for stream in streams),
        b"%d" % len(arguments), *map(os.fsencode, arguments),
        *(os.fsencode(f"{name}={value}") for name, value in env.items() if matters(name)),
    ]  # fmt: skip
    return b"\0".join(fields)


def _terminal_size(env: Mapping[str, str]) -> tuple[int, int]:
    """Columns and lines, as shutil.get_terminal_size finds them."""
    columns, lines = (int(text) if text.isdecimal() else 0 for text in (env.get("COLUMNS", ""), env.get("LINES", "")))
    if columns <= 0 or lines <= 0:
        try:
            size = os.get_terminal_size(1)
        except OSError:
            size = os.terminal_size((80, 24))
        columns, lines = columns if columns > 0 else size.columns or 80, lines if lines > 0 else size.lines or 24
    return columns, lines


def part(kind: bytes, content: bytes) -> bytes:
    return kind + len(content).to_bytes(4, "big") + content


def parts(answer: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The parts of an answer, in order; ValueError when it is none."""
    place = 0
    while place < len(answer):
        end = place + 5 + int.from_bytes(answer[place + 1 : place + 5], "big")
        if end > len(answer):
            raise ValueError("an answer that ends early")
        yield answer[place : place + 1], answer[place + 5 : end]
        place = end
