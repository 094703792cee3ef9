"""The folders of this program, what lies in them, and the index roots that it remembers."""

from __future__ import annotations

import base64
import errno
import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from app.standard_folders import standard_folder
from indexer.storage.durable import replace_durably

_BYTES = "base64:"
"""marks a remembered root whose name is not UTF-8, which JSON cannot hold"""


class SettingsError(Exception):
    """A setting cannot be used; the message names it and its source, what was wanted and what came."""


class _Roots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of roots.json."""

    v: Literal[1]
    roots: list[str]
    sources: list[str] = []


class Paths(msgspec.Struct, frozen=True):
    """The two folders of this program and what lies in them."""

    config_dir: Path
    data_dir: Path

    @classmethod
    def from_environment(cls, env: Mapping[str, str] | None = None) -> Paths:
        """FOLTR_CONFIG_DIR and FOLTR_DATA_DIR, else the platform's folders."""
        env = os.environ if env is None else env
        config, data = env.get("FOLTR_CONFIG_DIR", ""), env.get("FOLTR_DATA_DIR", "")
        return cls(
            config_dir=Path(config).expanduser().absolute() if config else Path(standard_folder("config", env)),
            data_dir=Path(data).expanduser().absolute() if data else Path(standard_folder("data", env)),
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
        """The folder of the search index."""
        return self.data_dir / "index"

    @property
    def catalogue(self) -> Path:
        return self.data_dir / "catalogue.sqlite"

    @property
    def state(self) -> Path:
        """What was learned, and what it was learned from."""
        return self.data_dir / "state.sqlite"

    @property
    def watch_lock(self) -> Path:
        """Held by the one process that follows the changes of files."""
        return self.data_dir / "watch.lock"

    @property
    def key(self) -> Path:
        """32 random bytes that key the hashes of picks."""
        return self.data_dir / "key"

    @property
    def roots(self) -> Path:
        """The folders that `index FOLDER` remembered."""
        return self.data_dir / "roots.json"

    def create_data_dir(self) -> None:
        """Make the data folder, for its owner only (0700), whatever it was before."""
        self.data_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        if stat.S_IMODE(self.data_dir.stat().st_mode) != 0o700:
            self.data_dir.chmod(0o700)

    def make_private(self) -> None:
        """Take other users' access from the data folder and what lies in it (0700, 0600), where there is one."""
        for entry in _entries(self.data_dir):
            if entry.is_dir() and not entry.is_symlink():
                for inner in _entries(entry):
                    _close(inner)
            _close(entry)
        if self.data_dir.is_dir():
            _close(self.data_dir)


def _entries(folder: Path) -> tuple[Path, ...]:
    try:
        return tuple(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return ()


def _close(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
        if mode & 0o077 and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & 0o700)
    except FileNotFoundError:
        return  # a file of SQLite or of the index that has just gone
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
    """Add a source to the remembered ones."""
    if name not in (known := remembered_sources(paths)):
        _write_roots(paths, remembered_roots(paths), [*known, name])


def forget_source(paths: Paths, name: str) -> bool:
    """Take a source from the remembered ones; False when it was not among them."""
    known = remembered_sources(paths)
    if name in known:
        _write_roots(paths, remembered_roots(paths), [one for one in known if one != name])
    return name in known


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


def remember_root(paths: Paths, folder: str | os.PathLike[str]) -> str:
    """Add a folder to the remembered roots and give its real path; raises SettingsError where there is none."""
    name = os.path.realpath(Path(folder).expanduser())
    if not Path(name).is_dir():
        raise SettingsError(f"{os.fspath(folder)}: wanted a folder to index, and there is none")
    known = remembered_roots(paths)
    if name not in known:
        _write_roots(paths, [*known, name])
    return name


def forget_root(paths: Paths, folder: str | os.PathLike[str]) -> bool:
    """Take a folder from the remembered roots; False when it was not among them. The folder itself may be gone."""
    given = Path(folder).expanduser()
    names = {os.path.realpath(given), str(given.absolute())}
    known = remembered_roots(paths)
    kept = [root for root in known if root not in names]
    if len(kept) == len(known):
        return False
    _write_roots(paths, kept)
    return True


def _write_roots(paths: Paths, roots: Sequence[str], sources: Sequence[str] | None = None) -> None:
    paths.create_data_dir()
    named = list(remembered_sources(paths) if sources is None else sources)
    content = msgspec.json.encode(_Roots(v=1, roots=[_to_json(root) for root in roots], sources=named))
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
