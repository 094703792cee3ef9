"""A backup of what this device cannot make anew: what was learned and its key, folders, settings, saved searches.

It is one ZIP file, for its owner alone. The index is left out, for it comes from the user's files. Its first member,
backup.json, says what else is in it, with a SHA-256 of each.

A restore takes back what was learned, never what was spent: of the privacy ledger it keeps every entry of both sides,
and a device that has a state stands with its groups as it stands now. So a restore makes nobody a member again who has
left or was forgotten, and no budget anew. All of it is written beside its place before anything here is replaced.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import msgspec

from app.belongings import UNFINISHED, InUseError, alone, unfinished
from app.paths import Paths
from app.store import StateError, Store
from app.tui.remembered import FILE as SCREEN
from console.wording import iso_minute
from foltr.errors import FoltrError

ABOUT = "backup.json"
STATE = "state.sqlite"
KEY = "key"
_GROUP_TABLES = ("membership", "uploads", "group_ranker", "roster", "round_lists", "receipts")
_GROUP_VALUES = ("federation standing", "federation roster seen")
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)
"""what reading a ZIP file with changed bytes raises"""
_LEDGER = "time, group_id, lineage, round, n_params, mechanism, exact_count, against"


class NoBackupError(FoltrError):
    """A file cannot be written as a backup, or is none that can be restored."""


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="backup of", tag="foltr-search"):
    """What a backup says of itself; how its JSON begins is known to indexer.extract.archives, which reads none."""

    v: int
    made: float
    """seconds since 1970"""
    sha256: dict[str, str]
    """of the content of every other member, by name"""


def _files(paths: Paths) -> dict[str, Path]:
    """The name of each file in a backup, and its place; the state and the key that its picks are named by come last."""
    return {
        "roots.json": paths.roots,
        SCREEN: paths.data_dir / SCREEN,
        "config.toml": paths.config_file,
        "searches.toml": paths.saved,
        STATE: paths.state,
        KEY: paths.key,
    }


def write_backup(paths: Paths, target: Path, *, now: float) -> list[str]:
    """Write a backup beside whatever runs, and give the names of what is in it; nothing is ever overwritten."""
    if os.path.lexists(target):
        raise NoBackupError(f"{target} is there already; wanted the name of a new file")
    if not target.parent.is_dir():
        raise NoBackupError(f"there is no folder {target.parent}")
    content = {name: path.read_bytes() for name, path in _files(paths).items() if name != STATE and path.exists()}
    if paths.state.exists():  # after the key, without which it means nothing
        with closing(Store(paths.state, writable=False)) as store:
            content[STATE] = store.content()
    if not content:
        raise NoBackupError("there is nothing of foltr-search here to keep")
    about = About(1, now, {name: sha256(data).hexdigest() for name, data in content.items()})
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(_member(ABOUT), msgspec.json.encode(about), zipfile.ZIP_STORED)
        for name, data in content.items():
            archive.writestr(_member(name), data, zipfile.ZIP_DEFLATED)
    with _beside(target) as beside:
        _write(beside, packed.getvalue())
        _take_name(beside, target)
    _remove(path for path in target.parent.iterdir() if path.name.startswith(target.name + UNFINISHED))
    return list(content)


def _member(name: str) -> zipfile.ZipInfo:
    """Of no date, for a ZIP file can say none before 1980."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o600 << 16
    return info


def _take_name(beside: Path, target: Path) -> None:
    try:
        os.link(beside, target)
    except FileExistsError as error:
        raise NoBackupError(f"{target} is there already; wanted the name of a new file") from error
    except OSError as error:  # a disk that knows no links, as a stick's
        if os.path.lexists(target):
            raise NoBackupError(f"{target} is there already; wanted the name of a new file") from error
        beside.replace(target)


def read_backup(source: Path) -> tuple[About, dict[str, bytes]]:
    """What a backup says of itself, and what is in it by name; NoBackupError for one that is damaged in any byte.

    A byte that says nothing of the content, as one of a date in the ZIP file, may differ.
    """
    with source.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                inside = {info.filename: archive.read(info) for info in archive.infolist() if _is_ours(info)}
        except _DAMAGE as error:
            raise NoBackupError(f"{source} is no backup of foltr-search, or is damaged") from error
    try:
        about = msgspec.json.decode(inside.pop(ABOUT), type=About)
    except (KeyError, msgspec.MsgspecError) as error:
        raise NoBackupError(f"{source} is no backup of foltr-search") from error
    if about.v != 1:
        raise NoBackupError(f"{source} was made by a newer foltr-search (format {about.v})")
    if about.sha256 != {name: sha256(data).hexdigest() for name, data in inside.items()} or not iso_minute(about.made):
        raise NoBackupError(f"{source} is a damaged backup of foltr-search")
    if STATE in inside:
        _restorable(source, inside[STATE]).close()
    return about, inside


