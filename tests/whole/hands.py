"""The processes that work on one folder whose power can go: started, killed, and compared with what they acknowledged.

`Expected` is what is known of the state: what was acknowledged must be there, what was killed may be. It is compared
with what SQLite reads in a process of its own, and now and then with what the commands say.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Self

from tests.whole.acknowledged import Command, Expected, Violation
from tests.whole.power_cut import Disk, compiled
from tests.whole.test_federation import invite, served

ROOT = Path(__file__).resolve().parents[2]
ANCHORS = ("heron", "stork", "crane", "egret", "ibis", "bittern")
"""words of documents that never change"""
GROUP = (
    "[rounds]\nquorum = 1\nfloor = 1\nin_period = 0\n"
    '[method]\nmode = "open"\nshared = []\nlongest_step = 0\nlongest_query = 0\nprivacy = {mechanism = "none"}\n'
)
CONFIG = 'open.opener = "true"\nhistory.enabled = {history}\nsearch.page_size = {page_size}\nmeaning.enabled = false\n'


class Hands:
    """One folder and everything that works on it; a context manager that leaves no process behind."""

    is_indexed = True
    """whether all changes of documents were acknowledged by `index`"""
    history = True
    """whether config.toml asks for it"""
    asked = ""
    """the last question on the screen"""

    def __init__(self, folder: Path, seed: int, *, group: bool = False) -> None:
        self.folder, self.rng, self.n_steps = folder, Random(seed), 0
        folder.mkdir(exist_ok=True)
        self.home, self.notes = folder / "home", folder / "notes"
        self.log = open(folder / "log.txt", "a", buffering=1)  # noqa: SIM115 -- closed by __exit__
        self.disk = Disk(self.home, folder / "kept", compiled(folder))
        self.now = Expected()
        self.serve: subprocess.Popen[str] | None = None
        self.watch: subprocess.Popen[str] | None = None
        self.screen: subprocess.Popen[str] | None = None
        self.number = int(time.time() * 1000) % 10**9 * 1000
        """what makes words and queries new"""
        is_new = not self.home.exists()
        for path in (self.home, self.home / "config", self.home / "backups", self.notes, folder / "out"):
            path.mkdir(exist_ok=True)
        self.disk.settle()
        self.hands = self._started(sys.executable, "-m", "tests.whole.forked_commands", stdin=subprocess.PIPE)
        if is_new:
            self._begin()
        else:
            self.configure()
        self.group: Iterator[Path] = served(folder / "group", GROUP) if is_new and group else iter(())
        self.server = next(self.group, None)
        self.has_group = False
        if self.server is not None:
            self.join()
        self._look_around()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_all()
        self.hands.kill()
        self.hands.wait()
        close(self.hands)
        next(self.group, None)
        self.log.close()

    def _begin(self) -> None:
        for i, word in enumerate(ANCHORS * 4):
            others = " ".join(self.rng.choices(ANCHORS, k=8))
            (self.notes / f"anchor{i}.md").write_text(f"# {word} {i}\n\n{others}\n")
        self.configure("true", 10)
        self.run(Command(("index", str(self.notes))), Command(("search", "nothing yet"), codes=(0, 1)))

    def join(self) -> None:
        assert self.server is not None
        self.run(Command(("join", invite(self.server), "--yes")))
        self.has_group = True

    def _look_around(self) -> None:
        """What is there is what is expected."""
        self.now.saved.sure = self._saved()
        self.now.picks.holds(self.count("picks"))
        self.now.lessons.holds(self.count("interactions"))
        self.now.clicks.holds(self.count("outcomes"))
        self.now.history.sure = dict.fromkeys(self._history(), "")
        self.now.ledger = self._ledger()
        self.now.words = {path.read_text(): str(path) for path in self.notes.glob("*.txt")}
        self.now.backups = {path.name for path in (self.home / "backups").iterdir()}

    def configure(self, history: str = "", page_size: int = 0) -> None:
        """The user's editor writes config.toml; an editor syncs."""
        history = history or self.rng.choice(("true", "true", "false"))
        path = self.home / "config" / "config.toml"
        path.write_text(CONFIG.format(history=history, page_size=page_size or self.rng.randrange(5, 12)))
        self.disk.sync(path)
        self.history = history == "true"
        self.say(f"config.toml: history {history}")

    # What is written about, started and ended.

    def say(self, line: str) -> None:
        self.log.write(f"{self.n_steps} {line}\n")

    def new(self, kind: str) -> str:
        self.number += 1
        return f"{kind}{self.number}x"

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        own = {"HOME": str(self.home), "FOLTR_CONFIG_DIR": str(self.home / "config"), "PYTHONPATH": str(ROOT)}
        return {
            **kept, **own, "FOLTR_DATA_DIR": str(self.home / "data"), "PYTHONUTF8": "1", "OPENBLAS_NUM_THREADS": "1",
            "FOLTR_FEDERATION__ALLOW_UNPROTECTED": "true", **self.disk.environment(),
        }  # fmt: skip

    def _started(self, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
        with open(self.folder / "errors.txt", "a") as errors:
            return subprocess.Popen(
                arguments, env=self.environment, cwd=ROOT, stdin=stdin, stdout=subprocess.PIPE, stderr=errors, text=True
            )

    def kill_all(self) -> None:
        """End everything that writes to the disk but the process that commands are copied from."""
        mark = f"POWER_DISK={self.disk.kept}\0".encode()
        while True:
            found = []
            for one in Path("/proc").iterdir():
                if one.name.isdecimal() and int(one.name) not in (os.getpid(), self.hands.pid):
                    try:
                        if mark in (one / "environ").read_bytes():
                            found.append(int(one.name))
                    except OSError:
                        continue
            if not found:
                break
            for pid in found:
                send(pid, signal.SIGKILL)
            for process in (self.serve, self.watch, self.screen):
                if process is not None:
                    process.poll()
        for process in (self.serve, self.watch, self.screen):
            if process is not None:
                process.wait()
                close(process)
        self.serve = self.watch = self.screen = None

    def run(self, *commands: Command, kill: int | None = None, after: float = 0.0, all_end: bool = False) -> None:
        """Run them at once and take note of each; `kill`, the place of one, is killed `after` so many seconds.

        Or everything is, where `all_end`.
        """
        assert self.hands.stdin is not None
        for i, command in enumerate(commands):
            question = {"number": i, "arguments": list(command.arguments), "variables": command.variables,
                        "output": str(self.folder / "out" / str(i))}  # fmt: skip
            self.hands.stdin.write(json.dumps(question) + "\n")
        self.hands.stdin.flush()
        n_ended = 0
        assert self.hands.stdout is not None
        while n_ended < len(commands):
            what, number, value = self.hands.stdout.readline().split()
            if what == "began" and int(number) == kill:
                time.sleep(after)
                self.kill_all() if all_end else send(int(value), signal.SIGKILL)
            elif what == "ended":
                n_ended += 1
                commands[int(number)].code = int(value)
        if wrong := [said for i, command in enumerate(commands) if (said := self._note(i, command))]:
            raise Violation("; ".join(wrong))

    def _note(self, i: int, command: Command) -> str:
        """Take note of how it ended; what is wrong with that, or ""."""
        command.out, command.err = ((self.folder / "out" / f"{i}{end}").read_text(errors="replace")
                                    for end in (".out", ".err"))  # fmt: skip
        if command.arguments[0] != "--rows":
            self.say(f"{' '.join(command.arguments)} {command.variables or ''} -> {command.code} {command.err[:200]!r}")
        if command.code == -signal.SIGKILL or command.refusal in command.err:
            command.killed()
        elif command.code in command.codes:
            command.done(command.out + command.err)
        else:
            command.killed()
            return f"{' '.join(command.arguments)} ended with {command.code}: {command.err.strip()[-500:]}"
        return ""

    # What is there.

    def rows(self, sql: str) -> list[list[str | int]]:
        command = Command(("--rows", sql))
        self.run(command)
        found: list[list[str | int]] = json.loads(command.out)
        return found

    def count(self, table: str) -> int:
        return int(self.rows(f"SELECT count(*) FROM {table}")[0][0])

    def _history(self) -> list[str]:
        return [str(row[0]) for row in self.rows("SELECT query FROM history")]

    def _ledger(self) -> set[tuple[int, int]]:
        return {(int(a), int(b)) for a, b in self.rows("SELECT lineage, round FROM privacy_ledger")}

    def _saved(self) -> dict[str, str]:
        command = Command(("saved",), codes=(0, 1))
        self.run(command)
        return dict(line.removeprefix("@").split("\t") for line in command.out.splitlines())

    def check(self, *, is_thorough: bool = False) -> None:
        """Compare the state with what is expected; Violation where it is not so."""
        sql = (
            "SELECT (SELECT count(*) FROM picks), (SELECT count(*) FROM interactions), (SELECT count(*) FROM outcomes),"
            " (SELECT group_concat(query, char(10)) FROM history),"
            " (SELECT json_group_array(json_array(lineage, round)) FROM privacy_ledger)"
        )
        picks, lessons, clicks, history, ledger = self.rows(sql)[0]
        now, wrong = self.now, []
        counts = {"picks": (now.picks, picks), "lessons": (now.lessons, lessons), "clicks": (now.clicks, clicks)}
        for name, (count, seen) in counts.items():
            before = str(count)
            if not count.holds(int(seen)):
                wrong.append(f"{name}: wanted {before}, got {seen}")
        missing = set(now.history.sure) - now.history.unsure - set(str(history or "").splitlines())
        if not now.history.holds(dict.fromkeys(str(history or "").splitlines(), "")):
            wrong.append(f"the history is another one (without {sorted(missing)})")
        spent = {(a, b) for a, b in json.loads(str(ledger))}
        if gone := {*now.ledger - spent, *now.answered - {number for _, number in spent}}:
            wrong.append(f"the ledger is without {gone}")
        now.ledger, now.answered = spent, set()
        if is_thorough:
            wrong += self._thorough()
        if wrong:
            raise Violation("; ".join(wrong))

    def _thorough(self) -> Iterator[str]:
        if not self.now.saved.holds(self._saved()):
            yield "the saved searches are others"
        if (found := self.rows("PRAGMA integrity_check")) != [["ok"]]:
            yield f"state.sqlite: {found}"
        for name in sorted(self.now.backups):
            path = self.home / "backups" / name
            if not zipfile.is_zipfile(path) or zipfile.ZipFile(path).testzip():
                self.now.backups.remove(name)
                yield f"the backup {name} is gone or damaged"
        shown = Command(("model", "show", "--json"))
        self.run(shown)
        if (n_pages := json.loads(shown.out)["n_pages"]) != self.now.lessons.low:
            yield f"model show says {n_pages} pages, there are {self.now.lessons.low}"


def send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def close(process: subprocess.Popen[str]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()
