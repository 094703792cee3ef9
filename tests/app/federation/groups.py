"""A real group on a loopback port, and devices with stored pages, for the tests of the device's side."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import uvicorn

from app.federation.joining import Admission
from app.federation.membership import Membership
from app.federation.server import Connect
from app.federation.sync import Sync, SyncReport
from app.federation.transport import Patience, Transport
from app.settings import FederationSettings, Settings
from app.store import Store
from federation_server import setup
from federation_server.running.application import Server
from federation_server.running.monitoring import Counters
from federation_server.running.serve import Installation, service_of
from federation_server.running.service import Service
from foltr.federated.links import from_link
from foltr.federated.wire import Invite
from foltr.ranking.interaction import Interaction
from indexer.retrieval.features import MANIFEST_HASH, NAMES

PRIVATE = 'privacy = { mechanism = "gaussian", clip = 0.5, noise_multiplier = 4.0 }'
QUIET = 'privacy = { mechanism = "gaussian", clip = 0.5, noise_multiplier = 0.1 }'
"""noise that one update drowns; it takes a large budget"""
OPEN = 'privacy = { mechanism = "none" }'
SETTINGS = """
[server]
port = {port}
[rounds]
quorum = {quorum}
floor = {floor}
n_local = 50
in_period = 0
[method]
mode = "{mode}"
{privacy}
[tls]
mode = "{tls}"
[forgetting]
method = "{forgetting}"
every = 1
n_unlearn = 5
[limits]
device_per_minute = 10000
address_per_minute = 10000
address_connections = 800
joins_per_hour = 10000
"""


def no_pause(_: float) -> None:
    """What stands in for sleeping between tries."""


def hasty(member: Membership, settings: FederationSettings) -> Transport:
    """A door that does not wait between tries."""
    return Transport(
        member, Patience(settings.timeout_seconds, settings.retries, settings.proxy, settings.ca), sleep=no_pause
    )


@dataclass(slots=True, eq=False)
class Group:
    """A server that runs in a thread of this process."""

    installation: Installation
    service: Service
    running: uvicorn.Server
    thread: threading.Thread

    def invite(self) -> Invite:
        return from_link(setup.invitation(self.installation, note="", seconds=3600, now=int(time.time())))

    def link(self) -> str:
        return setup.invitation(self.installation, note="", seconds=3600, now=int(time.time()))

    def stop(self) -> None:
        self.running.should_exit = True
        self.thread.join(120)
        self.installation.engine.dispose()


@contextmanager
def serving(
    folder: Path, *, privacy: str = PRIVATE, quorum: int = 2, floor: int = 1, tls: str = "off",
    forgetting: str = "rollback", mode: str = "open",
) -> Iterator[Group]:  # fmt: skip
    """A group of its own in this folder."""
    listening = socket.create_server(("127.0.0.1", 0))
    folder.mkdir(parents=True)
    text = SETTINGS.format(
        port=listening.getsockname()[1],
        quorum=quorum,
        floor=floor,
        privacy=privacy,
        tls=tls,
        forgetting=forgetting,
        mode=mode,
    )
    (folder / "server.toml").write_text(text, encoding="utf-8")
    made = setup.make(folder, name="herons", start=setup.shipped_start(), now=int(time.time()))
    counters = Counters()
    service = service_of(made, counters)
    config = uvicorn.Config(Server(service, counters).application(), log_config=None, lifespan="on")
    if tls != "off":
        config.ssl_certfile, config.ssl_keyfile = str(made.certificate), str(made.private_key)
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    group = Group(made, service, running, thread)
    try:
        yield group
    finally:
        group.stop()


@dataclass(slots=True, eq=False)
class Person:
    """A device and its user."""

    store: Store
    settings: Settings
    by: Connect = hasty
    clock: Callable[[], float] = time.time

    def set(self, **changes: Any) -> None:
        federation = msgspec.structs.replace(self.settings.federation, **changes)
        self.settings = msgspec.structs.replace(self.settings, federation=federation)

    def joining(self) -> Admission:
        return Admission(self.store, self.settings, by=self.by, clock=self.clock)

    def join(self, group: Group) -> Membership:
        return self.joining().join(group.invite(), agrees=lambda lines: True)

    def sync(
        self, *, agrees: bool = True, sleep: Callable[[float], None] = no_pause, at_once: bool = True
    ) -> SyncReport:
        made = Sync(self.store, self.settings, lambda lines: agrees, by=self.by, clock=self.clock, sleep=sleep)
        return replace(made, at_once=at_once).run()

    def see_pages(self, n: int, *, seed: int = 0, feature: str = "recent_week") -> None:
        """Store pages on which the user opened the result that is strongest in one feature."""
        for page in pages(n, seed=seed, feature=feature):
            self.store.add_interaction(page, manifest_hash=MANIFEST_HASH, cap=10_000)


def pages(n: int, *, seed: int = 0, feature: str = "recent_week", n_docs: int = 12) -> list[Interaction]:
    """Ten results shown in a random order, one opened."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        features = rng.random((n_docs, len(NAMES)))
        ranking = rng.permutation(n_docs)[:10]
        best = np.argmax(features[ranking, NAMES.index(feature)])
        found.append(Interaction(features, ranking, np.arange(10) == best))
    return found
