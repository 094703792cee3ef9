"""Random steps of many processes over one data folder, with kills and power cuts: each exit 0 is there afterwards.

    python -m tests.whole.many_hands FOLDER --steps 10000 --seed 1

The screen, `serve`, `watch` and a group's server stay; commands run as copies of a process that has loaded the program.
The seed decides what is done; when a kill strikes depends on the machine, too. FOLDER/log.txt has a line for each step.
FOLDER is gone on with if it is there, so that a long run may be ended and begun again.

What is known of the state is `Expected`: what was acknowledged must be there, what was killed may be. It is compared
after every step with what SQLite reads in a process of its own, and now and then with what the commands say.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from app.resident import messages
from app.resident.asking import ask
from app.resident.line import LineError, socket_path
from tests.whole.power_cut import Disk, compiled
from tests.whole.test_federation import invite, served

ROOT = Path(__file__).resolve().parents[2]
ANCHORS = ("heron", "stork", "crane", "egret", "ibis", "bittern")
"""words of documents that never change"""
N_RESULTS = 3
"""results that every page has at least"""
GROUP = (
    "[rounds]\nquorum = 1\nfloor = 1\nin_period = 0\n"
    '[method]\nmode = "open"\nshared = []\nlongest_step = 0\nlongest_query = 0\nprivacy = {mechanism = "none"}\n'
)
CONFIG = 'open.opener = "true"\nhistory.enabled = {history}\nsearch.page_size = {page_size}\nmeaning.enabled = false\n'
VARIABLES: tuple[dict[str, str], ...] = (
    {}, {}, {"FOLTR_LEARNING__STRENGTH": "0.5"}, {"FOLTR_LEARNING__BOUND": "1.5"}, {"FOLTR_SEARCH__PAGE_SIZE": "7"},
    {"FOLTR_HISTORY__ENABLED": "false"}, {"FOLTR_LEARNING__LEARNING_RATE": "0.3"}, {"COLUMNS": "60"},
)  # fmt: skip
OPTIONS: tuple[tuple[str, ...], ...] = ((), (), ("--json",), ("--strength", "0.5"), ("-n", "4"), ("--explain",))


@dataclass(slots=True)
class Count:
    """How many there are: known but for what was killed before it was acknowledged."""

    low: int = 0
    high: int = 0

    def add(self, *, is_sure: bool = True) -> None:
        self.low, self.high = self.low + is_sure, self.high + 1

    def holds(self, seen: int) -> bool:
        """Whether `seen` may be; from now on it is that."""
        is_so = self.low <= seen <= self.high
        self.low = self.high = seen
        return is_so


@dataclass(slots=True)
class Named:
    """Values by name; `unsure` are those that may be there in another form, or not at all."""

    sure: dict[str, str] = field(default_factory=dict)
    unsure: set[str] = field(default_factory=set)

    def holds(self, seen: dict[str, str]) -> bool:
        is_so = all(seen.get(name) == self.sure.get(name) for name in {*seen, *self.sure} - self.unsure)
        self.sure, self.unsure = seen, set()
        return is_so


@dataclass(slots=True)
class Expected:
    picks: Count = field(default_factory=Count)
    lessons: Count = field(default_factory=Count)
    history: Named = field(default_factory=Named)
    saved: Named = field(default_factory=Named)
    ledger: set[tuple[int, int]] = field(default_factory=set)
    """lineage and round of what was spent"""
    answered: set[int] = field(default_factory=set)
    """rounds of the one lineage"""
    words: dict[str, str] = field(default_factory=dict)
    """the word of each document, or that it once had, and its path; "" for one that is gone"""
    backups: set[str] = field(default_factory=set)
    clicks: Count = field(default_factory=Count)
    """results that were opened on pages that taught"""
    kept: Count = field(default_factory=Count)
    """results opened on the page that `open N` speaks of, which teaches when it is left"""
    n_opened: int = N_RESULTS
    screen_opened: bool = False


@dataclass(slots=True)
class Command:
    """One command line; `done` is told its output, `killed` that nobody knows."""

    arguments: Sequence[str]
    done: Callable[[str], None] = lambda out: None
    killed: Callable[[], None] = lambda: None
    codes: tuple[int, ...] = (0,)
    refusal: str = "\0"
    """said where nothing was done, and rightly so"""
    variables: dict[str, str] = field(default_factory=dict)
    code: int | None = None
    out: str = ""
    err: str = ""


class Violation(AssertionError):
    """Something that was acknowledged is not there, or two that must agree do not."""


class ManyHands:
    """One folder and everything that works on it; a context manager that leaves no process behind."""

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
        self.group: Iterator[Path] = served(folder / "group", GROUP) if is_new and group else iter(())
        if (server := next(self.group, None)) is not None:
            self.run(Command(("join", invite(server), "--yes")))
        self.has_group = server is not None
        self._look_around()

    def __enter__(self) -> ManyHands:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_all()
        self.hands.kill()
        next(self.group, None)
        self.log.close()

    def _begin(self) -> None:
        for i, word in enumerate(ANCHORS * 4):
            others = " ".join(self.rng.choices(ANCHORS, k=8))
            (self.notes / f"anchor{i}.md").write_text(f"# {word} {i}\n\n{others}\n")
        self.configure("true", 10)
        self.run(Command(("index", str(self.notes))), Command(("search", "nothing yet"), codes=(0, 1)))

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
                _signal(pid, signal.SIGKILL)
            for process in (self.serve, self.watch, self.screen):
                if process is not None:
                    process.poll()
        for process in (self.serve, self.watch, self.screen):
            if process is not None:
                process.wait()
                _close(process)
        self.serve = self.watch = self.screen = None

    def run(self, *commands: Command, kill: int | None = None, after: float = 0.0) -> None:
        """Run them at once and take note of each; `kill`, the place of one, is killed `after` so many seconds."""
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
                _signal(int(value), signal.SIGKILL)
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

    # Steps by commands.

    def left(self, *, is_sure: bool = True) -> None:
        """The kept page was left, and taught something if a result was opened on it; no more are opened on it."""
        now, kept = self.now, self.now.kept
        if kept.high:
            now.lessons.add(is_sure=is_sure and kept.low > 0)
            now.clicks.low, now.clicks.high = now.clicks.low + kept.low * is_sure, now.clicks.high + kept.high
        now.kept, now.n_opened = Count(0, 0 if is_sure else kept.high), N_RESULTS

    def search(self) -> Command:
        """A search of its own: no two have the same words, so each result opened on its page is one more pick."""
        now, token = self.now, self.new("q")
        text, options = f"{self.rng.choice(ANCHORS)} OR {token}", self.rng.choice(OPTIONS)
        variables = self.rng.choice(VARIABLES)
        is_kept = self.history and variables.get("FOLTR_HISTORY__ENABLED") != "false"

        def done(out: str) -> None:
            self.left()
            now.n_opened = 0
            if is_kept:
                now.history.sure[text] = ""

        def killed() -> None:
            self.left(is_sure=False)
            now.history.unsure.add(text)

        return Command(("search", *options, text), done, killed, variables=variables)

    def open(self) -> Command:
        now = self.now
        now.n_opened += 1

        def done(out: str) -> None:
            now.picks.add()
            now.kept.add()

        def killed() -> None:
            now.picks.add(is_sure=False)
            now.kept.add(is_sure=False)
            now.n_opened = N_RESULTS

        return Command(("open", "--print", str(now.n_opened)), done, killed, variables=self.rng.choice(VARIABLES))

    def change(self) -> Command:
        """A document made, changed or removed, and `index`."""
        now, word = self.now, self.new("w")
        living = [one for one, path in now.words.items() if path]
        path = self.notes / f"{self.new('file')}.txt"
        if living and self.rng.random() < 0.6:
            path = Path(now.words[old := self.rng.choice(living)])
            now.words[old] = ""
        if len(living) > 30 or (living and self.rng.random() < 0.2):
            path.unlink(missing_ok=True)
        else:
            path.write_text(word)
            now.words[word] = str(path)
        self.is_indexed = False
        return self.index()

    def index(self) -> Command:
        def done(out: str) -> None:
            self.is_indexed = True

        return Command(("index", "-q"), done, refusal="the index is being written by foltr-search watch")

    def indexed(self) -> None:
        """All that was changed is in the index, whoever put it there."""
        self.is_indexed = False
        while not self.is_indexed:
            self.run(self.index())

    def save(self) -> Command:
        saved, name = self.now.saved, f"s{self.rng.randrange(20)}"
        if name in saved.sure and self.rng.random() < 0.5:
            return Command(("saved", "remove", name), lambda out: saved.sure.pop(name), lambda: saved.unsure.add(name),
                           codes=(0, 2) if name in saved.unsure else (0,))  # fmt: skip
        text = self.new("t")
        return Command(("saved", "add", name, text), lambda out: saved.sure.update({name: text}),
                       lambda: saved.unsure.add(name))  # fmt: skip

    def backup(self) -> Command:
        name = self.new("b") + ".zip"
        return Command(("backup", "--to", str(self.home / "backups" / name)), lambda out: self.now.backups.add(name))

    def forget(self) -> Command:
        now = self.now

        def done(out: str) -> None:
            now.picks, now.lessons, now.clicks, now.kept = Count(), Count(), Count(), Count()
            now.n_opened = N_RESULTS

        def killed() -> None:
            now.picks.low = now.lessons.low = now.clicks.low = now.kept.low = 0
            now.n_opened = N_RESULTS

        return Command(("model", "forget", "--yes"), done, killed)

    def clear(self) -> Command:
        history = self.now.history
        return Command(("history", "clear"), lambda out: history.sure.clear(),
                       lambda: history.unsure.update(history.sure))  # fmt: skip

    def ask(self) -> Command:
        return Command(self.rng.choice((
            ("stats",), ("status",), ("model",), ("history",), ("config", "show"), ("saved",), ("why", "1", "heron"),
        )), codes=(0, 1))  # fmt: skip

    def sync(self) -> Command:
        """With the group's server; what a round costs is in the ledger once it is answered, or before."""

        def done(out: str) -> None:
            self.now.answered.update(int(number) for number in re.findall(r"answered round (\d+)", out))

        return Command(("sync", "--now"), done)

    def _command(self) -> Command:
        """One that may run beside others."""
        kinds = [self.change, self.save, self.ask, self.ask, self.backup]
        kinds += [self.sync] if self.has_group else []
        kinds += [self.open] * 6 if self.now.n_opened < N_RESULTS else []
        return self.rng.choice(kinds)()

    # Steps.

    def one(self) -> None:
        if self.now.n_opened >= N_RESULTS or self.rng.random() < 0.3:
            self.run(self.search())
        elif self.rng.random() < 0.7:
            self.run(self.open())
        else:
            self.run(self._command())

    def burst(self) -> None:
        """Two to four at once, at most one of them a change of the documents or of one saved search."""
        chosen: dict[str, Command] = {}
        for _ in range(self.rng.randrange(2, 5)):
            command = self._command()
            chosen.setdefault(
                " ".join(command.arguments[: 1 if command.arguments[0] in ("index", "saved") else None]), command
            )
        self.run(*chosen.values())

    def rare(self) -> None:
        self.run(self.rng.choice((self.forget, self.clear))())

    def killed(self) -> None:
        """A command that is killed, perhaps while another one runs."""
        commands = [self.search() if self.rng.random() < 0.3 else self._command()]
        if self.rng.random() < 0.5:
            commands.append(self.ask())
        self.run(*commands, kill=0, after=self.rng.choice((0.0, 0.005, 0.02, 0.05, 0.1)) * self.rng.random())
        self.wait_for_the_resident()

    def wait_for_the_resident(self) -> None:
        """Until it has done what a command asked that was killed."""
        while self.serve is not None and self.serve.poll() is None:
            with suppress(LineError, OSError):
                ask(socket_path(str(self.home / "data")), messages.question(messages.STATUS), seconds=60)
                return

    def configure(self, history: str = "", page_size: int = 0) -> None:
        """The user's editor writes config.toml; an editor syncs."""
        history = history or self.rng.choice(("true", "true", "false"))
        path = self.home / "config" / "config.toml"
        path.write_text(CONFIG.format(history=history, page_size=page_size or self.rng.randrange(5, 12)))
        self.disk.sync(path)
        self.history = history == "true"
        self.say(f"config.toml: history {history}")

    def find(self) -> None:
        """After an acknowledged `index` each word is found at its file, and none of a file that is gone."""
        if not self.is_indexed or not self.now.words:
            return
        word = self.rng.choice(list(self.now.words))
        wanted = self.now.words[word]
        command = Command(("search", "--as-typed", "--paths0", word), codes=(0, 1))
        self.settled_search(command, word)
        if command.out != (f"{wanted}\0" if wanted else ""):
            raise Violation(f"{word} is wanted at {wanted or 'no file'}, got {command.out!r}")

    def settled_search(self, command: Command, text: str) -> None:
        """A search whose page nothing is opened on afterwards."""
        self.run(command)
        self.left()
        if self.history:
            self.now.history.sure[text] = ""

    def agree(self) -> None:
        """A question to the resident process, to a command alone and to the screen: one answer."""
        self.indexed()
        self.run(self.search())  # what was opened before teaches now
        text = " ".join(self.rng.sample(ANCHORS, 2))
        answers = {}
        for name, variables in (("any", {}), ("alone", {"FOLTR_DEBUG": "1"})):
            command = Command(("search", "--paths0", "--as-typed", text), variables=variables)
            self.settled_search(command, text)
            answers[name] = command.out.split("\0")[:-1]
        if self.screen is not None:
            answers["screen"] = self.query(text)[: len(answers["any"])]
        if len({tuple(one) for one in answers.values()}) > 1:
            raise Violation(f"{text}: the answers are not one: {answers}")

    # Steps of those that stay.

    def serving(self) -> None:
        if self.serve is None or self.serve.poll() is not None:
            more = () if self.rng.random() < 0.3 else ("--no-watch",)
            self.serve = self._started(sys.executable, "-m", "app", "serve", "-q", *more)
            while self.serve.poll() is None and not os.path.exists(socket_path(str(self.home / "data"))):
                time.sleep(0.02)
        elif self.rng.random() < 0.2:
            self.serve = self._ended(self.serve)

    def watching(self) -> None:
        if self.watch is None or self.watch.poll() is not None:
            self.watch = self._started(sys.executable, "-m", "app", "watch", "-q")
        else:
            self.watch = self._ended(self.watch)

    def _ended(self, process: subprocess.Popen[str]) -> None:
        how = self.rng.choice((signal.SIGKILL, signal.SIGTERM))
        if process.stdin is not None and how == signal.SIGTERM:
            process.stdin.close()  # the screen is left
        else:
            process.send_signal(how)
        self.say(f"{process.args[3:] if isinstance(process.args, tuple) else ''} {how.name} -> {process.wait()}")
        _close(process)

    def looking(self) -> None:
        """The screen: started, asked, a result opened, left or killed."""
        now = self.now
        if self.screen is None:
            self.screen = self._started(sys.executable, "-m", "tests.whole.screen_hand", stdin=subprocess.PIPE)
            self._answer()
        elif self.rng.random() < 0.06:
            self._screen_left(is_sure=False)
            self.screen = self._ended(self.screen)
        elif now.screen_opened or self.rng.random() < 0.3:
            self.query(f"{self.rng.choice(ANCHORS)} OR {self.new('v')}")
            if self.rng.random() < 0.8:
                self.tell("open")
                self.say(f"screen: {self._answer()}")
                now.picks.add()
                now.screen_opened = True
                now.history.unsure.add(self.asked)

    def query(self, text: str) -> list[str]:
        """Ask the screen; the page before is left."""
        self.asked = text
        self.tell(f"query {text}")
        found: list[str] = self._answer()
        self._screen_left(is_sure=True)
        self.say(f"screen: {text}")
        return found

    def _screen_left(self, *, is_sure: bool) -> None:
        if self.now.screen_opened:
            self.now.lessons.add(is_sure=is_sure)
            self.now.clicks.add(is_sure=is_sure)
        self.now.screen_opened = False

    def tell(self, line: str) -> None:
        assert self.screen is not None
        assert self.screen.stdin is not None
        self.screen.stdin.write(line + "\n")
        self.screen.stdin.flush()

    def _answer(self) -> list[str]:
        assert self.screen is not None
        assert self.screen.stdout is not None
        line = self.screen.stdout.readline()
        if not line:
            code, self.screen = self.screen.wait(), None
            raise Violation(f"the screen ended with {code}")
        found: list[str] = json.loads(line)
        return found

    def cut(self) -> None:
        """The power goes while commands run."""
        is_worst = self.rng.random() < 0.5
        self.kill_all()
        self.now.screen_opened, self.now.n_opened = False, N_RESULTS
        self.now.kept.low = 0
        self.now.history.unsure.update(self.now.history.sure)  # not promised
        self.disk.cut(None if is_worst else self.rng)
        self.say(f"power cut, {'the worst' if is_worst else 'drawn'}")
        self.now.history.unsure.update(self._history())
        self.check(is_thorough=True)
        self.indexed()
        self.run(Command(("doctor",)))
        for _ in range(3):
            self.find()

    is_indexed = True
    history = True
    asked = ""

    def step(self) -> None:
        """One of them, and a look whether all is there."""
        self.n_steps += 1
        weights = {
            self.one: 300, self.burst: 120, self.killed: 60, self.find: 40, self.agree: 15, self.looking: 40,
            self.serving: 30, self.watching: 6, self.configure: 10, self.rare: 4, self.cut: 12,
        }  # fmt: skip
        chosen, began = self.rng.choices(list(weights), list(weights.values()))[0], time.monotonic()
        self.say(chosen.__name__)
        chosen()
        self.check(is_thorough=self.n_steps % 50 == 0)
        self.say(f"{chosen.__name__}: {time.monotonic() - began:.2f} s")


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _close(process: subprocess.Popen[str]) -> None:
    for stream in (process.stdin, process.stdout):
        if stream is not None:
            stream.close()


def main() -> int:
    """Run steps, and tell of each that broke a promise."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    n_wrong = 0
    with ManyHands(asked.folder.absolute(), asked.seed, group=True) as hands:
        while hands.n_steps < asked.steps:
            try:
                hands.step()
            except Violation as violation:
                n_wrong += 1
                hands.say(f"VIOLATION {violation}")
                print(f"step {hands.n_steps}: {violation}", flush=True)
    print(f"{asked.steps} steps, {n_wrong} violations")
    return min(n_wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
