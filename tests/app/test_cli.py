"""The command line as a whole: what a first word means, exit codes, one-line errors, help with examples."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import tomllib
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest

import app
from app.cli import COMMANDS, program
from app.commands.command import Command, Group

if TYPE_CHECKING:
    from tests.app.conftest import Device


def every_command() -> list[tuple[str, ...]]:
    """The words of each command and subcommand that a person may type."""
    context = click.Context(program, **program.context_settings)
    found: list[tuple[str, ...]] = []
    for name in COMMANDS:
        command = program.get_command(context, name)
        found.append((name,))
        if isinstance(command, click.Group):
            found.extend((name, inner) for inner, made in command.commands.items() if not made.hidden)
    return found


def test_help_names_every_command(device: Device) -> None:
    """`--help` goes to stdout, succeeds, and lists each command with what it does, in a whole sentence."""
    for words in ((), ("devices",)):
        done = device.run(*words, "--help")
        assert done.returncode == 0
        listed = done.stdout.partition("\nCommands:\n")[2].partition("\nExamples:\n")[0].splitlines()
        assert listed
        assert [line for line in listed if line.endswith("...")] == []
        assert words or all(f"\n  {name}" in done.stdout for name in COMMANDS)


@pytest.mark.parametrize("words", every_command(), ids=" ".join)
def test_every_command_has_help_that_ends_with_examples(words: tuple[str, ...]) -> None:
    """Each command says what it does and shows examples, each of which begins with the program or its variables."""
    command: click.Command | None = program
    context = click.Context(program, info_name="foltr-search", **program.context_settings)
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(context, word)
        assert command is not None
        context = click.Context(command, parent=context, info_name=word)
    assert isinstance(command, (Command, Group))
    assert command.help
    examples = command.get_help(context).partition("\nExamples:\n")[2].splitlines()
    assert examples
    assert all("foltr-search" in line and words[0] in line for line in examples)


def test_version_is_one_line(device: Device) -> None:
    """`--version` names the program on stdout."""
    done = device.run("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("foltr-search ")


def test_without_a_terminal_there_is_no_screen(device: Device) -> None:
    """Alone or with a folder, and without a terminal, the help goes to stderr and the exit code is 2."""
    for arguments in ((), (str(device.notes),)):
        done = device.run(*arguments)
        assert done.returncode == 2
        assert done.stdout == ""
        assert "Usage: foltr-search" in done.stderr
        assert "needs a terminal" in done.stderr


def test_a_first_word_that_is_no_command_is_searched(indexed: Device) -> None:
    """It is searched for as by `search`; a mistyped command is named, and a path that is no folder is an error."""
    word, slip = indexed.run("heron", "--paths0"), indexed.run("serch")
    assert word.stdout == indexed.run("search", "heron", "--paths0").stdout != ""
    assert word.returncode == 0
    assert "if you meant the command" not in indexed.run("invoice").stderr
    assert "searching for `serch`; if you meant the command, it is `search`" in slip.stderr
    assert "there is no folder notes/absent" in indexed.run("notes/absent").stderr


@pytest.mark.parametrize("query", ["heron pond " * 30, "~nobody-here", "~nobody-here/notes"])
def test_what_can_name_no_folder_is_searched_or_refused_in_words(indexed: Device, query: str) -> None:
    """A query longer than a file name, and a ~ before no user's name."""
    done = indexed.run(query)
    said = f"there is no folder {query}" if "/" in query else "nothing found"
    assert said in done.stderr or (done.returncode == 0 and "heron" in done.stdout)


def test_a_folder_named_like_a_command_needs_a_path(device: Device) -> None:
    """`stats` is the command, `./stats` the folder of that name."""
    (device.home / "stats").mkdir()
    assert device.run("stats").returncode == 1
    assert "needs a terminal" in device.run("./stats").stderr


def test_simulate_is_the_laboratory(device: Device) -> None:
    """`--simulate ...` hands whatever follows to the laboratory, whose errors are one line and exit code 2."""
    done = device.run("--simulate", "no-such-data")
    assert done.returncode == 2
    assert done.stderr.startswith("foltr-search: no-such-data is neither a data set (")
    assert len(done.stderr.splitlines()) == 1
    assert "Usage: foltr-search --simulate [OPTIONS] [DATASET]" in device.run("--simulate", "--help").stdout


def test_an_error_is_one_line_and_its_traceback_is_on_request(device: Device) -> None:
    """A settings error is one line with exit code 2; FOLTR_DEBUG=1 shows where it came from."""
    device.config_file.write_text("[index]\nworker = 3\n", encoding="utf-8")
    done = device.run("status")
    assert done.returncode == 2
    assert done.stderr == (
        f"foltr-search: {device.config_file}, line 2: unknown key `index.worker`; "
        "the nearest known one is `index.workers`\n"
    )
    assert "Traceback" in device.run("status", env={"FOLTR_DEBUG": "1"}).stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search", "--jsno", "heron"), "No such option: --jsno; to search for it: foltr-search search -- --jsno"),
        (("search", "heron", "-n", "many"), "'many' is not a valid integer range"),
        (("open",), "Missing argument 'N|PATH'"),
        (("model", "exprt"), "No such command 'exprt'"),
        (("config", "show", "--set"), "Option '--set' requires an argument"),
    ],
)
def test_a_usage_error_is_one_line(device: Device, arguments: tuple[str, ...], says: str) -> None:
    """As every other error: the program's name, what was wrong, and where the help is."""
    done = device.run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("foltr-search: ")
    assert says in line
    assert "--help`" in line or "search -- " in line


