"""A server on a loopback port, and a small device that signs its own requests, for the server's tests."""

from __future__ import annotations

import base64
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path

import requests
import uvicorn

from federation_server import setup
from federation_server.cli import main
from federation_server.running.monitoring import Counters
from federation_server.running.service import Service
from federation_server.running.web_server import Server
from federation_server.serve import Installation, service_of
from foltr.arrays import FloatVector
from foltr.federated.envelope import (
    REQUEST,
    Identity,
    box_public,
    new_box_key,
    open_document,
    pseudonym,
    request_text,
    seal,
)
from foltr.federated.fpdgd import FPDGDMessage, encode_message
from foltr.federated.links import from_link
from foltr.federated.registry import make_method
from foltr.federated.sealed.roster import enrolment
from foltr.federated.wire import (
    Announcement,
    Enrolled,
    Invite,
    ModelRecord,
    Record,
    Refusal,
    Sealed,
    Signed,
    Update,
    decode,
    decode_vector,
    encode,
)
from foltr.ranking.rankers import make_ranker
from tests import copied
from tests.ports import free_port

PATIENCE = 180.0
"""seconds after which something hangs; a machine that is busy with other things takes long and gets there"""
SETTINGS = """
[server]
port = {port}
database = "{database}"
shutdown_seconds = 5
[rounds]
quorum = {quorum}
floor = {floor}
in_period = {in_period}
{rounds}
[method]
mode = "{mode}"
{privacy}
[limits]
device_per_minute = 100000
address_per_minute = 100000
address_connections = 800
joins_per_hour = 100000
[operations]
metrics_port = 0
log = "json"
dashboard = false
{more}
"""


