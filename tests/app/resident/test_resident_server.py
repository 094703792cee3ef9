"""The resident process as seen from outside: the same answers, and what it survives."""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from app.commands.serve import AGAIN
from app.resident import command_runner, protocol
from app.resident import resident_server as resident_serving
from app.resident.local_socket import LineError, LocalLine, call, socket_path
from app.resident.resident_client import ask
from app.resident.resident_server import BEGINS, LOCK_FILE, MAX_CALLERS, PROGRAM
from app.search.results import SearchRequest
from app.search.search import Search
from app.settings import Paths, Settings
from tests import copied
from tests.app.conftest import ROOT
from tests.app.machines.machines_of_one import IN_PLACE_OF_SSH, make_machine
from tests.app.resident.conftest import PATIENCE, dial, serving
from tests.tiny_encoder import write_encoder
from tests.waiting import until

if TYPE_CHECKING:
    from tests.app.conftest import Device

WORDS = (
    "heron", "fish", "kingfisher", "tax", "street", "boat", "rental", "river", "count", "heorn", "wat*", "-fish",
    '"grey heron"', "type:text", "dir:~/notes/birds", "name:invoice", "20", "OR egret", "(stork", "ext:py",
)  # fmt: skip
QUERIES = [f"{one} {other}" for one, other in itertools.product(WORDS, WORDS)][::7]

ASKER = """
import json, sys
from app import cli
from app.resident.resident_client import answered
ask = cli.main if sys.argv[1] == "alone" else answered
for query in json.loads(sys.argv[2]):
    code = ask(["search", "--json", "--explain", "--", *query.split()])
    sys.stdout.flush()
    sys.stderr.flush()
    assert code is not None, query
    print(query, code, flush=True)
"""


def n_answered(device: Device) -> int:
    found = re.search(r"([\d,]+) answered", json.loads(device.run("status", "--json").stdout)["resident"])
    assert found is not None
    return int(found[1])


def asked(device: Device, how: str) -> tuple[str, str]:
    variables = device.environment()
    done = copied.run((how, json.dumps(QUERIES)), variables=variables, cwd=device.home, code=ASKER)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_odd_queries_have_the_same_answers_with_and_without_it(device: Device) -> None:
    """Byte for byte: results, explanations, diagnostics and exit codes, after something was learned."""
    device.index()
    for query in ("heron", "fish river"):
        assert device.run("search", query).returncode == 0
        assert device.run("open", "2", "--print").returncode == 0
    assert {word for query in QUERIES for word in WORDS if word in query} == {*WORDS}
    alone = asked(device, "alone")
    with serving(device):
        assert asked(device, "resident") == alone
    assert alone[0].count('"rank"') > 80


COMMAND_LINES = (
    ("search", "heron"),
    ("search", "heron", "--paths0"),
    ("search", "heron", "--color", "always", "--explain"),
    ("search", "heron", "--set", "search.page_size=1"),
    ("search", "heron", "--set", "search.page_size=none"),
    ("search", "--no-such-option", "heron"),
    ("search", "nowhere-to-be-found"),
    ("search", "heron 5 -n"),
    ("search", "--help"),
    ("search", "heron", "--vimgrep"),
    ("search", "heron", "-n", "3"),
    ("search", "@fishing", "river"),
    ("search", "artist:nina"),
    ("search", "thread:none", "heron"),
    ("search", "heron", "--format", "{rank} {name} {artist}"),
    ("search", "heron", "--format", "{rank}\\t{line}\\t{snippet}"),
    ("why", "notes/birds/heron.txt", "notes/none"),
    ("open", "1", "--print"),
    ("open", "99"),
)


def test_a_command_line_gives_the_same_in_every_way(device: Device) -> None:
    """Output, diagnostics and exit code of real processes, with their own folder, variables and settings."""
    device.index()
    assert device.run("saved", "add", "fishing", "fish").returncode == 0

    def outcomes() -> list[tuple[str, str, int]]:
        fixed = {"COLUMNS": "70", "TZ": "Asia/Tokyo", "FOLTR_LEARNING__ENABLED": "no"}  # what is opened changes nothing
        done = [device.run(*words, env=fixed) for words in COMMAND_LINES]
        done += [device.run("search", "fish", cwd=device.notes, env={"FOLTR_SEARCH__PAGE_SIZE": "2"})]
        done += [device.run(env={"_FOLTR_SEARCH_COMPLETE": "bash_complete", "COMP_WORDS": "x hist", "COMP_CWORD": "1"})]
        return [(one.stdout, one.stderr, one.returncode) for one in done]

    alone = outcomes()
    with serving(device):
        for words, answer, wanted in zip((*COMMAND_LINES, "variables", "completion"), outcomes(), alone, strict=True):
            assert answer == wanted, words
        assert n_answered(device) == len(alone)


