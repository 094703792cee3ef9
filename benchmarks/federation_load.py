"""How many updates a second one server process takes: 1,000 devices over loopback, SQLite and PostgreSQL.

    python -m benchmarks.federation_load [--devices 1000] [--rounds 5] [--connections 32] [--rate 0]

Each round every device fetches the announcement, then sends one update of 136 parameters; the quorum is all of them, so
that each round closes inside the measured time. Signatures and seals are real and made before the clock runs: the
generator, which shares the machine with the server, only writes bytes and reads answers. `--rate` offers so many
requests a second instead of as many as the connections carry. Nothing may be lost: the rows in the database must be as
many as the acknowledgements.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sqlalchemy import func, select

from benchmarks.federation_devices import (
    Connection,
    Device,
    make_server,
    percentile,
    present_round,
    sealed_update,
)
from benchmarks.postgresql import binaries, temporary_postgresql
from federation_server.database import reading
from federation_server.serve import Installation
from federation_server.tables import rounds, updates


@dataclass(slots=True, eq=False)
class Timing:
    """What a batch of requests took."""

    seconds: list[float] = field(default_factory=list)
    """of each request, from the moment at which it was due"""
    wall: float = 0.0
    refused: int = 0

    def add(self, other: Timing) -> None:
        self.seconds += other.seconds
        self.wall += other.wall
        self.refused += other.refused

    def line(self, name: str) -> str:
        ok = len(self.seconds) - self.refused
        return (
            f"{name:14} {ok / self.wall:7.0f} /s   p50 {percentile(self.seconds, 50):6.1f} ms   "
            f"p99 {percentile(self.seconds, 99):6.1f} ms   worst {max(self.seconds) * 1000:6.1f} ms   "
            f"{ok} answered, {self.refused} refused"
        )


async def send_all(connections: list[Connection], requests: Iterable[bytes], rate: float) -> Timing:
    """Send the requests over the connections, at most one under way on each; `rate` 0 means as fast as they go."""
    found, began = Timing(), time.perf_counter()
    queue = iter(enumerate(requests))

    async def work(connection: Connection) -> None:
        for number, request in queue:
            due = began + number / rate if rate else time.perf_counter()
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            status, _ = await connection.ask(request)
            found.seconds.append(time.perf_counter() - due)
            found.refused += status != 200

    await asyncio.gather(*(work(connection) for connection in connections))
    found.wall = time.perf_counter() - began
    return found


async def measure(
    port: int, server_key: bytes, devices: list[Device], *, n_rounds: int, n_connections: int, rate: float
) -> tuple[Timing, Timing]:
    """Announcements and updates of whole rounds."""
    connections = [Connection(port) for _ in range(n_connections)]
    rng, fetched, sent = np.random.default_rng(1), Timing(), Timing()
    for _ in range(n_rounds):
        asks = [device.request("GET", "/v1/round") for device in devices]
        fetched.add(await send_all(connections, asks, rate))
        told, start = await present_round(connections[0], server_key, devices[0])
        thetas = start + rng.normal(scale=0.1, size=(len(devices), len(start)))
        bodies = [sealed_update(told, theta, d) for theta, d in zip(thetas, devices, strict=True)]
        posts = [d.request("POST", "/v1/updates", b) for d, b in zip(devices, bodies, strict=True)]
        sent.add(await send_all(connections, posts, rate))
    for connection in connections:
        connection.close()
    return fetched, sent


def stored(installation: Installation) -> tuple[int, int]:
    """(updates, closed rounds) in the database."""
    with reading(installation.engine) as connection:
        closed = select(func.count()).select_from(rounds).where(rounds.c.state == "closed")
        return (
            int(connection.execute(select(func.count()).select_from(updates)).scalar_one()),
            int(connection.execute(closed).scalar_one()),
        )


@contextmanager
def database(kind: str) -> Iterator[str]:
    """The address of an empty database of this kind."""
    if kind == "sqlite":
        yield "sqlite:///group.sqlite"
        return
    with temporary_postgresql() as address:
        yield address


def run(kind: str, options: argparse.Namespace) -> bool:
    """Measure one kind of database; whether nothing was lost."""
    with tempfile.TemporaryDirectory(prefix="foltr-load-") as folder, database(kind) as address:
        n = options.devices
        made, server, devices = make_server(Path(folder) / "server", n_devices=n, quorum=n, database=address)
        server.start()
        try:
            fetched, sent = asyncio.run(
                measure(
                    server.port, made.vault.identity.public, devices,
                    n_rounds=options.rounds, n_connections=options.connections, rate=options.rate,
                )
            )  # fmt: skip
            cpu = server.cpu_seconds() / (len(fetched.seconds) + len(sent.seconds))
        finally:
            server.stop()
        kept, closed = stored(made)
        made.engine.dispose()
    print(kind)
    print(fetched.line("  announcements"))
    print(sent.line("  updates"))
    acknowledged = len(sent.seconds) - sent.refused
    print(f"  {cpu * 1000:.2f} ms of the server's processor a request, its start included")
    print(f"  rows {kept}, acknowledged {acknowledged}, rounds closed {closed} of {options.rounds}")
    return kept == acknowledged and closed == options.rounds and sent.refused == 0


def main() -> int:
    """Exit code 1 when an update was lost."""
    parser = argparse.ArgumentParser(description="Load of one server process.")
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rate", type=float, default=0.0, help="requests offered a second; 0: as many as go")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), action="append")
    options = parser.parse_args()
    kinds = options.database or ["sqlite", *(["postgresql"] if binaries() else [])]
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {options.connections} connections")
    good = [run(kind, options) for kind in kinds]
    print("nothing was lost" if all(good) else "FAILED: updates were lost or doubled")
    return 0 if all(good) else 1


if __name__ == "__main__":
    raise SystemExit(main())
