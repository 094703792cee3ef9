"""A week's work in an hour: one resident process answers, files change, results are opened; does it stay stable?

    python -m benchmarks week TEXTS [--questions 100000] [--changes 10000] [--picks 500] [--samples 1000]
        [--documents 2000] [--minutes 60] [--seed 1]

TEXTS is a folder of texts, cut into files as benchmarks.large does. `serve` follows them and is asked over its socket:
ordinary words, beginnings, phrases, odd and mistaken queries, other settings, other outputs. It prints the memory;
for each tenth of the questions the processor time of one and the wait for it; the slope of the memory over the second
half; and how many sampled answers equal, byte for byte, those of a command alone in the same state. It ends after
`--minutes`, and says how far it came. Linux only.
"""

from __future__ import annotations

import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from app.resident import protocol
from app.resident.local_socket import socket_path
from app.resident.resident_client import ask
from benchmarks import load
from benchmarks.large import write_pieces
from benchmarks.odd_queries import Words, odd_query, vocabulary
from benchmarks.processes import PROGRAM
from benchmarks.running import arguments
from benchmarks.speed import own_folders
from benchmarks.tables import Table, machine

LOOKS = 100
"""moments at which the memory is read"""
TOGETHER = 20
"""files that change between two commits"""
CHECKS = 20
"""moments at which answers are compared"""
PATIENCE = 600.0
SETTINGS = ("--strength=0.5", "--strength=0", "--set=search.page_size=3", "--set=search.limit=50", "--order=modified",
            "--set=search.languages=de", "--set=learning.remember_picks=false")  # fmt: skip
OUTPUTS = ("--json", "--json", "--json", "--explain", "--vimgrep", "--paths0", "--format={rank} {title}")
MISTAKES = (("search", "--no-such-option", "x"), ("search", "--set", "search.page_size=none", "x"), ("open", "999"),
            ("search", " "), ("why", "/nowhere"), ("search", "--format={nothing}", "x"))  # fmt: skip

ALONE = """
import json, sys
from app import cli
for arguments in json.load(sys.stdin):
    code = cli.main(arguments)
    sys.stdout.flush()
    sys.stdout.buffer.write(b"\\0%d\\0" % code)
"""
"""commands that work alone, one after the other, each with everything opened anew"""