def test_a_page_by_meaning_is_one_page_everywhere(device: Device) -> None:
    """A search for a heron finds an egret by a command alone, by `serve` identically, and on the screen."""
    env = read_for_meaning(device)

    def outcomes() -> list[tuple[str, str, int]]:
        done = [device.run("search", words, "--json", "--explain", "--no-explore", env=env) for words in MEANT]
        return [(one.stdout, one.stderr, one.returncode) for one in done]

    alone = outcomes()
    assert '"by meaning"' in alone[0][0]
    assert on_the_screen(device, env) == [[json.loads(line)["path"] for line in one[0].splitlines()] for one in alone]
    with serving(device, **env):
        assert outcomes() == alone
        assert n_answered(device) == len(alone)


def test_a_command_that_does_without_the_encoder_says_so(device: Device) -> None:
    """Once, if meaning would have had a part; with `serve`, whose encoder is loaded, it has."""
    env = {**read_for_meaning(device), "FOLTR_MEANING__ONE_SHOT": "false"}
    said = {words: device.run("search", words, env=env).stderr.count("by words alone") for words in MEANT}
    assert said == {**dict.fromkeys(MEANT, 1), "=bird": 0}
    with serving(device, **env):
        found = device.run("search", "bird", env=env)
        assert ("pond.txt" in found.stdout, "by words alone" in found.stderr) == (True, False)


MEANT = ("bird", "heron", "levy", "bird type:text", "heron fish", "=bird")


def read_for_meaning(device: Device) -> dict[str, str]:
    """Index and read the notes; the variables that say so."""
    pytest.importorskip("onnxruntime")
    encoder = write_encoder(device.home / "encoder")
    env = {
        "FOLTR_MEANING__ENABLED": "true", "FOLTR_MEANING__MODEL": str(encoder),
        "FOLTR_MEANING__PAUSE_ON_BATTERY": "false",
    }  # fmt: skip
    (device.notes / "pond.txt").write_text("An egret waits at the pond.", encoding="ascii")
    assert device.run("index", str(device.notes), env=env).returncode == 0
    return env


def on_the_screen(device: Device, env: dict[str, str]) -> list[list[str]]:
    """The paths of the settled pages as the screen's own search gives them."""
    variables = {**device.environment(), **env}
    paths = Paths.from_environment(variables)
    search = Search(Settings.load(paths, variables), paths, resident=True)
    try:
        pages = [search.search(SearchRequest(words, explore=False)) for words in MEANT]
        return [[hit.path for hit in page.hits] for page in pages]
    finally:
        search.close()


def test_the_next_answer_sees_what_was_committed(resident: Device) -> None:
    """A file that any process has indexed is found by the next question; so is an index that was made anew."""
    (resident.notes / "bittern.txt").write_text("a bittern booms", encoding="ascii")
    assert resident.run("search", "bittern").returncode == 1
    resident.index()
    assert "bittern.txt" in resident.run("search", "bittern").stdout
    (resident.notes / "bittern.txt").unlink()
    assert resident.run("index", "--rebuild").returncode == 0
    assert resident.run("search", "bittern").returncode == 1
    assert resident.run("search", "heron").returncode == 0


def test_what_was_opened_is_learned_whoever_answers(resident: Device) -> None:
    """The last page and its picks are in the state file: searched here, opened alone, and the other way round."""
    assert resident.run("search", "fish").returncode == 0
    assert resident.run("open", "1", "--print", env={"FOLTR_DEBUG": "1"}).returncode == 0
    assert resident.run("search", "heron", env={"FOLTR_DEBUG": "1"}).returncode == 0
    assert resident.run("open", "2", "--print").returncode == 0
    assert resident.run("search", "egret").returncode == 0
    assert "2 results opened" in resident.run("stats").stdout


