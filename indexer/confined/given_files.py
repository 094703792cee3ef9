"""The open files that a confined process was given, by the paths that they stand for; elsewhere the paths themselves.

All readers open files here. Each opening has its own position in the file. What a confined process cannot do itself
it asks of its broker (indexer.confined.broker), to which it is connected here, too.
"""

from __future__ import annotations

import array
import io
import mmap
import os
import stat
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import msgspec

if TYPE_CHECKING:
    from socket import socket


class NextFiles(msgspec.Struct, frozen=True, tag=True):
    """Asks for the files to read next. The answer is a list of `ToRead`."""


class MoreInput(msgspec.Struct, frozen=True, tag=True):
    """A part of the input of the next program, where that input is no file; it has no answer."""

    data: bytes


class StartProgram(msgspec.Struct, frozen=True, tag=True):
    """Starts a program, with the file that it reads or after its input; the answer is its output."""

    name: str
    arguments: tuple[str, ...]
    seconds: float


class EndProgram(msgspec.Struct, frozen=True, tag=True):
    """Asks how the program that was started last ended."""

    is_over: bool
    """it is waited for, for it has written all; else it is ended"""


class RecallText(msgspec.Struct, frozen=True, tag=True):
    """Asks for the text that was recognised in this content: `PIECE` bytes of it, from `begin` on."""

    digest: bytes
    begin: int


Question = NextFiles | MoreInput | StartProgram | EndProgram | RecallText


class ToRead(msgspec.Struct, frozen=True):
    """A path to read, with its open files, or why they could not be opened."""

    request: bytes
    files: tuple[tuple[bytes, int], ...]
    """path, and 0 or the number of the error that opening it gave"""


class Ended(msgspec.Struct, frozen=True):
    """An answer: how a program ended."""

    code: int
    seconds: float
    """of processor time"""


MAX_MESSAGE = 1 << 16
"""bytes of a question or an answer; what is longer goes in pieces"""
PIECE = MAX_MESSAGE - 100
"""bytes of something longer that go in one message"""
MAX_FILES = 16
"""that come along"""

_files: Mapping[str, int] | None = None
"""descriptors; a negative one is the number of an error"""
_ahead: deque[tuple[str, Mapping[str, int]]] = deque()
"""requests that came with the one before, and their files"""
_broker: socket | None = None


def is_confined() -> bool:
    """Whether this process has a broker."""
    return _broker is not None


def confined_beside(broker: socket) -> None:
    """From now on this process opens files through `broker`."""
    global _broker, _files
    _broker, _files = broker, {}


def ask(question: Question, *, descriptor: int | None = None) -> tuple[bytes, list[int]]:
    """The broker's answer, with descriptors that this process owns; EOFError when the broker is gone."""
    assert _broker is not None
    send(_broker, msgspec.msgpack.encode(question), [] if descriptor is None else [descriptor])
    return receive(_broker)


def hand_over(data: bytes) -> None:
    """Have the broker hold what the next program reads, within the memory that this process may have itself."""
    assert _broker is not None
    for begin in range(0, len(data), PIECE):
        send(_broker, msgspec.msgpack.encode(MoreInput(data[begin : begin + PIECE])), [])


def recall_text(digest: bytes) -> bytes:
    """The text recognised in a content, as JSON from the broker."""
    found, is_over = b"", False
    while not is_over:
        piece = msgspec.msgpack.decode(ask(RecallText(digest, len(found)))[0], type=bytes)
        found, is_over = found + piece, len(piece) < PIECE
    return found


def send(line: socket, message: bytes, descriptors: list[int]) -> None:
    """One message, with open files."""
    import socket

    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    line.sendmsg([message], rights)


def receive(line: socket) -> tuple[bytes, list[int]]:
    """One message, with open files that are ours; EOFError when the other end is gone."""
    import socket

    descriptors = array.array("i")
    message, rights, _, _ = line.recvmsg(MAX_MESSAGE, socket.CMSG_SPACE(MAX_FILES * descriptors.itemsize))
    for _, _, data in rights:
        descriptors.frombytes(data[: len(data) // descriptors.itemsize * descriptors.itemsize])
    if not message:
        raise EOFError
    return message, descriptors.tolist()


def next_request() -> str:
    """The next path to read, with its files open; those of the last one are closed. EOFError at the end."""
    global _files
    for descriptor in (_files or {}).values():
        if descriptor >= 0:
            os.close(descriptor)
    _files = {}
    if not _ahead:
        message, descriptors = ask(NextFiles())
        opened = iter(descriptors)
        for one in _TO_READ.decode(message):
            files = {os.fsdecode(path): -error if error else next(opened) for path, error in one.files}
            _ahead.append((os.fsdecode(one.request), files))
    request, _files = _ahead.popleft()
    return request


_TO_READ = msgspec.msgpack.Decoder(list[ToRead])


def open_file(path: str) -> BinaryIO:
    """A seekable stream at the beginning of the file; OSError when it cannot be opened."""
    return open(path, "rb") if _files is None else io.BufferedReader(_Given(_descriptor(path)))


def open_unbuffered(path: str) -> io.RawIOBase:
    """The same, unbuffered. A pipe is not waited for: the caller sees what it is."""
    return open(path, "rb", buffering=0, opener=_at_once) if _files is None else _Given(_descriptor(path))


def status_of(path: str) -> os.stat_result:
    """As `os.stat` says it."""
    return os.stat(path) if _files is None else os.fstat(_descriptor(path))


def mapped(path: str) -> Any:
    """The content as a mapped array of bytes (ctypes); b"" for an empty file."""
    import ctypes

    with open_unbuffered(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if not size:
            return b""
        view = mmap.mmap(stream.fileno(), size, access=mmap.ACCESS_COPY)
        return (ctypes.c_char * size).from_buffer(view)


def is_other_than_file(path: str) -> bool:
    """Whether there is something at `path`, and it is no file."""
    try:
        return not stat.S_ISREG(status_of(path).st_mode)
    except OSError:
        return False


def _at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _descriptor(path: str) -> int:
    assert _files is not None
    found = _files.get(path)
    if found is None:
        raise PermissionError(13, "not given to this process")
    if found < 0:
        raise OSError(-found, os.strerror(-found))
    return found


class _Given(io.RawIOBase):
    """A reader of a descriptor that stays open, with a place of its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._at = descriptor, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        begin = (0, self._at, os.fstat(self._descriptor).st_size if whence == os.SEEK_END else 0)[whence]
        if begin + offset < 0:
            raise OSError(22, "Invalid argument")
        self._at = begin + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        if size is None or size < 0:
            return self.readall()
        data = os.pread(self._descriptor, size, self._at)
        self._at += len(data)
        return data

    def readinto(self, buffer: Any) -> int:
        n_bytes = os.preadv(self._descriptor, [buffer], self._at)
        self._at += n_bytes
        return n_bytes


@contextmanager
def as_file(data: bytes | bytearray) -> Iterator[int]:
    """A descriptor of a file that holds `data` and has no name; in memory where the system can do that."""
    import tempfile

    in_memory = sys.platform == "linux"
    with os.fdopen(os.memfd_create("foltr"), "w+b") if in_memory else tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.flush()
        stream.seek(0)
        yield stream.fileno()
