"""A program in a copy of a process that has loaded it: a process of its own, killed like any, without the loading."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType

from app.cli import COMMANDS
from app.settings import SCHEME

LOADED = (
    "app.__main__",
    "app.backup",
    "app.checkup",
    "app.commands.documents_json",
    "app.commands.join",
    "app.commands.results_text",
    "app.devices.own_devices",
    "app.document_to_open",
    "app.federation.group_status",
    "app.federation.join_and_leave",
    "app.federation.sync",
    "app.following.indexing",
    "app.following.progress_lines",
    "app.resident.on_behalf",
    "app.resident.resident_client",
    "app.review.review",
    "app.search.search",
    "federation_server.cli",
    "federation_server.serve",
    "indexer.codec.whoosh_codec",
    "numpy.random",
    "tomli_w",
    "tomllib",
)
"""what many commands load when they need it"""
SECONDS = 600
assert SCHEME.keys, "are read from types once, and not by each copy"
COMMAND = "import sys; from app.__main__ import main; sys.exit(main())"


def start(
    code: str, arguments: Sequence[str], *, variables: Mapping[str, str], cwd: Path, out: Path, err: Path,
    daemon: bool = True, given: Path | None = None,
) -> BaseProcess:  # fmt: skip
    """Run Python with these arguments, variables and what a file holds as input; what it prints is added to the files.

    A daemon ends with the tests, and starts no processes of multiprocessing.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*LOADED, *COMMANDS.values(), __name__])
    streams = (str(given or os.devnull), str(out), str(err))
    work = (code, list(arguments), dict(variables), str(cwd), streams)
    process = context.Process(target=_work, args=work, daemon=daemon)
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")  # the copy needs no pytest
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main
    return process


def run(
    arguments: Sequence[str], *, variables: Mapping[str, str], cwd: Path, code: str = COMMAND, typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run a command line, of the device where nothing else is said, to its end; input and output are text."""
    with tempfile.TemporaryDirectory() as folder:
        given, out, err = (Path(folder, name) for name in ("given", "out", "err"))
        given.write_text(typed, "utf-8")
        process = start(code, arguments, variables=variables, cwd=cwd, out=out, err=err, daemon=False, given=given)
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(arguments, SECONDS)
        said = [path.read_text("utf-8", "surrogateescape") for path in (out, err)]
    return subprocess.CompletedProcess(arguments, process.exitcode, *said)


def _work(code: str, arguments: list[str], variables: dict[str, str], cwd: str, streams: Sequence[str]) -> None:
    for stream, path in enumerate(streams):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND if stream else os.O_RDONLY, 0o600)
        os.dup2(handle, stream)
        os.close(handle)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)  # multiprocessing has put another in its place
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    os.chdir(cwd)
    sys.argv = ["foltr", *arguments]
    exec(code, {"__name__": "__main__"})
