"""Completion in real shells that have loaded the script: commands, options, values, folders, days, fields."""

from __future__ import annotations

import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pytest

from tests.app.commands.picking import pick
from tests.app.conftest import Device, make_device

SHELLS = ("bash", "zsh", "fish")
START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
LOAD = {
    "bash": "source {0}",
    "zsh": "autoload -Uz compinit; compinit -u -D; bindkey '^[l' list-choices; source {0}",
    "fish": "source {0}",
}
PATIENCE = 120.0
"""seconds in which a busy machine answers"""
PROGRAM = """#!/bin/sh
if [ -n "$_FOLTR_SEARCH_COMPLETE" ]; then exec {python} -m app "$@"; fi
printf '%s\\n' "$@" > {home}/asked.new && mv {home}/asked.new {home}/asked
"""
"""completes as the program does, and writes down with which words it was called at last"""


@pytest.fixture(scope="module")
def completing(tmp_path_factory: pytest.TempPathFactory) -> Device:
    """A device whose shells find the program and its scripts."""
    device = make_device(tmp_path_factory.mktemp("completing"))
    device.index()
    program = device.home / "bin" / "foltr-search"
    program.parent.mkdir()
    program.write_text(PROGRAM.format(python=shlex.quote(sys.executable), home=shlex.quote(str(device.home))))
    program.chmod(0o755)
    for shell in SHELLS:
        done = device.run("completion", shell)
        assert (done.returncode, done.stderr) == (0, "")
        (device.home / f"completion.{shell}").write_text(done.stdout)
    return device


@pytest.mark.parametrize("shell", SHELLS)
def test_completion_prints_a_script_for_each_shell(device: Device, shell: str) -> None:
    """The script names the program and its variable, and the shell need not be installed."""
    done = device.run("completion", shell, env={"PATH": ""})
    assert done.returncode == 0
    assert "_FOLTR_SEARCH_COMPLETE" in done.stdout
    assert done.stderr == ""


class Terminal:
    """A shell that somebody types into."""

    def __init__(self, device: Device, shell: str) -> None:
        self._home = device.home
        path = f"{device.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = device.environment(PATH=path, TERM="dumb", INPUTRC="/dev/null")
        self._pid, self._end = pty.fork()
        if self._pid == 0:
            os.chdir(device.home)
            os.execvpe(START[shell][0], START[shell], environment)
        script = shlex.quote(str(device.home / f"completion.{shell}"))
        os.write(self._end, f"{LOAD[shell].format(script)}; echo load''ed\n".encode())
        self._wait_for(lambda seen: b"loaded\r" in seen)

    def words_after(self, keys: str) -> list[str]:
        """With which words the program is called when these keys are pressed."""
        asked = self._home / "asked"
        asked.unlink(missing_ok=True)
        os.write(self._end, keys.encode() + b"\n")
        self._wait_for(lambda seen: asked.exists())
        return asked.read_text().splitlines()

    def wait_after(self, keys: str, shown: str) -> None:
        """Press these keys and wait until this is shown."""
        os.write(self._end, keys.encode())
        self._wait_for(lambda seen: shown.encode() in seen)

    def _wait_for(self, is_there: Callable[[bytes], bool]) -> None:
        end, seen = time.monotonic() + PATIENCE, b""
        while not is_there(seen):
            assert time.monotonic() < end, seen.decode(errors="replace")
            if select.select([self._end], [], [], 0.2)[0]:
                seen += os.read(self._end, 65536)

    def close(self) -> None:
        os.close(self._end)
        os.waitpid(self._pid, 0)


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_tab_completes_what_is_typed(completing: Device, shell: str) -> None:
    """Commands, subcommands, options, choices, settings, remembered folders, days, and the words of a query."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    terminal = Terminal(completing, shell)
    try:
        assert terminal.words_after("foltr-search hist\t") == ["history"]
        assert terminal.words_after("foltr-search model exp\t") == ["model", "export"]
        assert terminal.words_after("foltr-search search --path\t") == ["search", "--paths0"]
        assert terminal.words_after("foltr-search search --order mo\t") == ["search", "--order", "modified"]
        assert terminal.words_after("foltr-search index --forget /\t") == ["index", "--forget", str(completing.notes)]
        assert terminal.words_after("foltr-search model reset --to ye\t") == ["model", "reset", "--to", "yesterday"]
        assert terminal.words_after("foltr-search search type:spre\t") == ["search", "type:spreadsheet"]
        assert terminal.words_after("foltr-search ./not\t")[0].rstrip("/") == "./notes"
    finally:
        terminal.close()


def test_bash_offers_commands_and_folders_together(completing: Device) -> None:
    """Alt+* inserts all candidates: commands and the folder that exists; a key waits for its value."""
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    (completing.home / "stork pictures").mkdir(exist_ok=True)
    terminal = Terminal(completing, "bash")
    try:
        assert terminal.words_after("foltr-search st\x1b*") == ["status", "stats", "stork pictures/"]
        assert terminal.words_after("foltr-search status --set index.work\t7") == ["status", "--set", "index.workers=7"]
    finally:
        terminal.close()


FORMAT = r"One line per result, as in '{rank}\t{path}'."
"""the help of `search --format`: a backslash and a comma"""


def test_zsh_shows_help_as_it_is_written(completing: Device) -> None:
    """The list of candidates has the words of `--help`, including backslashes."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    terminal = Terminal(completing, "zsh")
    try:
        terminal.wait_after("foltr-search search --f\x1bl", FORMAT)
    finally:
        terminal.close()