@dataclass(slots=True, eq=False)
class Client:
    """One device."""

    address: str
    identity: Identity = field(default_factory=Identity.generate)
    box: bytes = field(default_factory=new_box_key)
    session: requests.Session = field(default_factory=requests.Session)

    @property
    def device(self) -> str:
        return pseudonym(self.identity.public)

    def headers(
        self, method: str, path: str, body: bytes = b"", *, at: int | None = None, nonce: str = ""
    ) -> dict[str, str]:
        moment, nonce = at or int(time.time()), nonce or secrets.token_hex(16)
        signature = self.identity.sign(REQUEST, request_text(method, path, body, time=moment, nonce=nonce))
        return {
            "Foltr-Device": self.device,
            "Foltr-Time": str(moment),
            "Foltr-Nonce": nonce,
            "Foltr-Signature": base64.b64encode(signature).decode(),
        }

    def send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> requests.Response:
        """A request, signed unless other headers are given."""
        given = self.headers(method, path, body) if headers is None else headers
        return self.session.request(method, self.address + path, data=body, headers=given, timeout=PATIENCE)

    def join(self, invite: Invite) -> requests.Response:
        asked = enrolment(invite.group_id, invite.token, self.identity, box_public(self.box))
        return self.send("POST", "/v1/members", encode(asked))

    def announcement(self) -> Announcement:
        return decode(opened(self.send("GET", "/v1/round")).body, Announcement)

    def theta(self, name: str = "newest") -> FloatVector:
        """The common ranker `[n_params]`."""
        record = decode(opened(self.send("GET", f"/v1/models/{name}")).body, ModelRecord)
        return decode_vector(record.theta, len(record.theta) // 8)

    def update(self, change: float, told: Announcement | None = None) -> requests.Response:
        """Report the present model with `change` added to its first weight."""
        told = told or self.announcement()
        theta = self.theta(told.model_hash)
        theta[0] += change
        return self.report(theta, told=told)

    def report(self, theta: FloatVector, *, count: int = 1, told: Announcement | None = None) -> requests.Response:
        """Report a ranker `[n_params]` that was learned from `count` interactions."""
        told = told or self.announcement()
        record = update_record(told, theta, self.device, count=count)
        return self.send("POST", "/v1/updates", encode(sealed(told, record)))


def opened(answer: requests.Response) -> Signed:
    assert answer.status_code == 200, answer.text
    return decode(answer.content, Signed)


def reason(answer: requests.Response) -> str:
    """The code of a refusal."""
    assert answer.status_code >= 400, answer.text
    return decode(answer.content, Refusal).reason


def update_record(told: Announcement, theta: FloatVector, device: str, *, count: int = 1) -> Update:
    agreed = told.terms
    method = make_method(agreed.method, make_ranker(agreed.ranker, agreed.n_features), agreed.settings)
    return Update(
        group_id=agreed.group_id,
        lineage=told.lineage,
        round=told.round,
        device=device,
        model_hash=told.model_hash,
        manifest_hash=agreed.manifest_hash,
        payload=encode_message(method, FPDGDMessage(method.sent(theta), count)),
    )


def sealed(told: Announcement, inner: Record) -> Sealed:
    return Sealed(round=told.round, lineage=told.lineage, box=seal(told.round_key, encode(inner)))


def make_server(
    folder: Path,
    *,
    quorum: int = 3,
    floor: int = 1,
    in_period: int = 0,
    mode: str = "open",
    privacy: str = 'shared = []\nprivacy = { mechanism = "none" }',
    database: str = "sqlite:///group.sqlite",
    rounds: str = "",
    more: str = "",
    tls: str = "off",
) -> Installation:
    """A group in a folder, on a free port, that is not served yet; `privacy`, `rounds` and `more` are further lines."""
    folder.mkdir(parents=True, exist_ok=True)
    text = SETTINGS.format(
        port=free_port(),
        database=database,
        quorum=quorum,
        floor=floor,
        in_period=in_period,
        rounds=rounds,
        mode=mode,
        privacy=privacy,
        more=f'[tls]\nmode = "{tls}"\n{more}',
    )
    (folder / "server.toml").write_text(text, encoding="utf-8")
    return setup.make(folder, name="herons", start=setup.shipped_start(), now=int(time.time()))


def run(folder: Path, *arguments: str) -> int:
    """A command of the operator; its exit code."""
    return main(["--folder", str(folder), *arguments])


def invitation(made: Installation) -> str:
    """A link for one member."""
    return setup.invitation(made, note="", seconds=3600, now=int(time.time()))


def invite(made: Installation) -> Invite:
    return from_link(invitation(made))


def guessed(token: str) -> Invite:
    """An invite that no administrator made."""
    return Invite(address="", fingerprint="", token=token, group_id="")


def member(made: Installation) -> Client:
    """A device that has joined."""
    client = Client(made.public_address)
    enrolled = decode(opened(client.join(invite(made))).body, Enrolled)
    assert enrolled.device == client.device
    return client


def document(made: Installation, answer: requests.Response, kind: str, record: type[Record]) -> Record:
    """A signed answer, its signature checked."""
    return open_document(made.vault.identity.public, opened(answer), kind, record)


@dataclass(slots=True, eq=False)
class Running:
    """A server in a thread of this process."""

    made: Installation
    server: Server
    uvicorn: uvicorn.Server
    thread: threading.Thread

    @property
    def service(self) -> Service:
        return self.server.service

    def link(self) -> str:
        return invitation(self.made)

    def invite(self) -> Invite:
        return invite(self.made)

    def stop(self) -> None:
        self.uvicorn.should_exit = True
        self.thread.join(PATIENCE)
        assert not self.thread.is_alive()

    def refused(self, reason: str) -> float:
        """How often, as the metrics tell."""
        return self.server.counters.registry.get_sample_value("foltr_refused_total", {"reason": reason}) or 0.0


@contextmanager
def running(made: Installation, prepare: Callable[[Server], None] = lambda server: None) -> Iterator[Running]:
    """Serve an installation as the program does, but in a thread."""
    from federation_server.running.limits import listen
    from federation_server.serve import _configuration, crowd_of

    counters = Counters()
    server = Server(service_of(made, counters), counters)
    prepare(server)
    serving = uvicorn.Server(_configuration(made, server))
    section = made.settings.server
    listening = listen(section.address, section.port, crowd_of(server))
    thread = threading.Thread(target=serving.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not serving.started:
        assert thread.is_alive()
        time.sleep(0.01)
    live = Running(made, server, serving, thread)
    try:
        yield live
    finally:
        live.stop()
        made.engine.dispose()


DIE = "os.kill(os.getpid(), signal.SIGKILL)"


def instead(module: str, name: str, *, first: str = "pass") -> str:
    """Python that makes a process die where it would call this."""
    package, _, module = module.rpartition(".")
    return f"""
from federation_server.{package} import {module}
def die(*arguments, **named):
    {first}
    {DIE}
{module}.{name} = die
"""


def afterwards(module: str, name: str, *, when: str = "True") -> str:
    """Python that makes a process die after this call, inside what called it."""
    package, _, module = module.rpartition(".")
    return f"""
from federation_server.{package} import {module}
work = {module}.{name}
def die(*arguments, **named):
    result = work(*arguments, **named)
    if {when}:
        {DIE}
    return result
{module}.{name} = die
"""


SERVE = "from federation_server.cli import main; sys.exit(main(['--folder', sys.argv[1], 'serve']))"


@dataclass(slots=True, eq=False)
class ServerProcess:
    """`foltr-server serve` in a process of its own; `before` is Python that runs first, to make it die at a point."""

    made: Installation
    before: str = ""
    process: BaseProcess | None = None

    def start(self, before: str | None = None) -> ServerProcess:
        code = f"import os, signal, sys\n{self.before if before is None else before}\n{SERVE}"
        log, folder = self.made.folder / "log", self.made.folder
        self.process = copied.start(code, [str(folder)], variables=os.environ, cwd=folder, out=log, err=log)
        return self

    def wait_until_ready(self) -> ServerProcess:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            assert self.process is not None
            assert self.process.exitcode is None, self.log()
            try:
                if requests.get(self.made.public_address + "/readyz", timeout=PATIENCE).ok:
                    return self
            except requests.RequestException:
                pass
            time.sleep(0.05)
        raise AssertionError(self.log())

    def log(self) -> str:
        return (self.made.folder / "log").read_text()

    def ended(self) -> int | None:
        """Its exit code, once it has ended."""
        assert self.process is not None
        self.process.join(PATIENCE)
        return self.process.exitcode

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.ended()
