"""Whole processes measured from outside: seconds of CPU, wall time and memory of a command and its children."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = (sys.executable, "-m", "app")
"""the program as `foltr-search` starts it"""
BY_WORDS = {"FOLTR_MEANING__ENABLED": "false"}
"""in its environment, where other programs have no vectors either"""
POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Run:
    """What one command took."""

    wall: float
    """seconds"""
    cpu: float
    """seconds, user and system, children included"""
    peak_mb: float
    """largest sum over its processes of proportional memory, polled ten times a second, in MB of a million bytes"""
    output: str
    anonymous_mb: float = 0.0
    """the same of anonymous memory, which no file backs"""
    largest_resident_mb: float = 0.0
    """the most that any one of them had resident"""
    largest_anonymous_mb: float = 0.0


def run(command: Sequence[str], env: Mapping[str, str], *, timeout: float = 1800.0, fine: Container[int] = (0,)) -> Run:
    """Run a command to its end; CalledProcessError when its status is not among those that are `fine`."""
    before = os.times()
    started = time.perf_counter()
    whole = {**os.environ, **env}
    with subprocess.Popen(
        command, env=whole, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as child:
        peak = _Peak(child.pid)
        try:
            output, _ = child.communicate(timeout=timeout)
        except BaseException:  # late, or this process is to end: neither the command nor its children go on alone
            os.killpg(child.pid, signal.SIGKILL)
            raise
        finally:
            peak.stop()
    wall = time.perf_counter() - started
    after = os.times()
    if child.returncode not in fine:
        raise subprocess.CalledProcessError(child.returncode, list(command), output)
    cpu = after.children_user - before.children_user + after.children_system - before.children_system
    most = peak.megabytes
    return Run(
        wall, cpu, most["Pss"], output.decode(errors="replace"), most["Anonymous"], peak.largest["Rss"],
        peak.largest["Anonymous"],
    )  # fmt: skip


def spent(pid: int) -> float:
    """Processor seconds, user and system, that a running process has taken, in steps of 10 ms (Linux)."""
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def tree_cpu(pid: int) -> float:
    """The same of a process and its living descendants."""
    seconds = 0.0
    for one in (pid, *_descendants(pid)):
        with contextlib.suppress(OSError):  # it has ended
            seconds += spent(one)
    return seconds


class _Peak:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.megabytes: Counter[str] = Counter()
        """largest sums over all processes, by the names of the kernel"""
        self.largest: Counter[str] = Counter()
        """largest of any one process"""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            each = [_megabytes(pid) for pid in (self._pid, *_descendants(self._pid))]
            self.megabytes |= sum(each, Counter())
            for one in each:
                self.largest |= one


def _descendants(pid: int) -> list[int]:
    try:
        children = [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return children + [deeper for child in children for deeper in _descendants(child)]


def _megabytes(pid: int) -> Counter[str]:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return Counter()  # it has ended
    fields = (line.split() for line in lines[1:])
    return Counter({name.rstrip(":"): int(kb) * 1024 / 1e6 for name, kb, *_ in fields})
