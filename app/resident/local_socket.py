"""The line between a command and the resident process: a Unix socket in a folder that its user alone may enter.

Besides the door to a group's server this is the only file of the device that opens a socket, and it uses AF_UNIX only,
never the network. Messages are 4 bytes of length, most significant first, then so many bytes; the fields of a question
are separated by NUL, which no argument and no variable can hold.

Every command reads it at its start, so it loads little: Python's `socket` wraps `_socket`, and costs twenty times more.
"""

from __future__ import annotations

import os
import sys

try:
    import _socket

    AVAILABLE = hasattr(_socket, "AF_UNIX") and os.name == "posix"
except ImportError:
    AVAILABLE = False
"""whether this system has such sockets; without them every command works alone"""

MAX_QUESTION = 1 << 20
"""bytes of a question: arguments and variables"""
MAX_ANSWER = 1 << 26
"""bytes of an answer; for a longer one the command works by itself"""
MAX_ADDRESS = 100
"""bytes of a socket's path that every system takes (Linux 107, macOS 103)"""
BACKLOG = 64
_PEER_MACOS = 1
"""LOCAL_PEERCRED, which Python does not name"""


class LineError(Exception):
    """No resident process answers, or what came is not a message from it."""


def socket_path(data_dir: str) -> str:
    """Where the socket of a data folder is, in a folder of its own (0700)."""
    return os.path.join(data_dir, "resident", "socket")


def index_socket_path(data_dir: str) -> str:
    """Where the process that follows changes takes calls of `index`, in the same folder."""
    return os.path.join(data_dir, "resident", "index")


class _Within:
    """A path that fits a socket's address: a longer one is reached through its folder's handle (Linux only)."""

    def __init__(self, path: str) -> None:
        self._path, self._folder = path, -1

    def __enter__(self) -> bytes:
        path = os.fsencode(self._path)
        if len(path) <= MAX_ADDRESS:
            return path
        if sys.platform != "linux":
            raise LineError(f"{self._path}: wanted a path of at most {MAX_ADDRESS} bytes for a socket, got {len(path)}")
        self._folder = os.open(os.path.dirname(path), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        return b"/proc/self/fd/%d/%s" % (self._folder, os.path.basename(path))

    def __exit__(self, *_: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)


class LocalLine:
    def __init__(self, connection: _socket.socket) -> None:
        self.connection = connection

    def fileno(self) -> int:
        return self.connection.fileno()

    def close(self) -> None:
        self.connection.close()

    @property
    def peer(self) -> int:
        """The user at the other end; -1 where the system does not say."""
        if hasattr(_socket, "SO_PEERCRED"):
            found = self.connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
            return int.from_bytes(found[4:8], sys.byteorder)
        if sys.platform == "darwin":
            return int.from_bytes(self.connection.getsockopt(0, _PEER_MACOS, 76)[4:8], sys.byteorder)
        return -1

    @property
    def is_own(self) -> bool:
        """Whether this user is at the other end; where the system does not say, only the folder's mode protects."""
        return self.peer in (os.getuid(), -1)

    def send(self, message: bytes) -> None:
        self.connection.sendall(len(message).to_bytes(4, "big") + message)

    def receive(self, limit: int) -> bytes:
        """The next message; LineError when the other end is gone or the message is longer than `limit`."""
        length = int.from_bytes(self._exactly(4), "big")
        if length > limit:
            raise LineError(f"wanted at most {limit} bytes, got {length}")
        return self._exactly(length)

    def _exactly(self, n_bytes: int) -> bytes:
        parts = []
        while n_bytes:
            part = self.connection.recv(min(n_bytes, 1 << 16))
            if not part:
                raise LineError("the resident process ended")
            parts.append(part)
            n_bytes -= len(part)
        return b"".join(parts)


def call(path: str, *, seconds: float) -> LocalLine:
    """A connection to the resident process of this user; LineError when there is none."""
    if not AVAILABLE:
        raise LineError("this system has no Unix sockets")
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        connection.settimeout(seconds)
        with _Within(path) as address:
            connection.connect(address)
        line = LocalLine(connection)
        if not line.is_own:
            raise LineError(f"{path}: wanted a process of user {os.getuid()}, got one of user {line.peer}")
    except OSError as error:
        connection.close()
        raise LineError(f"no resident process ({error.strerror or error})") from error
    except LineError:
        connection.close()
        raise
    return line


class LocalListener:
    """A socket that takes calls; its maker holds the lock of the folder."""

    def __init__(self, path: str, *, inherited: int = -1) -> None:
        """Listen at `path` (0600), in place of what a killed process left; or on a socket that systemd opened.

        LineError where this system has no such sockets.
        """
        if not AVAILABLE:
            raise LineError("this system has no Unix sockets")
        self._path = path
        if inherited >= 0:
            self._socket = _socket.socket(fileno=inherited)
        else:
            self._socket = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
            if os.path.lexists(path):
                os.unlink(path)
            before = os.umask(0o177)
            try:
                with _Within(path) as address:
                    self._socket.bind(address)
            finally:
                os.umask(before)
            self._socket.listen(BACKLOG)
        self._socket.setblocking(False)
        self._is_ours, self._inode = inherited < 0, os.stat(path).st_ino

    def fileno(self) -> int:
        return self._socket.fileno()

    def accept(self) -> LocalLine | None:
        """The next call from this user, made non-blocking; None when there is none, or it is somebody else's."""
        try:
            descriptor, _ = self._socket._accept()  # type: ignore[attr-defined]
        except OSError:
            return None
        line = LocalLine(_socket.socket(fileno=descriptor))
        if not line.is_own:
            line.close()
            return None
        line.connection.setblocking(False)
        return line

    @property
    def stands(self) -> bool:
        """Whether callers still find this socket: its folder may have been removed or moved."""
        try:
            return os.stat(self._path).st_ino == self._inode
        except OSError:
            return False

    def close(self) -> None:
        """Remove the socket, unless another has taken its place."""
        if self._is_ours and self.stands:
            os.unlink(self._path)
        self._socket.close()