def test_a_catalogue_of_another_version_says_what_to_do(device: Device) -> None:
    """The line contains the remedy."""
    device.index()
    with closing(sqlite3.connect(device.data_dir / "catalogue.sqlite")) as catalogue:
        catalogue.execute("PRAGMA user_version = 99")
    done = device.run("why", str(device.notes))
    assert done.returncode == 2
    assert "the catalogue has version 99" in done.stderr
    assert "`foltr-search index` rebuilds it" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    device.index()
    assert device.run("search", "heron").returncode == 0


def test_a_state_file_that_is_no_database_is_one_line(device: Device) -> None:
    """A damaged state file is named, without a traceback."""
    device.data_dir.mkdir()
    (device.data_dir / "state.sqlite").write_bytes(b"this is no database, however long it goes on" * 100)
    done = device.run("search", "heron")
    assert done.returncode == 2
    assert done.stderr.startswith("foltr-search: ")
    assert "state.sqlite" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_set_works_before_and_after_the_command(device: Device) -> None:
    """--set is accepted everywhere, the last one wins, and without `=` it is refused."""
    shown = device.run("--set", "index.workers=1", "config", "show", "index.workers", "--set", "index.workers=2")
    assert shown.stdout == "index.workers = 2  # --set index.workers\n"
    assert "wanted KEY=VALUE, got 'index.workers'" in device.run("status", "--set", "index.workers").stderr


def test_a_reader_that_stops_reading_is_no_error(device: Device) -> None:
    """`... | head -1` ends quietly."""
    piped = subprocess.run(
        f"'{sys.executable}' -m app config default | head -1",
        shell=True, env=device.environment(), cwd=device.home, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert piped.stderr == ""
    assert piped.stdout.startswith("# The settings of foltr-search")
    gone, writes = os.pipe()
    os.close(gone)
    command = [sys.executable, "-m", "app", "config", "default"]
    unread = subprocess.run(
        command, stdout=writes, stderr=subprocess.PIPE, env=device.environment(), cwd=device.home, check=False
    )
    os.close(writes)
    assert (unread.returncode, unread.stderr) == (0, b"")


def test_a_folder_that_is_not_there_is_named(device: Device) -> None:
    """The message names no command that cannot be typed."""
    failed = device.run("/no/such/folder")
    assert failed.returncode == 2
    assert "there is no folder /no/such/folder" in failed.stderr
    assert "foltr-search screen" not in failed.stderr


@pytest.mark.skipif(os.name == "nt", reason="no modes of files there")
def test_whatever_a_command_writes_is_for_its_owner_only(device: Device) -> None:
    """Data folder 0700, files 0600, under any umask and whatever the modes were before."""
    script = f"umask 000; '{sys.executable}' -m app index '{device.notes}'; '{sys.executable}' -m app search heron"
    subprocess.run(script, shell=True, env=device.environment(), cwd=device.home, capture_output=True, check=True)
    modes = {path: path.stat().st_mode & 0o777 for path in [device.data_dir, *device.data_dir.rglob("*")]}
    assert set(modes) >= {device.data_dir / name for name in ("catalogue.sqlite", "state.sqlite", "key", "roots.json")}
    assert {path: mode for path, mode in modes.items() if mode & 0o077} == {}
    (device.data_dir / "state.sqlite").chmod(0o644)
    device.data_dir.chmod(0o755)
    assert device.run("status").returncode == 0
    assert (device.data_dir / "state.sqlite").stat().st_mode & 0o077 == 0
    assert device.data_dir.stat().st_mode & 0o077 == 0


def test_python_m_app_is_the_program(device: Device, tmp_path: Path) -> None:
    """`python -m app.cli`, which the screen starts for indexing, is the same program."""
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", "config", "path"],
        env=device.environment(), cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == str(device.config_file)


def test_the_version_that_processes_compare_is_the_installed_one() -> None:
    """`app.VERSION`, which costs nothing to read, is that of pyproject.toml."""
    project = tomllib.loads((Path(app.__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == app.VERSION


def test_why_asks_for_a_path(device: Device) -> None:
    """An empty path does not mean the present folder."""
    done = device.run("why", "")
    assert (done.returncode, done.stderr.splitlines()) == (
        2, ["foltr-search: wanted a PATH, got an empty text; see `foltr-search why --help`"],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("why", "~nobody-here/a.txt"), "outside the folders that are indexed"),
        (("open", "~nobody-here/a.txt"), "there is no such file"),
        (("index", "--forget", "~nobody-here"), "is not a remembered folder"),
        (("--set", "index.roots=~nobody-here/a", "status"), "wants absolute folders"),
        (("backup", "--to", "~nobody-here/a"), "there is no folder"),
        (("devices", "join", "--folder", "~nobody-here/a"), "there is no folder"),
    ],
)
def test_the_home_of_a_stranger_is_a_name_like_any_other(indexed: Device, words: tuple[str, ...], said: str) -> None:
    """If no user has the name after ~, the path is used as typed, and does not exist."""
    done = indexed.run(*words)
    assert said in done.stdout + done.stderr
    assert done.returncode in (1, 2)
