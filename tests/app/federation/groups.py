"""A real group on a loopback port, and devices with stored pages, for the tests of the device's side."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace

from app.data_folder import create_data_folder
from app.federation import group_roster, membership
from app.federation.join_and_leave import Admission
from app.federation.membership import Membership
from app.federation.server import Connect, Reach
from app.federation.sync import Sync, SyncReport
from app.federation.transport import Transport
from app.paths import Paths
from app.settings import FederationSettings, Settings
from app.store import Store
from federation_server.serve import Installation, open_installation
from foltr.federated.wire import Announcement
from foltr.ranking.interaction import Interaction
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from tests.app.conftest import Device
from tests.federation_server.client import Running, invite, make_server, running
from tests.federation_server.sealed_members import TWO_WEIGHTS

PRIVATE = 'privacy = { mechanism = "gaussian", clip = 0.5, noise_multiplier = 4.0 }'
QUIET = 'privacy = { mechanism = "gaussian", clip = 0.5, noise_multiplier = 0.1 }'
"""noise that one update drowns; it takes a large budget"""
OPEN = 'privacy = { mechanism = "none" }'
FORGETTING = """
[forgetting]
method = "{method}"
every = 1
n_unlearn = 5
"""
DEVICES = "devices"
"""in the folder of a group that tests go on with: what its first members have"""
Group = Running
"""a server that runs in a thread of this process"""


def no_pause(_: float) -> None:
    """What stands in for sleeping between tries."""


def hasty(member: Membership, settings: FederationSettings) -> Transport:
    """A door that does not wait between tries."""
    return Transport(member, settings, sleep=no_pause)


@contextmanager
def serving(
    folder: Path, *, privacy: str = PRIVATE, quorum: int = 2, floor: int = 1, tls: str = "off",
    forgetting: str = "rollback", mode: str = "open",
) -> Iterator[Group]:  # fmt: skip
    """A group of its own in this folder."""
    more = FORGETTING.format(method=forgetting)
    made = make_server(
        folder, quorum=quorum, floor=floor, mode=mode, privacy=privacy, rounds="n_local = 50", tls=tls, more=more
    )
    with running(made) as group:
        yield group


def serving_sealed(folder: Path) -> AbstractContextManager[Group]:
    """A sealed group of its own of two weights, whose rounds end when all that can come has come."""
    return serving(folder, mode="sealed", privacy=TWO_WEIGHTS, forgetting="noise", quorum=0, floor=3)


def friends(made: Installation, make_person: Callable[..., Person], n: int = 5, *, n_pages: int = 4) -> list[Person]:
    """A founder by the administrator's invite, who invites the others; with `n_pages` too few to test a ranker.

    In a copy of `five_friends` the first five are there already, with four pages each.
    """
    everyone = first_members(made, make_person)
    for seed, person in enumerate(everyone):
        person.see_pages(n_pages - 4, seed=seed)
    while len(everyone) < n:
        by = everyone[0] if everyone else None
        everyone.append(welcome(made, make_person, by, seed=len(everyone), n_pages=n_pages))
    return everyone


def welcome(
    made: Installation, make_person: Callable[..., Person], by: Person | None, *, seed: int, n_pages: int = 4
) -> Person:
    """A new member, invited by another, or by the operator."""
    person = make_person()
    person.see_pages(n_pages, seed=seed)
    link = invite(made) if by is None else group_roster.invite(by.store, by.reach).invite
    person.joining().join(link, agrees=lambda lines: True)
    return person


def first_member(folder: Path, **changes: Any) -> Person:
    """A new member whose home is in the folder of its group, so that tests can go on with a copy of both."""
    home = folder / DEVICES / str(len(list((folder / DEVICES).glob("*"))))
    return Person(Store(home / "state.sqlite"), Settings(federation=FederationSettings(**changes)))


def first_members(made: Installation, make_person: Callable[..., Person], **changes: Any) -> list[Person]:
    """Those whose homes are in the folder of this group."""
    return [make_person(begun=home, **changes) for home in sorted((made.folder / DEVICES).glob("*"))]


def a_copy(begun: Path, folder: Path) -> Installation:
    """A server's folder once more, on the same port: the other one must not run."""
    shutil.copytree(begun, folder)
    return open_installation(folder / "server.toml")


@dataclass(slots=True, eq=False)
class Person:
    """A device and its user."""

    store: Store
    settings: Settings
    by: Connect = hasty
    clock: Callable[[], float] = time.time

    @property
    def reach(self) -> Reach:
        return Reach(self.settings.federation, self.by, self.clock)

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


def told_to(person: Person) -> Announcement:
    member = membership.member(person.store)
    with person.reach.talk(member) as server:
        return server.announcement(membership.load_standing(person.store))


def see_pages(device: Device, n: int) -> None:
    paths = Paths(device.config_file.parent, device.data_dir)
    create_data_folder(paths)
    with Store(paths.state) as store:
        for page in pages(n):
            store.add_interaction(page, manifest_hash=MANIFEST_HASH, cap=1000)


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
