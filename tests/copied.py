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

LOADED = (
    "app.__main__",
    "app.following.indexing",
    "app.search.search",
    "federation_server.cli",
    "federation_server.serve",
)
SECONDS = 600
COMMAND = "import sys; from app.__main__ import main; sys.exit(main())"


def start(
    code: str, arguments: Sequence[str], *, variables: Mapping[str, str], cwd: Path, out: Path, err: Path,
    daemon: bool = True,
) -> BaseProcess:  # fmt: skip
    """Run Python with these arguments, variables and no input; what it prints is added to the files.

    A daemon ends with the tests, and starts no processes of multiprocessing.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([*LOADED, *COMMANDS.values(), __name__])
    given = (code, list(arguments), dict(variables), str(cwd), (str(out), str(err)))
    process = context.Process(target=_work, args=given, daemon=daemon)
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")  # the copy needs no pytest
    try:
        process.start()
    finally:
        sys.modules["__main__"] = main
    return process


def run(
    arguments: Sequence[str], *, variables: Mapping[str, str], cwd: Path, code: str = COMMAND
) -> subprocess.CompletedProcess[str]:
    """Run a command line, of the device where nothing else is said, to its end; its output is text."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process = start(code, arguments, variables=variables, cwd=cwd, out=out, err=err, daemon=False)
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(arguments, SECONDS)
        said = [path.read_text("utf-8", "surrogateescape") for path in (out, err)]
    return subprocess.CompletedProcess(arguments, process.exitcode, *said)


def _work(code: str, arguments: list[str], variables: dict[str, str], cwd: str, said: tuple[str, str]) -> None:
    for stream, path in enumerate(said, start=1):
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(handle, stream)
        os.close(handle)
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    os.chdir(cwd)
    sys.argv = ["foltr", *arguments]
    exec(code, {"__name__": "__main__"})