def test_an_opening_is_of_the_page_that_it_was_opened_on(resident: Device) -> None:
    """If another search replaces the last page while the program starts, the opening still counts for its page."""
    resident.run("search", "heron", "--format", "{name}")
    search_meanwhile = f"sh -c '{sys.executable} -m app search invoice'"
    opened = resident.run("open", "1", "--with", "editor", env={"FOLTR_OPEN__EDITOR": search_meanwhile})
    assert (opened.returncode, "invoice.html" in opened.stdout) == (0, True)
    for query, is_opened in (("heron", True), ("invoice", False)):
        first = resident.run("search", query, "--json", "--explain", "--no-explore").stdout.splitlines()[0]
        assert ("same_query" in first) == is_opened, first
    resident.run("search", "egret")
    assert "1 result opened" in resident.run("stats").stdout


def test_a_viewer_runs_in_the_process_that_asked(resident: Device, tmp_path: Path) -> None:
    """It has that process's folder and streams; exit code and a missing program are reported as without `serve`."""
    resident.run("search", "heron")
    place = tmp_path / "here"
    place.mkdir()
    shown = resident.run("open", "1", "--with", "editor", env={"EDITOR": "sh -c 'pwd; cat \"$0\"'"}, cwd=place)
    first, *rest = shown.stdout.splitlines()
    assert (first, shown.returncode) == (str(place), 0)
    assert "heron" in "\n".join(rest).lower()
    failed = resident.run("open", "1", "--with", "editor", env={"EDITOR": "false"})
    assert (failed.returncode, failed.stderr) == (2, "foltr-search: false ended with exit code 1\n")
    missing = resident.run("open", "1", "--with", "editor", env={"EDITOR": "no-such-editor"})
    assert (missing.returncode, missing.stderr.count("\n")) == (2, 1)
    assert "cannot start no-such-editor" in missing.stderr
    converted = resident.run("search", "boat")
    assert "invoice.html" in converted.stdout
    paged = resident.run("open", "1", "--with", "pager", env={"PAGER": "cat"})
    assert "Boat rental: 120 euros" in paged.stdout  # the extracted text: this the asking process does alone
    assert "<p>" not in paged.stdout


def test_other_machines_are_reached_by_the_process_that_asked(device: Device, tmp_path: Path) -> None:
    """ssh uses the caller's agent, and no other caller waits for another machine."""
    make_machine(tmp_path / "desk", {"carp.txt": "The carp is a fish of ponds."})
    noted = f"import os, sys; print(os.getppid(), file=open({str(tmp_path / 'parents')!r}, 'a'))\n{IN_PLACE_OF_SSH}"
    ssh = shlex.join([sys.executable, "-c", noted, str(tmp_path)])
    asking = {"FOLTR_DEVICES__SSH": ssh, "FOLTR_DEVICES__ASK_SECONDS": "60", "FOLTR_OPEN__EDITOR": "true {path}"}
    device.index()
    with serving(device) as process:
        for command in (("search", "--on", "desk", "carp ponds"), ("open", "1", "--with", "editor")):
            assert device.run(*command, env=asking).returncode == 0
        assert str(process.pid) not in (parents := (tmp_path / "parents").read_text().split())
        assert len(set(parents)) == 2


