"""Whole processes measured from outside: seconds of CPU, wall time and memory of a command and its children."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

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
    return Run(wall, cpu, peak.megabytes, output.decode(errors="replace"))


class _Peak:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.megabytes = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            total = sum(_proportional_kb(pid) for pid in (self._pid, *_descendants(self._pid)))
            self.megabytes = max(self.megabytes, total * 1024 / 1e6)


def _descendants(pid: int) -> list[int]:
    try:
        children = [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return children + [deeper for child in children for deeper in _descendants(child)]


def _proportional_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
