"""The inside of one worker process: reads the files it is sent, one after the other, within limits.

The worker is expected to die: of a crash in native code, of too much memory, by the parent's hand. It holds
nothing that matters and reports each file as soon as it is done.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from indexer.errors import ExtractionError
from indexer.extract.limits import Limits, shown_size
from indexer.extract.memory import return_freed_memory
from indexer.extract.priority import give_way

MEGABYTE = 2**20


@dataclass(frozen=True, slots=True)
class Order:
    """What a worker does all its life."""

    function: Callable[[str, Limits], Any]
    """reads one path; a top-level function, so that it can be named across processes"""
    limits: Limits
    seconds: float
    """wall time per file"""
    memory_mb: int
    """address space a file may add to that of the idle worker"""
    initialise: Callable[..., None] | None
    initial_args: tuple[Any, ...]


def work(order: Order, requests: Connection, results: Connection, lifeline: Connection) -> None:
    """Serve lists of paths from `requests` until None comes; the entry point of the process.

    Sends None when it is ready, then (outcome, is_last) per file; after `is_last` the process ends and takes
    nothing more from its list.
    """
    _become_quiet()
    return_freed_memory()
    threading.Thread(target=_die_with_parent, args=(lifeline,), daemon=True).start()
    if order.initialise is not None:
        order.initialise(*order.initial_args)
    ceiling = _limit_memory(order.memory_mb)
    results.send(None)
    with contextlib.suppress(EOFError, BrokenPipeError):
        while (paths := requests.recv()) is not None:
            for path in paths:
                outcome, is_last = _read(order, path)
                is_last = is_last or _address_space() > ceiling - order.memory_mb * MEGABYTE // 2
                results.send((outcome, is_last))
                if is_last:
                    return


def _read(order: Order, path: str) -> tuple[Any, bool]:
    """(what the function gave or an ExtractionError, whether this process should end)."""
    _limit_cpu(order.seconds)
    try:
        return order.function(path, order.limits), False
    except ExtractionError as error:
        return error, False
    except MemoryError:
        return ExtractionError("memory", f"needed more than {shown_size(order.memory_mb * 10**6)} of memory"), True
    except RecursionError:
        return ExtractionError("malformed", "nested too deeply"), False
    except Exception as error:  # a fault of the reader is reported as this file's failure, with its name
        return ExtractionError("crashed", f"the reader failed: {type(error).__name__}: {error}"[:300]), False


def _become_quiet() -> None:
    """Ignore Ctrl-C (the parent decides), write to nowhere, give way to programs in the foreground."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    give_way()


def _die_with_parent(lifeline: Connection) -> None:
    """End this process at once when the parent's end of `lifeline` closes, however the parent went."""
    with contextlib.suppress(EOFError, OSError):
        lifeline.recv_bytes()
    os._exit(1)


def _limit_memory(memory_mb: int) -> int:
    """Allow `memory_mb` more address space than is in use now; returns the limit in bytes."""
    ceiling = _address_space() + memory_mb * MEGABYTE
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        return ceiling
    return ceiling


def _limit_cpu(seconds: float) -> None:
    """Let the kernel end a loop that the parent is no longer there to end; the parent's limit comes first."""
    try:
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        allowed = int(used.ru_utime + used.ru_stime + 2 * seconds) + 2
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ImportError, ValueError, OSError):
        return


def _address_space() -> int:
    """Bytes of address space this process uses; 0 where the system does not say."""
    try:
        with open("/proc/self/statm", "rb") as stream:
            return int(stream.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