def test_kill_9_loses_nothing_and_its_socket_is_replaced(device: Device) -> None:
    """Killed between and during questions: every command still answers, and the next process takes over."""
    device.index()
    wanted = device.run("search", "heron").stdout
    with serving(device) as first:
        assert device.run("open", "1", "--print").returncode == 0
        os.kill(first.pid or 0, signal.SIGSTOP)  # it has taken the question and will never answer it
        asker = subprocess.Popen(
            [sys.executable, "-m", "app", "search", "heron"],
            env=device.environment(), cwd=device.home, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        first.kill()
        assert asker.communicate(timeout=PATIENCE)[0] == wanted
        assert asker.returncode == 0
    assert Path(socket_path(str(device.data_dir))).exists()
    assert device.run("search", "heron").stdout == wanted
    with serving(device):
        before = n_answered(device)
        assert device.run("search", "heron").stdout == wanted
        assert n_answered(device) == before + 1
    assert "1 result opened" in device.run("stats").stdout


def test_a_stopped_process_is_not_waited_for_and_does_no_work_later(resident: Device) -> None:
    """When resumed it ignores questions whose callers have gone on by themselves."""
    wanted, before = resident.run("search", "heron").stdout, n_answered(resident)
    path = Path(socket_path(str(resident.data_dir)))
    stopped = int(re.findall(r"\d+", (path.parent / LOCK_FILE).read_text(encoding="ascii"))[0])
    os.kill(stopped, signal.SIGSTOP)
    try:
        with pytest.raises(LineError, match="does not answer: it is stopped, or busy"):
            ask(str(path), protocol.question(protocol.STATUS))
        assert resident.run("search", "heron").stdout == wanted
        assert resident.run("open", "1", "--print").returncode == 0
        assert resident.run("serve", "--stop").stderr.startswith("foltr-search: nothing was stopped: the resident ")
    finally:
        os.kill(stopped, signal.SIGCONT)
    assert resident.run("search", "heron").stdout == wanted
    assert n_answered(resident) == before + 1
    assert "1 result opened" in resident.run("stats").stdout


def test_there_is_one_for_a_data_folder_and_it_can_be_stopped(resident: Device) -> None:
    """A second one names the first; `--stop` ends it and removes the socket; then there is none."""
    second = resident.run("serve", "--no-watch")
    assert second.returncode == 2
    assert re.fullmatch(r"foltr-search: a resident process answers already \(process \d+\)\n", second.stderr)
    assert "answered" in resident.run("status").stdout
    assert " resident:" in resident.run("doctor").stdout
    assert resident.run("serve", "--stop").returncode == 0
    until(lambda: not os.path.exists(socket_path(str(resident.data_dir))))
    assert "resident:     none" in resident.run("status").stdout
    assert resident.run("serve", "--stop").returncode == 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(device: Device, number: int) -> None:
    """The socket goes, and the exit code is 0."""
    with serving(device) as process:
        os.kill(process.pid or 0, number)
        process.join(PATIENCE)
        assert process.exitcode == 0
    assert not os.path.exists(socket_path(str(device.data_dir)))


def test_it_leaves_when_idle(device: Device) -> None:
    """After resident.idle_minutes without a question; asking for its status does not count."""
    with serving(device, "--no-watch", "--idle", FOLTR_RESIDENT__IDLE_MINUTES="0.02") as process:
        process.join(PATIENCE)
        assert process.exitcode == 0


def test_on_demand_the_first_search_starts_one_that_answers_the_next(device: Device) -> None:
    """Only where the setting says so; it answers alone, watches nothing, and ends with `--stop`."""
    device.index()
    env = {"FOLTR_RESIDENT__START": "on demand"}
    assert device.run("search", "heron").returncode == 0
    assert not os.path.exists(socket_path(str(device.data_dir)))
    first = device.run("search", "heron", env=env)
    until(lambda: os.path.exists(socket_path(str(device.data_dir))))
    try:
        until(lambda: "answered" in device.run("status").stdout)
        assert device.run("search", "heron", env=env).stdout == first.stdout
        assert n_answered(device) == 1
        assert "writer:       none" in device.run("status").stdout
    finally:
        assert device.run("serve", "--stop").returncode == 0


def test_it_watches_too(device: Device) -> None:
    """A file that appears is found without another command, and the watching process ends with it."""
    device.index()
    with serving(device, "--set", "index.workers=1"):
        (device.notes / "bittern.txt").write_text("a bittern booms", encoding="ascii")
        until(lambda: device.run("search", "bittern").returncode == 0)
        assert device.run("index", str(device.notes)).returncode == 0  # beside it
        assert device.run("serve", "--stop").returncode == 0
    until(lambda: "writer:       none" in device.run("status").stdout)


def test_another_version_works_alone_and_the_old_one_leaves(resident: Device, tmp_path: Path) -> None:
    """A program in another place answers by itself, and the resident process ends."""
    other = tmp_path / "other"
    other.mkdir()
    root = Path(__file__).resolve().parents[3]
    for name in ("app", "console", "foltr", "indexer"):
        subprocess.run(["cp", "-r", str(root / name), str(other / name)], check=True)
    (other / "app" / "__init__.py").write_text('"""The device, newer."""\n\nVERSION = "0.1.1"\n', encoding="ascii")
    done = resident.run("search", "heron", env={"PYTHONPATH": str(other)}, cwd=other)
    assert done.returncode == 0
    assert "heron.txt" in done.stdout
    until(lambda: not os.path.exists(socket_path(str(resident.data_dir))))


def test_it_leaves_for_a_version_of_another_protocol(resident: Device) -> None:
    """Nothing that such a program says after its name can be understood."""
    question = protocol.PROTOCOL[:-1] + b"999\0whatever"
    with dial(resident) as caller:
        caller.sendall(len(question).to_bytes(4, "big") + question)
        assert read_to_end(caller) == b""
    until(lambda: not os.path.exists(socket_path(str(resident.data_dir))))


def test_it_leaves_for_a_program_that_was_updated_in_its_place(device: Device, tmp_path: Path) -> None:
    """After a git pull or an upgrade, code loaded before does not answer."""
    device.index()
    for room in PROGRAM:
        shutil.copytree(ROOT / room, tmp_path / room)
    other = {"PYTHONPATH": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "serve", "--no-watch"],
        env=device.environment(**other), cwd=device.home, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        until(lambda: "answered" in device.run("status", env=other).stdout)
        (tmp_path / "app" / "cli.py").touch()
        assert "heron.txt" in device.run("search", "heron", env=other).stdout
        assert process.wait(PATIENCE) == AGAIN
    finally:
        process.kill()
        process.wait()


def put(
    device: Device, *arguments: bytes, version: bytes = protocol.identity(), encoding: bytes = b"utf-8 strict"
) -> bytes:
    """What comes back for a question that is written by hand."""
    variables = [f"{name}={value}".encode() for name, value in device.environment().items()]
    version = version or protocol.identity()
    fields = [protocol.PROTOCOL, version, protocol.RUN, b"/", b"80", b"24", b"0", b"0", encoding, encoding]
    question = b"\0".join((*fields, b"%d" % len(arguments), *arguments, *variables))
    with dial(device) as caller:
        caller.sendall(len(question).to_bytes(4, "big") + question)
        return read_to_end(caller)


def test_no_question_ends_it_or_keeps_it(resident: Device) -> None:
    """An unknown encoding, an endless command, an invalid version: the next question is answered."""
    assert put(resident, b"search", b"heron", encoding=b"no-such strict") == b""
    for endless in (b"serve", b"watch", b"mcp", b"--simulate", b"index"):
        assert b"not a command that ends by itself" in put(resident, endless, b"--no-watch")
    for version in (b" ", b"x", b"a b c"):
        assert b"another version" in put(resident, b"search", b"heron", version=version)
    before = n_answered(resident)
    assert b"heron.txt" in put(resident, b"search", b"heron")
    assert n_answered(resident) == before + 1


def test_half_a_question_waits_in_vain(resident: Device) -> None:
    """A caller that never finishes its question is cut off, and delays nobody meanwhile."""
    with dial(resident) as slow, dial(resident) as silent:
        slow.sendall(b"\0\0\1\0foltr")
        before = n_answered(resident)
        assert resident.run("search", "heron").returncode == 0
        assert n_answered(resident) == before + 1
        assert read_to_end(slow) == read_to_end(silent) == b""


def test_a_question_that_came_while_another_was_answered_is_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A caller's time limit counts from when it can be heard, however long the answer before takes."""
    clock, stop = [0.0], Event()
    callers: list[LocalLine] = []

    def answer(question: command_runner.Question) -> bytes:
        clock[0] += 60
        if "first" in question.arguments:
            callers[1].send(protocol.question(protocol.RUN, ["search", "second"]))
        else:
            stop.set()
        return command_runner.text(question.arguments[1])

    def begin() -> None:
        callers.extend(call(socket_path(str(tmp_path)), seconds=PATIENCE) for _ in range(2))
        callers[0].send(protocol.question(protocol.RUN, ["search", "first"]))

    monkeypatch.setattr(command_runner, "answer", answer)
    monkeypatch.setattr(resident_serving, "time", SimpleNamespace(monotonic=lambda: clock[0], time=lambda: 0.0))
    resident_serving.ResidentServer(tmp_path, stop, idle_seconds=50, ready=begin).run()
    for caller, word in zip(callers, ("first", "second"), strict=True):
        assert caller.receive(0) == b""
        assert word.encode() in caller.receive(1000)
        caller.close()


def test_a_hundred_callers_are_too_many(resident: Device) -> None:
    """Those beyond the limit are refused; a command meanwhile is answered all the same."""
    callers: list[socket.socket] = []
    try:
        for _ in range(100):
            with suppress(BlockingIOError):  # the system's own queue is full
                callers.append(dial(resident))
        until(lambda: sum(not is_closed(caller) for caller in callers) <= MAX_CALLERS)
        done = resident.run("search", "heron")
        assert (done.returncode, "heron.txt" in done.stdout) == (0, True)
    finally:
        for caller in callers:
            caller.close()
    until(lambda: "answered" in resident.run("status").stdout)


def test_a_caller_who_does_not_read_holds_nobody_up(resident: Device) -> None:
    """An answer larger than the system's buffer waits for its reader; the next question does not."""
    n_paths, path = 1_150, b"/nowhere" * 112  # as long as a question may be, and an answer as long
    fields = [
        protocol.PROTOCOL, protocol.identity(), protocol.RUN, b"/", b"80", b"24", b"0", b"0", b"utf-8 strict",
        b"utf-8 strict", b"%d" % (n_paths + 1), b"why", *[path] * n_paths,
        *(f"{name}={value}".encode() for name, value in resident.environment().items()),
    ]  # fmt: skip
    question = b"\0".join(fields)
    with dial(resident) as lazy:
        lazy.sendall(len(question).to_bytes(4, "big") + question)
        assert lazy.recv(len(BEGINS)) == BEGINS
        lazy.recv(1, socket.MSG_PEEK)
        before = n_answered(resident)
        assert resident.run("search", "heron").returncode == 0
        assert n_answered(resident) == before + 1
        answer = read_to_end(lazy)[4:]
    kinds = [kind for kind, _ in protocol.parts(answer)]
    assert (kinds[-1], len(answer) > 1_000_000) == (protocol.CODE, True)


def test_nobody_else_can_reach_it(resident: Device) -> None:
    """The folder is 0700 and the socket 0600, whatever the umask was."""
    path = Path(socket_path(str(resident.data_dir)))
    assert (path.parent.stat().st_mode & 0o777, path.stat().st_mode & 0o777) == (0o700, 0o600)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can be somebody else")
def test_another_user_is_hung_up_on(resident: Device) -> None:
    """Even if the modes were opened by hand, a caller of another user gets nothing."""
    code = f"""
import os, socket
caller = socket.socket(socket.AF_UNIX)
os.setuid(65534)
caller.connect({socket_path(str(resident.data_dir))!r})
caller.sendall(b"x" * 100)
print(caller.recv(10))
"""
    path = Path(socket_path(str(resident.data_dir)))
    refused = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "PermissionError" in refused.stderr
    folders = [path.parent, *path.parents][: len(path.parts) - 1]
    before = {folder: folder.stat().st_mode for folder in (*folders, path)}
    try:
        for place, mode in before.items():
            place.chmod(mode | 0o077 if place == path else mode | 0o011)
        opened = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert opened.stdout == "b''\n" or "Broken pipe" in opened.stderr or "reset" in opened.stderr
        assert "PermissionError" not in opened.stderr
    finally:
        for place, mode in before.items():
            place.chmod(mode & 0o7777)


def read_to_end(caller: socket.socket) -> bytes:
    """All that comes until the other end hangs up, however it does."""
    found = b""
    try:
        while part := caller.recv(1 << 16):
            found += part
    except ConnectionResetError:
        pass
    return found


def is_closed(caller: socket.socket) -> bool:
    """Whether the other end has hung up on a caller that said nothing yet."""
    try:
        return caller.recv(1, socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_a_socket_that_systemd_opened_is_answered_and_left(device: Device) -> None:
    """The process takes the listening socket as descriptor 3 and leaves its file to systemd."""
    device.index()
    path = Path(socket_path(str(device.data_dir)))
    path.parent.mkdir(mode=0o700, exist_ok=True)
    handed = (
        "import os, sys; os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True); "
        "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1'); "
        "os.execv(sys.executable, [sys.executable, '-m', 'app', 'serve', '--no-watch'])"
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        process = subprocess.Popen(
            [sys.executable, "-c", handed, str(listener.fileno())], env=device.environment(), cwd=device.home,
            pass_fds=(listener.fileno(),), stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            assert process.stderr is not None
            assert process.stderr.readline().startswith("foltr-search: answering")
            assert "heron.txt" in device.run("search", "heron").stdout
            assert n_answered(device) == 1
            assert device.run("serve", "--stop").returncode == 0
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()
            process.communicate()
        assert path.exists()