def test_fish_offers_the_same(completing: Device) -> None:
    """Asked by fish's `complete -C`; a comma ends neither a word nor its help."""
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")

    def answered(line: str) -> list[str]:
        path = f"{completing.home / 'bin'}{os.pathsep}{os.environ['PATH']}"
        script = f"source {completing.home}/completion.fish; complete -C {shlex.quote(line)}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", script], env=completing.environment(PATH=path), cwd=completing.home,
            capture_output=True, text=True, check=True, timeout=PATIENCE,
        )  # fmt: skip
        return done.stdout.splitlines()

    def offered(line: str) -> list[str]:
        return [row.partition("\t")[0] for row in answered(line)]

    assert answered("foltr-search search --form") == [f"--format\t{FORMAT}"]
    assert offered("foltr-search hist") == ["history"]
    assert "./notes/" in offered("foltr-search ./no")
    assert offered("foltr-search search --order mo") == ["modified"]
    assert offered("foltr-search index --forget ") == [str(completing.notes)]
    assert offered("foltr-search search type:spre") == ["type:spreadsheet"]


def completions(device: Device, *words: str) -> list[str]:
    env = {"_FOLTR_SEARCH_COMPLETE": "bash_complete", "COMP_WORDS": " ".join(("foltr-search", *words))}
    done = device.run(env={**env, "COMP_CWORD": str(len(words))})
    return [line.removeprefix("plain,") for line in done.stdout.splitlines() if line.startswith("plain,")]


def test_folders_below_home_are_offered_behind_a_tilde(device: Device) -> None:
    """A neighbour whose name begins like that of the home folder is not one of them."""
    neighbour = device.home.with_name(f"{device.home.name}-old")
    neighbour.mkdir()
    device.run("index", str(neighbour))
    device.index()
    below = device.notes.relative_to(device.home)
    assert completions(device, "index", "--forget", "~") == [f"~/{below}"]
    assert completions(device, "index", "--forget", str(neighbour)) == [str(neighbour)]


def test_days_with_a_version_are_offered(device: Device) -> None:
    """`model reset --to` knows yesterday, and the days on which something was learned; a broken file offers none."""
    assert completions(device, "model", "reset", "--to", "") == ["yesterday"]
    device.index()
    pick(device, "fish", "kingfisher.md")
    device.run("search", "boat")  # leaves the page, which is learned from now
    assert str(date.today()) in completions(device, "model", "reset", "--to", "20")
    assert str(date.today() - timedelta(days=400)) not in completions(device, "model", "reset", "--to", "20")
    Path(device.data_dir / "state.sqlite").write_bytes(b"no database" * 1000)
    assert completions(device, "model", "reset", "--to", "") == ["yesterday"]
