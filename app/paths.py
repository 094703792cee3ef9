"""The folders of this program, what lies in them, and the index roots that it remembers.

The data folder is one that the program made, or that was empty: a file in it says so, which is written before anything
else. Any other folder is left as it is, and in its own the program touches only the names that it gives itself.
"""

from __future__ import annotations

import base64
import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec

from app.standard_folders import data_folder, standard_folder
from console.durable import changing, replace_durably

MARKER = "made-by-foltr-search"
"""the name of the file that says whose the data folder is"""
MARKED = b"foltr-search made this folder and keeps its data here; `foltr-search purge` removes it.\n"
_DATABASE = r"(-wal|-shm|-journal)?"
_LOCK = r"lock(\.held(-journal)?)?"
COPY_NAMES = r"([0-9a-f]{16}-)?[0-9a-f]{24}\.eml|far-[0-9a-f]{24}(\.\w+)?|tmp\w{8}\.part|.* - \w{8}\.txt"
"""of a mail that was opened, of a file of another machine, one that a kill left unfinished, and a text for a pager"""
VECTOR_NAMES = rf"meaning\.{_LOCK}|meaning\.vectors(\..*)?"
INDEX_NAMES = rf"_v\d+_\d+\.toc(\..*)?|v\d+_[0-9a-z]+\.\w+|writer\.{_LOCK}|{VECTOR_NAMES}"
_SMALL = r"(key|roots\.json|screen\.json|devices\.(key|json))(\.\w+)?"
FILE_NAMES = rf"(catalogue|state|ocr)\.sqlite{_DATABASE}|{_SMALL}|(watch|devices)\.{_LOCK}"
RESIDENT_NAMES = rf"socket|index|{_LOCK}"
ASSISTANT = r"[a-z0-9][a-z0-9-]{0,31}"
ASSISTANT_NAMES = rf"{ASSISTANT}\.sqlite{_DATABASE}"
OWN_NAMES = {
    "": rf"{FILE_NAMES}|{MARKER}|index|languages|resident|mail|assistants", "index": INDEX_NAMES,
    "languages": VECTOR_NAMES, "resident": RESIDENT_NAMES, "mail": COPY_NAMES, "assistants": ASSISTANT_NAMES,
}  # fmt: skip
"""Folder in the data folder -> what the program calls the things that it makes there."""
_OF_NOBODY = frozenset({"lost+found", ".DS_Store"})
"""what the system puts into an empty folder"""
_OF_SETTINGS = frozenset({"config.toml", "searches.toml", "simulation.toml", "foltr-search"})
"""what may be there before the data, where a system has one folder for settings, data and caches"""
_BYTES = "base64:"
"""marks a remembered root whose name is not UTF-8, which JSON cannot hold"""


class SettingsError(Exception):
    """A setting cannot be used; the message names it and its source, what was wanted and what came."""


class _Roots(msgspec.Struct, forbid_unknown_fields=True):
    """The content of roots.json."""

    v: Literal[1]
    roots: list[str]
    sources: list[str] = []


