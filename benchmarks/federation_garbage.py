"""What a malicious member may send: never taken, never an error of the server's own."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from itertools import count

import msgspec
import numpy as np

from benchmarks.federation_devices import Device
from foltr.federated.wire import Farewell, Sealed, encode


def garbage(device: Device, victim: Device, rng: np.random.Generator) -> Iterator[bytes]:
    """Whole HTTP requests without end, of one kind after the other."""
    for number in count(1):
        path = "/v1/updates"
        for body in (
            rng.bytes(500),
            b"[" * 5_000,
            b"{}",
            b'{"round":1e400,"lineage":1,"box":"AAAA"}',
            encode(Sealed(round=number, lineage=1, box=rng.bytes(1800))),
            encode(Sealed(round=-number, lineage=1 << 62, box=b"")),
            encode(Farewell(group_id="another group", forget=True)),
            b"x" * 50_000,
        ):
            yield device.request("POST", path, body)
        yield device.request("POST", "/v1/farewell", encode(Farewell(group_id="another group", forget=True)))
        yield device.request("GET", "/v1/models/" + secrets.token_hex(32))
        yield _in_the_name_of(victim, device.request("GET", "/v1/round"), device)
        yield device.request("POST", path, b"{}").replace(b"Foltr-Nonce: ", b"Foltr-Nonce: \xff\xfe")
        yield b"POST /v1/updates HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\n0123456789"
        yield msgspec.json.encode({"this": "is no HTTP at all"}) + b"\r\n\r\n"


def _in_the_name_of(victim: Device, request: bytes, device: Device) -> bytes:
    """Signed with the wrong key."""
    return request.replace(device.name.encode(), victim.name.encode())
