"""A resident process of a separate device, and what a hand-made caller needs."""

from __future__ import annotations

import os
import select
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.resident.local_socket import AVAILABLE, socket_path
from tests import copied

if TYPE_CHECKING:
    from tests.app.conftest import Device

PATIENCE = 180.0

collect_ignore = (
    [] if AVAILABLE else ["test_serving.py", "test_odd_calls.py", "test_on_behalf.py", "test_local_socket.py"]
)


@contextmanager
def serving(device: Device, *arguments: str, code: str = copied.COMMAND, **variables: str) -> Iterator[BaseProcess]:
    """A resident process that answers when the block begins, and is killed when it ends."""
    with ExitStack() as stack:
        said = Path(stack.enter_context(tempfile.TemporaryDirectory()), "said")
        os.mkfifo(said)
        lines = stack.enter_context(open(os.open(said, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8"))
        process = copied.start(
            code, ["serve", *(arguments or ("--no-watch",))], variables=device.environment(**variables),
            cwd=device.home, out=Path(os.devnull), err=said, daemon=False,
        )  # fmt: skip
        try:
            assert select.select([lines], [], [], PATIENCE)[0]
            os.set_blocking(lines.fileno(), True)
            assert (line := lines.readline()).startswith("foltr-search: answering (process "), line
            yield process
        finally:
            process.kill()
            process.join(PATIENCE)


def dial(device: Device) -> socket.socket:
    """A connection to the resident process, without anything of ours on it."""
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(PATIENCE)
    caller.connect(socket_path(str(device.data_dir)))
    return caller


@pytest.fixture
def resident(device: Device) -> Iterator[Device]:
    """A device whose notes are indexed and whose resident process answers."""
    device.index()
    with serving(device):
        yield device
