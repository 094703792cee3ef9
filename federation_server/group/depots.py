"""Depots: sealed files that a member's computers exchange, and that nobody here can read.

A member makes one. From then on nobody reaches it but the holders of a key that the computers derive from their code:
they sign with it as a member does with its own. When they remove a computer, a new key takes the place of theirs, once.
The former key then sees only files that hand the new one on, and can change nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, update

from console.wording import count, size
from federation_server.group import group
from federation_server.group.enrolment import active_member
from federation_server.refusals import Refused
from federation_server.settings import LimitsSection
from federation_server.tables import depot_files, depots
from foltr.federated import wire
from foltr.federated.envelope import KEY_BYTES, pseudonym
from foltr.federated.wire import DepotChange, DepotFiles, DepotPage, DepotRequest

LARGEST_CHANGE = 6_000_000
"""bytes of a request with the largest file in base64"""
LARGEST_ANSWER = 4 << 20
"""bytes of the files in an answer, before base64"""
MOST_FORMER = 16
"""former keys of a member's computers; with an older one nothing is found any more"""


class Depot(Struct, frozen=True):
    name: str
    """its pseudonym"""
    key: bytes
    """Ed25519 public key [32]"""
    device: str
    """the member"""
    former: int
    """how many keys took its place since"""


def found(connection: Connection, name: str, *, now: int, lock: bool = False) -> Depot:
    """The depot that a key opens; Refused("no-depot") where there is none, or its member is one no longer."""
    query = select(depots).where(depots.c.name == name)
    row = connection.execute(query.with_for_update() if lock else query).first()
    try:
        active_member(connection, "" if row is None else row.device, now=now)
    except Refused as refused:
        raise Refused("no-depot") from refused
    return Depot(name, bytes(row.key), row.device, row.former)  # type: ignore[union-attr]


def make(connection: Connection, device: str, asked: DepotRequest, limits: LimitsSection) -> DepotPage:
    """A depot of this member under this key; one that is there already stays, under any key that it ever had."""
    if len(asked.depot_key) != KEY_BYTES:
        raise Refused("malformed", f"a key has {KEY_BYTES} bytes")
    if not limits.depot_files:
        raise Refused("depot-full", "this server keeps none")
    name = pseudonym(asked.depot_key)
    group.lock(connection)  # of two computers that begin at once
    same = (depots.c.device == device) | (depots.c.name == name)  # its owner may be two members
    known = connection.execute(select(depots.c.name).where(same)).scalars().all()
    if name not in known:
        if known and not asked.replaces:
            raise Refused("other-depot")
        for table in (depots, depot_files):
            connection.execute(delete(table).where(table.c.device == device))
        connection.execute(insert(depots).values(name=name, key=asked.depot_key, device=device))
    return DepotPage(files={}, is_former=False)


def page(connection: Connection, depot: Depot) -> DepotPage:
    """What this key sees."""
    rows = connection.execute(select(depot_files.c.name, depot_files.c.size).where(_seen(depot)))
    return DepotPage(files={row.name: row.size for row in rows}, is_former=bool(depot.former))


def files(connection: Connection, depot: Depot, names: Sequence[str]) -> DepotFiles:
    """The files that are there: at least the first, and more as long as they fit into one answer."""
    if len(names) > wire.DEPOT_ASKED or not all(map(wire.DEPOT_NAME.fullmatch, names)):
        raise Refused("malformed", f"names of files, {wire.DEPOT_ASKED} at most")
    asked = select(depot_files.c.name, depot_files.c.size).where(_seen(depot), depot_files.c.name.in_(names))
    sizes = {row.name: row.size for row in connection.execute(asked)}
    fit, room = list[str](), LARGEST_ANSWER
    for name in (name for name in dict.fromkeys(names) if name in sizes):
        room -= sizes[name]
        if room < 0 and fit:
            break
        fit.append(name)
    chosen = select(depot_files.c.name, depot_files.c.content).where(_seen(depot), depot_files.c.name.in_(fit))
    rows = connection.execute(chosen)
    return DepotFiles(files={row.name: bytes(row.content) for row in rows})


def _seen(depot: Depot) -> ColumnElement[bool]:
    """The condition for a file to be seen by this key."""
    return (depot_files.c.device == depot.device) & (depot_files.c.handed_on >= int(depot.former > 0))


def change(connection: Connection, depot: Depot, asked: DepotChange, limits: LimitsSection) -> DepotPage:
    """Make the whole change, or none of it where it is refused; the same again changes nothing."""
    if asked.successor and pseudonym(asked.successor) != depot.name:
        depot = _succeeded(connection, depot, asked.successor)
    if depot.former:
        raise Refused("former-key")
    names = (*asked.removed, asked.name) if asked.name else asked.removed
    if len(asked.removed) > wire.DEPOT_FILES or not all(map(wire.DEPOT_NAME.fullmatch, names)):
        raise Refused("malformed", f"files have random names, and {wire.DEPOT_FILES:,} are removed at once at most")
    own = depot_files.c.device == depot.device
    connection.execute(delete(depot_files).where(own, depot_files.c.name.in_(asked.removed)))
    there = select(depot_files.c.name).where(own, depot_files.c.name == asked.name)
    if asked.name and connection.execute(there).first() is None:
        _write(connection, depot, asked, limits)
    return page(connection, depot)


def _write(connection: Connection, depot: Depot, asked: DepotChange, limits: LimitsSection) -> None:
    if (length := len(asked.content)) not in wire.DEPOT_SIZES:
        raise Refused("malformed", "a file has 4,096 bytes times a power of two, up to 4 MiB")
    n_files, n_bytes = used(connection, depot.device).get(depot.device, (0, 0))
    if n_files + 1 > limits.depot_files or n_bytes + length > limits.depot_bytes:
        raise Refused("depot-full", f"{limits.depot_files:,} files and {limits.depot_bytes:,} bytes at most")
    row = {"name": asked.name, "handed_on": int(asked.handed_on), "size": length, "content": asked.content}
    connection.execute(insert(depot_files).values(device=depot.device, **row))


def _succeeded(connection: Connection, depot: Depot, key: bytes) -> Depot:
    """The depot under its next key, empty: its computers write again what lay under the former one."""
    if len(key) != KEY_BYTES:
        raise Refused("malformed", f"a key has {KEY_BYTES} bytes")
    if depot.former:
        raise Refused("former-key")
    if connection.execute(select(depots.c.name).where(depots.c.name == pseudonym(key))).first() is not None:
        raise Refused("other-depot")
    own = depots.c.device == depot.device
    connection.execute(update(depots).where(own).values(former=depots.c.former + 1))
    connection.execute(delete(depots).where(own, depots.c.former > MOST_FORMER))
    connection.execute(delete(depot_files).where(depot_files.c.device == depot.device))
    connection.execute(insert(depots).values(name=pseudonym(key), key=key, device=depot.device))
    return Depot(pseudonym(key), key, depot.device, 0)


def used(connection: Connection, device: str = "") -> Mapping[str, tuple[int, int]]:
    """How many files and bytes each member's depot holds, or one member's, by pseudonym."""
    query = select(depot_files.c.device, func.count(), func.sum(depot_files.c.size)).group_by(depot_files.c.device)
    query = query.where(depot_files.c.device == device) if device else query
    return {device: (n_files, int(n_bytes)) for device, n_files, n_bytes in connection.execute(query)}


def in_words(sizes: Iterable[tuple[int, int]]) -> str:
    """Files and bytes of these depots together: "12 files, 66 KB"."""
    found = list(sizes)
    return f"{count(sum(n for n, _ in found), 'file')}, {size(sum(n for _, n in found))}"
