"""Indexing in a process of its own while the screen is up, so that no key press ever waits for it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import msgspec

import app
from app.settings import Paths
from console.printable import safe_line
from indexer.progress import OnProgress, Progress

STOP_SECONDS = 1.5
"""to wait for the process to end; after that it ends by itself, once it has committed"""


def _environment(paths: Paths) -> dict[str, str]:
    """The variables of a process of this program that works on the same folders."""
    place = str(Path(app.__file__).parent.parent)
    before = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "PYTHONPATH": place + (os.pathsep + before if before else ""),
        "FOLTR_CONFIG_DIR": str(paths.config_dir),
        "FOLTR_DATA_DIR": str(paths.data_dir),
    }


def start_resident(paths: Paths) -> None:
    """Start the process that answers single commands; it ends by itself when idle, or when another one runs."""
    subprocess.Popen(
        [sys.executable, "-P", "-m", "app", "serve", "--no-watch", "--idle", "--quiet"], cwd=paths.data_dir,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_environment(paths),
        start_new_session=True,
    )  # fmt: skip


class BackgroundIndexer:
    """Runs `foltr-search watch --events` and passes its reports on; the process ends with this one, however it ends.

    `on_progress` is called from a thread of its own.
    """

    def __init__(self, paths: Paths, on_progress: OnProgress, *, arguments: Sequence[str] = ()) -> None:
        """`arguments` are more options of `watch`."""
        self._paths, self._on_progress, self._arguments = paths, on_progress, arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None

    def start(self) -> None:
        """Start the process; does nothing when it runs already."""
        if self._process is not None and self._process.poll() is None:
            return
        # -P keeps a folder called `app` in the current directory from being taken for this program.
        command = [sys.executable, "-P", "-m", "app.cli", "watch", "--events", *self._arguments]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
            env=_environment(self._paths),
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, args=(self._process,), daemon=True)
        self._reader.start()

    def stop(self) -> None:
        """Ask the process to end after its commit; waits only a moment, for leaving the screen must be quick."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.stdin is not None:
            with contextlib.suppress(OSError):
                process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
        if self._reader is not None and process.returncode is not None:
            self._reader.join(STOP_SECONDS)

    def _read(self, process: subprocess.Popen[bytes]) -> None:
        said = b""
        for line in process.stdout or ():
            try:
                report = msgspec.json.decode(line, type=Progress)
            except msgspec.DecodeError:  # not a report, but perhaps why it ends
                said = line
            else:
                if self._process is process:  # not when another process has taken its place
                    self._on_progress(report)
        if process.stdout is not None:
            process.stdout.close()
        if self._process is process and process.wait() not in (0, None):
            why = safe_line(said.decode("utf-8", "replace")).removeprefix("foltr-search: ").strip()
            why = why if why and process.returncode > 0 else f"exit code {process.returncode}"
            self._on_progress(Progress(phase="idle", note=f"indexing ended: {why}"))


def stop_with_parent(stop: threading.Event, stdin: int) -> None:
    """Set `stop` when the pipe `stdin` ends: the process at its other end asked for it, or is gone."""

    def wait() -> None:
        while os.read(stdin, 4096):  # not a stream: the waiting thread would hold its lock, which aborts the exit
            pass
        stop.set()

    threading.Thread(target=wait, daemon=True).start()
