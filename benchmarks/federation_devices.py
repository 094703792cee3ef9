"""Simulated devices of a group for the measurements: keys, sealed updates and signed requests, and a cheap connection.

The devices' identities are derived from their numbers, and they are written into the server's database directly:
joining is not what is measured.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from sqlalchemy import insert

from benchmarks.processes import spent
from federation_server.database import writing
from federation_server.serve import Installation, open_installation
from federation_server.setup import Start
from federation_server.tables import members
from foltr.arrays import FloatVector
from foltr.federated.envelope import REQUEST, Identity, open_document, pseudonym, request_text, seal
from foltr.federated.fpdgd import FPDGD, FPDGDMessage, encode_message
from foltr.federated.registry import make_method
from foltr.federated.wire import Announcement, ModelRecord, Sealed, Signed, Update, decode, decode_vector, encode
from foltr.ranking.rankers import make_ranker

N_FEATURES = 136
"""as in MSLR-WEB"""
PROGRAM = [sys.executable, "-c", "import sys; from federation_server.cli import main; sys.exit(main())"]
SETTINGS = """
[server]
port = {port}
database = "{database}"
[rounds]
quorum = {quorum}
floor = 1
hours = {hours}
in_period = 0
[method]
mode = "open"
shared = []
privacy = {{ mechanism = "gaussian", clip = 0.5, noise_multiplier = 1.0 }}
[limits]
device_per_minute = 1000000000
address_per_minute = 1000000000
address_connections = 800
[operations]
metrics_port = 0
dashboard = false
"""


@dataclass(frozen=True, slots=True)
class Device:
    """One member."""

    identity: Identity
    name: str

    @classmethod
    def of(cls, number: int) -> Device:
        """The same device for the same number."""
        identity = Identity(hashlib.blake2b(str(number).encode(), digest_size=32, person=b"benchmark").digest())
        return cls(identity, pseudonym(identity.public))

    def request(self, method: str, path: str, body: bytes = b"", *, skew: int = 0) -> bytes:
        """A whole signed HTTP request; `skew` seconds are what this device's clock is wrong by."""
        moment, nonce = int(time.time()) + skew, secrets.token_hex(16)
        signature = self.identity.sign(REQUEST, request_text(method, path, body, time=moment, nonce=nonce))
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
            f"Foltr-Device: {self.name}\r\nFoltr-Time: {moment}\r\nFoltr-Nonce: {nonce}\r\n"
            f"Foltr-Signature: {base64.b64encode(signature).decode()}\r\n\r\n"
        )
        return head.encode() + body


@dataclass(slots=True, eq=False)
class Connection:
    """A kept-open HTTP connection that costs next to nothing beside the server."""

    port: int
    _reader: asyncio.StreamReader | None = None
    _writer: asyncio.StreamWriter | None = None

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Status and body; OSError or IncompleteReadError when the server went away."""
        if self._writer is None or self._reader is None:
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            self._writer.write(request)
            head = await self._reader.readuntil(b"\r\n\r\n")
            fields = head.lower().split(b"content-length:", 1)
            length = int(fields[1].split(b"\r\n", 1)[0]) if len(fields) == 2 else 0
            body = await self._reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            raise
        if b"connection: close" in head.lower():
            self.close()
        return int(head[9:12]), body

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None


@dataclass(slots=True, eq=False)
class ServerProcess:
    """A real `foltr-server serve` that can be killed and started again on the same port."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None
    command: tuple[str, ...] = ()
    """another program than `foltr-server serve`"""

    def start(self) -> None:
        """Start it and wait until it is ready."""
        with open(self.folder / "server.log", "ab") as log:
            command = self.command or (*PROGRAM, "--folder", str(self.folder), "serve")
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        _wait(self.port, self.process)

    def cpu_seconds(self) -> float:
        """User and system time so far (Linux)."""
        return 0.0 if self.process is None else spent(self.process.pid)

    def peak_megabytes(self) -> float:
        """The most memory that it ever had at once (Linux)."""
        return self._told("status", "VmHWM") / 1024

    def written_bytes(self) -> int:
        """What it has had written to disk so far (Linux)."""
        return self._told("io", "write_bytes")

    def _told(self, file: str, name: str) -> int:
        assert self.process is not None
        lines = Path(f"/proc/{self.process.pid}/{file}").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith(name + ":"))

    def kill(self) -> None:
        """End it without warning."""
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()

    def stop(self) -> None:
        """End it in order."""
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            self.process.wait(30)


