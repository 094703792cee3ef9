"""What the terminal is: whether its background is light (OSC 11, else COLORFGBG), its name (XTVERSION), and whether it
shows sixels (4 among its attributes), for which the size of a cell must be known (XTWINOPS 16, which xterm does not
answer as it is shipped; else TIOCGWINSZ).

It is asked once, before the screen starts, and answers while that is loaded. After these questions comes one that every
terminal answers (its attributes, DA1), so that one which does not know them is not waited for. Keys that were pressed
meanwhile are given back. A terminal that does not answer in time may do so later: `without_late_answers` takes that out
of what seems to have been typed.

Whether it places pictures by characters cannot be asked: Konsole and WezTerm answer the query of kitty's protocol, and
do not know the characters. So it is told by the name.
"""

from __future__ import annotations

import os
import re
import select
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import msgspec

QUESTION = b"\x1b]11;?\x1b\\\x1b[>0q\x1b[16t\x1b[c"
SECONDS = 0.5
"""to wait for an answer; one over a slow line comes in a few tenths"""
SILENT = ("", "dumb", "linux", "vt100", "vt220", "cons25")
"""terminals that are not asked: they have neither such a colour nor a name, or no answers"""
_COLOUR = re.compile(rb"\x1b\]11;rgba?:([0-9a-fA-F]+)/([0-9a-fA-F]+)/([0-9a-fA-F]+)[^\x07\x1b]*(?:\x07|\x1b\\)")
_NAME = re.compile(rb"\x1bP>\|([^\x07\x1b]*)(?:\x07|\x1b\\)")
_ATTRIBUTES = re.compile(rb"\x1b\[\?([0-9;]*)c")
_CELL = re.compile(rb"\x1b\[6;(\d{1,4});(\d{1,4})t")
_LATE = re.compile(r"\^?\]11;rgba?:[0-9a-fA-F/]*\^?\\?|P?>\|[\w .()+-]*\\?|\[\?[0-9;]+c|\[6;\d+;\d+t")
_KITTY = re.compile(r"kitty\((\d+)\.(\d+)")
_KITTY_PLACES_SINCE = (0, 28)


class TerminalCapabilities(msgspec.Struct, frozen=True):
    """What is known of the terminal that the screen is shown on."""

    is_light: bool = False
    is_late: bool = False
    """it was asked and has not answered yet"""
    typed: str = ""
    """what was typed while it was asked"""
    name: str = ""
    """as it names itself, with its version: "kitty(0.35.2)", "tmux 3.4"; "" where it does not"""
    has_sixels: bool = False
    cell: tuple[int, int] = (0, 0)
    """points of a cell, across and down; 0 where it does not say"""


@contextmanager
def asked_terminal(
    env: Mapping[str, str], *, reading: int = 0, writing: int = 1
) -> Iterator[Callable[[], TerminalCapabilities]]:
    """Ask the terminal at these descriptors, where both are one; what is yielded gives its answer, once.

    Between the two there is time for other work. The answer is waited for until `SECONDS` after the question at most.
    """
    told = TerminalCapabilities(is_light=_told_by(env))
    is_asked = env.get("TERM", "") not in SILENT and os.isatty(reading) and os.isatty(writing)
    try:
        import termios
        import tty
    except ImportError:  # Windows
        is_asked = False
    if not is_asked:
        yield lambda: told
        return
    before, end, is_read = termios.tcgetattr(reading), time.monotonic() + SECONDS, False

    def answer() -> TerminalCapabilities:
        nonlocal is_read
        is_read = True
        found = understood(_answer(reading, end), told.is_light)
        return found if all(found.cell) else msgspec.structs.replace(found, cell=_cell_by_window(writing))

    try:
        tty.setcbreak(reading, termios.TCSANOW)
        os.write(writing, QUESTION)
        yield answer
    finally:
        if not is_read:  # or the shell would take it for keys
            _answer(reading, end)
        termios.tcsetattr(reading, termios.TCSANOW, before)


def understood(answer: bytes, told: bool) -> TerminalCapabilities:
    """What an answer says; `told` where it tells no colour."""
    colour, attributes = _COLOUR.search(answer), _ATTRIBUTES.search(answer)
    name, cell = _NAME.search(answer), _CELL.search(answer)
    for known in (_COLOUR, _NAME, _CELL, _ATTRIBUTES):
        answer = known.sub(b"", answer)
    rest = answer.decode("utf-8", "ignore")
    typed = "".join(character for character in rest if character.isprintable()) if "\x1b" not in rest else ""
    is_light = is_light_colour(*(part.decode("ascii") for part in colour.groups())) if colour else told
    return TerminalCapabilities(
        is_light,
        attributes is None,
        typed,
        name[1].decode("ascii", "ignore") if name else "",
        has_sixels=attributes is not None and b"4" in attributes[1].split(b";")[1:],
        cell=(int(cell[2]), int(cell[1])) if cell else (0, 0),
    )


def places_pictures(name: str) -> bool:
    """Whether the terminal of this name shows a picture where kitty's characters for its cells stand."""
    kitty = _KITTY.match(name)
    return name.startswith("ghostty") if kitty is None else (int(kitty[1]), int(kitty[2])) >= _KITTY_PLACES_SINCE


def is_light_colour(red: str, green: str, blue: str) -> bool:
    """Whether black is easier to read on it than white; hexadecimal, of one to four digits each."""
    r, g, b = (int(part, 16) / (16 ** len(part) - 1) for part in (red, green, blue))
    return bool(0.299 * r + 0.587 * g + 0.114 * b > 0.5)


def without_late_answers(text: str) -> str:
    """A text without what a terminal answered too late."""
    return _LATE.sub("", text)


def _answer(reading: int, end: float) -> bytes:
    """What comes until the attributes do, or the time is over; what has come by then is read in any case."""
    got = b""
    while not _ATTRIBUTES.search(got) and select.select([reading], [], [], max(0.0, end - time.monotonic()))[0]:
        more = os.read(reading, 1024)
        if not more:
            break
        got += more
    return got


def _cell_by_window(terminal: int) -> tuple[int, int]:
    """Points of a cell by those of the window, as the system knows them; 0 where it does not."""
    import fcntl
    import termios

    rows, columns, across, down = struct.unpack("4H", fcntl.ioctl(terminal, termios.TIOCGWINSZ, bytes(8)))
    return (across // columns, down // rows) if rows and columns else (0, 0)


def _told_by(env: Mapping[str, str]) -> bool:
    """COLORFGBG is "foreground;background": 7 and 9 to 15 are light ones of the sixteen colours, but 8 is dark."""
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    return background.isdigit() and (int(background) == 7 or 9 <= int(background) <= 15)
