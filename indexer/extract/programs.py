"""Programs of the system, run for one file: without a shell, a terminal or a network, bounded in time and memory.

Memory is bounded by the limit of the worker process, which what it starts inherits. The network is taken away where the
system lets a user do that (Linux's unshare).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import IO

from indexer.errors import ExtractionError
from indexer.extract.source import TIME_IS_UP, Limits, Source

MOST_SECONDS = 30
"""of processor time for one run"""


@lru_cache
def installed(name: str) -> str:
    """The path of the program `name`, "" where it is not installed."""
    return shutil.which(name) or ""


def needed(name: str, package: str) -> str:
    """The path of the program `name`; ExtractionError "unsupported" where it is not installed."""
    if path := installed(name):
        return path
    raise ExtractionError("unsupported", f"read by {name}, which is not installed (Debian: {package})")


@contextlib.contextmanager
def output_of(arguments: Sequence[str], *, seconds: float = MOST_SECONDS, data: bytes = b"") -> Iterator[IO[bytes]]:
    """What a program writes, given `data` to read; it ends with the block, and what it says of errors is passed over.

    `seconds` are of processor time, where the system counts them. Raises ExtractionError when it was read to its end
    and the program failed.
    """
    with tempfile.TemporaryFile() as given:
        given.write(data)
        given.seek(0)
        process = subprocess.Popen(
            [*_without_network(), *arguments], stdin=given, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            cwd=os.path.abspath(os.sep), env={"PATH": os.defpath, "LC_ALL": "C.UTF-8", "OMP_THREAD_LIMIT": "1"},
            start_new_session=True,
        )  # fmt: skip
    assert process.stdout is not None
    try:
        _limit_time(process.pid, seconds)
        yield process.stdout
        if not process.stdout.read(1) and process.wait():
            late = process.returncode == -getattr(signal, "SIGXCPU", 0)
            name = os.path.basename(arguments[0])
            raise ExtractionError("timeout", TIME_IS_UP) if late else ExtractionError("malformed", f"{name} failed")
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


def _limit_time(pid: int, seconds: float) -> None:
    if sys.platform == "linux":
        import resource

        with contextlib.suppress(OSError):
            resource.prlimit(pid, resource.RLIMIT_CPU, (max(int(seconds), 1), resource.RLIM_INFINITY))


@lru_cache(maxsize=1)
def _without_network() -> tuple[str, ...]:
    """What to put in front of a command so that it has no network; () where the system does not offer that."""
    command = (installed("unshare"), "--user", "--net", "--")
    if not command[0]:
        return ()
    quiet = subprocess.DEVNULL
    done = subprocess.run([*command, sys.executable, "-S", "-c", ""], stdout=quiet, stderr=quiet, check=False)
    return command if done.returncode == 0 else ()


@contextlib.contextmanager
def on_disk(source: Source) -> Iterator[str]:
    """The path of `source`, for programs that cannot read a stream; that of a copy where it was inside another file."""
    if source.data is None:
        yield os.path.abspath(source.path)
        return
    with tempfile.NamedTemporaryFile(prefix="foltr-") as copy:
        copy.write(source.data)
        copy.flush()
        yield copy.name


def seconds_left(limits: Limits) -> float:
    """Processor time for one run: as much as the reader itself has left, in `limits.cpu_ends`."""
    return max(min(limits.cpu_ends - time.process_time(), MOST_SECONDS), 1.0)
