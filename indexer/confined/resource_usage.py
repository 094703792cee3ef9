"""A process's use of processor, memory and disk, and whether it waits, measured from outside.

Processor time, bytes read and memory come from /proc on Linux, from psutil elsewhere; without either nothing is known.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct


class ResourceUsage(Struct, frozen=True):
    """One look at a process and all that it started."""

    cpu_seconds: float
    n_bytes_read: int
    """by any means, also from caches; 0 where the system does not say"""
    resident_bytes: int
    is_waiting: bool
    """Nothing of it runs or wants to: it waits for a disk, a network, a lock. A stopped process does not wait."""


def look_at_process(pid: int) -> ResourceUsage | None:
    """The vitals of the process `pid`; None when it is gone or the system does not say."""
    try:
        return _from_proc(pid) if sys.platform == "linux" else _from_psutil(pid)
    except (OSError, ValueError, IndexError, ImportError):
        return None


_WAITING = frozenset("SDI")
"""proc_pid_stat(5): asleep, in a disk's hands, idle"""


def _from_proc(pid: int) -> ResourceUsage:
    state, _, cpu_seconds, resident = _stat(str(pid))
    waits = state in _WAITING
    for child in descendants(pid) if waits else ():  # one that waits for what it started is at work
        with contextlib.suppress(OSError, IndexError):
            state, _, seconds, size = _stat(str(child))
            cpu_seconds, resident, waits = cpu_seconds + seconds, resident + size, waits and state in _WAITING
    return ResourceUsage(cpu_seconds, _bytes_read(pid), resident, waits)


def _stat(pid: str) -> tuple[str, int, float, int]:
    """(state, parent, processor seconds with those of ended children, resident bytes) by /proc/PID/stat."""
    fields = Path("/proc", pid, "stat").read_bytes().rpartition(b")")[2].split()
    seconds = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return fields[0].decode(), int(fields[1]), seconds, int(fields[21]) * os.sysconf("SC_PAGE_SIZE")


def _bytes_read(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/io").read_bytes().split()[1])
    except (OSError, ValueError, IndexError):
        return 0  # a kernel without accounting of reads


def descendants(pid: int) -> list[int]:
    """The processes that `pid` and its children started and that still run; [] where the system does not say."""
    if sys.platform != "linux":
        with contextlib.suppress(Exception):
            import psutil

            return [child.pid for child in psutil.Process(pid).children(recursive=True)]
        return []
    above = dict(_parents())
    found = {pid}
    while more := {child for child, parent in above.items() if parent in found} - found:
        found |= more
    return sorted(found - {pid})


def _parents() -> Iterator[tuple[int, int]]:
    """(process, its parent) for all that can be seen."""
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                yield int(name), _stat(name)[1]


def _from_psutil(pid: int) -> ResourceUsage | None:
    import psutil

    try:
        process = psutil.Process(pid)
        everyone = [process, *process.children(recursive=True)]
        seconds, size, n_read, waits = 0.0, 0, 0, True
        for one in everyone:
            times = one.cpu_times()
            seconds += times.user + times.system
            seconds += getattr(times, "children_user", 0.0) + getattr(times, "children_system", 0.0)
            size += one.memory_info().rss
            n_read += one.io_counters().read_bytes if hasattr(one, "io_counters") else 0
            waits = waits and one.status() not in (psutil.STATUS_STOPPED, psutil.STATUS_TRACING_STOP)
    except psutil.Error:
        return None
    return ResourceUsage(seconds, n_read, size, waits)
