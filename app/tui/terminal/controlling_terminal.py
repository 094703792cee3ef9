"""The screen on the terminal itself, whatever its streams are: `vim "$(foltr-search --pick)"`; and when that goes away.

Textual draws on stderr, reads stdin and asks stdout for its size. While the block runs, all three descriptors are the
controlling terminal, so that an editor that the screen steps aside for has it, too; afterwards they are what they were.

Of a window that was closed and a connection that ended SIGHUP tells only the session's first process and those to whom
it passes it on. A program beside it would read an ended terminal for ever, so a thread that sleeps until then watches
the descriptor itself. On the way out the screen still writes. Textual's thread for that would die of the first error,
and the program would wait for it for ever: what is written to a terminal that is gone is dropped instead. Textual's
thread that reads would die of a byte that is no UTF-8, and the program with it: such a byte is read as U+FFFD.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import threading
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TextIO

from rich.cells import cell_len
from textual import events
from textual._xterm_parser import XTermParser
from textual.driver import Driver
from textual.message import Message

from foltr.errors import FoltrError

TERMINAL = "/dev/tty"


@contextlib.contextmanager
def on_the_terminal() -> Iterator[None]:
    """Point stdin, stdout and stderr at the controlling terminal; raises FoltrError where there is none."""
    if all(os.isatty(descriptor) for descriptor in (0, 1, 2)):
        yield
        return
    try:
        terminal = os.open(TERMINAL, os.O_RDWR)
    except OSError as error:
        raise FoltrError(f"wanted a terminal to draw on, and there is none ({TERMINAL}: {error.strerror})") from error
    _flush()
    before = [os.dup(descriptor) for descriptor in (0, 1, 2)]
    try:
        for descriptor in (0, 1, 2):
            os.dup2(terminal, descriptor)
        yield
    finally:
        _flush()
        for descriptor, old in enumerate(before):
            os.dup2(old, descriptor)
            os.close(old)
        os.close(terminal)


def _flush() -> None:
    """What was written before goes where it was meant to go."""
    sys.stdout.flush()
    sys.stderr.flush()


def watch_terminal(descriptor: int, when_gone: Callable[[], object]) -> None:
    """Call `when_gone` in a thread of its own once the terminal hangs up; nothing where it cannot be watched."""
    if hasattr(select, "poll") and os.isatty(descriptor):
        threading.Thread(target=_wait, args=(descriptor, when_gone), name="foltr-terminal", daemon=True).start()


def _wait(descriptor: int, when_gone: Callable[[], object]) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # a hang-up is told without being asked for, and keys wake nobody here
    if any(event & select.POLLHUP for _, event in poll.poll()):
        when_gone()


_JOINERS = ("\ufe0f", "\u200d", *map(chr, range(0x1F3FB, 0x1F400)))
_EMOJI = "\u203c-\u3299\U0001f000-\U0001faff"
_JOINED = re.compile(f"[#*0-9\xa9\xae{_EMOJI}](?:[\ufe0f\u20e3\U0001f3fb-\U0001f3ff]|\u200d[{_EMOJI}])+")
"""one sign made of several: a heart that is red, a family, a hand with a tone, a key"""
_WITH_VOWEL_SIGNS = re.compile("[\u0900-\u0dff\u1000-\u109f\u1780-\u17d3]+")
"""words of India, Burma and Cambodia"""


def placed(text: str) -> str:
    """`text` in which the cursor is put where Textual expects it after each joined sign and word with vowel signs.

    Terminals draw a red heart one or two cells wide, a family two or eight, a vowel sign none or one: what follows
    would stand aside.
    """
    data = text.encode("utf-8", "surrogatepass")  # each letter of such words begins with one of two bytes
    text = _WITH_VOWEL_SIGNS.sub(_in_its_cells, text) if b"\xe0" in data or b"\xe1" in data else text
    return _JOINED.sub(_in_its_cells, text) if any(joiner in text for joiner in _JOINERS) else text


def _in_its_cells(sign: re.Match[str]) -> str:
    width = cell_len(sign[0])
    return f"\x1b7{' ' * width}\x1b8{sign[0]}\x1b8\x1b[{width}C" if width else sign[0]


class _UntilGone:
    """A terminal to write to, which takes no harm from having gone away."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with contextlib.suppress(OSError):
            self._file.write(placed(text))

    def flush(self) -> None:
        with contextlib.suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


_MARK, _START = re.compile("(\x1b\\[20[01]~)"), "\x1b[200~"
_BEGUN = re.compile("\x1b(?:\\[(?:2(?:0(?:1)?)?)?)?$")
"""the mark of the end, as far as one read brought it"""


class KeyParser(XTermParser):
    """Escape and a letter are Alt and that letter at once; Textual would wait for what follows, and type it. Escape and
    a control key are two keys; Textual would forget the first.

    What is pasted loses each Escape: Textual would take what stands behind one for keys, and a line end for Enter.
    """

    _pasting, _begun = False, ""

    def feed(self, data: str) -> Iterable[Message]:
        for part in filter(None, _MARK.split(self._begun + data)):
            self._begun = ""
            if _MARK.fullmatch(part):
                self._pasting = part == _START
            elif self._pasting:
                self._begun = begun[0] if (begun := _BEGUN.search(part)) else ""
                part = part.removesuffix(self._begun).replace("\x1b", "")
            if part:
                yield from super().feed(part)

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterable[events.Key]:
        if re.fullmatch("\x1b[ac-eg-z0-9]", sequence):  # b and f are a step of a word
            return [events.Key(f"alt+{sequence[1]}", sequence[1])]
        if re.fullmatch("\x1b[\x01-\x08\n-\x1a]", sequence):
            return [events.Key("escape", "\x1b"), *super()._sequence_to_key_events(sequence[1])]
        return super()._sequence_to_key_events(sequence, alt)


def _raise(error: Exception) -> None:
    raise error


def outliving(driver: type[Driver]) -> type[Driver]:
    """The same driver, but that what it writes to a terminal that is gone is dropped, and any byte can be read."""

    class OutlivingDriver(driver):  # type: ignore[misc, valid-type]
        def _run_input_thread(self) -> None:
            """An error here ends the screen as its own errors do; Textual would end it well."""
            try:
                self.run_input_thread()
            except Exception as error:
                self._app.call_later(_raise, error)

        def run_input_thread(self) -> None:
            """Hand on what comes, as Textual does, until the screen or the terminal ends or another thread begins.

            On Windows, which has no bytes to read, nothing calls it.
            """
            decode, parser = getincrementaldecoder("utf-8")("replace").decode, KeyParser()
            while self._key_thread is threading.current_thread() and not self.exit_event.is_set():
                if select.select([self.fileno], [], [], 0.1)[0]:
                    if not (read := os.read(self.fileno, 4096)):
                        break  # the terminal is gone, and nobody else might end this thread
                    for event in parser.feed(decode(read)):
                        self.process_message(event)
                for event in parser.tick():
                    self.process_message(event)

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            file: TextIO | None = getattr(self, "_file", None)
            if file is not None:  # a driver without a terminal has none
                self._file = _UntilGone(file)

    return OutlivingDriver
