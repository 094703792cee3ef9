"""Protection against floods: limits on requests and connections per device and address, and on a request's time.

Requests are counted by token buckets, forgotten when full again. A connection costs a stranger nothing and the server
a socket. Without bounds somebody who opens a thousand and sends half a line on each locks everyone else out for as
long as they like: uvicorn waits for headers for ever. A trusted proxy speaks for many, so that only the bound on all
connections holds for it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import socket
import sys
import weakref
from collections import Counter
from collections.abc import Callable
from threading import Lock
from typing import Any

import h11
from msgspec import Struct, field
from uvicorn.protocols.http.h11_impl import H11Protocol

from federation_server.refusals import Refused

LARGEST_TABLE = 50_000
"""buckets kept; beyond that the fullest (least active) are dropped"""


class Buckets(Struct, eq=False):
    """`per_period` requests in each `seconds`, all at once at most."""

    per_period: int
    seconds: float
    clock: Callable[[], float]
    """monotonic seconds"""
    _levels: dict[str, tuple[float, float]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def spend(self, key: str) -> None:
        """Take one request of `key`; Refused("too-many") when there is none left."""
        with self._lock:
            now = self.clock()
            level = self._level(key, now)
            if level < 1.0:
                wait = math.ceil((1.0 - level) * self.seconds / self.per_period)
                raise Refused("too-many", f"try again in {wait} s", wait=wait)
            if key not in self._levels and len(self._levels) >= LARGEST_TABLE:
                self._drop_full(now)
            self._levels[key] = (level - 1.0, now)

    def is_empty(self, key: str) -> bool:
        """Whether `spend` would refuse it."""
        with self._lock:
            return self._level(key, self.clock()) < 1.0

    def _level(self, key: str, now: float) -> float:
        level, then = self._levels.get(key, (float(self.per_period), now))
        return min(self.per_period, level + (now - then) * self.per_period / self.seconds)

    def _drop_full(self, now: float) -> None:
        by_level = sorted(self._levels, key=lambda key: self._level(key, now))
        for key in by_level[LARGEST_TABLE // 2 :]:
            del self._levels[key]


def address_group(address: str) -> str:
    """Who shares a bucket: an IPv4 address, or the /64 of an IPv6 one; anything else is itself."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, 64), strict=False))
    return str(parsed)


def client_address(peer: str, forwarded: str | None, trusted: frozenset[str]) -> str:
    """The address that a request comes from: X-Forwarded-For's last untrusted entry, if the peer is a trusted proxy."""
    if peer not in trusted or not forwarded:
        return peer
    for entry in reversed([part.strip() for part in forwarded.split(",")]):
        if entry not in trusted:
            return entry
    return peer


LARGEST_CROWD = 900
"""connections at once"""
MOST_KNOWN = 10_000
"""addresses of members that are remembered"""
OTHER_FILES = 124
"""descriptors for files and the database; with a full crowd the 1,024 that systems commonly give a process"""
HEAD_SECONDS = 10.0
"""for the request line and all headers, from the connection or the first byte on"""
LINGER_SECONDS = 2.0
"""for the rest of a body that nobody reads, once its request is answered"""
READ_SECONDS = 120.0
"""for an answer to be taken: an unread one of megabytes would be kept in memory for as long as somebody likes"""
TURNED_AWAY_AT_ONCE = 100
"""before other work has its turn"""


