"""The socket and its messages."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from app.resident.local_socket import MAX_ADDRESS, LineError, LocalLine, LocalListener, call


def taken(listener: LocalListener) -> LocalLine:
    """The next call; it may take the system a moment to tell of it."""
    end = time.monotonic() + 60
    while (line := listener.accept()) is None:
        assert time.monotonic() < end
        time.sleep(0.001)
    line.connection.setblocking(True)
    return line


@pytest.mark.parametrize("length", [10, 300], ids=["short", "longer than an address"])
def test_messages_arrive_whole(tmp_path: Path, length: int) -> None:
    """Any bytes, even beyond the system's buffer, over a path of any length; both ends know the caller."""
    folder = tmp_path / ("d" * (length // 2)) / ("e" * (length // 2))
    folder.mkdir(parents=True)
    path = str(folder / "socket")
    assert (len(path) > MAX_ADDRESS) or length == 10
    Path(path).write_bytes(b"left behind")
    listener = LocalListener(path)
    content = os.urandom(3_000_000)
    caller = call(path, seconds=60)
    other = taken(listener)
    assert caller.peer == other.peer == os.getuid()
    sender = threading.Thread(target=caller.send, args=(content,))
    sender.start()
    assert other.receive(len(content)) == content
    sender.join()
    caller.close()
    with pytest.raises(LineError, match="ended"):
        other.receive(10)
    other.close()
    listener.close()
    assert not os.path.exists(path)


def test_a_message_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    """Its length is checked before anything is read."""
    listener = LocalListener(str(tmp_path / "socket"))
    caller = call(str(tmp_path / "socket"), seconds=60)
    other = taken(listener)
    caller.send(b"x" * 11)
    with pytest.raises(LineError, match="wanted at most 10 bytes, got 11"):
        other.receive(10)
    for line in (caller, other):
        line.close()
    listener.close()


def test_where_nobody_listens_the_reason_is_told(tmp_path: Path) -> None:
    """No file, a file that is no socket, and a socket whose process is gone."""
    (tmp_path / "file").write_bytes(b"")
    listener = LocalListener(str(tmp_path / "gone"))
    os.close(listener.fileno())
    for name in ("none", "file", "gone"):
        with pytest.raises(LineError, match="no resident process"):
            call(str(tmp_path / name), seconds=1)


def test_a_socket_that_another_has_replaced_is_left_alone(tmp_path: Path) -> None:
    """Closing removes only one's own socket."""
    path = str(tmp_path / "socket")
    first = LocalListener(path)
    second = LocalListener(path)
    assert (first.stands, second.stands) == (False, True)
    first.close()
    assert os.path.exists(path)
    second.close()
    assert not os.path.exists(path)
