"""Running a command in the resident process as the asking process would have run it.

It is the same command with the asking process's arguments, variables, folder, time zone, terminal width and colours, so
the answer is the same. Its output is kept until it is complete. Only one question at a time, as all these are global.
"""

from __future__ import annotations

import codecs
import io
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache

from msgspec import Struct

from app import cli
from app.resident import protocol
from app.resident.local_socket import MAX_ANSWER
from app.resident.on_behalf import LeftToAsker, NotHere, on_behalf

WIDEST = 100_000
"""most columns or lines that a terminal may have"""


class BadQuestion(ValueError):
    """A message is not a question."""


class Question(Struct, frozen=True):
    """What another process asks, and its surroundings."""

    version: bytes
    wanted: bytes
    folder: bytes
    columns: int
    lines: int
    terminals: tuple[bool, bool]
    """whether stdout and stderr are terminals"""
    encodings: tuple[str, str]
    """of stdout and stderr: "utf-8 strict" """
    arguments: tuple[str, ...]
    variables: Mapping[str, str]

    @classmethod
    def decode(cls, message: bytes) -> Question:
        """Raises BadQuestion for anything but a question of this protocol."""
        try:
            spoken, version, wanted, folder, columns, lines, *rest = message.split(b"\0")
            out, err, out_encoding, err_encoding, n, *rest = rest
            if spoken != protocol.PROTOCOL:
                raise BadQuestion(f"wanted {protocol.PROTOCOL!r}, got {spoken[:40]!r}")
            arguments, variables = rest[: int(n)], rest[int(n) :]
            return cls(
                version, wanted, folder, _size(columns), _size(lines), (out == b"1", err == b"1"),
                (_encoding(out_encoding), _encoding(err_encoding)), tuple(map(os.fsdecode, arguments)),
                {name: value for name, _, value in (os.fsdecode(one).partition("=") for one in variables)},
            )  # fmt: skip
        except (LookupError, ValueError) as error:
            raise BadQuestion(f"wanted a question, got {len(message)} bytes: {error}") from error


def _size(text: bytes) -> int:
    size = int(text)
    if not 0 < size <= WIDEST:
        raise BadQuestion(f"wanted 1 to {WIDEST} columns or lines, got {size}")
    return size


def _encoding(text: bytes) -> str:
    """The text, if it names an encoding and an error handler; else LookupError."""
    encoding, _, errors = text.decode("ascii").partition(" ")
    "".encode(encoding)
    codecs.lookup_error(errors)
    return f"{encoding} {errors}"


class _Output(io.RawIOBase):
    """One of the two outputs of a command; both write into one list, in the order of writing."""

    def __init__(self, kind: bytes, written: list[tuple[bytes, bytes]]) -> None:
        self._kind, self._written = kind, written
        self.is_terminal = False

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self.is_terminal

    def write(self, content: object) -> int:
        data = bytes(content)  # type: ignore[call-overload]
        self._written.append((self._kind, data))
        return len(data)


class _Console:
    """The streams that all commands share: click never lets go of a stream that it has once written to."""

    def __init__(self) -> None:
        self.written: list[tuple[bytes, bytes]] = []
        self.outputs = _Output(protocol.OUT, self.written), _Output(protocol.ERR, self.written)
        self.streams = tuple(
            io.TextIOWrapper(io.BufferedWriter(output, 1 << 16), encoding="utf-8", line_buffering=True)
            for output in self.outputs
        )
        self.no_input = io.StringIO()

    def begin(self, question: Question) -> None:
        """Take on the terminal, or other output, of the process that asks."""
        for stream, output, is_terminal, encoding in zip(
            self.streams, self.outputs, question.terminals, question.encodings, strict=True
        ):
            name, _, errors = encoding.partition(" ")
            stream.reconfigure(encoding=name, errors=sys.intern(errors))  # Python 3.11 never frees such a string
            output.is_terminal = is_terminal
        self.written.clear()

    def end(self) -> None:
        """Flush all that was printed into `written`."""
        for stream in self.streams:
            stream.flush()


_console = cache(_Console)


def answer(question: Question) -> bytes:
    """The output and exit code of the question's command, or the answer that the asking process must run it."""
    console = _console()
    try:
        with on_behalf() as left, _in_its_place(question, console):
            code = cli.main(question.arguments)
    except SystemExit as end:
        if not isinstance(end.code, int):
            return alone("it ended in its own way")
        code = end.code
    except NotHere:
        return alone("it needs the process that asked")
    except Exception as error:  # the next question must not suffer; the asking process meets the same error and says it
        return alone(f"{type(error).__name__}: {error}")
    answer = b"".join(protocol.part(*one) for one in _joined(console.written)) + _end(code, left)
    return answer if len(answer) <= MAX_ANSWER else alone("the answer is too long")


def alone(why: str) -> bytes:
    """The answer that tells a command to work by itself."""
    return protocol.part(protocol.ALONE, why.encode("utf-8", "replace"))


def text(content: str) -> bytes:
    """An answer of some lines."""
    return protocol.part(protocol.OUT, os.fsencode(content)) + protocol.part(protocol.CODE, b"0")


def _end(code: int, left: LeftToAsker) -> bytes:
    end = protocol.part(protocol.CODE, b"%d" % code)
    if left.program is None:
        return end
    words = str(int(left.program.needs_terminal)), str(len(left.opened)), *left.opened, *left.program.argv
    return end + protocol.part(protocol.PROGRAM, b"\0".join(map(os.fsencode, words)))


def _joined(written: list[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """What was written, with adjacent pieces of one stream joined."""
    gathered: list[bytes] = []
    last = b""
    for kind, content in written:
        if kind != last and gathered:
            yield last, b"".join(gathered)
            gathered = []
        last = kind
        gathered.append(content)
    if gathered:
        yield last, b"".join(gathered)


@contextmanager
def _in_its_place(question: Question, console: _Console) -> Iterator[None]:
    """This process with the variables, the folder, the time zone and the streams of the one that asked."""
    before, streams, folder = dict(os.environ), (sys.stdin, sys.stdout, sys.stderr), os.getcwd()
    os.chdir(question.folder)
    try:
        _set_variables({
            **{name: value for name, value in before.items() if not protocol.matters(name)},
            **question.variables, "COLUMNS": str(question.columns), "LINES": str(question.lines),
        })  # fmt: skip
        console.begin(question)
        sys.stdin, (sys.stdout, sys.stderr) = console.no_input, console.streams
        yield
    finally:
        console.end()
        sys.stdin, sys.stdout, sys.stderr = streams
        _set_variables(before)
        os.chdir(folder)


def _set_variables(wanted: Mapping[str, str]) -> None:
    zone = os.environ.get("TZ")
    for name in os.environ.keys() - wanted.keys():
        del os.environ[name]
    for name, value in wanted.items():
        if os.environ.get(name) != value:
            os.environ[name] = value
    if os.environ.get("TZ") != zone:
        time.tzset()
