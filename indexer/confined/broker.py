"""The broker of a confined process: it opens the files that are to be read, and starts the programs that read some.

The broker is a copy of the worker, made before the worker gives up its rights, and it ends with the worker. Only the
broker hears from the parent which files to read. The worker gets them open, one after another, and may ask for three
more things, none of which names a file: to run one of `PROGRAMS`, how that ended, and the text that was recognised in
a content whose digest it has. So a worker that was taken over can have no other file opened, and cannot fill the
memory: what it hands over for a program counts against its own limit. Where a disk or a network is slow it is the
broker that waits, and the parent counts that as the worker's waiting (indexer.confined.pool).
"""

from __future__ import annotations

import os
import select
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from indexer.confined import given_files
from indexer.confined.confinement import close_all_but, confine_reader, end_with_parent
from indexer.confined.programs import PROGRAMS, RunningProgram, installed
from indexer.extract.media.recognised import recall_pages

if TYPE_CHECKING:
    from socket import socket

MOST_RUNNING = 8
"""programs at once; no reader of ours has more than one in each layer of archives"""

FilesOf = Callable[[str], Sequence[str]]
"""the paths that reading one request takes"""


def requests_through_broker(
    requests: Connection, files_of: FilesOf, *, packages: Iterable[str], recognised: str
) -> Iterator[str]:
    """Confine this process to `packages`, and give one request after another with its files given.

    For a process with one thread, where something is `available`. `recognised` is where texts of pictures are kept.
    """
    import socket

    line, end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if os.fork() == 0:
        _serve(end, line, requests, files_of, Path(recognised))
    end.close()
    requests.close()
    given_files.confined_beside(line)
    confine_reader(packages)
    return _until_end()


def _until_end() -> Iterator[str]:
    while True:
        try:
            yield given_files.next_request()
        except (EOFError, OSError):
            return


def _serve(line: socket, other: socket, requests: Connection, files_of: FilesOf, recognised: Path) -> None:
    """The life of the broker's process."""
    try:
        end_with_parent()
        other.close()
        close_all_but({line.fileno(), requests.fileno()})  # or the parent would not see that the worker ends
        Broker(line, requests, files_of, recognised).work()
    finally:
        os._exit(0)


class Broker:
    """Answers the worker at the other end of `line` until it is gone."""

    def __init__(self, line: socket, requests: Connection, files_of: FilesOf, recognised: Path) -> None:
        self._line, self._requests, self._files_of, self._recognised = line, requests, files_of, recognised
        self._waiting: deque[str] = deque()
        self._running: list[RunningProgram] = []
        self._input, self._recalled = bytearray(), b""
        self._few_files = os.sysconf("SC_OPEN_MAX") < 8 * given_files.MAX_FILES

    def work(self) -> None:
        """Until the worker or the parent is gone, or the parent has no more."""
        try:
            worker, heard = os.getppid(), select.poll()
            heard.register(self._line, select.POLLIN)
            heard.register(self._requests, 0)  # which is heard when the parent is gone: a worker may not outlive it
            while True:
                if self._requests.fileno() in dict(heard.poll()):
                    os.kill(worker, signal.SIGKILL)
                if not self._answer():
                    return
        except (EOFError, OSError, msgspec.MsgspecError):
            return
        finally:
            for running in self._running:
                running.end(is_over=False)

    def _answer(self) -> bool:
        """One question; False at the end."""
        message, descriptors = given_files.receive(self._line)
        question = _QUESTIONS.decode(message)
        try:
            match question:
                case given_files.NextFiles():
                    return self._hand_over()
                case given_files.MoreInput():
                    self._input += question.data
                case given_files.StartProgram():
                    self._start(question, descriptors)
                case given_files.EndProgram():
                    given_files.send(
                        self._line, msgspec.msgpack.encode(self._running.pop().end(is_over=question.is_over)), []
                    )
                case given_files.RecallText():
                    self._recall(question)
            return True
        finally:
            for descriptor in descriptors:
                os.close(descriptor)

    def _hand_over(self) -> bool:
        while not self._waiting:
            if (paths := self._requests.recv()) is None:
                return False
            self._waiting.extend(paths)
        answer, descriptors, n_bytes = list[given_files.ToRead](), list[int](), 0
        while (self._waiting and not answer) or self._has_room(n_bytes, len(descriptors)):
            request = self._waiting.popleft()
            opened = {path: _open(path) for path in self._files_of(request)}
            files = tuple((os.fsencode(path), max(-descriptor, 0)) for path, descriptor in opened.items())
            descriptors += [descriptor for descriptor in opened.values() if descriptor >= 0]
            answer.append(given_files.ToRead(os.fsencode(request), files))
            n_bytes += 4 * sum(map(len, (request, *opened)))
        given_files.send(self._line, msgspec.msgpack.encode(answer), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        return True

    def _has_room(self, n_bytes: int, n_files: int) -> bool:
        """Whether one request more goes into an answer; a process that may hardly open files gets one at a time."""
        if not self._waiting or self._few_files:
            return False
        return (
            n_files + len(self._files_of(self._waiting[0])) <= given_files.MAX_FILES
            and n_bytes < given_files.MAX_MESSAGE // 2
        )

    def _start(self, wanted: given_files.StartProgram, given: Sequence[int]) -> None:
        """Run one of the `PROGRAMS`; whoever asks for another, or for so many, is no reader of ours any more."""
        if wanted.name not in PROGRAMS or len(self._running) >= MOST_RUNNING:
            raise EOFError
        with nullcontext(given[0]) if given else given_files.as_file(self._input) as descriptor:
            running = RunningProgram([installed(wanted.name), *wanted.arguments], wanted.seconds, descriptor)
        self._input.clear()
        self._running.append(running)
        given_files.send(self._line, b"1", [running.output.fileno()])

    def _recall(self, wanted: given_files.RecallText) -> None:
        if not wanted.begin:
            self._recalled = msgspec.json.encode(recall_pages(self._recognised, wanted.digest))
        given_files.send(self._line, msgspec.msgpack.encode(self._recalled[wanted.begin :][: given_files.PIECE]), [])


_QUESTIONS: msgspec.msgpack.Decoder[given_files.Question] = msgspec.msgpack.Decoder(given_files.Question)


def _open(path: str) -> int:
    """A descriptor of the file, or the number of the error as a negative one; a pipe is not waited for."""
    try:
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        return -(error.errno or 5)
    except ValueError:
        return -22
