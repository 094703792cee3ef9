"""`index`, done by the process that follows changes: the same work with the same output, or alone if that cannot be."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.chosen_folders import remember_root
from app.following.index_requests import IndexRequests
from app.paths import Paths
from app.resident.local_socket import AVAILABLE, index_socket_path
from indexer.progress import UpdateSummary
from indexer.storage.catalogue import Catalogue
from tests import copied
from tests.app.resident.conftest import PATIENCE, serving
from tests.waiting import until

if TYPE_CHECKING:
    from tests.app.conftest import Device

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="there are no Unix sockets here")

ASKER = "import sys; from app.resident.resident_client import answered; print(answered(sys.argv[1:]))"
UNSEEN = {"FOLTR_FORCE_POLL": "1"}
"""nothing is watched, as on a network drive: what changes is found by looking alone"""


@contextmanager
def following(device: Device, **variables: str) -> Iterator[BaseProcess]:
    """`watch` on an indexed device, ready to be asked, killed at the end."""
    process = copied.start(
        copied.COMMAND, ["watch", "--quiet"], variables=device.environment(**variables), cwd=device.home,
        out=Path(os.devnull), err=Path(os.devnull), daemon=False,
    )  # fmt: skip
    try:
        until(lambda: Path(index_socket_path(str(device.data_dir))).exists())
        until(lambda: handed(device, **variables)[0] == "0")
        yield process
    finally:
        process.kill()
        process.join(PATIENCE)


def handed(device: Device, *arguments: str, code: str = ASKER, **variables: str) -> tuple[str, str]:
    """(exit code of `index` as the other process gave it, "None" where the command must work alone; what was said)."""
    done = copied.run(("index", *arguments), variables=device.environment(**variables), cwd=device.home, code=code)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), without_times(done.stderr)


def alone(device: Device, *arguments: str, **variables: str) -> tuple[str, str]:
    """The same by the command itself."""
    code = ASKER.replace("app.resident.resident_client import answered", "app.cli import main as answered")
    return handed(device, *arguments, code=code, **variables)


def without_times(said: str) -> str:
    """What was said of the work but not how far it was at which moment."""
    return re.sub(r"[\d.]+ (s\b|MB/s)|(?m:^(scanning|indexing|merging)\b.*\n)", "", said)


CHANGES: tuple[Callable[[Path], object], ...] = (
    lambda notes: None,
    lambda notes: (notes / "new.txt").write_text("a bittern booms"),
    lambda notes: (notes / "new.txt").write_text("a bittern boomed again"),
    lambda notes: (notes / "new.txt").rename(notes / "birds" / "moved.txt"),
    lambda notes: (notes / "bad.docx").write_bytes(b"PK\3\4 broken"),
    lambda notes: (notes / "birds" / "moved.txt").unlink(),
)


def test_the_same_work_is_told_in_the_same_words(device: Device) -> None:
    """Counts, failures and exit code of each kind of unreported change, compared with the command alone."""
    device.index()
    expected = []
    for change in CHANGES:
        change(device.notes)
        expected.append((alone(device), alone(device, "--quiet")))
    (device.notes / "bad.docx").unlink()
    device.index()
    with following(device, **UNSEEN):
        for change, wanted in zip(CHANGES, expected, strict=True):
            change(device.notes)
            assert (handed(device, **UNSEEN), handed(device, "--quiet", **UNSEEN)) == wanted
        assert device.run("search", "bittern").returncode == 1


class Work:
    """Keeps whether the reading for meaning was waited for."""

    def __init__(self) -> None:
        self.waited: list[bool] = []

    def is_theirs(self, variables: Mapping[str, str]) -> bool:
        return True

    def choose(self, folders: Sequence[str]) -> bool:
        return True

    def read_for_meaning(self, stop: threading.Event, *, is_waited_for: bool) -> str:
        self.waited.append(is_waited_for)
        return "it goes on"


def test_with_quiet_the_command_does_not_wait_for_meaning(device: Device) -> None:
    """With progress shown it waits to the end; with --quiet it ends once words can be searched."""
    work = Work()
    device.data_dir.mkdir()
    with IndexRequests(device.data_dir) as requests:

        def answer() -> None:
            for _ in range(2):
                requests.asked.wait(PATIENCE)
                requests.answer(work, lambda stop: UpdateSummary())

        answering = threading.Thread(target=answer)
        answering.start()
        said = [handed(device), handed(device, "-q")]
        answering.join(PATIENCE)
    assert work.waited == [True, False]
    assert [code for code, _ in said] == ["0", "0"]
    assert all("it goes on" in text for _, text in said)


def test_a_file_of_before_it_began_is_found(device: Device) -> None:
    """Changes made while nothing followed are indexed when the first call is answered, by `serve` and `watch`."""
    device.index()
    (device.notes / "bittern.txt").write_text("a bittern booms", encoding="ascii")
    with serving(device, "--pause-on-battery"):
        until(lambda: handed(device)[0] == "0")
        assert "bittern.txt" in device.run("search", "bittern").stdout


def test_a_process_that_is_stopped_or_killed_is_done_without(device: Device) -> None:
    """The command works alone, even if its helper dies at work."""
    device.index()
    with following(device, **UNSEEN) as process:
        os.kill(process.pid or 0, signal.SIGSTOP)
        (device.notes / "one.txt").write_text("a bittern booms", encoding="ascii")
        assert "1 new" in device.run("index", env=UNSEEN).stderr
        os.kill(process.pid or 0, signal.SIGCONT)
        until(lambda: handed(device, **UNSEEN)[0] == "0")
        for i in range(40):
            (device.notes / f"{i}.txt").write_text(f"stork {i} " * 40_000, encoding="ascii")
        with command(device) as caller:
            until_it_works(caller)
            process.kill()
            assert caller.wait(PATIENCE) == 0
        assert handed(device, **UNSEEN)[0] == "None"
    assert n_files(device) == 6 + 1 + 40


def n_files(device: Device) -> int:
    """That were read."""
    with closing(Catalogue.open(device.data_dir / "catalogue.sqlite")) as catalogue:
        return catalogue.counts().n_files


@contextmanager
def command(device: Device, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """`foltr-search index` under way."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "index"], env=device.environment(**UNSEEN, **variables), cwd=device.home,
        text=True, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)
        assert process.stderr is not None
        process.stderr.close()


