"""What other systems lack is taken away here: no fcntl, resource, pwd, grp or termios, no SIGHUP and no SIGKILL."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.conftest import make_device

if TYPE_CHECKING:
    from tests.app.conftest import Device

ROOT = Path(__file__).resolve().parents[2]
POORER = """
import os, signal, sys
import multiprocessing.popen_fork, subprocess, types  # what the standard library itself needs here it keeps
multiprocessing.popen_fork.signal = subprocess.signal = types.SimpleNamespace(**vars(signal))
for name in ("fcntl", "resource", "pwd", "grp", "termios"):
    sys.modules[name] = None
for name in ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGALRM"):
    if hasattr(signal, name):
        delattr(signal, name)
for name in ("sched_getaffinity", "nice"):
    if hasattr(os, name):
        delattr(os, name)
"""
COMMANDS = (
    POORER
    + """
import gc, importlib, json
from app.cli import COMMANDS, main
if __name__ == "__main__":
    for place in ("app.following.indexing", "app.search.search", *COMMANDS.values()):
        importlib.import_module(place.partition(":")[0])
    gc.freeze()
    for n, line in enumerate(json.loads(sys.argv[1])):
        if not (copy := os.fork()):
            for stream in (1, 2):
                os.dup2(os.open(f"{sys.argv[2]}/{n}.{stream}", os.O_WRONLY | os.O_CREAT), stream)
            sys.exit(main(line))
        with open(f"{sys.argv[2]}/{n}.code", "w") as file:
            file.write(str(os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1])))
"""
)
"""command lines, one after another, each in a copy of one process that has loaded the program"""
IMPORTS = (
    POORER
    + """
import importlib, pkgutil
n = 0
for name in ("console", "foltr", "indexer", "app", "federation_server"):
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(package.__path__, name + "."):
        others = ("__main__", "assistants.mcp_stdio")  # that loads the extra `mcp`, which asks for the system
        if not module.name.startswith("federation_server.migrations") and not module.name.endswith(others):
            importlib.import_module(module.name)
            n += 1
print(n)
"""
)


@pytest.fixture(scope="module")
def poorer(tmp_path_factory: pytest.TempPathFactory) -> Device:
    """A device on such a system; its worker processes start there too."""
    device = make_device(tmp_path_factory.mktemp("poorer"))
    (device.home / "poorer.py").write_text(COMMANDS)
    return device


def run(device: Device, *lines: list[str]) -> list[subprocess.CompletedProcess[str]]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, str(device.home / "poorer.py"), json.dumps(lines), folder],
            env=device.environment(), cwd=device.home, check=True, timeout=300,
        )  # fmt: skip
        said = [[Path(folder, f"{n}.{what}").read_text() for what in ("code", 1, 2)] for n in range(len(lines))]
    return [
        subprocess.CompletedProcess(line, int(found[0]), *found[1:]) for line, found in zip(lines, said, strict=True)
    ]


def test_every_module_can_be_imported() -> None:
    """Of the device, the learning core, the indexer and a group's server."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_the_main_commands_work(poorer: Device) -> None:
    """Indexing, searching, opening, explaining and looking after the index."""
    _, found, opened, _, status, _, model, stats, _, checked = done = run(
        poorer,
        ["index", str(poorer.notes)],
        ["search", "kingfisher", "--json"],
        ["open", "1", "--print"],
        ["why", str(poorer.notes / "birds" / "heron.txt")],
        ["status", "--json"],
        ["search", "boat"],  # leaves the page, which is learned from now
        ["model", "show", "--json"],
        ["stats"],
        ["config", "check"],
        ["doctor"],
    )
    assert {one.returncode for one in done if one is not stats} == {0}, [one.stderr for one in done]
    assert stats.returncode in (0, 1)
    assert json.loads(found.stdout.splitlines()[0])["name"] == "kingfisher.md"
    assert opened.stdout == f"{poorer.notes / 'birds' / 'kingfisher.md'}\n"
    shown = json.loads(status.stdout)
    assert (shown["n_documents"], shown["writer"]) == (6, "")
    assert json.loads(model.stdout)["v"] == 1
    assert "Traceback" not in checked.stderr


def test_a_change_is_indexed_and_a_second_writer_is_told(poorer: Device) -> None:
    """The lock works without flock: while one process writes, another is told which."""
    (poorer.notes / "late.txt").write_text("A capercaillie in the wood.\n")
    indexed, found = run(poorer, ["index", str(poorer.notes)], ["search", "capercaillie"])
    assert indexed.returncode == 0
    assert found.stdout.startswith(str(poorer.notes / "late.txt"))
    (poorer.notes / "later.txt").write_text("Another capercaillie.\n")
    script = (
        POORER
        + """
from pathlib import Path
from indexer.storage.index import Index, lock_holder
folder = Path(sys.argv[1])
with Index.open(folder).writer("the other one"):
    import subprocess
    command = [sys.executable, sys.argv[2], '[["index"]]', sys.argv[3]]
    subprocess.run(command)
    print(lock_holder(folder), Path(sys.argv[3], "0.2").read_text())
print(repr(lock_holder(folder)))
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(poorer.data_dir / "index"), str(poorer.home / "poorer.py"), poorer.home],
        env=poorer.environment(), cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("the other one (process ")
    assert "the index is being written by the other one" in done.stdout
    assert done.stdout.splitlines()[-1] == "''"
