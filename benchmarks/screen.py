"""How fast the screen is, and how still: start to first frame, key press to painted results, pages that change.

    python -m benchmarks.screen [--runs 5] [--queries "unicode,git rebase,..."] [--pages-only]

It drives the installed program in a real pseudo-terminal on the index that FOLTR_DATA_DIR names (or the user's own), so
the times hold the interpreter's start, the debounce, the search and the painting. Medians and 95th percentiles, and
ratios to the budgets of docs/benchmarks.md. Then, for thirty everyday queries, how many pages have other first five
results once the hand rests than while the last word was typed (and how many another first one).
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
EVERYDAY = (
    "unicode normalisation", "git rebase branch", "merge conflict", "django model fields", "password hashing",
    "regular expression", "undo last commit", "custom template tag", "database migration", "bash history",
    "form validation", "stash changes", "mail server configuration", "user authentication", "time zone support",
    "remote tracking branch", "middleware order", "debian package", "release notes", "static files", "cherry pick",
    "network interface", "file upload", "shell script variables", "query set filter", "git log format",
    "submodule update", "admin site", "cache backend", "how to write a test",
)  # fmt: skip
TOP = 5
"""results that are compared"""
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


def pages_that_change(queries: Sequence[str]) -> tuple[int, int]:
    """Of how many queries the first five results, and the first one, are others once the hand rests."""
    from app.search.results import SearchRequest
    from app.search.search import Search
    from app.settings import Paths, Settings

    paths = Paths.from_environment()
    search = Search(Settings.load(paths, os.environ), paths)
    first = five = 0
    for query in queries:
        typing, rested = (
            [hit.doc_id for hit in search.search(SearchRequest(query, as_you_type=typed)).hits[:TOP]]
            for typed in (True, False)
        )
        five += typing != rested
        first += typing[:1] != rested[:1]
    search.close()
    return five, first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--queries", default=QUERIES)
    parser.add_argument("--pages-only", action="store_true", help="time nothing")
    chosen = parser.parse_args()
    five, first = pages_that_change(EVERYDAY)
    print(f"pages that change when the hand rests: {five} of {len(EVERYDAY)} in the first {TOP}, {first} at the first")
    if chosen.pages_only:
        return
    command = [sys.executable, "-m", "app.cli"]
    report("start to first frame", first_frames(command, chosen.runs), FIRST_FRAME_BUDGET, 0.5)
    report("key press to painted results", key_presses(command, chosen.queries.split(",")), KEY_BUDGET, 0.95)


if __name__ == "__main__":
    main()
