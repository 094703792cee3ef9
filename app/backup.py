"""A backup of what this device cannot make anew: what was learned and its key, folders, settings, saved searches.

It is one ZIP file, readable by its owner only. The index is left out, as it can be made again from the user's files.
The first member, backup.json, lists the other members with a SHA-256 of each.

A restore brings back what was learned, never what was spent: it keeps all ledger entries of both sides, and a device
that has a state keeps its present standing with its groups. So a restore makes nobody a member again who has left or
was forgotten, and renews no budget. Everything is written beside its place before anything here is replaced.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable
from contextlib import ExitStack, closing
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import msgspec

from app.data_folder import create_data_folder
from app.learning.pick_keys import KEY_BYTES, bring_key, load_key, read_key
from app.own_files import InUseError, alone, unfinished
from app.paths import Paths
from app.store import StateError, Store
from app.tui.remembered_choices import REMEMBERED
from console.durable import UNFINISHED, content_of, create_durably, sync, write_beside
from console.wording import iso_minute
from foltr.errors import FoltrError

ABOUT = "backup.json"
STATE = "state.sqlite"
KEY = "key"
PACKED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
"""the ways in which a backup packs; anything else is left unread, as it may need any amount of memory"""
_GROUP_TABLES = ("membership", "uploads", "group_ranker", "roster", "round_lists", "receipts")
SEAT = "federation seat"
_GROUP_VALUES = (
    "federation standing", "federation roster seen", "federation ranker seen",
    "federation ended", "federation pen", "federation brought", SEAT,
)  # fmt: skip
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError, OverflowError)
"""what reading a ZIP file with changed bytes raises"""
_LEDGER = "time, group_id, lineage, round, n_params, mechanism, exact_count, against"


class NoBackupError(FoltrError):
    """A file cannot be written as a backup, or is not a backup that can be restored."""


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="backup of", tag="foltr-search"):
    """What a backup says of itself; indexer.extract.archives knows how its JSON begins, and reads no backup."""

    v: int
    made: float
    """seconds since 1970"""
    sha256: dict[str, str]
    """of the content of every other member, by name"""


def _files(paths: Paths) -> dict[str, Path]:
    """The name of each file in a backup, and its place; the state comes after the files that do not need it."""
    return {
        "roots.json": paths.roots,
        REMEMBERED: paths.data_dir / REMEMBERED,
        "config.toml": paths.config_file,
        "searches.toml": paths.saved,
        "devices.key": paths.device_keys,
        STATE: paths.state,
        KEY: paths.key,
    }


def write_backup(paths: Paths, target: Path, *, now: float) -> list[str]:
    """Write a backup, whatever else runs, and return the names of its members; nothing is ever overwritten."""
    if os.path.lexists(target):
        raise NoBackupError(f"{target} is there already; wanted the name of a new file")
    if not target.parent.is_dir():
        raise NoBackupError(f"there is no folder {target.parent}")
    plain = {name: path for name, path in _files(paths).items() if name not in (STATE, KEY)}
    content = {name: content_of(path) for name, path in plain.items() if path.exists()}
    with closing(Store(paths.state, writable=False)) as store:
        if (key := read_key(paths.key, store)) is not None:
            content[KEY] = key
        if paths.state.exists():
            content[STATE] = store.content()
    if not content:
        raise NoBackupError("there is no data of foltr-search here to back up")
    about = About(1, now, {name: sha256(data).hexdigest() for name, data in content.items()})
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(_member(ABOUT), msgspec.json.encode(about), zipfile.ZIP_STORED)
        for name, data in content.items():
            archive.writestr(_member(name), data, zipfile.ZIP_DEFLATED)
    try:
        create_durably(target, packed.getvalue())
    except FileExistsError as error:
        raise NoBackupError(f"{target} is there already; wanted the name of a new file") from error
    own = re.compile(re.escape(target.name + UNFINISHED) + r"[a-z0-9_]{8}")
    _remove(path for path in target.parent.iterdir() if own.fullmatch(path.name))
    return list(content)


def _member(name: str) -> zipfile.ZipInfo:
    """A member with the default date: a ZIP file cannot hold one before 1980."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o600 << 16
    return info


