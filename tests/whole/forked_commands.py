"""Runs command lines of the program in copies of one process that has loaded it, so that each costs what it does alone.

A line of JSON asks for one: {"number", "arguments", "variables", "output"}; what it prints comes into the files
OUTPUT.out and OUTPUT.err. Answered are "began NUMBER PID" and "ended NUMBER CODE", in the order in which it happens.
`--rows SQL` in the place of a command prints the rows of state.sqlite, opened by SQLite alone in a process of its own.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sqlite3
import sys
import traceback
from contextlib import closing
from importlib import import_module
from typing import Any

import app.__main__
from app.cli import COMMANDS
from app.standard_folders import data_folder


def rows(sql: str) -> int:
    with closing(sqlite3.connect(f"file:{data_folder(os.environ)}/state.sqlite?mode=ro", uri=True, timeout=60)) as db:
        print(json.dumps(db.execute(sql).fetchall()))
    return 0


def work(asked: dict[str, Any]) -> int:
    """What the process of a command would do."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for stream, ending in ((0, ""), (1, ".out"), (2, ".err")):
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC if ending else os.O_RDONLY
        handle = os.open(asked["output"] + ending if ending else os.devnull, flags, 0o600)
        os.dup2(handle, stream)
        os.close(handle)
    os.environ.update(asked["variables"])
    sys.argv = ["foltr-search", *asked["arguments"]]
    code = 70
    try:
        code = rows(asked["arguments"][1]) if asked["arguments"][0] == "--rows" else app.__main__.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def tell(line: str) -> None:
    os.write(1, line.encode() + b"\n")


def main() -> None:
    for name in sorted({place.partition(":")[0] for place in COMMANDS.values()}):
        import_module(name)
    import_module("app.search.search")
    import_module("app.following.indexing")
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    running: dict[int, int] = {}
    asked = b""
    while True:
        ready = select.select([0, heard], [], [])[0]
        if heard in ready:
            os.read(heard, 1 << 12)
        while running and (ended := os.waitpid(-1, os.WNOHANG))[0]:
            tell(f"ended {running.pop(ended[0])} {os.waitstatus_to_exitcode(ended[1])}")
        if 0 in ready:
            came = os.read(0, 1 << 16)
            if not came:
                return
            *lines, asked = (asked + came).split(b"\n")
            for line in lines:
                question = json.loads(line)
                if not (pid := os.fork()):
                    work(question)
                running[pid] = question["number"]
                tell(f"began {question['number']} {pid}")


if __name__ == "__main__":
    main()
