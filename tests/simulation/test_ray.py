"""A Ray cluster of a head and two workers, with a token, on this machine: another place to run, not another result."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from simulation.engines import PATIENCE, RayCluster
from simulation.errors import SimulationError
from simulation.run_folder import Row, read_run
from tests.ports import free_port

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="ray is not installed: the extra `cluster`"
)

JOINED = 120.0
"""seconds in which a node should be there"""

STUDY = ["sample", "--rounds", "4", "--evaluate-every", "2", "--clients", "3", "--local", "2", "--folds", "1,2"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of whoever may compute there: a head that computes nothing and two workers of one core."""
    address = f"127.0.0.1:{free_port()}"
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    environment = {**os.environ, **token, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ADDRESS": address}
    head = ["--head", f"--port={address.rpartition(':')[2]}", "--num-cpus=0", "--include-dashboard=false"]
    with contextlib.ExitStack() as nodes:
        short = nodes.enter_context(tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True))  # has sockets
        nodes.enter_context(node(tmp_path / "head", [*head, f"--temp-dir={short}"], environment))
        for number in (1, 2):
            words = [f"--address={address}", "--num-cpus=1"]
            nodes.enter_context(node(tmp_path / f"worker{number}", words, environment))
        yield environment


@contextlib.contextmanager
def node(log: Path, options: list[str], environment: dict[str, str]) -> Iterator[None]:
    """`ray start` with those options, from when it is there to the end of the context; ended by its id."""
    words = ["--node-ip-address=127.0.0.1", "--min-worker-port=0", "--max-worker-port=0", "--block"]
    program = [sys.executable, "-m", "ray.scripts.scripts", "start", *options, *words]
    environment = {name: value for name, value in environment.items() if name != "RAY_ADDRESS"}
    with log.open("wb") as out:
        running = subprocess.Popen(program, stdout=out, stderr=out, env=environment, start_new_session=True)
    try:
        deadline = time.monotonic() + JOINED
        while "Ray runtime started" not in log.read_text(errors="replace"):
            assert time.monotonic() < deadline, log.read_text(errors="replace")[-2000:]
            assert running.poll() is None, log.read_text(errors="replace")[-2000:]
            time.sleep(0.3)
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(running.pid, number)
                running.wait(timeout=20)


def rows_of(words: list[str], folder: Path, environment: dict[str, str]) -> list[Row]:
    """The rows of the study, without the time they took, in an order that no engine has a say in."""
    program = [sys.executable, "-m", "simulation", *STUDY, *words, "--out", str(folder)]
    done = subprocess.run(program, env=environment, cwd=folder.parent, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [msgspec.structs.replace(row, seconds=0.0) for row in read_run(folder).rows]
    return sorted(rows, key=lambda row: (row.cell, row.round))


@pytest.mark.parametrize("address", ["127.0.0.1:{}", "nonsense", "127.0.0.1:port"])
def test_nobody_at_the_address_is_told_at_once(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray itself tries for minutes, and says it in lines of its own."""
    monkeypatch.setenv("RAY_ADDRESS", address.format(free_port()))
    begun = time.monotonic()
    with pytest.raises(SimulationError, match="no Ray cluster at"):
        RayCluster().connected()
    assert time.monotonic() - begun < PATIENCE


def test_a_ray_cluster_gives_the_same_rows(cluster: dict[str, str], tmp_path: Path) -> None:
    """Bit for bit those of one process, whichever worker a cell ran on."""
    there = rows_of(["--engine", "ray"], tmp_path / "there", cluster)
    here = rows_of(["--jobs", "1"], tmp_path / "here", cluster)
    assert len(here) == 2 * 3 * 3
    assert there == here
