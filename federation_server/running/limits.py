"""Token buckets against floods: one for each device and each address, forgotten when full again."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

from federation_server.refusals import Refused

LARGEST_TABLE = 50_000
"""buckets kept; beyond that the fullest (least active) are dropped"""


@dataclass(slots=True, eq=False)
class Buckets:
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
