"""What is seen of a process from outside: real processes that work, wait, stop and start others."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from indexer.confined.resource_usage import ResourceUsage, _from_psutil, descendants, look_at_process
from tests.waiting import until

LOOKS: list[Callable[[int], ResourceUsage | None]] = [look_at_process, _from_psutil]
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="ends processes by signals")


@contextmanager
def python(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs `program` and has printed a line; it and its children are ended afterwards."""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
    finally:
        for pid in descendants(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait()


def seen(watch: Callable[[int], ResourceUsage | None], pid: int) -> ResourceUsage:
    found = watch(pid)
    assert found is not None
    return found


@pytest.mark.parametrize("watch", LOOKS)
def test_work_is_counted(watch: Callable[[int], ResourceUsage | None]) -> None:
    """Half a second of processor time and 50 MB that a process held are seen."""
    program = """
import time
held = bytearray(b"x" * 50_000_000)
while time.process_time() < .5: pass
print(flush=True)
time.sleep(600)
"""
    with python(program) as process:
        vitals = seen(watch, process.pid)
    assert 0.4 < vitals.cpu_seconds < 5
    assert vitals.resident_bytes > 50_000_000


@pytest.mark.parametrize("watch", LOOKS)
def test_a_child_at_work_is_work(watch: Callable[[int], ResourceUsage | None]) -> None:
    """A process that waits for its child uses what the child uses."""
    program = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
print(flush=True)
child.wait()
"""
    with python(program) as process:
        assert len(descendants(process.pid)) == 1
        before = seen(watch, process.pid)
        until(lambda: seen(watch, process.pid).cpu_seconds >= before.cpu_seconds + 0.2)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_who_sleeps_waits_and_who_is_stopped_does_not() -> None:
    """Asleep: waiting. Stopped by a signal: it would run if it could."""
    with python("import time; print(flush=True); time.sleep(600)") as process:
        until(lambda: seen(look_at_process, process.pid).is_waiting)
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert not seen(look_at_process, process.pid).is_waiting


@pytest.mark.parametrize("watch", LOOKS)
def test_of_a_process_that_is_gone_nothing_is_known(watch: Callable[[int], ResourceUsage | None]) -> None:
    """None, and no children."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert watch(process.pid) is None
    assert descendants(process.pid) == []
