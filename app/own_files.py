"""The files that this program has made on a device, by name: counted, and removed when the user asks for that.

Only names that the program itself gives are taken as its own; anything else in its folders stays, and so do they.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct

from app.data_folder import FILE_NAMES, MARKER, OWN_NAMES, entries
from app.paths import Paths
from app.resident.local_socket import socket_path
from console.durable import UNFINISHED
from foltr.errors import FoltrError
from indexer.storage.file_lock import FileLock
from indexer.storage.index import LOCK_FILE, lock_holder

_UNFINISHED = re.compile(
    rf"(key|state\.sqlite|roots\.json|screen\.json|devices\.key|devices\.json|config\.toml|searches\.toml){re.escape(UNFINISHED)}[a-z0-9_]{{8}}"
)
_UNITS = "foltr-search*.s*"
_OF_THIS_PLACE = re.compile(r"\s*(#.*|ExecStart=.*|ListenStream=.*)?")
"""lines of a unit that its first lines ask the user to change, and empty ones and comments"""
_SHIPPED = (Path(sys.prefix) / "share" / "systemd" / "user", Path(__file__).parents[1] / "contrib" / "systemd")


class InUseError(FoltrError):
    """The program runs elsewhere; the message says who."""


class Belonging(Struct, frozen=True):
    """One thing that the program has made."""

    what: str
    path: Path
    n_bytes: int


def belongings(paths: Paths, *, home: Path) -> list[Belonging]:
    """Everything of the program that exists, in the order in which it is removed."""

    def own(folder: str) -> list[Path]:
        return _of_names(paths.data_dir / folder, OWN_NAMES[folder])

    named = [
        ("the index", own("index")),
        ("vectors for other languages", own("languages")),
        ("the catalogue, what was learned, the folders", _of_names(paths.data_dir, FILE_NAMES)),
        ("the socket of the resident process", own("resident")),
        ("copies of mails that were opened", own("mail")),
        ("logs of assistants, and what was learned from them", own("assistants")),
        ("settings", [paths.config_file]),
        ("saved searches", [paths.saved]),
        ("unfinished files", unfinished(paths)),
        ("a service of the user", [path for path in _units(home) if _is_shipped(path)]),
        ("what marks the data folder as the program's", [paths.data_dir / MARKER]),
    ]
    return [Belonging(what, path, _size(path)) for what, found in named for path in found if os.path.lexists(path)]


def _of_names(folder: Path, names: str) -> list[Path]:
    return [path for path in entries(folder) if re.fullmatch(names, path.name)]


def unfinished(paths: Paths) -> list[Path]:
    """What was being written, by a restore too, when its process was killed."""
    folders = {path.resolve().parent for path in (paths.state, paths.config_file, paths.saved)}
    return [path for folder in sorted(folders) for path in entries(folder) if _UNFINISHED.fullmatch(path.name)]


def _units(home: Path) -> list[Path]:
    """The units, and links to units, under a name of this program that systemd may start for this user."""
    return sorted((home / ".config" / "systemd" / "user").glob(f"**/{_UNITS}"))


def _is_shipped(unit: Path) -> bool:
    """Whether a unit is as shipped, except for the places in it; otherwise its user wrote it."""
    return any(_said(unit) == _said(folder / unit.name) != () for folder in _SHIPPED)


def _said(unit: Path) -> tuple[str, ...]:
    try:
        lines = unit.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(line.strip() for line in lines if not _OF_THIS_PLACE.fullmatch(line))


def own_units(home: Path) -> list[Path]:
    """Units for this program that its user wrote; they are not removed."""
    return [path for path in _units(home) if not _is_shipped(path)]


def strangers(paths: Paths) -> list[Path]:
    """What lies in the program's folders and is not its own."""
    own = {one.path for one in belongings(paths, home=Path("/nowhere"))} | set(_folders(paths))
    inside = [path for folder in _folders(paths) for path in entries(folder)]
    return [path for path in inside if path not in own]


def _folders(paths: Paths) -> tuple[Path, ...]:
    """The folders that this program makes, the inner ones first; what is in them may be another's."""
    inner = (paths.data_dir / name for name in OWN_NAMES if name)
    return (*inner, *dict.fromkeys((paths.data_dir, paths.config_dir)))


def remove(found: list[Belonging], paths: Paths) -> None:
    """Delete these, and folders that are empty then; InUseError while another process of the program runs here."""
    with alone(paths):
        for one in found:
            one.path.unlink(missing_ok=True)
    for folder in _folders(paths):
        if not folder.is_symlink() and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()


@contextmanager
def alone(paths: Paths) -> Iterator[None]:
    """Within the block no other process writes the index or answers for it; InUseError where one does."""
    if holder := lock_holder(paths.index):
        raise InUseError(f"{holder} is running; stop it first")
    resident = Path(socket_path(str(paths.data_dir))).parent
    with ExitStack() as locks:
        for place, who, how in (
            (resident / "lock", "the resident process", "`foltr-search serve --stop` ends it"),  # it may follow changes
            (paths.index / LOCK_FILE, "another process", "stop it first"),
            (paths.watch_lock, "", "stop it or the screen it belongs to first"),
        ):
            if not place.exists():
                continue
            lock = FileLock(place)
            locks.callback(lock.close)
            if not lock.take():
                named = ", ".join(filter(None, (who, lock.read())))
                raise InUseError(f"{named} is running; {how}")
        yield


def _size(path: Path) -> int:
    if path.is_dir() and not path.is_symlink():
        return sum(_size(inner) for inner in path.iterdir())
    return path.lstat().st_size