def free_port() -> int:
    """Of loopback."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def beside(made: Installation, server: ServerProcess, folder: Path) -> ServerProcess:
    """Another process on the same database, with the same keys and another port."""
    folder.mkdir()
    port = free_port()
    settings = (server.folder / "server.toml").read_text(encoding="utf-8")
    (folder / "server.toml").write_text(settings.replace(f"port = {server.port}", f"port = {port}", 1), "utf-8")
    made.vault.write(folder / "keys.json")
    return ServerProcess(folder, port)


def make_server(
    folder: Path, *, n_devices: int, quorum: int, hours: float = 24.0, database: str = "sqlite:///group.sqlite"
) -> tuple[Installation, ServerProcess, list[Device]]:
    """A group of 136 features with its members, ready to be started."""
    port = free_port()
    folder.mkdir(parents=True)
    text = SETTINGS.format(port=port, database=database, quorum=quorum, hours=hours)
    (folder / "server.toml").write_text(text, encoding="utf-8")
    names = tuple(f"feature_{number}" for number in range(N_FEATURES))
    theta = tuple(np.random.default_rng(0).normal(size=N_FEATURES).tolist())
    (folder / "start.json").write_bytes(msgspec.json.encode(Start(1, "benchmark", names, theta)))
    command = [*PROGRAM, "--folder", str(folder), "init", "--model", str(folder / "start.json")]
    subprocess.run(command, check=True, capture_output=True)
    devices = [Device.of(number) for number in range(n_devices)]
    installation = open_installation(folder / "server.toml")
    rows = [{"device": d.name, "device_key": d.identity.public, "joined": int(time.time())} for d in devices]
    with writing(installation.engine) as connection:
        connection.execute(insert(members), rows)
    return installation, ServerProcess(folder, port), devices


async def present_round(
    connection: Connection, server_key: bytes, device: Device, *, skew: int = 0
) -> tuple[Announcement, FloatVector]:
    """The announcement and the theta `[n_params]` that it begins from, their signatures checked."""
    _, body = await connection.ask(device.request("GET", "/v1/round", skew=skew))
    told = open_document(server_key, decode(body, Signed), "announcement", Announcement)
    _, body = await connection.ask(device.request("GET", f"/v1/models/{told.model_hash}", skew=skew))
    record = open_document(server_key, decode(body, Signed), "model", ModelRecord)
    return told, decode_vector(record.theta, told.terms.n_params)


def sealed_update(told: Announcement, theta: FloatVector, device: Device) -> bytes:
    """The body of the device's update with this theta `[n_params]`."""
    agreed = told.terms
    method = make_method(agreed.method, make_ranker(agreed.ranker, agreed.n_features), agreed.settings)
    assert isinstance(method, FPDGD)
    inner = Update(
        group_id=agreed.group_id,
        lineage=told.lineage,
        round=told.round,
        device=device.name,
        model_hash=told.model_hash,
        manifest_hash=agreed.manifest_hash,
        payload=encode_message(method, FPDGDMessage(theta, 1)),
    )
    return encode(Sealed(round=told.round, lineage=told.lineage, box=seal(told.round_key, encode(inner))))


def percentile(seconds: list[float], percent: float) -> float:
    """In milliseconds."""
    return float(np.percentile(np.array(seconds), percent)) * 1000.0


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}; see server.log")
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("the server did not start within half a minute")
