"""Random input on the two sockets of the resident process: it still answers the next question."""

from __future__ import annotations

import os
import random
import socket
from contextlib import suppress
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING

import pytest

from app.resident import protocol as messages
from app.resident.local_socket import MAX_QUESTION, index_socket_path, socket_path
from tests.app.following.test_index_requests import following, handed
from tests.app.resident.conftest import PATIENCE, serving
from tests.app.resident.test_resident_server import n_answered, until

if TYPE_CHECKING:
    from tests.app.conftest import Device

N_CALLS = 300
N_ARGUMENTS = 10
"""place of their number: with another one, what is run would not have this device's variables"""


def odd_question(rng: random.Random, device: Device) -> bytes:
    """A question with an odd field; or of a version that nobody has, cut and with odd bytes, which is never run."""
    fields = [
        messages.PROTOCOL, messages.identity(), messages.RUN, b"/", b"80", b"24", b"0", b"1", b"utf-8 strict",
        b"utf-8 strict", b"2", b"search", b"heron", *(f"{k}={v}".encode() for k, v in device.environment().items()),
    ]  # fmt: skip
    if rng.random() < 0.5:
        place = rng.choice([place for place in range(13) if place != N_ARGUMENTS])
        fields[place] = rng.choice((b"", b"-1", b"9" * 30, b"utf-16 strict", rng.randbytes(40).replace(b"\0", b"\1")))
        return b"\0".join(fields)
    fields[1] = b"damaged"
    content = bytearray(b"\0".join(fields))
    for _ in range(rng.randint(0, 9)):
        content[rng.randrange(len(content))] = rng.randrange(256)
    return bytes(content[: rng.randint(0, len(content))])


def odd_call(rng: random.Random, path: str, question: bytes) -> socket.socket:
    """A caller with a wrong length, a part of a message, more than one, bytes in pieces, or who does not wait."""
    n = len(question)
    length = rng.choice((n, n, n, 0, n - 1, n + 1, MAX_QUESTION, MAX_QUESTION + 1, 2**32 - 1)) % 2**32
    content = length.to_bytes(4, "big") + question + rng.choice((b"", b"", b"", question))
    content = content[: rng.choice((len(content), len(content), rng.randint(0, len(content))))]
    caller = socket.socket(socket.AF_UNIX)
    caller.connect(path)  # which waits for room in the system's queue while it has no timeout
    caller.settimeout(PATIENCE)
    with suppress(BrokenPipeError, ConnectionResetError):
        half = rng.randint(0, len(content))
        caller.sendall(content[:half])
        caller.sendall(content[half:])
        if rng.random() < 0.2:
            caller.shutdown(rng.choice((socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR)))
        elif length == n and len(content) == n + 4:
            caller.recv(rng.choice((1, 4, 9)))
    return caller


def call_oddly(rng: random.Random, path: str, device: Device) -> None:
    """Many callers, a few of whom stay on the line."""
    waiting: list[socket.socket] = []
    for _ in range(N_CALLS):
        waiting.append(odd_call(rng, path, rng.choice((odd_question(rng, device), rng.randbytes(rng.randint(0, 90))))))
        while len(waiting) > rng.randint(0, 5):
            waiting.pop(rng.randrange(len(waiting))).close()
    for caller in waiting:
        caller.close()


def n_open(process: BaseProcess) -> int:
    return len(os.listdir(f"/proc/{process.pid}/fd"))


@pytest.mark.parametrize("seed", range(2))
def test_the_next_question_is_answered(device: Device, seed: int) -> None:
    """By the same process, without more open files than before."""
    device.index()
    with serving(device) as process:
        assert device.run("search", "heron").returncode == 0
        before = n_open(process)
        call_oddly(random.Random(seed), socket_path(str(device.data_dir)), device)
        until(lambda: n_open(process) <= before)
        n = n_answered(device)
        done = device.run("search", "heron")
        assert (done.returncode, "heron.txt" in done.stdout, n_answered(device)) == (0, True, n + 1)


def test_the_next_wish_to_index_is_granted(device: Device) -> None:
    """By the process that follows changes, without more open files than before."""
    device.index()
    with following(device) as process:
        before = n_open(process)
        call_oddly(random.Random(3), index_socket_path(str(device.data_dir)), device)
        until(lambda: n_open(process) <= before)
        (device.notes / "new.txt").write_text("a bittern booms", encoding="ascii")
        assert handed(device)[0] == "0"
        assert "new.txt" in device.run("search", "bittern").stdout