def _is_ours(info: zipfile.ZipInfo) -> bool:
    """Whether a member is packed as a backup packs; others are left unread, for they may ask for any memory."""
    return info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


def _restorable(source: Path, state: bytes) -> Store:
    """The state of a backup, in memory, read through."""
    try:
        store = Store(source, content=state)
        store.read_through()
    except StateError as error:
        raise NoBackupError(str(error).partition("; ")[0]) from error  # what it advises is for a file in its place
    return store


def replaced(paths: Paths, inside: dict[str, bytes]) -> list[Path]:
    """What is here and would be replaced."""
    return [path for name, path in _files(paths).items() if name in inside and os.path.lexists(path)]


def restore(paths: Paths, source: Path) -> None:
    """Put a backup in the place of what is here; InUseError while the program runs here elsewhere.

    Until everything is written nothing here has changed. A key comes with its state alone: picks under another one
    are forgotten.
    """
    _, inside = read_backup(source)
    if STATE not in inside:
        inside.pop(KEY, None)
    places = {name: path.resolve() for name, path in _files(paths).items() if name in inside}  # of a link, its file
    for path in places.values():
        if path.is_dir():
            raise NoBackupError(f"{path} is a folder; wanted a file, or nothing")
    paths.create_data_dir()
    paths.config_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with alone(paths), ExitStack() as written:
        _remove(unfinished(paths))
        if STATE in inside:
            with closing(_restorable(source, inside[STATE])) as store:
                if paths.state.exists():
                    _keep_what_was_spent(store, paths.state)
                inside[STATE] = store.content()
        beside = {name: written.enter_context(_beside(path)) for name, path in places.items()}
        for name, path in beside.items():
            _write(path, inside[name])
        if STATE in inside:
            for ending in ("-wal", "-shm"):  # of a state that was lost
                places[STATE].with_name(places[STATE].name + ending).unlink(missing_ok=True)
        for name, path in beside.items():
            path.replace(places[name])


def _keep_what_was_spent(restored: Store, present: Path) -> None:
    """Let the ledger grow by what the present state has, and stand with groups as that does."""
    with closing(Store(present)) as store:
        ledger = store.rows(f"SELECT {_LEDGER} FROM privacy_ledger")
        tables = {name: store.rows(f"SELECT * FROM {name}") for name in _GROUP_TABLES}
        values = {name: store.value(name) for name in _GROUP_VALUES}
        n_pages = store.rows("SELECT seq FROM sqlite_sequence WHERE name = 'interactions'")
        try:
            store.close_as_last()
        except StateError as error:
            raise InUseError(f"another process uses {present}; end it first") from error
    with restored.transaction() as db:
        db.executemany(f"INSERT OR IGNORE INTO privacy_ledger ({_LEDGER}) VALUES ({', '.join('?' * 8)})", ledger)
        for name, rows in tables.items():
            db.execute(f"DELETE FROM {name}")
            if rows:
                db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        for name, value in values.items():
            restored.set_value(name, value)
        # Pages get numbers above all that an update has used, or those to come would count as used.
        for (number,) in n_pages:
            changed = db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'interactions'", (number,))
            if not changed.rowcount:
                db.execute("INSERT INTO sqlite_sequence VALUES ('interactions', ?)", (number,))


@contextmanager
def _beside(place: Path) -> Iterator[Path]:
    """An empty file of this user alone in the folder of `place`, gone at the end if it is still there."""
    descriptor, name = tempfile.mkstemp(prefix=place.name + UNFINISHED, dir=place.parent)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    """Write what _beside made; also where another backup of this name has just removed it, for this user alone."""
    with open(path, "wb", opener=partial(os.open, mode=0o600)) as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _remove(paths: Iterable[Path]) -> None:
    """Leftovers of a backup or restore that was killed."""
    for path in paths:
        path.unlink(missing_ok=True)
