"""What the README shows works: every command of it runs as it is written."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import copied
from tests.whole.test_closed_streams import EACH

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the README's lines are for a POSIX shell")


def shown_commands() -> list[str]:
    """The lines of the README's shell blocks that call the program with arguments, without their comments."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sh\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line.strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("foltr-search ") and shlex.split(line, comments=True)[1:]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder as the README imagines it."""
    home = tmp_path_factory.mktemp("home")
    for name in ("Documents", "Notes"):
        (home / name).mkdir()
    for number in range(3):
        (home / "Documents" / f"tax return {number}.txt").write_text(f"Tax return 2024, annual report {number}")
    (home / "Notes" / "plan.org").write_text("* Plan\nreturn the tax form in 2024\n", encoding="utf-8")
    return home


def environment(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "FOLTR_CONFIG_DIR": str(home / "config"),
        "FOLTR_DATA_DIR": str(home / "data"),
        "FOLTR_OPEN__OPENER": "true",  # no desktop here
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),  # kernels compiled before
    }


def run(home: Path, line: str) -> subprocess.CompletedProcess[str]:
    """The program with the words that a shell makes of a line."""
    words = line.removeprefix("foltr-search ")
    given = subprocess.run(
        ["sh", "-c", f"printf '%s\\0' {words}"],
        env=environment(home),
        cwd=home,
        capture_output=True,
        text=True,
        check=True,
    )
    return copied.run(given.stdout.split("\0")[:-1], variables=environment(home), cwd=home)


def test_every_command_of_the_readme_runs(home: Path) -> None:
    """In their order: each finds (0) or finds nothing (1), none is an error; those that go on for ever are known."""
    commands = [line for line in shown_commands() if not elsewhere(line)]
    assert len(commands) >= 5
    for line in commands:
        words = shlex.split(line, comments=True)
        if "|" in words[-1] or words[1] == "serve":  # a choice of words, not a command; a service
            line = f"foltr-search {words[1]} --help"
        if words[1] == "open":
            run(home, "foltr-search search tax")
        done = run(home, line)
        assert done.returncode in (0, 1), (line, done.stderr)
        assert "Traceback" not in done.stderr


def elsewhere(line: str) -> bool:
    """Lines of the laboratory and of groups have tests of their own below, and in tests/whole."""
    return shlex.split(line, comments=True)[1] in ("--simulate", "join", "invite", "sync", "privacy")


def test_every_simulation_of_the_readme_runs(home: Path) -> None:
    """Each line of the laboratory, on the bundled sample in place of a data set's folder, and for two rounds; in a copy
    of one process that has loaded what they use."""
    lines = [line.partition("#")[0] for line in shown_commands() if shlex.split(line, comments=True)[1] == "--simulate"]
    assert len(lines) >= 3
    given, codes = [], home / "codes"
    short = "--rounds 2 --clients 2 --folds 1 --seeds 1 --evaluate-every 1 --jobs 1 --pictures offline_ndcg"
    for line in lines:
        line = line.replace("synthetic", "sample").replace("mq2008", "sample").replace("--data DIR", "")
        line = line.replace("--preset", "sample --preset")
        given.append(shlex.split(line if "--list" in line else f"{line} {short}")[1:])
    done = subprocess.run(
        ["sh", "-c", EACH, sys.executable, "app.__main__", str(codes), json.dumps(given), "simulation.study"],
        env=environment(home), cwd=home, capture_output=True, text=True, check=True, timeout=900,
    )  # fmt: skip
    assert json.loads(codes.read_text()) == [0] * len(given), (given, done.stderr)


def test_the_first_search_of_the_readme_finds_something(home: Path) -> None:
    """`foltr-search search tax return 2024` answers from the folders indexed above it."""
    run(home, "foltr-search index ~/Documents ~/Notes")
    assert len(run(home, "foltr-search search tax return 2024").stdout.splitlines()) == 4
