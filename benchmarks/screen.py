"""How fast the screen is: start to first frame, key press to painted results, in a real pseudo-terminal.

    python -m benchmarks.screen [--runs 5] [--queries "unicode,git rebase,..."]

It drives the installed program on the index that FOLTR_DATA_DIR names (or the user's own), so the times hold the
interpreter's start, the debounce, the search and the painting. Medians and 95th percentiles, and ratios to the
budgets of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import statistics
import struct
import sys
import termios
import time
from collections.abc import Sequence

FIRST_FRAME_BUDGET = 0.6
"""seconds from the start of the process"""
KEY_BUDGET = 0.12
"""seconds from a key press to painted results, 95th percentile"""
ROWS, COLUMNS = 40, 120
PROMPT = b"earch your files"
"""of the empty search box; its first letter is under the cursor and so painted apart"""
ANSWER = re.compile(rb"(?:[\d,]+ of [\d,]+|nothing found) \xc2\xb7 \d+ ms")
READY = re.compile(rb"[\d,]+ documents? indexed")
QUERIES = "unicode,regular expression,socket timeout,merge conflict,index search,password file"


class Terminal:
    """The program in a pseudo-terminal."""

    def __init__(self, command: Sequence[str]) -> None:
        self.started = time.perf_counter()
        self._pid, self._fd = pty.fork()
        if self._pid == 0:
            os.execvp(command[0], list(command))
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def wait_for(self, pattern: bytes | re.Pattern[bytes], seconds: float = 20.0) -> float:
        """The moment at which the output since the last call held `pattern`; raises TimeoutError."""
        wanted = re.compile(re.escape(pattern)) if isinstance(pattern, bytes) else pattern
        seen, end = b"", time.perf_counter() + seconds
        while time.perf_counter() < end:
            if select.select([self._fd], [], [], 0.05)[0]:
                seen += os.read(self._fd, 65536)
                if wanted.search(seen):
                    return time.perf_counter()
        raise TimeoutError(f"{wanted.pattern!r} did not appear within {seconds} s")

    def drain(self, seconds: float) -> None:
        """Throw away what is painted during the next seconds."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self._fd], [], [], left)[0]:
                os.read(self._fd, 65536)

    def type(self, key: str) -> float:
        """Press one key and give the moment."""
        now = time.perf_counter()
        os.write(self._fd, key.encode())
        return now

    def close(self) -> None:
        os.kill(self._pid, signal.SIGTERM)
        with contextlib.suppress(OSError):  # the other end is closed already
            self.drain(1.0)
        os.close(self._fd)
        os.waitpid(self._pid, 0)


def first_frames(command: Sequence[str], runs: int) -> list[float]:
    """Seconds from starting the process to the first frame, for each run."""
    times = []
    for _ in range(runs):
        terminal = Terminal(command)
        times.append(terminal.wait_for(PROMPT) - terminal.started)
        terminal.drain(1.0)
        terminal.close()
    return times


def key_presses(command: Sequence[str], queries: Sequence[str]) -> list[float]:
    """Seconds from each key press to its painted results, typed at an unhurried pace."""
    terminal = Terminal(command)
    terminal.wait_for(READY)
    terminal.drain(1.0)
    times = []
    for query in queries:
        for key in query:
            pressed = terminal.type(key)
            if key != " ":
                times.append(terminal.wait_for(ANSWER) - pressed)
            terminal.drain(0.25)
        terminal.type("\x15")
        terminal.drain(0.5)
    terminal.close()
    return times


def report(name: str, times: Sequence[float], budget: float, share: float) -> None:
    """One line: median, the percentile that the budget is for, and their ratio."""
    ordered = sorted(times)
    high = ordered[min(len(ordered) - 1, round(share * (len(ordered) - 1)))]
    median = statistics.median(ordered)
    shown = f"median {median * 1000:6.0f} ms   p{share * 100:.0f} {high * 1000:6.0f} ms"
    print(f"{name:32} {shown}   {high / budget:5.2f} of budget")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--queries", default=QUERIES)
    chosen = parser.parse_args()
    command = [sys.executable, "-m", "app.cli"]
    report("start to first frame", first_frames(command, chosen.runs), FIRST_FRAME_BUDGET, 0.5)
    report("key press to painted results", key_presses(command, chosen.queries.split(",")), KEY_BUDGET, 0.95)


if __name__ == "__main__":
    main()
