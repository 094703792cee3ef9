"""The depot that a group's server keeps for this person's devices: it sees random names, sizes and times, and no more.

The key that signs for the depot is derived from the devices' code: nobody lists, reads, writes or deletes without it.
Nothing that comes is trusted: the devices authenticate contents, sizes and names are checked here.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from app.devices.device_keys import DeviceKeys, Generation
from app.devices.meeting_place import FullError, MeetingPlace
from app.devices.sealing import DevicesError
from app.federation.failures import Declined, Distrusted
from app.federation.membership import Membership
from app.federation.transport import Transport
from app.settings import FederationSettings
from foltr.errors import RecordError
from foltr.federated import wire
from foltr.federated.envelope import Identity
from foltr.federated.wire import DEPOT_NAME, DepotChange, DepotFiles, DepotPage, DepotRequest, R, decode, encode

PATIENCE = 10.0
"""seconds to wait for the list, which comes first: a server that does not answer holds up the whole device"""
SAID = {
    "not-found": "the group's server is of a version that stores nothing for your computers: ask its operator to "
    "update it, or use a folder that all your computers reach (--folder)",
    "no-depot": "the group's server keeps nothing for these computers, so they work on alone. To share again, run "
    "`foltr-search devices sync --server` on one that is a member, or `devices sync --folder FOLDER` on each",
    "other-depot": "the group's server keeps a place for your computers under another code: join with the code that "
    "one of them shows now, after `foltr-search devices leave` where this is one of several. If none is left, "
    "`foltr-search devices new --server --replace` empties it, with what no other computer has received",
    "former-key": "your other computers have just taken a new key; exchange again",
}
"""the server's reason -> what a person is told"""


def is_server(place: str) -> bool:
    """Whether devices meet at an address, and not in a folder."""
    return place.startswith(("https://", "http://"))


def address_of(member: Membership) -> str:
    """Where devices meet on a group's server, and how they recognise it: "https://host:8421#GROUP.CERTIFICATE"."""
    return f"{member.address}#{member.group_id}.{member.certificate}".rstrip(".")


def is_of(place: str, member: Membership | None) -> bool:
    """Whether `place` is on the server of this membership's group, even under a former address of it."""
    return member is not None and bool(member.group_id) and _split(place)[1] == member.group_id


def _split(place: str) -> tuple[str, str, str]:
    address, _, rest = place.partition("#")
    group_id, _, certificate = rest.partition(".")
    return address.rstrip("/"), group_id, certificate


def depot_seed(secret: bytes) -> bytes:
    """The seed [32] of the key that signs for the depot; it opens nothing that is sealed."""
    return hashlib.blake2b(secret, digest_size=32, person=b"foltr depot").digest()


def make_depot(member: Membership, generation: Generation, settings: FederationSettings, *, replaces: bool) -> None:
    """Have the group's server keep files under this key; DevicesError where it does not."""
    key = Identity(depot_seed(generation.secret)).public
    asked = DepotRequest(group_id=member.group_id, depot_key=key, replaces=replaces)
    _asked(member, settings, "/v1/depots", DepotPage, encode(asked))


def _asked(signer: Membership, settings: FederationSettings, path: str, kind: type[R], body: bytes = b"") -> R:
    """The answer to one request; DevicesError in a person's words where the server refuses it."""
    transport = Transport(signer, settings)
    try:
        return decode(transport.post(path, body) if body else transport.get(path), kind)
    except Declined as declined:
        if declined.reason == "depot-full":
            raise FullError(f"{declined}; `foltr-search devices sync --folder FOLDER` takes more") from declined
        raise DevicesError(SAID.get(declined.reason, str(declined))) from declined
    except RecordError as error:
        raise Distrusted(f"the server's answer makes no sense: {error}") from error
    finally:
        transport.close()


class ServerDepot(MeetingPlace):
    """The depot of the newest of these keys, at the address that the devices share."""

    def __init__(self, keys: DeviceKeys, settings: FederationSettings) -> None:
        address, _, certificate = _split(keys.folder)
        self._signer = Membership(
            address=address, fingerprint="", certificate=certificate, seed=depot_seed(keys.newest.secret)
        )
        self._settings = msgspec.structs.replace(settings, retries=min(settings.retries, 1))

    def names(self) -> set[str]:
        seconds = min(self._settings.timeout_seconds, PATIENCE)
        once = msgspec.structs.replace(self._settings, timeout_seconds=seconds, retries=0)
        page = _asked(self._signer, once, "/v1/depot", DepotPage)
        if len(page.files) > wire.DEPOT_FILES:
            raise Distrusted(f"the server lists more than {wire.DEPOT_FILES:,} files of your computers")
        self.is_shut = page.is_former
        return {name for name, size in page.files.items() if DEPOT_NAME.fullmatch(name) and size in wire.DEPOT_SIZES}

    def read(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        waiting = list(names)
        while waiting:
            asked = waiting[: wire.DEPOT_ASKED]
            path = f"/v1/depot/files?names={','.join(asked)}"
            files = _asked(self._signer, self._settings, path, DepotFiles).files
            found = [name for name in asked if name in files] or asked  # nothing comes for what is gone meanwhile
            waiting = [name for name in waiting if name not in set(found)]
            yield from ((name, files.get(name, b"")) for name in found)

    def stamp(self, name: str) -> str:
        return name

    def remove(self, names: Sequence[str]) -> None:
        if names and not self.is_shut:
            self._change(removed=tuple(names))

    def write(self, content: bytes, *, instead_of: Sequence[str] = (), is_key: bool = False) -> str:
        return self._change(content, handed_on=is_key, removed=tuple(instead_of))

    def succeed(self, handover: bytes, generation: Generation) -> None:
        self._change(handover, handed_on=True, successor=Identity(depot_seed(generation.secret)).public)

    def _change(self, content: bytes = b"", **more: Any) -> str:
        """Make one change; returns the name of the file written, "" for none."""
        name = os.urandom(16).hex() if content else ""
        change = DepotChange(name=name, content=content, **more)
        _asked(self._signer, self._settings, "/v1/depot", DepotPage, encode(change))
        return name
