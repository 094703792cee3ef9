"""A command line in a copy of a process that has loaded the program: a process of its own, without the loading."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from importlib import import_module
from multiprocessing.context import ForkServerContext
from pathlib import Path
from types import ModuleType

from app.cli import COMMANDS

LOADED = sorted({"app.__main__", "app.following.indexing", "app.search.search", __name__, *COMMANDS.values()})
SECONDS = 600


def run(
    arguments: Sequence[str], *, variables: Mapping[str, str], cwd: Path, module: str = "app.__main__"
) -> subprocess.CompletedProcess[str]:
    """Run a command line of this module to its end, with these variables alone and no input; its output is text."""
    with tempfile.TemporaryDirectory() as folder:
        process = _context().Process(target=_work, args=(module, list(arguments), dict(variables), str(cwd), folder))
        main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")  # the copy needs no pytest
        try:
            process.start()
        finally:
            sys.modules["__main__"] = main
        process.join(SECONDS)
        if process.exitcode is None:
            process.kill()
            raise subprocess.TimeoutExpired(arguments, SECONDS)
        out, err = (Path(folder, name).read_text("utf-8", "surrogateescape") for name in ("out", "err"))
    return subprocess.CompletedProcess(arguments, process.exitcode, out, err)


def _context() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(LOADED)
    return context


def _work(module: str, arguments: list[str], variables: dict[str, str], cwd: str, folder: str) -> None:
    """What the process of a command would do."""
    for stream, name in ((1, "out"), (2, "err")):
        handle = os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(handle, stream)
        os.close(handle)
    os.environ.clear()
    os.environ.update(variables)
    time.tzset()
    os.chdir(cwd)
    sys.argv = ["foltr-search", *arguments]
    sys.exit(import_module(module).main())
