"""Online backup and verified restore, the same file for SQLite and PostgreSQL.

A backup is gzip-compressed MessagePack: a header, then every row of every table from one consistent view, then a
BLAKE2b-256 over all of it. Members' updates and nonces are left out: updates are exposed enough in one place, and both
are worth nothing on another day. So are files of depots, which their computers write again. The open round is left out
with them, and all that a sealed one holds of its members: a restored server opens a new one.

A restored group goes on above all that was: in a new lineage, without those who were forgotten since the backup.
Devices have seen rounds that the backup does not know. A lineage number that no server of this group can have given
before leaves those rounds behind; devices follow it as any other. Its number is that of the second in which it begins,
unless the backup, or a restore before, had a higher one.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from sqlalchemy import Connection, Engine, Select, Table, func, insert, select

from console.durable import replace_durably
from federation_server.database import REVISIONS, of_another, reading, writing
from federation_server.forgetting import forgetting, tombstones
from federation_server.group import group, roster_book
from federation_server.rounds import rounds
from federation_server.serve import Installation, check_owner
from federation_server.tables import answers, depot_files, lists, metadata, named, noises, nonces, shares, updates
from federation_server.tables import rounds as rounds_table
from foltr.errors import FoltrError

LEFT_OUT = tuple(table.name for table in (updates, nonces, noises, shares, lists, answers, named, depot_files))
FORMAT = 1


class BackupError(FoltrError):
    """A backup cannot be written, or is not whole."""


class BackupContents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a backup holds; its first block."""

    format: int
    revision: str
    """of the migrations: a backup is restored by the version that made it, or a later one"""
    made: int
    counts: dict[str, int]
    """rows by table"""


def write(engine: Engine, path: Path, *, now: int) -> BackupContents:
    """Write a backup to `path`, whole or not at all, over an older one or nothing; the server may run meanwhile."""
    if path.exists():
        try:
            _decoded_header(next(_read(path)), path)
        except (BackupError, StopIteration) as error:
            raise BackupError(f"{path} is there and is no backup of foltr-server; wanted another name") from error
    with reading(engine) as connection:
        header = _header(connection, now)
        try:
            replace_durably(path, _packed(_blocks(connection, header)))
        except OSError as error:
            raise BackupError(f"{path} cannot be written: {error.strerror}") from error
    return header


def verify(path: Path) -> BackupContents:
    """Read a backup through; BackupError when it is damaged, cut short or of another program."""
    blocks = _read(path)
    header = _decoded_header(next(blocks), path)
    found = Counter(_decoded_row(block, path)[0] for block in blocks)
    if found != Counter(header.counts):
        raise BackupError(f"{path} announces {header.counts} rows and holds {dict(found)}")
    return header


def restore(installation: Installation, path: Path, *, now: int) -> BackupContents:
    """Put a verified backup into the empty database and begin its new lineage, in one transaction."""

    def begin(connection: Connection) -> None:
        check_owner(connection, installation.vault)
        begin_anew(connection, installation.forgetter, now=now)

    return fill(installation.engine, path, afterwards=begin)


def begin_anew(connection: Connection, forgetter: forgetting.Forgetter, *, now: int) -> int:
    """The new lineage of a database that was just filled from a backup; its number."""
    forgetting.forget_again(connection, forgetter, now=now)
    tombstones.carry_over(connection, forgetter.file)
    forgetting.forget_waiting(connection, forgetter, now=now)
    forgetting.abandon(connection, rounds.present(connection, lock=True), now=now)
    forgetting.end_unlearning(connection)
    least = max(now, tombstones.newest_restored(forgetter.file.read()) + 1)
    begun = group.branch(connection, group.newest(connection), reason="restore", now=now, least=least)
    group.set_fact(connection, roster_book.RESTORED, str(roster_book.end(connection)[0]))
    forgetter.file.append(tombstones.Restored(begun))
    return begun


def fill(
    engine: Engine, path: Path, *, afterwards: Callable[[Connection], None] = lambda connection: None
) -> BackupContents:
    """Put a verified backup into an empty database in one transaction; BackupError when it already holds a group.

    `afterwards` is the last part of the transaction.
    """
    report = verify(path)
    with writing(engine) as connection:
        for table in metadata.sorted_tables:
            if connection.execute(select(func.count()).select_from(table)).scalar_one():
                raise BackupError(f"the database is not empty (table {table.name}); restore into a new one")
        blocks = _read(path)
        next(blocks)
        for block in blocks:
            name, row = _decoded_row(block, path)
            connection.execute(insert(metadata.tables[name]).values(**row))
        afterwards(connection)
    return report


def _header(connection: Connection, now: int) -> BackupContents:
    counts = {
        str(table.name): int(connection.execute(select(func.count()).select_from(_kept(table).subquery())).scalar_one())
        for table in metadata.sorted_tables
        if table.name not in LEFT_OUT
    }
    return BackupContents(FORMAT, REVISIONS[0], now, counts)


def _blocks(connection: Connection, header: BackupContents) -> Iterator[bytes]:
    yield msgspec.msgpack.encode(header)
    for table in metadata.sorted_tables:
        if table.name not in LEFT_OUT:
            for row in connection.execute(_kept(table)):
                values = {str(name): value for name, value in row._mapping.items()}
                yield msgspec.msgpack.encode((str(table.name), values))


def _packed(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of the file, as they come."""
    digest, gzipped = hashlib.blake2b(digest_size=32), zlib.compressobj(9, wbits=31)
    for block in blocks:
        digest.update(block)
        yield gzipped.compress(len(block).to_bytes(4, "big") + block)
    yield gzipped.compress((0).to_bytes(4, "big") + digest.digest()) + gzipped.flush()


def _kept(table: Table) -> Select[Any]:
    """The rows of a table that a backup holds."""
    return select(table).where(rounds_table.c.state != "open") if table is rounds_table else select(table)


def _read(path: Path) -> Iterator[bytes]:
    """The blocks of a backup; BackupError when it is cut short, or at the end when the digest does not fit."""
    digest = hashlib.blake2b(digest_size=32)
    try:
        with gzip.open(path, "rb") as file:
            while length := int.from_bytes(_exactly(file, 4, path), "big"):
                block = _exactly(file, length, path)
                digest.update(block)
                yield block
            if _exactly(file, 32, path) != digest.digest():
                raise BackupError(f"{path} is damaged: its digest does not fit")
    except (OSError, EOFError, zlib.error) as error:
        raise BackupError(f"{path} cannot be read: {error}") from error


def _exactly(file: Any, length: int, path: Path) -> bytes:
    data: bytes = file.read(length)
    if len(data) != length:
        raise BackupError(f"{path} is cut short")
    return data


def _decoded_header(block: bytes, path: Path) -> BackupContents:
    try:
        header = msgspec.msgpack.decode(block, type=BackupContents)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BackupError(f"{path} is no backup of foltr-server") from error
    if header.format != FORMAT or header.revision not in REVISIONS:
        raise BackupError(of_another(str(path), header.revision))
    return header


def _decoded_row(block: bytes, path: Path) -> tuple[str, dict[str, Any]]:
    try:
        name, row = msgspec.msgpack.decode(block, type=tuple[str, dict[str, Any]])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BackupError(f"{path} is damaged: a row cannot be read") from error
    if name not in metadata.tables or name in LEFT_OUT or not set(row) <= set(metadata.tables[name].c.keys()):
        raise BackupError(f"{path} holds rows of an unknown table {name!r}")
    return name, row
