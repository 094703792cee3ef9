"""Who was forgotten stays forgotten: hashes of pseudonyms in a file beside the keys, which outlives every restore.

A line is on disk before the transaction that erases the member commits. The table of the same name says whose erasure
this database has been through: members named only by the file are erased again when a server opens. A backup carries
the table, and what only the table knows is added to the file.

The file also remembers the lineages that began by a restore, so that no number is ever used twice.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from sqlalchemy import Connection, delete, insert, select, union_all

from console.durable import sync
from federation_server.tables import forgettings, tombstones
from foltr.errors import FoltrError

FILE = "tombstones.jsonl"


class TombstoneError(FoltrError):
    """The file cannot be read or written."""


class Tombstone(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="forgotten", tag_field="line"):
    """One member that was forgotten."""

    member: str
    """lower-case hex of a BLAKE2b-256 of its pseudonym"""
    lineage: int | None
    """of its first influence on a ranker; None when it had none"""
    round: int | None
    method: str
    """how its influence was taken out"""
    request: str
    """the random name of the request, for its receipt"""
    time: int
    """seconds since 1970"""


class Restored(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="restored", tag_field="line"):
    """A restore began this lineage."""

    lineage: int


Line = Tombstone | Restored


def hash_of_member(device: str) -> str:
    """How a tombstone names a pseudonym."""
    return hashlib.blake2b(device.encode(), digest_size=32, person=b"foltr-forgotten").hexdigest()


class TombstoneFile(msgspec.Struct, frozen=True):
    """Lines of JSON, only ever added to; readable by its owner alone."""

    path: Path

    def read(self) -> tuple[Line, ...]:
        """All lines, oldest first; a last one cut short by a crash never counted, as its transaction did not commit."""
        try:
            data = self.path.read_bytes() if self.path.exists() else b""
            lines = data[: data.rfind(b"\n") + 1].splitlines()
            return tuple(msgspec.json.decode(line, type=Line) for line in lines if line)
        except (OSError, msgspec.MsgspecError) as error:
            raise TombstoneError(
                f"{self.path} cannot be read, so that the forgotten could come back: {error}"
            ) from error

    def append(self, line: Line) -> None:
        """Add a line, durably."""
        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "rb+") as file:
                self._cut(file.fileno())
                file.write(msgspec.json.encode(line) + b"\n")
                file.flush()
                os.fsync(file.fileno())
            sync([self.path.parent])
        except OSError as error:
            raise TombstoneError(f"{self.path} cannot be written: {error.strerror}") from error

    @staticmethod
    def _cut(descriptor: int) -> None:
        """Take a line off that a crash cut short."""
        size = os.fstat(descriptor).st_size
        whole = os.pread(descriptor, size, 0).rfind(b"\n") + 1
        if whole < size:
            os.ftruncate(descriptor, whole)


def note(connection: Connection, file: TombstoneFile, fresh: Tombstone) -> None:
    """Part of the transaction that erases: the line is on disk before it can commit."""
    if fresh not in file.read():
        file.append(fresh)
    connection.execute(delete(tombstones).where(tombstones.c.member == fresh.member))
    connection.execute(insert(tombstones).values(**msgspec.structs.asdict(fresh)))


def is_request(connection: Connection, name: str) -> bool:
    """Whether a member was forgotten by this request: the newest of each, and others while their receipts are kept."""
    named = (select(table.c.request).where(table.c.request == name) for table in (forgettings, tombstones))
    return connection.execute(union_all(*named)).first() is not None


def _stones(lines: Sequence[Line]) -> list[Tombstone]:
    return [line for line in lines if isinstance(line, Tombstone)]


def in_database(connection: Connection) -> tuple[Tombstone, ...]:
    """Those whose erasure this database has been through, oldest first."""
    rows = connection.execute(select(tombstones).order_by(tombstones.c.time, tombstones.c.member))
    return tuple(Tombstone(**row._mapping) for row in rows)


def missing(connection: Connection, lines: Sequence[Line]) -> tuple[Tombstone, ...]:
    """Each member's newest in the file, unless this database has been through it or a later one."""
    known = {one.member: one for one in in_database(connection)}
    newest = {one.member: one for one in sorted(_stones(lines), key=lambda one: one.time)}
    return tuple(
        one
        for one in newest.values()
        if (old := known.get(one.member)) is None or (one.request != old.request and one.time >= old.time)
    )


def carry_over(connection: Connection, file: TombstoneFile) -> None:
    """Add to the file what only the database knows, as after restoring into a new folder."""
    known = {(line.member, line.request) for line in _stones(file.read())}
    for one in in_database(connection):
        if (one.member, one.request) not in known:
            file.append(one)


def newest_restored(lines: Sequence[Line]) -> int:
    """The highest lineage that a restore began, 0 for none."""
    return max((line.lineage for line in lines if isinstance(line, Restored)), default=0)