class Crowd(Struct, eq=False):
    """How many connections each address has open; for one thread."""

    per_address: int
    trusted: frozenset[str] = frozenset()
    """addresses of proxies, that may have as many as there are"""
    on_refused: Callable[[], None] = lambda: None
    largest: int = LARGEST_CROWD
    known: dict[str, None] = field(default_factory=dict)
    """from where members asked something lately, who asked last at the end; never written down"""
    _open: Counter[str] = field(default_factory=Counter)

    def enter(self, address: str) -> bool:
        """Count a connection in, if there is room for it: a third is left to members, however many strangers come."""
        shared, is_trusted = address_group(address), address in self.trusted
        room = self.largest if is_trusted or shared in self.known else max(self.largest * 2 // 3, 1)
        if self._open.total() >= room or (self._open[shared] >= self.per_address and not is_trusted):
            self.on_refused()
            return False
        self._open[shared] += 1
        return True

    def recognise(self, address: str) -> None:
        """A member's request came from there."""
        shared = address_group(address)
        self.known.pop(shared, None)
        self.known[shared] = None
        if len(self.known) > MOST_KNOWN:
            del self.known[next(iter(self.known))]

    def leave(self, address: str) -> None:
        shared = address_group(address)
        self._open[shared] -= 1
        if self._open[shared] <= 0:
            del self._open[shared]


def largest_crowd() -> int:
    """How many connections fit, with as many descriptors as the system gives this process: macOS begins with 256."""
    if sys.platform == "win32":
        return LARGEST_CROWD
    import resource

    wanted, unlimited = LARGEST_CROWD + OTHER_FILES, resource.RLIM_INFINITY
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != unlimited and soft < wanted:
        soft = wanted if hard == unlimited else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return LARGEST_CROWD if soft == unlimited else max(min(LARGEST_CROWD, soft - OTHER_FILES), 1)


class Listener(socket.socket):
    """A listening socket that gives only connections for which the crowd has room, and closes the others unread.

    At the socket, before encryption: a handshake that never comes counts as well.
    """

    crowd: Crowd

    def accept(self) -> tuple[socket.socket, Any]:
        """As socket.socket; BlockingIOError when nobody waits any more."""
        for _ in range(TURNED_AWAY_AT_ONCE):
            plain, address = super().accept()
            if self.crowd.enter(address[0]):
                counted = _Counted(plain.family, plain.type, plain.proto, fileno=plain.detach())
                counted.leaving = weakref.finalize(counted, self.crowd.leave, address[0])
                return counted, address
            plain.close()
        raise BlockingIOError


class _Counted(socket.socket):
    """A connection that leaves the crowd when it is closed."""

    leaving: weakref.finalize[Any, Any]

    def close(self) -> None:
        super().close()
        self.leaving()


def listen(address: str, port: int, crowd: Crowd) -> Listener:
    """OSError names the address that is taken or not this machine's."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        plain = socket.create_server((address, port), family=family, backlog=2048)
    except OSError as error:
        reason = str(error.strerror).partition(" (")[0]  # before Python's own words on the same address
        raise OSError(f"cannot listen on {address} port {port}: {reason}") from error
    found = Listener(plain.family, plain.type, socket.IPPROTO_TCP, fileno=plain.detach())  # or Nagle's 40 ms stay
    found.crowd = crowd
    return found


class PatientProtocol(H11Protocol):
    """uvicorn's protocol, which hangs up on a request that does not arrive, and on an answer that nobody takes."""

    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._give(HEAD_SECONDS)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        waits_for_head = self.conn.their_state is h11.IDLE
        if not waits_for_head and not self._is_answered():
            self._stop()
        elif waits_for_head and self._deadline is None:
            self._give(HEAD_SECONDS)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self._unread is None:
            self._unread = self.loop.call_later(READ_SECONDS, self._hang_up_if_unread)
        if self._is_answered() and self.conn.their_state is h11.SEND_BODY:
            self._give(LINGER_SECONDS)

    def _hang_up_if_unread(self) -> None:
        """Answers of that long ago are in the system's hands, or nobody reads: encrypted ones wait one layer below."""
        self._unread = None
        below = getattr(getattr(self.transport, "_ssl_protocol", None), "_transport", None)
        if any(one.get_write_buffer_size() for one in (self.transport, below) if one is not None):
            self.transport.abort()

    def _is_answered(self) -> bool:
        return self.conn.our_state is h11.DONE

    def _give(self, seconds: float) -> None:
        self._stop()
        if not self.transport.is_closing():
            self._deadline = self.loop.call_later(seconds, self.transport.abort)

    def _stop(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