def read_backup(source: Path) -> tuple[About, dict[str, bytes]]:
    """What a backup says of itself, and what is in it by name; NoBackupError for one that is damaged in any byte.

    Bytes that do not affect the content, as of a date in the ZIP file, may differ.
    """
    with source.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                inside = {own.filename: archive.read(own) for own in archive.infolist() if own.compress_type in PACKED}
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


def _restorable(source: Path, state: bytes) -> Store:
    """The state of a backup, in memory, checked as a whole."""
    try:
        store = Store(source, content=state)
        store.read_through()
    except StateError as error:
        raise NoBackupError(str(error).partition("; ")[0]) from error  # its advice is for a state file
    return store


def replaced(paths: Paths, inside: dict[str, bytes]) -> list[Path]:
    """What is here and would be replaced."""
    return [path for name, path in _files(paths).items() if name in inside and os.path.lexists(path)]


def restore(paths: Paths, source: Path) -> None:
    """Put a backup in the place of what is here; InUseError while the program runs here elsewhere.

    Until everything is written nothing here has changed. A key comes only with its state, and inside it, so that no
    kill separates them: picks made with another key are forgotten. A key of the wrong length is left out.
    """
    _, inside = read_backup(source)
    key = inside.pop(KEY, b"")
    places = {name: path.resolve() for name, path in _files(paths).items() if name in inside}  # for a link, its target
    for path in places.values():
        if path.is_dir():
            raise NoBackupError(f"{path} is a folder; wanted a file, or nothing")
    create_data_folder(paths)
    paths.config_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with alone(paths), ExitStack() as written:
        _remove(unfinished(paths))
        plain = {name: path for name, path in places.items() if name != STATE}
        beside = {name: _written(path, inside[name], written) for name, path in plain.items()}
        if STATE in inside:
            with closing(_restorable(source, inside[STATE])) as store:
                if len(key) == KEY_BYTES:
                    bring_key(store, key)
                store.set_value(SEAT, None)  # a pen that was held then may have been used and handed over since
                _give_state(store, places[STATE])
        for name, path in beside.items():
            path.replace(places[name])
        sync({path.parent for path in plain.values()})
    if STATE in inside:
        with Store(paths.state) as store:
            load_key(paths.key, store)


def _give_state(restored: Store, state: Path) -> None:
    """Make this the state, at once; an existing file gets the content in place, as others may wait to open it."""
    if state.exists():
        with Store(state) as present:
            try:
                present.hold_alone()
            except StateError as error:
                raise InUseError(f"another process uses {state}; stop it first") from error
            _keep_what_was_spent(restored, present)
            present.become(restored)
        return
    for ending in ("-wal", "-shm"):  # left by a state that was lost
        state.with_name(state.name + ending).unlink(missing_ok=True)
    try:
        create_durably(state, restored.content())
    except FileExistsError as error:
        raise InUseError(f"another process has just made {state}; run restore again") from error


def _keep_what_was_spent(restored: Store, present: Store) -> None:
    """Add the present state's ledger entries to the restored ones, and take over its standing with groups."""
    ledger = present.rows(f"SELECT {_LEDGER} FROM privacy_ledger")
    tables = {name: present.rows(f"SELECT * FROM {name}") for name in _GROUP_TABLES}
    values = {name: present.value(name) for name in _GROUP_VALUES}
    n_pages = present.rows("SELECT seq FROM sqlite_sequence WHERE name = 'interactions'")
    with restored.transaction() as db:
        db.executemany(f"INSERT OR IGNORE INTO privacy_ledger ({_LEDGER}) VALUES ({', '.join('?' * 8)})", ledger)
        for name, rows in tables.items():
            db.execute(f"DELETE FROM {name}")
            if rows:
                db.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
        for name, value in values.items():
            restored.set_value(name, value)
        # New pages must get numbers above all that an update has used, or they would count as used.
        for (number,) in n_pages:
            changed = db.execute("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'interactions'", (number,))
            if not changed.rowcount:
                db.execute("INSERT INTO sqlite_sequence VALUES ('interactions', ?)", (number,))


def _written(place: Path, content: bytes, until: ExitStack) -> Path:
    """A durable file beside `place`, removed at the end of the block if it is still there."""
    beside = write_beside(place, content)
    until.callback(beside.unlink, missing_ok=True)
    return beside


def _remove(paths: Iterable[Path]) -> None:
    """Remove leftovers of a backup or restore that was killed."""
    for path in paths:
        path.unlink(missing_ok=True)
