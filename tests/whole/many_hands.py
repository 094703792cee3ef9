"""Random steps of many processes over one data folder, with kills and power cuts: each exit 0 is there afterwards.

    python -m tests.whole.many_hands FOLDER --steps 10000 --seed 1

The screen, `serve`, `watch` and a group's server stay; commands run as copies of a process that has loaded the program.
The seed decides what is done; when a kill strikes depends on the machine, too. FOLDER/log.txt has a line for each step.
FOLDER is gone on with if it is there, so that a long run may be ended and begun again.
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
from contextlib import suppress
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path

from app.resident import protocol
from app.resident.local_socket import LineError, socket_path
from app.resident.resident_client import ask
from tests.tiny_encoder import write_encoder
from tests.whole.acknowledged import N_RESULTS, Command, Copy, Count, Violation
from tests.whole.hands import ANCHORS, Hands, close

VARIABLES: tuple[dict[str, str], ...] = (
    {}, {}, {"FOLTR_LEARNING__STRENGTH": "0.5"}, {"FOLTR_LEARNING__BOUND": "1.5"}, {"FOLTR_SEARCH__PAGE_SIZE": "7"},
    {"FOLTR_HISTORY__ENABLED": "false"}, {"FOLTR_LEARNING__LEARNING_RATE": "0.3"}, {"COLUMNS": "60"},
)  # fmt: skip
PICTURED = ("pelican", "flamingo", "albatross", "woodpecker", "nightingale", "kingfisher")
WRITTEN = "the index is being written by foltr-search watch"
CAN_RECOGNISE, CAN_ENCODE = bool(find_spec("rapidocr") and find_spec("PIL")), bool(find_spec("onnxruntime"))
OPTIONS: tuple[tuple[str, ...], ...] = ((), (), ("--json",), ("--strength", "0.5"), ("-n", "4"), ("--explain",))


class ManyHands(Hands):
    """Hands with steps to choose from."""

    def __init__(self, folder: Path, seed: int, *, group: bool = False) -> None:
        super().__init__(folder, seed, group=group)
        self.copies: list[Copy] = []
        self.meaning = {
            "FOLTR_MEANING__ENABLED": "true", "FOLTR_MEANING__MODEL": str(write_encoder(folder / "encoder"))
        }  # fmt: skip

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
        living = [one for one, path in now.words.items() if path.endswith(".txt")]
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

        return Command(("index", "-q"), done, refusal=WRITTEN)

    def picture(self) -> None:
        """A picture of a word is drawn or removed, and recognised; found from then on, and after whatever comes."""
        word = self.rng.choice(PICTURED)
        path = self.notes / f"{word}.png"
        if self.now.words.pop(word, "") and self.rng.random() < 0.4:
            path.unlink()
            self.now.words[word], self.is_indexed = "", False
            return self.run(self.index())
        if not path.exists():
            from PIL import Image, ImageDraw, ImageFont

            sheet = Image.new("RGB", (600, 120), "white")
            ImageDraw.Draw(sheet).text((40, 30), word, "black", ImageFont.load_default(48))
            sheet.save(path)
        self._beside(Command(("index", "-q", "--ocr"), lambda out: self.now.words.update({word: str(path)}),
                             refusal=WRITTEN))  # fmt: skip
        return self.find()

    def vectors(self) -> None:
        """Texts become vectors, which whoever follows changes with other settings may take away again."""
        made = Command(("index", "-q"), refusal=WRITTEN, variables=self.meaning)
        is_cut = self._beside(made)  # and then indexed with other settings
        search = Command(("search", "--paths0", "bird"), codes=(0, 1), variables=self.meaning)
        self.settled_search(search, "bird")
        if made.code == 0 and not is_cut and self.serve is None and self.watch is None and not search.out:
            raise Violation("no text is near the word bird, though all were read for what they mean")

    def _beside(self, command: Command) -> bool:
        """Run it beside another one, or kill it, or cut the power; whether that was cut."""
        chance, after = self.rng.random(), 3 * self.rng.random()
        if chance < 0.4:
            self.run(command, self.ask())
        elif chance < 0.7:
            self.run(command, kill=0, after=after)
        elif chance < 0.85:
            self.cut_while(command, after=after)
        else:
            self.run(command)
        return 0.7 <= chance < 0.85

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

    def copied(self) -> None:
        """A backup of which is known what it holds."""
        self.check(is_thorough=True)
        command = self.backup()
        self.run(command)
        has_saved = (self.home / "config" / "searches.toml").exists()
        self.copies.append(Copy(command.arguments[-1], deepcopy(self.now), self.history, has_saved))

    def restored(self) -> None:
        """What was learned, saved and set is again as in a backup, or may be where the restore was killed."""
        if not self.copies:
            return
        self.check()
        if self.screen is not None:
            self.query(self.new("v"))  # the page before teaches what is replaced now
        copy, now = self.rng.choice(self.copies), self.now

        def is_now(*, is_sure: bool) -> None:
            for name in ("picks", "lessons", "clicks", "kept", "history", *(["saved"] if copy.has_saved else [])):
                getattr(now, name).became(getattr(copy.now, name), is_sure=is_sure)
            now.n_opened = copy.now.n_opened if is_sure else N_RESULTS

        command = Command(("restore", copy.path, "--yes"), lambda out: is_now(is_sure=True),
                          lambda: is_now(is_sure=False), refusal="is running")  # fmt: skip
        is_killed = self.rng.random() < 0.3
        self.run(command, kill=0 if is_killed else None, after=0.1 * self.rng.random())
        self.history = copy.history
        if command.code:
            now.kept.low = 0
            self.configure()

    def regrouped(self) -> None:
        """The group is left, or joined again."""
        if self.server is None:
            return
        if self.has_group:
            self.run(Command(("leave", "--yes")))
            self.has_group = False
        else:
            self.join()

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
                ask(socket_path(str(self.home / "data")), protocol.question(protocol.STATUS), seconds=60)
                return

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
        if self.screen is not None and (shown := self.query(text)):
            answers["screen"] = shown[: len(answers["any"])]
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
        close(process)

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
        self.cut_while(self._command(), self.ask(), after=0.1 * self.rng.random())

    def cut_while(self, *commands: Command, after: float) -> None:
        """The power goes while these run."""
        is_worst = self.rng.random() < 0.5
        self.run(*commands, kill=0, after=after, all_end=True)
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

    def step(self) -> None:
        """One of them, and a look whether all is there."""
        self.n_steps += 1
        weights = {
            self.one: 300, self.burst: 120, self.killed: 60, self.find: 40, self.agree: 15, self.looking: 40,
            self.serving: 30, self.watching: 6, self.configure: 10, self.rare: 4, self.cut: 12,
            self.copied: 6, self.restored: 8, self.regrouped: 4,
            self.picture: 8 * CAN_RECOGNISE, self.vectors: 8 * CAN_ENCODE,
        }  # fmt: skip
        chosen, began = self.rng.choices(list(weights), list(weights.values()))[0], time.monotonic()
        self.say(chosen.__name__)
        chosen()
        self.check(is_thorough=self.n_steps % 50 == 0)
        self.say(f"{chosen.__name__}: {time.monotonic() - began:.2f} s")


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
