"""A backup of what this device cannot make anew: what was learned and its key, folders, settings, saved searches.

It is one ZIP file, for its owner alone. The index is left out, for it comes from the user's files.

A restore takes back what was learned, never what was spent: of the privacy ledger it keeps every entry of both sides,
and a device that has been in a group since stands with its groups as it stands now. So a restore makes nobody a member
again who has left or was forgotten, and no budget anew.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from app.belongings import alone
from app.paths import Paths, write_private
from app.store import Store
from app.tui.remembered import FILE as SCREEN
from foltr.errors import FoltrError

ABOUT = "backup.json"
STATE = "state.sqlite"
_GROUP_TABLES = ("membership", "uploads", "group_ranker", "roster", "round_lists", "receipts")
_GROUP_VALUES = ("federation standing", "federation roster seen")
_DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, ValueError)
"""what reading a ZIP file with changed bytes raises"""
_LEDGER = "time, group_id, lineage, round, n_params, mechanism, exact_count, against"


class NoBackupError(FoltrError):
    """A file cannot be written as a backup, or is none that can be restored."""


class About(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a backup says of itself."""

    v: int
    made: float
    """seconds since 1970"""


def _files(paths: Paths) -> dict[str, Path]:
    """The name of each file in a backup, and its place; the key comes before what it belongs to."""
    return {
        "key": paths.key,
        "roots.json": paths.roots,
        SCREEN: paths.data_dir / SCREEN,
        "config.toml": paths.config_file,
        "searches.toml": paths.saved,
    }


def write_backup(paths: Paths, target: Path, *, now: float) -> list[str]:
    """Write a backup beside whatever runs, and give the names of what is in it; nothing is ever overwritten."""
    if os.path.lexists(target):
        raise NoBackupError(f"{target} is there already; wanted the name of a new file")
    if not target.parent.is_dir():
        raise NoBackupError(f"there is no folder {target.parent}")
    with _beside(target) as unfinished:
        with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(ABOUT, msgspec.json.encode(About(1, now)))
            for name, path in _files(paths).items():
                if path.exists():
                    archive.write(path, name)
            if paths.state.exists():
                with _beside(unfinished) as copy, closing(Store(paths.state, writable=False)) as store:
                    store.copy_to(copy)
                    archive.write(copy, STATE)
            names = archive.namelist()[1:]
        if not names:
            raise NoBackupError("there is nothing of foltr-search here to keep")
        unfinished.replace(target)
    return names


def read_backup(source: Path) -> tuple[About, dict[str, bytes]]:
    """What a backup says of itself, and what is in it by name; NoBackupError for one that is damaged."""
    with source.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                inside = {name: archive.read(name) for name in archive.namelist()}
        except _DAMAGE as error:
            raise NoBackupError(f"{source} is no backup of foltr-search, or is damaged") from error
    try:
        about = msgspec.json.decode(inside.pop(ABOUT), type=About)
    except (KeyError, msgspec.MsgspecError) as error:
        raise NoBackupError(f"{source} is no backup of foltr-search") from error
    if about.v != 1:
        raise NoBackupError(f"{source} was made by a newer foltr-search (format {about.v})")
    return about, inside


def restore(paths: Paths, source: Path) -> None:
    """Put a backup in the place of what is here; InUseError while the program runs here elsewhere."""
    _, inside = read_backup(source)
    paths.create_data_dir()
    paths.config_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    with alone(paths), _beside(paths.state) as state:
        if STATE in inside:
            state.write_bytes(inside[STATE])
            with closing(Store(state)) as store:
                store.read_through()
                if paths.state.exists():
                    _keep_what_was_spent(store, paths.state)
        for name, path in _files(paths).items():
            if name in inside:
                write_private(path, inside[name])
        if STATE in inside:
            for ending in ("-wal", "-shm"):  # of the file that goes
                paths.state.with_name(paths.state.name + ending).unlink(missing_ok=True)
            state.replace(paths.state)


def _keep_what_was_spent(restored: Store, present: Path) -> None:
    """Let the ledger grow by what the present state has, and stand with groups as that does where it knows of any."""
    with closing(Store(present)) as store:
        ledger = store.rows(f"SELECT {_LEDGER} FROM privacy_ledger")
        knows = ledger or any(store.rows(f"SELECT 1 FROM {name} LIMIT 1") for name in ("membership", "receipts"))
        tables = {name: store.rows(f"SELECT * FROM {name}") for name in _GROUP_TABLES}
        values = {name: store.value(name) for name in _GROUP_VALUES}
        n_pages = store.rows("SELECT seq FROM sqlite_sequence WHERE name = 'interactions'")
    with restored.transaction() as db:
        db.executemany(f"INSERT OR IGNORE INTO privacy_ledger ({_LEDGER}) VALUES ({', '.join('?' * 8)})", ledger)
        if not knows:
            return
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
    descriptor, name = tempfile.mkstemp(prefix=f"{place.name}.", dir=place.parent)
    os.close(descriptor)
    try:
        yield Path(name)
    finally:
        for path in (name, f"{name}-wal", f"{name}-shm"):
            Path(path).unlink(missing_ok=True)
