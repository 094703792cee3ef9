"""How many updates a second one server process takes: 1,000 devices over loopback, SQLite and PostgreSQL.

    python -m benchmarks federation_load [--devices 1000] [--rounds 5] [--connections 32] [--rate 0] [--processes 1]

Each round every device fetches the announcement, then sends one update of 136 parameters; the quorum is all of them, so
that each round closes inside the measured time. Signatures and seals are real and made before the clock runs: the
generator, which shares the machine with the server, only writes bytes and reads answers. `--rate` sends that
many requests a second instead of as many as the connections can carry. Nothing may be lost: there must be as many rows
in the database as acknowledgements.

On a busy machine answers come later but take no more work, so requests are also counted per second of the server's
processor time; and the same bytes go to benchmarks.bare_server right after each round. `--processes 2`: two
servers on one PostgreSQL, half of the connections to each.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sqlalchemy import func, select

from benchmarks.federation_devices import (
    Connection,
    Device,
    ServerProcess,
    beside,
    free_port,
    make_server,
    percentile,
    present_round,
    sealed_update,
)
from benchmarks.postgresql import binaries, temporary_postgresql
from benchmarks.running import Option, arguments
from federation_server.database import reading
from federation_server.serve import Installation
from federation_server.tables import rounds, updates


@dataclass(slots=True, eq=False)
class Timing:
    """What a batch of requests took."""

    seconds: list[float] = field(default_factory=list)
    """of each request, from the moment at which it was due"""
    wall: float = 0.0
    cpu: float = 0.0
    """seconds of the processes that answered"""
    written: int = 0
    """bytes that they had written to disk"""
    refused: int = 0

    def add(self, other: Timing) -> None:
        self.seconds += other.seconds
        self.wall += other.wall
        self.cpu += other.cpu
        self.written += other.written
        self.refused += other.refused

    @property
    def answered(self) -> int:
        return len(self.seconds) - self.refused

    def line(self, name: str) -> str:
        return (
            f"  {name:14} {self.answered / self.wall:7.0f} /s of the clock, {self.answered / self.cpu:7.0f} /s of the "
            f"server's processor, p50 {percentile(self.seconds, 50):6.1f} ms, p99 {percentile(self.seconds, 99):6.1f} "
            f"ms, worst {max(self.seconds) * 1000:6.1f} ms, {self.written / 1e6:.1f} MB written; "
            f"{self.answered} answered, {self.refused} refused"
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


async def timed(servers: Sequence[ServerProcess], asked: Iterable[bytes], n_connections: int, rate: float) -> Timing:
    """`send_all` over fresh connections, which are shared out among the servers, and what it cost these."""
    connections = [Connection(servers[number % len(servers)].port) for number in range(n_connections)]
    before = [(one.cpu_seconds(), one.written_bytes()) for one in servers]
    found = await send_all(connections, asked, rate)
    for one, (cpu, written) in zip(servers, before, strict=True):
        found.cpu += one.cpu_seconds() - cpu
        found.written += one.written_bytes() - written
    for connection in connections:
        connection.close()
    return found


@dataclass(slots=True, eq=False)
class Load:
    """Whole rounds, to one process or to several at once."""

    servers: list[ServerProcess]
    bare: ServerProcess
    server_key: bytes
    devices: list[Device]
    n_connections: int
    rate: float
    fetched: Timing = field(default_factory=Timing)
    sent: Timing = field(default_factory=Timing)
    least: Timing = field(default_factory=Timing)
    """of the bare server"""

    async def run(self, n_rounds: int) -> None:
        """Announcements, updates, and the same updates to the bare server."""
        rng = np.random.default_rng(1)
        for _ in range(n_rounds):
            asks = [device.request("GET", "/v1/round") for device in self.devices]
            self.fetched.add(await timed(self.servers, asks, self.n_connections, self.rate))
            posts = await self._updates(rng)
            self.sent.add(await timed(self.servers, posts, self.n_connections, self.rate))
            self.least.add(await timed([self.bare], posts, self.n_connections, self.rate))

    async def _updates(self, rng: np.random.Generator) -> list[bytes]:
        connection = Connection(self.servers[0].port)
        told, start = await present_round(connection, self.server_key, self.devices[0])
        connection.close()
        thetas = start + rng.normal(scale=0.1, size=(len(self.devices), len(start)))
        bodies = [sealed_update(told, theta, d) for theta, d in zip(thetas, self.devices, strict=True)]
        return [d.request("POST", "/v1/updates", b) for d, b in zip(self.devices, bodies, strict=True)]


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


def run(kind: str, options: Any) -> bool:
    """Measure one kind of database; whether nothing was lost."""
    with tempfile.TemporaryDirectory(prefix="foltr-load-") as name, database(kind) as address:
        n, folder = options.devices, Path(name)
        made, server, devices = make_server(folder / "server", n_devices=n, quorum=n, database=address)
        others = [beside(made, server, folder / f"other-{number}") for number in range(1, options.processes)]
        port = free_port()
        bare = ServerProcess(folder, port, command=(sys.executable, "-m", "benchmarks.bare_server", str(port)))
        load = Load([server, *others], bare, made.vault.identity.public, devices, options.connections, options.rate)
        started = [*load.servers, bare]
        try:
            for one in started:
                one.start()
            asyncio.run(load.run(options.rounds))
            peak = max(one.peak_megabytes() for one in load.servers)
        finally:
            for one in started:
                one.stop()
        kept, closed = stored(made)
        made.engine.dispose()
    return report(kind, options, load, peak, kept, closed)


def report(kind: str, options: Any, load: Load, peak: float, kept: int, closed: int) -> bool:
    """Print it; whether nothing was lost."""
    sent, least = load.sent, load.least
    print(f"{kind}, {options.processes} server processes, load average {os.getloadavg()[0]:.1f}")
    print(load.fetched.line("announcements"))
    print(sent.line("updates"))
    print(least.line("bare POST"))
    ratio = sent.cpu / sent.answered / (least.cpu / least.answered)
    print(f"  an update costs {ratio:.2f} times the processor of a bare POST of the same bytes")
    print(f"  at most {peak:.0f} MB of memory; rows {kept}, acknowledged {sent.answered}, ", end="")
    print(f"rounds closed {closed} of {options.rounds}", flush=True)
    return kept == sent.answered and closed == options.rounds and sent.refused == 0


def main() -> int:
    """Exit code 1 when an update was lost."""
    options = arguments(
        __doc__,
        devices=1000,
        rounds=5,
        connections=32,
        rate=0.0,
        processes=1,
        database=Option((), kind=str, choices=("sqlite", "postgresql")),
    )
    kinds = options.database or ["sqlite", *(["postgresql"] if binaries() else [])]
    if options.processes > 1 and "sqlite" in kinds:
        sys.exit("several processes need --database postgresql alone")
    print(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors, {options.connections} connections")
    good = [run(kind, options) for kind in kinds]
    print("nothing was lost" if all(good) else "FAILED: updates were lost or doubled")
    return 0 if all(good) else 1