@dataclass(slots=True)
class Week:
    """What is asked of one process, and what came of it."""

    files: Path
    data_dir: Path
    process: subprocess.Popen[bytes]
    words: Words
    rng: random.Random
    cpu: list[float] = field(default_factory=list)
    """seconds of the processor, each question"""
    waited: list[float] = field(default_factory=list)
    memory: list[tuple[int, float]] = field(default_factory=list)
    """questions asked, KB resident"""
    codes: Counter[str] = field(default_factory=Counter)
    n_equal: int = 0
    n_compared: int = 0
    n_changed: int = 0

    def put(self, arguments: Sequence[str]) -> bytes:
        """The answer to one command line."""
        before, started = self.on_cpu(), time.perf_counter()
        answer = ask(socket_path(str(self.data_dir)), protocol.question(protocol.RUN, arguments), seconds=PATIENCE)
        self.waited.append(time.perf_counter() - started)
        self.cpu.append(self.on_cpu() - before)
        self.codes[exit_code(answer)] += 1
        return answer

    def on_cpu(self) -> float:
        """Seconds of the processor that the resident process has had."""
        return int(Path(f"/proc/{self.process.pid}/schedstat").read_text().split()[0]) / 1e9

    def look(self) -> None:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        self.memory.append((len(self.cpu), pages * os.sysconf("SC_PAGE_SIZE") / 1024))

    def question(self) -> list[str]:
        """One command line."""
        rng, words, chance = self.rng, self.words, self.rng.random()
        if chance < 0.02:
            return list(rng.choice(MISTAKES))
        text = " ".join(rng.choice(words) for _ in range(rng.randint(1, 4)))
        if chance < 0.05:
            text = odd_query(rng, words)[:2_000].replace("\0", " ").encode("utf-8", "replace").decode()
        elif chance < 0.15:
            begun = text[: rng.randint(1, len(text))] + "*"
            text = rng.choice((begun, f'"{text}"', f"title:{text}", text.replace(" ", "_")))
        settings = [rng.choice(SETTINGS)] if rng.random() < 0.1 else []
        return ["search", rng.choice(OUTPUTS), *settings, "--", text]

    def pick(self) -> None:
        """Open one of the results of the last page."""
        self.put(["open", "--print", str(self.rng.randint(1, 3))])

    def change(self, n: int) -> None:
        """Write, remove and rename files, then have them indexed by whoever follows them."""
        names = sorted(self.files.rglob("*.txt"))
        for i in range(n):
            path, chance = self.rng.choice(names), self.rng.random()
            if chance < 0.1 and path.exists():
                path.rename(path.with_name(f"{path.stem}-{self.n_changed + i}.txt"))
            elif chance < 0.2 and path.exists():
                path.unlink()
            else:
                path.write_text(" ".join(self.rng.choice(self.words) for _ in range(150)))
        self.n_changed += n
        subprocess.run([*PROGRAM, "index", "--quiet"], check=True, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def compare(self, n: int) -> None:
        """Ask some questions here and alone, while nothing else changes."""
        self.put(["search", "--", self.words[0]])  # what was opened before is learned from now
        asked = [self.question() for _ in range(n)]
        here = [output(self.put(arguments)) for arguments in asked]
        alone = subprocess.run(
            [sys.executable, "-c", ALONE], input=json.dumps(asked).encode(), capture_output=True, check=True
        ).stdout
        for question, one, other in zip(asked, here, _cut(alone), strict=True):
            self.n_equal += one == other
            if one != other:
                print(f"another answer alone: {question}", flush=True)
        self.n_compared += n


def exit_code(answer: bytes) -> str:
    """As a number in digits; "alone" where the command must work by itself."""
    parts = dict(protocol.parts(answer))
    return parts.get(protocol.CODE, b"alone").decode()


def output(answer: bytes) -> tuple[bytes, str]:
    """What a command printed on stdout, and its exit code."""
    printed = b"".join(content for kind, content in protocol.parts(answer) if kind == protocol.OUT)
    return printed, exit_code(answer)


def _cut(printed: bytes) -> list[tuple[bytes, str]]:
    """The output and exit code of each command that `ALONE` ran."""
    return [(found[1], found[2].decode()) for found in re.finditer(rb"(?s)(.*?)\0(\d+)\0(?=[^\n]|$)", printed)]


def slope(memory: Sequence[tuple[int, float]]) -> float:
    """KB a question, by least squares over the second half."""
    questions, kilobytes = np.array(memory[len(memory) // 2 :]).T
    return float(np.polyfit(questions, kilobytes, 1)[0])


def live(week: Week, options: Any) -> None:
    """Ask, change, open, look and compare, evenly over all questions."""
    until = time.monotonic() + options.minutes * 60
    print("\n| questions | memory, MB |\n| --- | --- |", flush=True)
    for i in range(1, options.questions + 1):
        week.put(week.question())
        if _is_time(i, options.questions, options.picks):
            week.pick()
        if _is_time(i, options.questions, options.changes // TOGETHER):
            week.change(TOGETHER)
        if _is_time(i, options.questions, CHECKS):
            week.compare(options.samples // CHECKS)
        if _is_time(i, options.questions, LOOKS):
            week.look()
        if _is_time(i, options.questions, 20):
            print(f"| {i:,} | {week.memory[-1][1] / 1e3:.1f} |", flush=True)
            if time.monotonic() > until:
                print(f"\n{options.minutes:g} minutes are over after {i:,} of {options.questions:,} questions")
                return


def _is_time(i: int, n: int, times: int) -> bool:
    """Whether the i-th of n is one of a number that are evenly spaced."""
    return times > 0 and i * times // n > (i - 1) * times // n


def report(week: Week) -> None:
    """The tables."""
    table = Table(("tenth of the questions", "CPU ms p50", "p95", "waited ms p50", "p95"))
    for i, (cpu, waited) in enumerate(
        zip(np.array_split(np.array(week.cpu) * 1e3, 10), np.array_split(np.array(week.waited) * 1e3, 10), strict=True)
    ):
        values = (*np.percentile(cpu, (50, 95)), *np.percentile(waited, (50, 95)))
        table.add(str(i + 1), *(f"{value:.1f}" for value in values))
    print(f"\n{table}\n")
    print(f"memory, second half: {slope(week.memory):+.4f} KB a question")
    print(f"equal to a command alone: {week.n_equal:,} of {week.n_compared:,} sampled answers")
    codes = ", ".join(f"{code}: {n:,}" for code, n in sorted(week.codes.items()))
    print(f"{len(week.cpu):,} commands answered ({codes}); {week.n_changed:,} files changed")


def main() -> int:
    """Live through it and print."""
    options = arguments(
        __doc__,
        texts=Path,
        questions=100_000,
        changes=10_000,
        picks=500,
        samples=1_000,
        documents=2_000,
        minutes=60.0,
        seed=1,
    )
    start = load.moment()
    print(machine())
    with tempfile.TemporaryDirectory(prefix="foltr-week-") as temporary:
        week = begin(Path(temporary), options)
        try:
            live(week, options)
        finally:
            week.process.terminate()
            week.process.wait(PATIENCE)
        report(week)
    print(f"\n{load.since(start)}")
    return 0 if week.n_equal == week.n_compared else 1


def begin(folder: Path, options: Any) -> Week:
    """Files that are indexed and followed, and the process that answers."""
    files = folder / "files"
    write_pieces(options.texts, files, options.documents)
    paths, env = own_folders(folder)
    os.environ.update(env)
    subprocess.run([*PROGRAM, "index", "--quiet", str(files)], check=True, stdin=subprocess.DEVNULL)
    process = subprocess.Popen([*PROGRAM, "serve"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    process.stderr.readline()
    return Week(files, paths.data_dir, process, vocabulary(paths), random.Random(options.seed))
