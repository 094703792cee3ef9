"""Inside a process that reads files: it gives up its rights, then reports on each file.

It is expected to die: of a crash in native code, of too much memory, by the parent's hand. It holds nothing that
matters and reports each file as soon as it is done. It gives freed memory back at once, so that one large file does not
keep it large, and lets everything else on the machine go first. It may be taken over by what it reads: so it gives up
its rights first (indexer.confined).
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from multiprocessing.connection import Connection
from typing import Any

import msgspec

from indexer.confined.broker import FilesOf, requests_through_broker
from indexer.confined.confinement import available, c_library, close_all_but
from indexer.documents import storable
from indexer.errors import ExtractionError
from indexer.extract.kinds import ADDED, KINDS, take_readers
from indexer.extract.source import Limits, shown_size
from indexer.extract.sources.known import files_of

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""the names of glibc's mallopt(3) for them"""
_LARGE = 256 << 10
"""bytes; blocks of this size are mapped one by one and unmapped when freed"""


def return_freed_memory(large: int = _LARGE) -> None:
    """Fix glibc's thresholds, which otherwise grow with the largest block ever freed; elsewhere nothing happens.

    Blocks of `large` bytes go back at once.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = c_library().mallopt
    except (AttributeError, OSError):
        return  # another C library
    mallopt(_MMAP_THRESHOLD, large)
    mallopt(_TRIM_THRESHOLD, 4 * large)


_IO_PRIORITY_CALL = {"x86_64": 251, "aarch64": 30}
"""the number of Linux's ioprio_set on each machine; Python has no name for it"""
_IO_IDLE = 3 << 13


def give_way() -> None:
    """Lower this process's share of processor and disk; what it starts inherits that."""
    if not hasattr(os, "nice"):
        return
    with contextlib.suppress(OSError):
        os.nice(10)
    number = _IO_PRIORITY_CALL.get(platform.machine())
    if sys.platform == "linux" and number is not None:
        c_library().syscall(number, 1, 0, _IO_IDLE)


MEGABYTE = 2**20


class Order(msgspec.Struct, frozen=True):
    """What a worker is to do."""

    function: Callable[[str, Limits], Any]
    """reads one path; a top-level function, so that it can be named across processes"""
    limits: Limits
    seconds: float
    """processor time after which a reader is to stop and give what it has; after twice that it is ended"""
    still_seconds: float
    """time a reader may wait, for a disk or a network, without a byte read"""
    memory_mb: int
    """address space, or where that is not limited memory, that a file may add to that of the idle worker"""
    files_of: FilesOf | None = files_of
    """the paths that reading one request takes, each to be had open; None leaves the worker unconfined"""


class FileReport(msgspec.Struct, frozen=True, array_like=True):
    """A worker's report on one file: its `outcome`, or the `kind` of a failure and the reason."""

    is_last: bool
    """the process ends, and takes nothing more from its list"""
    outcome: msgspec.Raw = msgspec.Raw()
    kind: str = ""
    reason: str = ""


def work(order: Order, requests: Connection, results: Connection, lifeline: Connection) -> None:
    """Serve lists of paths from `requests` until None comes; the entry point of the process.

    It closes what its parent had open. It sends whether the system limits its memory, then a `FileReport` per file.
    """
    if sys.platform == "linux":
        let_go({requests.fileno(), results.fileno(), lifeline.fileno()})
    become_quiet()
    return_freed_memory()
    ceiling = limit_memory(order.memory_mb)
    paths = _confined(order, requests)  # while there is one thread
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    results.send_bytes(b"1" if ceiling is not None else b"0")
    allowed = 0.0
    with contextlib.suppress(BrokenPipeError):
        for path in paths:
            began = time.process_time()
            if began + 2 * order.seconds > allowed:
                allowed = limit_cpu(began + 10 * order.seconds + 2)
            report = _read(order, path, began)
            if ceiling is not None and time.process_time() - began > _NOTEWORTHY_SECONDS:
                is_full = _address_space() > ceiling - order.memory_mb * MEGABYTE // 2
                report = msgspec.structs.replace(report, is_last=report.is_last or is_full)
            results.send_bytes(msgspec.msgpack.encode(report))
            if report.is_last:
                return


