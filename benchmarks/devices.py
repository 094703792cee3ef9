"""A separate device for a benchmark: a folder of files, indexed by this program, searched through `app.search`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from app.data_folder import create_data_folder
from app.following.indexing import update_index
from app.paths import Paths
from app.search.search import Search
from app.settings import Settings
from benchmarks import collections


@dataclass(frozen=True, slots=True)
class Library:
    """An indexed collection on disk; any number of devices may search it."""

    collection: collections.Collection
    files: dict[str, str]
    """path -> document id"""
    paths: Paths


def with_learning(settings: Settings, **changes: object) -> Settings:
    """The settings with other values under [learning]."""
    return msgspec.structs.replace(settings, learning=msgspec.structs.replace(settings.learning, **changes))


def lay_out(collection: collections.Collection, folder: Path, settings: Settings) -> Library:
    """Write the collection's files below `folder` and index them there."""
    files = collections.write_files(collection, folder / "files")
    return Library(collection, files, indexed(folder / "files", folder, settings))


def indexed(files: Path, base: Path, settings: Settings) -> Paths:
    """The folders, below `base`, of a device that has these files in its index."""
    paths = Paths(base / "config", base / "data")
    update_index(settings, paths, roots=(str(files),), holder="benchmark", optimize=True)
    return paths


@contextmanager
def libraries(
    settings: Settings, names: tuple[str, ...] = collections.NAMES, *, n_queries: int | None = None
) -> Iterator[dict[str, Library]]:
    """The named collections, indexed in a temporary folder; with at most `n_queries` of their queries, by lot."""
    with tempfile.TemporaryDirectory(prefix="foltr-benchmark-") as folder:
        read = [collections.read(name) for name in names]
        chosen = [own if n_queries is None else collections.sampled(own, n_queries) for own in read]
        yield {own.name: lay_out(own, Path(folder) / own.name, settings) for own in chosen}


@contextmanager
def device(paths: Paths, settings: Settings) -> Iterator[Search]:
    """A device that knows nothing yet, over an index that others made; what it learns is thrown away."""
    with tempfile.TemporaryDirectory(prefix="foltr-device-") as folder:
        own = Paths(paths.config_dir, Path(folder) / "data")
        create_data_folder(own)
        for one, other in ((own.index, paths.index), (own.languages, paths.languages)):
            one.symlink_to(other)
        shutil.copyfile(paths.catalogue, own.catalogue)
        search = Search(settings, own)
        try:
            yield search
        finally:
            search.close()


def new_session(search: Search) -> None:
    """Begin a new session, as half an hour without a query would."""
    search.store.set_value("session", b"")
