"""How fast and how steady the screen is: start to first frame, key press to painted results, pages that change.

    python -m benchmarks screen [--runs 5] [--queries "unicode,git rebase,..."] [--pages-only]

It drives the installed program in a real pseudo-terminal on the index that FOLTR_DATA_DIR names (or the user's own), so
the times hold the interpreter's start, the debounce, the search and the painting. Medians and 95th percentiles of the
clock and of the processor, the latter of the screen's own process and, for a key press, with what is painted in the
quarter of a second after its results; in turns with it the first frame of a Textual app of one line. Then, for thirty
everyday queries, how many pages have other first five results once the hand rests than while the last word was typed
(and how many another first one).
"""

from __future__ import annotations

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
from pathlib import Path

from benchmarks.running import arguments

FIRST_FRAME_BUDGET, FIRST_FRAME_CPU = 0.6, 0.35
"""seconds from the start of the process, of the clock and of the processor; medians"""
KEY_BUDGET, KEY_CPU = 0.12, 0.06
"""seconds from a key press to painted results: of the clock, 95th percentile; of the processor, median"""
EMPTY_APP = """
from textual.app import App
from textual.widgets import Static
class Empty(App):
    def compose(self):
        yield Static("Search your files")
Empty().run()
"""
"""the least that a program with Textual can paint"""
ROWS, COLUMNS = 40, 120
PROMPT = b"earch your files"
"""of the empty search box; its first letter is under the cursor and so painted apart"""
ANSWER = re.compile(rb"(?:[\d,]+ of [\d,]+|with some|nothing found) \xc2\xb7 \d+ ms")
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

    def answered(self, seconds: float = 0.5) -> float:
        """The moment at which an answer was painted; that of the last output, where its line is the one of before.

        Less than the rest of the hand after which the last word is asked as a whole one.
        """
        seen, last, end = b"", time.perf_counter(), time.perf_counter() + seconds
        while time.perf_counter() < end and not ANSWER.search(seen):
            if select.select([self._fd], [], [], 0.05)[0]:
                seen += os.read(self._fd, 65536)
                last = time.perf_counter()
        return last

    def drain(self, seconds: float) -> None:
        """Throw away what is painted during the next seconds."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            if select.select([self._fd], [], [], left)[0]:
                os.read(self._fd, 65536)

    @property
    def cpu(self) -> float:
        """Processor seconds of the program's own process, its living threads together (Linux)."""
        threads = Path(f"/proc/{self._pid}/task").glob("*/schedstat")
        return sum(int(one.read_text().split()[0]) for one in threads) / 1e9

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


def first_frame(command: Sequence[str]) -> tuple[float, float]:
    """Seconds from starting the process to the first frame: of the clock, of the processor."""
    terminal = Terminal(command)
    taken = terminal.wait_for(PROMPT) - terminal.started, terminal.cpu
    terminal.drain(1.0)
    terminal.close()
    return taken


def key_presses(command: Sequence[str], queries: Sequence[str]) -> list[tuple[float, float]]:
    """Seconds from each key press to its painted results, and of the processor; typed at an unhurried pace."""
    terminal = Terminal(command)
    terminal.wait_for(READY)
    terminal.drain(1.0)
    times = []
    for query in queries:
        for key in query:
            before, pressed = terminal.cpu, terminal.type(key)
            waited = terminal.answered() - pressed if key != " " else 0.0
            terminal.drain(0.25)
            if waited:
                times.append((waited, terminal.cpu - before))
        terminal.type("\x15")
        terminal.drain(0.5)
    terminal.close()
    return times


def report(name: str, times: Sequence[float], budget: float, share: float) -> None:
    """One line: median, 95th percentile, and what the budget is for over it."""
    ordered = sorted(times)
    high, judged = (ordered[round(part * (len(ordered) - 1))] for part in (0.95, share))
    shown = f"median {statistics.median(ordered) * 1000:6.0f} ms   p95 {high * 1000:6.0f} ms"
    print(f"{name:44} {shown}" + (f"   {judged / budget:5.2f} of budget" if budget else ""))


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
    chosen = arguments(__doc__, runs=5, queries=QUERIES, pages_only=False)
    five, first = pages_that_change(EVERYDAY)
    print(f"pages that change when the hand rests: {five} of {len(EVERYDAY)} in the first {TOP}, {first} at the first")
    if chosen.pages_only:
        return
    command = [str(Path(sys.executable).with_name("foltr-search"))]
    frames, empty = [], []
    for _ in range(chosen.runs):
        frames.append(first_frame(command))
        empty.append(first_frame([sys.executable, "-c", EMPTY_APP]))
    keys = key_presses(command, chosen.queries.split(","))
    report("start to first frame, clock", [clock for clock, _ in frames], FIRST_FRAME_BUDGET, 0.5)
    report("start to first frame, processor", [cpu for _, cpu in frames], FIRST_FRAME_CPU, 0.5)
    report("a Textual app of one line, processor", [cpu for _, cpu in empty], 0.0, 0.5)
    report("key press to painted results, clock", [clock for clock, _ in keys], KEY_BUDGET, 0.95)
    report("key press, processor", [cpu for _, cpu in keys], KEY_CPU, 0.5)