def until_it_works(caller: subprocess.Popen[str]) -> None:
    assert caller.stderr is not None
    while not (line := caller.stderr.readline()).startswith("indexing:"):
        assert line, "it ended before it worked"


@pytest.mark.parametrize("is_killed", [False, True])
def test_an_interrupt_ends_the_work_early_and_keeps_what_is_done(device: Device, is_killed: bool) -> None:
    """Ctrl-C gives the output and exit code of the command alone; a vanished caller does not harm the next."""
    device.index()
    one = {"FOLTR_INDEX__WORKERS": "1"}
    with following(device, **UNSEEN, **one):
        for i in range(30):
            (device.notes / f"{i}.txt").write_text(f"stork {i} " * 40_000, encoding="ascii")
        with command(device, **one) as caller:
            until_it_works(caller)
            caller.send_signal(signal.SIGKILL if is_killed else signal.SIGINT)
            assert caller.wait(PATIENCE) == (-signal.SIGKILL if is_killed else 130)
            assert is_killed or "stopped early" in caller.stderr.read()  # type: ignore[union-attr]
        assert handed(device, **UNSEEN, **one)[0] == "0"
    assert n_files(device) == 6 + 30


def test_other_settings_are_the_commands_own_and_other_folders_are_not(device: Device) -> None:
    """A setting of this run, an option: the command does it alone. A folder that was chosen since is followed from then
    on, and its documents stay."""
    device.index()
    with following(device, **UNSEEN):
        (device.notes / ".hidden.txt").write_text("a bittern booms", encoding="ascii")
        assert handed(device, **UNSEEN, FOLTR_INDEX__HIDDEN="true")[0] == "None"
        assert handed(device, **UNSEEN, FOLTR_INDEX__WORKERS="many")[0] == "None"  # what is wrong, it says itself
        assert handed(device, "--retry-failures", **UNSEEN)[0] == "None"
        assert handed(device, **UNSEEN)[0] == "0"
        (device.home / "more").mkdir()
        (device.home / "more" / "new.txt").write_text("a bittern booms", encoding="ascii")
        assert "1 new" in device.run("index", str(device.home / "more"), env=UNSEEN).stderr
        assert handed(device, **UNSEEN)[0] == "0"
        assert "new.txt" in device.run("search", "bittern").stdout
        (device.home / "more" / "new.txt").write_text("a stork claps", encoding="ascii")
        assert handed(device, **UNSEEN)[0] == "0"
        assert "new.txt" in device.run("search", "claps").stdout


def test_a_folder_that_is_named_is_remembered_and_followed(device: Device) -> None:
    """`index FOLDER`, named as seen from the caller's folder, is told as the command alone tells it; what changes there
    later is found without being asked for. What is no folder the command itself complains of."""
    device.index()
    for name in ("one", "more"):
        (device.home / name).mkdir()
        (device.home / name / "new.txt").write_text("a bittern booms", encoding="ascii")
    expected = alone(device, "one", "-q")[1].replace("6 unchanged", "7 unchanged")
    with following(device):
        assert handed(device, "more", "-q") == ("0", expected)
        assert str(device.home / "more") in (device.data_dir / "roots.json").read_text()
        (device.home / "more" / "later.txt").write_text("a stork claps", encoding="ascii")
        until(lambda: "later.txt" in device.run("search", "claps").stdout)
        assert handed(device, "nowhere")[0] == handed(device, "more/new.txt")[0] == "None"


@pytest.mark.parametrize("variables", [{}, UNSEEN], ids=["watched", "not watched"])
def test_a_folder_that_others_choose_is_followed_at_once(device: Device, variables: dict[str, str]) -> None:
    """Such as one remembered by the screen's first question or by a command alone; no scan need be requested."""
    device.index()
    (device.home / "more").mkdir()
    (device.home / "more" / "new.txt").write_text("a bittern booms", encoding="ascii")
    with following(device, **variables):
        remember_root(Paths(device.home / "config", device.data_dir), device.home / "more")
        until(lambda: "new.txt" in device.run("search", "bittern").stdout)


def test_many_at_once_are_answered_one_after_another(device: Device) -> None:
    """Each gets its whole answer."""
    device.index()
    with following(device, **UNSEEN):
        callers = [
            subprocess.Popen(
                [sys.executable, "-c", ASKER, "index"], env=device.environment(**UNSEEN), cwd=device.home, text=True,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )
            for _ in range(4)
        ]  # fmt: skip
        found = [caller.communicate(timeout=PATIENCE) for caller in callers]
    assert [(code.strip(), "6 unchanged" in said) for code, said in found] == [("0", True)] * 4
