"""Every command with each of its streams closed, as cron, daemons and `>&-` leave them, or of little use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from app.cli import COMMANDS
from federation_server.cli import COMMANDS as SERVER_COMMANDS
from tests.app.conftest import Device, make_device

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a shell closes the streams")

CLOSED = ("<&-", ">&-", "2>&-", "<&- >&- 2>&-")
DEVICE = 'exec "$0" -m app "$@"'
EACH = """exec "$0" -c '
import gc, importlib, json, os, pathlib, sys
program, lines, codes = importlib.import_module(sys.argv[1]), json.loads(sys.argv[3]), []
for module in sys.argv[4:]:
    importlib.import_module(module)
gc.freeze()
for line in lines:
    if not (copy := os.fork()):
        sys.argv = ["foltr", *line]
        sys.exit(program.main())
    codes.append(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]))
pathlib.Path(sys.argv[2]).write_text(json.dumps(codes))
' "$@" """
"""command lines of a program, one after another, each in a copy of one process whose streams were closed as it began

What the copies share is frozen: else each frees all of it as it ends.
"""
REAL = (("search", "heron"), ("search", "--json", "heron"), ("search", "nowhere-to-be-found"), ("status",),
        ("saved",), ("why", "notes/birds/heron.txt"), ("open", "1", "--print"), ("no-such-command",),
        ("config", "path"))  # fmt: skip


def ended(
    device: Device, line: str, *arguments: str, closed: str, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["sh", "-c", f"{line} {closed}", sys.executable, *arguments], stdin=subprocess.DEVNULL, capture_output=True,
        env=device.environment(**variables), cwd=device.home, check=False,
    )  # fmt: skip


def each_ended(
    device: Device, program: str, lines: Sequence[Sequence[str]], *modules: str, closed: str
) -> tuple[list[int], bytes, bytes]:
    """Their exit codes, and all that they say."""
    codes = device.home / "codes"
    done = ended(device, EACH, program, str(codes), json.dumps(lines), *modules, closed=closed)
    assert done.returncode == 0
    return json.loads(codes.read_text()), done.stdout, done.stderr


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Device:
    """A device that is indexed, and has a page whose first result can be opened."""
    device = make_device(tmp_path_factory.mktemp("searched"))
    device.index()
    assert device.run("search", "heron").returncode == 0
    return device


def modules(commands: Mapping[str, str]) -> set[str]:
    return {place.partition(":")[0] for place in commands.values()}


@pytest.mark.parametrize(
    ("program", "commands"),
    [("app.__main__", {**COMMANDS, "--simulate": "simulation.cli"}), ("federation_server.cli", SERVER_COMMANDS)],
    ids=["device", "server"],
)
def test_every_command(searched: Device, program: str, commands: Mapping[str, str]) -> None:
    """With all three closed its help goes nowhere, without a word."""
    pytest.importorskip("sqlalchemy")
    lines = [[name, "--help"] for name in commands]
    assert each_ended(searched, program, lines, *modules(commands), closed=CLOSED[-1]) == ([0] * len(lines), b"", b"")


def test_the_exit_code_does_not_depend_on_them(searched: Device) -> None:
    """And what the open ones show is what they always show."""
    loaded = ("app.cli", "app.search.search", *modules(COMMANDS))
    codes, shown, _ = each_ended(searched, "app.__main__", REAL, *loaded, closed="")
    assert {0, 1, 2} == set(codes)
    for closed in CLOSED:
        found, out, err = each_ended(searched, "app.__main__", REAL, *loaded, closed=closed)
        assert (closed, found, b"unexpected" in err) == (closed, codes, False)
        assert out in (shown, b"")


def test_an_index_is_made_by_cron(tmp_path: Path) -> None:
    """With all three closed, by workers of its own; every file can be found afterwards."""
    device = make_device(tmp_path)
    assert ended(device, DEVICE, "index", str(device.notes), closed="<&- >&- 2>&-").returncode == 0
    assert "6; 6 files read" in device.run("status").stdout
    assert device.run("search", "kingfisher").returncode == 0


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_an_encoding_that_shows_little(tmp_path: Path, encoding: str) -> None:
    """A path is its bytes and JSON is UTF-8 all the same; lines of text say by number what they cannot show."""
    device = make_device(tmp_path)
    names = {b"caf\xc3\xa9 \xe9\xb9\xad.txt", b"caf\xe9.txt"}
    for name in names:
        text = f"{len(name)}: 鹭 in a café\n"  # two files of one text are one result
        Path(os.fsdecode(os.fsencode(device.notes) + b"/" + name)).write_text(text, encoding="utf-8")
    device.index()
    variables = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    done = ended(device, DEVICE, "search", "--json", "--explain", "in", "a", "café", closed="", **variables)
    assert (done.returncode, done.stderr) == (0, b"")
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert {record["name"] for record in records} == {name.decode(errors="replace") for name in names}
    plain = ended(device, DEVICE, "search", "in", "a", "café", closed="", **variables)
    assert (plain.returncode, plain.stderr) == (0, b"")
    found = dict(line.split(b"\t", 1) for line in plain.stdout.splitlines())
    assert set(found) == {os.fsencode(device.notes) + b"/" + name for name in names}
    end = "鹭 in a café".encode() if encoding == "ascii" else b"\\u9e6d in a caf\xe9"
    assert all(rest.endswith(end) for rest in found.values())


def test_a_reader_that_has_seen_enough(searched: Device) -> None:
    """`| head -1` and `2>&1 | true` end in silence, for results, JSON and help."""
    commands = (("search", "heron"), ("search", "--json", "heron fish"), ("--help",), ("man",))
    pipes = ("| head -1", "| true", "2>&1 | true")
    for arguments, pipe in (
        *((commands[0], pipe) for pipe in pipes),
        *((command, pipes[1]) for command in commands[1:]),
    ):
        line = DEVICE.replace("exec ", "") + f" {pipe}"
        said = ended(searched, line, *arguments, closed="").stderr
        assert not [sign for sign in (b"Broken", b"Exception", b"Traceback", b"unexpected") if sign in said]
