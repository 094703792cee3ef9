"""Programs of the system, run for one file: without a shell, a terminal or a network, bounded in time and memory.

Memory is bounded by the limit of the worker process, which what it starts inherits. What a program reads and writes is
open already; it can open nothing but itself and the libraries of the system, where the system can see to that
(indexer.confined). A confined worker has its broker start them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache, partial
from typing import IO

import msgspec

from indexer.confined.confinement import available, confine_program
from indexer.confined.given_files import Ended, EndProgram, StartProgram, as_file, ask, hand_over, is_confined
from indexer.errors import ExtractionError
from indexer.extract.source import TIME_IS_UP, Limits, Source

MOST_SECONDS = 30
"""of processor time for one run"""
PROGRAMS = ("bsdtar", "djvutxt", "tesseract")
"""that a confined worker may have started"""


@lru_cache
def installed(name: str) -> str:
    """The path of the program `name`, "" where it is not installed."""
    return shutil.which(name) or ""


def program_path(name: str, package: str) -> str:
    """The path of the program `name`; ExtractionError "unsupported" where it is not installed."""
    if path := installed(name):
        return path
    raise ExtractionError("unsupported", f"read by {name}, which is not installed (Debian: {package})")


@contextlib.contextmanager
def output_of(
    arguments: Sequence[str], *, seconds: float = MOST_SECONDS, given: Source | bytes = b""
) -> Iterator[IO[bytes]]:
    """What a program writes, given a file as its input; it ends with the block, and its stderr is passed over.

    `seconds` are of processor time, where the system counts them. ExtractionError when a program failed after its end.
    """
    with _input(given) as descriptor:
        running = (_AtBroker if is_confined() else RunningProgram)(arguments, seconds, descriptor)
    is_over = False
    try:
        yield running.output
        is_over = not running.output.read(1)
    finally:
        running.output.close()
        ended = running.end(is_over=is_over)
    if is_over and ended.code:
        late = ended.code == -getattr(signal, "SIGXCPU", 0)
        name = os.path.basename(arguments[0])
        raise ExtractionError("timeout", TIME_IS_UP) if late else ExtractionError("malformed", f"{name} failed")


@contextlib.contextmanager
def _input(given: Source | bytes) -> Iterator[int | None]:
    """A descriptor at the beginning of what is given; None where the broker holds it."""
    data = given if isinstance(given, bytes) else given.data
    if data is not None and is_confined():
        hand_over(data)
        yield None
    elif data is not None:
        with as_file(data) as descriptor:
            yield descriptor
    elif isinstance(given, Source):
        with given.open() as stream:
            os.lseek(stream.fileno(), 0, os.SEEK_SET)
            yield stream.fileno()


class RunningProgram:
    """A program that was started by this process."""

    def __init__(self, arguments: Sequence[str], seconds: float, descriptor: int | None) -> None:
        confine = partial(confine_program, installed(arguments[0])) if available() else None
        self._process = subprocess.Popen(
            arguments, stdin=descriptor, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=os.path.abspath(os.sep),
            env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "OMP_THREAD_LIMIT": "1"}, start_new_session=True,
            preexec_fn=confine,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.output: IO[bytes] = self._process.stdout
        _limit_time(self._process.pid, seconds)

    def end(self, *, is_over: bool) -> Ended:
        """Wait for its end when it `is_over`, or end it."""
        before = _seconds_of_children()
        if not is_over:
            self._process.kill()
        self.output.close()
        return Ended(self._process.wait(), _seconds_of_children() - before)


class _AtBroker:
    """A program that the broker of this process has started."""

    def __init__(self, arguments: Sequence[str], seconds: float, descriptor: int | None) -> None:
        question = StartProgram(os.path.basename(arguments[0]), tuple(arguments[1:]), seconds)
        _, (output,) = ask(question, descriptor=descriptor)
        self.output: IO[bytes] = os.fdopen(output, "rb")

    def end(self, *, is_over: bool) -> Ended:
        global _seconds_elsewhere
        ended = msgspec.msgpack.decode(ask(EndProgram(is_over))[0], type=Ended)
        _seconds_elsewhere += ended.seconds
        return ended


_seconds_elsewhere = 0.0
"""of programs that the broker has run"""


def processor_seconds() -> float:
    """Used by this process and what it started, or had started, and saw end."""
    return time.process_time() + _seconds_of_children() + _seconds_elsewhere


def _seconds_of_children() -> float:
    if sys.platform == "win32":
        return 0.0
    import resource

    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])  # for the user and in the system


def _limit_time(pid: int, seconds: float) -> None:
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError):
            most = max(int(min(seconds, MOST_SECONDS)), 1)
            resource.prlimit(pid, resource.RLIMIT_CPU, (most, most + 1))


def seconds_left(limits: Limits) -> float:
    """Processor time for one run: as much as the reader itself has left, in `limits.cpu_ends`."""
    return max(min(limits.cpu_ends - time.process_time(), MOST_SECONDS), 1.0)
