"""What one query from the shell costs: with and without the resident process, beside bare Python and Recoll.

    python -m benchmarks commands FOLDER [--runs 15] [--queries WORDS ...]

The folder is indexed into a temporary data folder. Then the commands run in turns, each as a separate process whose CPU
seconds (user and system, os.wait4) are taken when it ends; what the resident process spends on a query is added to its
row. CPU seconds also grow on a busy machine; the ratios of one run do less.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.processes import PROGRAM, spent
from benchmarks.running import arguments
from benchmarks.tables import Table

QUERIES = ("password file", "regular expression", "socket timeout")


def cpu_seconds(command: Sequence[str], env: Mapping[str, str]) -> float:
    """What a command took, from its start to its end."""
    with open(os.devnull, "r+b") as nothing:
        child = subprocess.Popen(command, env=dict(env), stdin=nothing, stdout=nothing, stderr=nothing)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1):
        raise subprocess.CalledProcessError(child.returncode, command)
    return usage.ru_utime + usage.ru_stime


def measure(env: Mapping[str, str], queries: Sequence[str], runs: int) -> Table:
    """The rows, in turns."""
    alone = {**env, "FOLTR_DATA_DIR": env["FOLTR_DATA_DIR"] + "-alone"}
    shutil.copytree(env["FOLTR_DATA_DIR"], alone["FOLTR_DATA_DIR"])
    server = subprocess.Popen([*PROGRAM, "serve", "--no-watch"], env=dict(env), stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    taken: dict[str, list[float]] = {}
    in_server = 0.0
    try:
        server.stderr.readline()
        for _ in range(runs):
            for query in queries:
                search = (*PROGRAM, "search", *query.split())
                taken.setdefault("python -c ''", []).append(cpu_seconds((sys.executable, "-c", ""), env))
                before = spent(server.pid)
                taken.setdefault("search, answered by `serve`", []).append(cpu_seconds(search, env))
                in_server += spent(server.pid) - before
                taken.setdefault("search, alone", []).append(cpu_seconds(search, alone))
                if shutil.which("recollq") and "RECOLL_CONFDIR" in os.environ:
                    taken.setdefault("recollq", []).append(cpu_seconds(("recollq", "-n", "10", *query.split()), env))
    finally:
        server.kill()
        server.wait()
        server.stderr.close()
    table = Table(("command", "CPU-s, least", "median", "in the server, mean"))
    for name, found in taken.items():
        mean = f"{in_server / len(found):.3f}" if "serve" in name else ""
        table.add(name, min(found), statistics.median(found), mean)
    return table


def main() -> None:
    options = arguments(__doc__, folder=Path, runs=15, queries=QUERIES)
    with tempfile.TemporaryDirectory() as place:
        env = {
            **os.environ,
            "FOLTR_DATA_DIR": os.path.join(place, "data"), "FOLTR_CONFIG_DIR": os.path.join(place, "config"),
            "FOLTR_MEANING__ENABLED": "false",
        }  # fmt: skip
        cpu_seconds((*PROGRAM, "index", "--quiet", str(options.folder.absolute())), env)
        print(measure(env, options.queries, options.runs))
