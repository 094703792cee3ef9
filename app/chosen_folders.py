"""Which folders and sources were chosen to be searched: in the settings, by `index FOLDER`, or on the first start."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from app.data_folder import create_data_folder
from app.paths import Paths, SettingsError, typed_path
from app.settings import Settings
from console.durable import changing, content_of, replace_durably

_BYTES = "base64:"
"""marks a remembered root whose name is not UTF-8, which JSON cannot hold"""


class _Roots(msgspec.Struct, forbid_unknown_fields=True):
    """The content of roots.json."""

    v: Literal[1]
    roots: list[str]
    sources: list[str] = []


def index_roots(settings: Settings, paths: Paths) -> tuple[str, ...]:
    """The folders to index: those of the settings, then those that were remembered, each once."""
    return tuple(dict.fromkeys([*settings.index.roots, *remembered_roots(paths)]))


def index_sources(settings: Settings, paths: Paths) -> tuple[str, ...]:
    """The names of the sources to read, of the settings and remembered, each once."""
    return tuple(dict.fromkeys([*settings.index.sources, *remembered_sources(paths)]))


def chosen_to_index(settings: Settings, paths: Paths) -> tuple[str, ...]:
    return (*index_roots(settings, paths), *index_sources(settings, paths))


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
        stored = msgspec.json.decode(content_of(paths.roots), type=_Roots)
        for name in stored.roots:
            _from_json(name)
        return stored
    except FileNotFoundError:
        return _Roots(v=1, roots=[])
    except (OSError, ValueError) as error:  # msgspec's errors and base64's are ValueErrors
        raise SettingsError(f"{paths.roots}: wanted the list of remembered folders, got: {error}") from error


def remember_root(paths: Paths, folder: str | os.PathLike[str]) -> str:
    """Add a folder to the remembered roots and return its real path; raises SettingsError where there is none."""
    name = os.path.realpath(typed_path(folder))
    if not Path(name).is_dir():
        raise SettingsError(f"{os.fspath(folder)}: wanted a folder to index, and there is none")
    with _to_change(paths) as stored:
        if (root := _to_json(name)) not in stored.roots:
            stored.roots.append(root)
    return name


def remember_choices(paths: Paths, choices: Iterable[str], covered: Sequence[str] = ()) -> None:
    """Remember folders and sources; a folder inside another choice or a `covered` one is left out."""
    from indexer.extract.sources.known import SOURCES
    from indexer.files.crawl import is_below  # both are loaded by now where somebody chooses

    choices = list(choices)
    for choice in choices:
        if choice in SOURCES:
            remember_source(paths, choice)
        elif not any(is_below(choice, outer) for outer in (*covered, *(one for one in choices if one != choice))):
            remember_root(paths, choice)


def forget_chosen(paths: Paths, name: str | os.PathLike[str]) -> bool:
    """Forget a remembered source or folder; False if it is neither. The folder itself may be gone."""
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
    """The list, stored as it is at the end of the block; no other process can change it meanwhile."""
    create_data_folder(paths)
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
