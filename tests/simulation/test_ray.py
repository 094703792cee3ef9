"""A Ray cluster of a head and two workers, with a token, on this machine: another place to run, not another result."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from simulation.engines import CellFailed, InProcess, RayCluster
from simulation.experiment import work_with
from tests.ports import free_port
from tests.simulation.small_study import cells_of, preset, rows_of

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'foltr-search[cluster]'")

JOINED = 90.0
"""seconds in which all nodes should be there"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A head that computes nothing and two workers of one core, each a process group of its own; ended by their ids."""
    address = f"127.0.0.1:{free_port()}"
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16), "RAY_USAGE_STATS_ENABLED": "0"}
    logs = tmp_path_factory.mktemp("ray")
    head = ["--head", f"--port={address.rpartition(':')[2]}", "--num-cpus=0", "--include-dashboard=false"]
    with pytest.MonkeyPatch.context() as patch, contextlib.ExitStack() as nodes:
        for name, value in token.items():
            patch.setenv(name, value)
        short = nodes.enter_context(tempfile.TemporaryDirectory(prefix="r", ignore_cleanup_errors=True))  # has sockets
        nodes.enter_context(node(logs / "head", [*head, f"--temp-dir={short}"]))
        wait_until(lambda: "Ray runtime started" in (logs / "head").read_text(errors="replace"), logs)
        for number in (1, 2):
            nodes.enter_context(node(logs / f"worker{number}", [f"--address={address}", "--num-cpus=1"]))
        cluster = RayCluster(address).connected()
        nodes.callback(cluster.shutdown)
        wait_until(lambda: sum(one["Alive"] for one in cluster.nodes()) == 3, logs)
        yield address


def wait_until(ready: Callable[[], bool], logs: Path) -> None:
    """Wait for the nodes; what they wrote is the message when they do not come."""
    deadline = time.monotonic() + JOINED
    while not ready():
        assert time.monotonic() < deadline, [path.read_text(errors="replace")[-1000:] for path in logs.iterdir()]
        time.sleep(0.5)


@contextlib.contextmanager
def node(log: Path, options: list[str]) -> Iterator[None]:
    """`ray start` with those options until the end of the context."""
    words = ["--node-ip-address=127.0.0.1", "--min-worker-port=0", "--max-worker-port=0", "--block"]
    program = [sys.executable, "-m", "ray.scripts.scripts", "start", *options, *words]
    with log.open("wb") as out:
        running = subprocess.Popen(program, stdout=out, stderr=out, start_new_session=True)
    try:
        yield
    finally:
        for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, 20)):
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(running.pid, number)
                running.wait(timeout=patience)


def test_a_ray_cluster_gives_the_same_rows(address: str) -> None:
    """Bit for bit those of one process here, whichever worker a cell ran on."""
    cells, work = cells_of(preset()), work_with(None)
    assert rows_of(RayCluster(address).run(cells, work)) == rows_of(InProcess().run(cells, work))


def test_a_cell_that_fails_on_a_worker_says_why(address: str) -> None:
    """An error is an event that comes back, and the other cells go on."""
    cells = cells_of(preset(seeds=1, sweep={}, data={"dataset": "sample", "folds": [1, 99]}))
    failed = [event for event in RayCluster(address).run(cells, work_with(None)) if isinstance(event, CellFailed)]
    assert [event.cell for event in failed] == [cells[1].id]
    assert "fold 99" in failed[0].message