class Paths(msgspec.Struct, frozen=True):
    """The two folders of this program and what lies in them."""

    config_dir: Path
    data_dir: Path
    assistant: str = ""
    """whose state this is about: an assistant's by its name, "" for the person's"""

    @classmethod
    def from_environment(cls, env: Mapping[str, str] | None = None) -> Paths:
        """FOLTR_CONFIG_DIR and FOLTR_DATA_DIR, else the platform's folders."""
        env = os.environ if env is None else env
        config = env.get("FOLTR_CONFIG_DIR", "")
        return cls(
            config_dir=typed_path(config) if config else Path(standard_folder("config", env)),
            data_dir=Path(data_folder(env)),
        )

    @property
    def config_file(self) -> Path:
        return self.config_dir / "config.toml"

    @property
    def saved(self) -> Path:
        """The searches that have a name."""
        return self.config_dir / "searches.toml"

    @property
    def index(self) -> Path:
        return self.data_dir / "index"

    @property
    def languages(self) -> Path:
        """The folder of the vectors by which texts in other languages are found."""
        return self.data_dir / "languages"

    @property
    def catalogue(self) -> Path:
        return self.data_dir / "catalogue.sqlite"

    @property
    def state(self) -> Path:
        """What was learned, and what it was learned from."""
        return self.data_dir / (f"assistants/{self.assistant}.sqlite" if self.assistant else "state.sqlite")

    @property
    def watch_lock(self) -> Path:
        """Held by the one process that follows the changes of files."""
        return self.data_dir / "watch.lock"

    @property
    def key(self) -> Path:
        """32 random bytes that key the hashes of picks."""
        return self.data_dir / "key"

    @property
    def device_keys(self) -> Path:
        """The keys that this person's devices share, and who this one is among them."""
        return self.data_dir / "devices.key"

    @property
    def shared_settings(self) -> Path:
        """What was set on this person's other devices."""
        return self.data_dir / "devices.json"

    @property
    def roots(self) -> Path:
        """The folders that `index FOLDER` remembered."""
        return self.data_dir / "roots.json"

    def create_data_dir(self) -> None:
        """Make the data folder, or take an empty one: for its owner only (0700), and marked as this program's.

        Raises SettingsError for any other one, as `make_private` does.
        """
        self.refuse_foreign()
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._mark()
        if stat.S_IMODE(self.data_dir.stat().st_mode) != 0o700:
            self.data_dir.chmod(0o700)

    def make_private(self) -> None:
        """Take other users' access from the data folder and what the program made in it, where there is one."""
        self.refuse_foreign()
        for path in list(self.open_to_others()):
            _close(path)

    def open_to_others(self) -> Iterator[Path]:
        """What the program made in the data folder and other users have access to; last the folder, once it is used."""
        for name, own in OWN_NAMES.items():
            folder = self.data_dir / name
            if not name or not folder.is_symlink():
                yield from (path for path in _entries(folder) if _is_open(path) and re.fullmatch(own, path.name))
        if any(_entries(self.data_dir)) and _is_open(real := self.data_dir.resolve()):
            yield real

    def refuse_foreign(self) -> None:
        """SettingsError where the data folder is none of this program's, and not empty."""
        if os.path.exists(self.data_dir / MARKER):
            return
        if self.data_dir.exists() and not self.data_dir.is_dir():
            raise SettingsError(f"{self.data_dir}: wanted a folder for the data, got a file; set FOLTR_DATA_DIR")
        shared = _OF_SETTINGS if self.config_dir.resolve() == self.data_dir.resolve() else frozenset()
        names = {entry.name for entry in _entries(self.data_dir)} - _OF_NOBODY - shared
        # Another process may begin right now: it makes the marker first.
        if names and not os.path.exists(self.data_dir / MARKER):
            raise SettingsError(
                f"{self.data_dir}: wanted an empty folder for the data or one that foltr-search made, got one that "
                f"holds {min(names)!r}; it is left as it is: name another one by FOLTR_DATA_DIR"
            )

    def _mark(self) -> None:
        with suppress(FileExistsError):  # an empty one says the same: a kill may come right after it is made
            try:
                handle = os.open(self.data_dir / MARKER, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            except OSError as error:
                if error.errno not in (errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EACCES):
                    raise
                return  # searching needs no writing, and who writes will say that it cannot
            with os.fdopen(handle, "wb") as file:
                file.write(MARKED)


def _entries(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _is_open(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False  # a file of SQLite or of the index that has just gone
    return bool(mode & 0o077) and not stat.S_ISLNK(mode)


def _close(path: Path) -> None:
    try:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & 0o700)
    except FileNotFoundError:
        return
    except OSError as error:
        if error.errno == errno.EROFS:
            return  # nothing can be changed there, and searching needs no change
        if not isinstance(error, PermissionError):
            raise
        raise SettingsError(f"{path}: wanted a file of yours alone, got one of another user") from error


def remembered_roots(paths: Paths) -> tuple[str, ...]:
    """The folders that were added by `index FOLDER` or on the first start, in that order; raises SettingsError."""
    return tuple(_from_json(name) for name in _read_roots(paths).roots)


def remembered_sources(paths: Paths) -> tuple[str, ...]:
    """The sources that were named by `index --source NAME`, in that order; raises SettingsError."""
    return tuple(_read_roots(paths).sources)


def remember_source(paths: Paths, name: str) -> None:
    with _to_change(paths) as stored:
        if name not in stored.sources:
            stored.sources.append(name)


def _read_roots(paths: Paths) -> _Roots:
    try:
        stored = msgspec.json.decode(paths.roots.read_bytes(), type=_Roots)
        for name in stored.roots:
            _from_json(name)
        return stored
    except FileNotFoundError:
        return _Roots(v=1, roots=[])
    except (OSError, ValueError) as error:  # msgspec's errors and base64's are ValueErrors
        raise SettingsError(f"{paths.roots}: wanted the list of remembered folders, got: {error}") from error


def typed_path(name: str | os.PathLike[str]) -> Path:
    """The absolute path that somebody means; Path.expanduser raises where nobody has the name behind a ~."""
    return Path(os.path.expanduser(name)).absolute()


def remember_root(paths: Paths, folder: str | os.PathLike[str]) -> str:
    """Add a folder to the remembered roots and give its real path; raises SettingsError where there is none."""
    name = os.path.realpath(os.path.expanduser(folder))
    if not Path(name).is_dir():
        raise SettingsError(f"{os.fspath(folder)}: wanted a folder to index, and there is none")
    with _to_change(paths) as stored:
        if (root := _to_json(name)) not in stored.roots:
            stored.roots.append(root)
    return name


def forget_chosen(paths: Paths, name: str | os.PathLike[str]) -> bool:
    """Take a source, else a folder, from the remembered ones; False for neither. The folder itself may be gone."""
    given = typed_path(name)
    names = {_to_json(os.path.realpath(given)), _to_json(str(given))}
    with _to_change(paths) as stored:
        if name in stored.sources:
            stored.sources.remove(str(name))
            return True
        n_before = len(stored.roots)
        stored.roots = [root for root in stored.roots if root not in names]
    return len(stored.roots) < n_before


@contextmanager
def _to_change(paths: Paths) -> Iterator[_Roots]:
    """The list, kept as it is at the end of the block; no other process changes it meanwhile."""
    paths.create_data_dir()
    with changing(paths.roots):
        stored = _read_roots(paths)
        before = msgspec.json.encode(stored)
        yield stored
        if (content := msgspec.json.encode(stored)) != before:
            replace_durably(paths.roots, msgspec.json.format(content) + b"\n")


def _to_json(name: str) -> str:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return _BYTES + base64.b64encode(os.fsencode(name)).decode("ascii")
    return name


def _from_json(name: str) -> str:
    if name.startswith(_BYTES):
        return os.fsdecode(base64.b64decode(name.removeprefix(_BYTES), validate=True))
    return name
