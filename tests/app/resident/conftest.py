"""A resident process of a device of its own, and what a caller by hand needs."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from app.resident.local_socket import AVAILABLE, socket_path

if TYPE_CHECKING:
    from tests.app.conftest import Device

ROOT = Path(__file__).resolve().parents[3]
PATIENCE = 180.0

collect_ignore = [] if AVAILABLE else ["test_serving.py", "test_asking.py", "test_line.py", "test_desk.py"]


@contextmanager
def serving(device: Device, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """A resident process that answers when the block begins, and is killed when it ends."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "serve", *(arguments or ("--no-watch",))],
        env=device.environment(**variables), cwd=device.home, stderr=subprocess.PIPE, text=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        said = process.stderr.readline()
        assert said.startswith("foltr-search: answering (process "), said
        yield process
    finally:
        process.kill()
        process.wait(PATIENCE)
        process.stderr.close()


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