def _confined(order: Order, requests: Connection) -> Iterator[str]:
    """The paths to be read, one after another; this process gives up its rights where the system offers that."""
    if order.files_of is None or not available():
        return _received(requests)
    function = getattr(order.function, "func", order.function)
    take_readers()
    added = {KINDS[kind].reader.partition(":")[0].partition(".")[0] for kind in ADDED.values()}
    packages = {"indexer", function.__module__.partition(".")[0], *added}
    _address_space()  # which stays open
    return requests_through_broker(requests, order.files_of, packages=packages, recognised=order.limits.recognised)


def _received(requests: Connection) -> Iterator[str]:
    with contextlib.suppress(EOFError):
        while (paths := requests.recv()) is not None:
            yield from paths


_NOTEWORTHY_SECONDS = 0.05
"""of processor time; what takes less cannot have made the process much larger"""


def _read(order: Order, path: str, began: float) -> FileReport:
    """What the function gave, or why it gave nothing."""
    limits = msgspec.structs.replace(order.limits, cpu_ends=began + order.seconds)
    try:
        return FileReport(False, msgspec.Raw(msgspec.msgpack.encode(order.function(path, limits))))
    except ExtractionError as error:
        return _failure(error.kind, str(error))
    except MemoryError:
        return _failure("memory", needed_too_much(order.memory_mb))
    except RecursionError:
        return _failure("malformed", "nested too deeply")
    except Exception as error:  # a fault of the reader is reported as this file's failure, with its name
        return _failure("crashed", f"the reader failed: {type(error).__name__}: {error}"[:300])


def _failure(kind: str, reason: str) -> FileReport:
    return FileReport(kind == "memory", msgspec.Raw(_NOTHING), kind, storable(reason))


_NOTHING = msgspec.msgpack.encode(None)


def needed_too_much(memory_mb: int) -> str:
    """The reason of a file that needs more memory than it may."""
    return f"needed more than {shown_size(memory_mb * 10**6)} of memory"


def let_go(kept: set[int]) -> None:
    """Close what the parent had open, except `kept` and the standard streams: its locks, its databases, the other ends
    of all pipes. The parent's objects are never garbage-collected here."""
    gc.freeze()
    close_all_but(kept)


def become_quiet() -> None:
    """Ignore what asks a whole group to end, as Ctrl-C, a logout and systemd do: the parent decides, and no file is to
    blame. Have no terminal to read or write, and give way to programs in the foreground."""
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    give_way()


def _die_with_parent(lifeline: Connection) -> None:
    """End this process at once when the parent's end of `lifeline` closes, however the parent went."""
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


def limit_memory(memory_mb: int) -> int | None:
    """Allow `memory_mb` more address space than is in use now; the limit in bytes, None where nothing enforces one."""
    ceiling = _address_space() + memory_mb * MEGABYTE
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
    except (ImportError, AttributeError, ValueError, OSError):
        return None
    return ceiling if sys.platform == "linux" else None  # macOS takes the limit and does not keep it


def limit_cpu(seconds: float) -> float:
    """Let the kernel end a loop that the parent is no longer there to end; the parent's limit comes first.

    Counted from the start of this process; infinity where the system knows no such limit.
    """
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return math.inf
    return seconds


def _address_space() -> int:
    """Bytes of address space this process uses; 0 where the system does not say."""
    try:
        return int(os.pread(_own_sizes(), 100, 0).split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0


@cache
def _own_sizes() -> int:
    """What the kernel says of this process; it stays open, for a confined process cannot open it any more."""
    return os.open("/proc/self/statm", os.O_RDONLY | os.O_CLOEXEC)
