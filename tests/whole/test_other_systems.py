"""What other systems lack is taken away here: no fcntl, resource, pwd, grp or termios, no SIGHUP and no SIGKILL."""

from __future__ import annotations

import json
import subprocess
import sys
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
COMMAND = (
    POORER
    + """
from app.cli import main
if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
"""
)
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
    (device.home / "poorer.py").write_text(COMMAND)
    return device


def run(device: Device, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(device.home / "poorer.py"), *arguments],
        env=device.environment(), cwd=device.home, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def test_every_module_can_be_imported() -> None:
    """Of the device, the learning core, the indexer and a group's server."""
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_the_main_commands_work(poorer: Device) -> None:
    """Indexing, searching, opening, explaining and looking after the index."""
    indexed = run(poorer, "index", str(poorer.notes))
    assert indexed.returncode == 0, indexed.stderr
    found = run(poorer, "search", "kingfisher", "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout.splitlines()[0])["name"] == "kingfisher.md"
    assert run(poorer, "open", "1", "--print").stdout == f"{poorer.notes / 'birds' / 'kingfisher.md'}\n"
    assert run(poorer, "why", str(poorer.notes / "birds" / "heron.txt")).returncode == 0
    status = json.loads(run(poorer, "status", "--json").stdout)
    assert (status["n_documents"], status["writer"]) == (6, "")
    assert run(poorer, "search", "boat").returncode == 0  # leaves the page, which is learned from now
    assert json.loads(run(poorer, "model", "show", "--json").stdout)["v"] == 1
    assert run(poorer, "stats").returncode in (0, 1)
    assert run(poorer, "config", "check").returncode == 0
    checked = run(poorer, "doctor")
    assert "Traceback" not in checked.stderr
    assert checked.returncode == 0, checked.stdout


def test_a_change_is_indexed_and_a_second_writer_is_told(poorer: Device) -> None:
    """The lock works without flock: while one process writes, another is told which."""
    (poorer.notes / "late.txt").write_text("A capercaillie in the wood.\n")
    assert run(poorer, "index", str(poorer.notes)).returncode == 0
    assert run(poorer, "search", "capercaillie").stdout.startswith(str(poorer.notes / "late.txt"))
    (poorer.notes / "later.txt").write_text("Another capercaillie.\n")
    script = (
        POORER
        + """
from pathlib import Path
from indexer.storage.index import Index, lock_holder
folder = Path(sys.argv[1])
with Index.open(folder).writer("the other one"):
    import subprocess
    command = [sys.executable, sys.argv[2], "index"]
    print(lock_holder(folder), subprocess.run(command, capture_output=True, text=True).stderr)
print(repr(lock_holder(folder)))
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(poorer.data_dir / "index"), str(poorer.home / "poorer.py")],
        env=poorer.environment(), cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("the other one (process ")
    assert "the index is being written by the other one" in done.stdout
    assert done.stdout.splitlines()[-1] == "''"
