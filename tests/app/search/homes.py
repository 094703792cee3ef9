"""A home folder of a few files, indexed, and a search over it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from app.following.indexing import update_index
from app.paths import Paths
from app.search.search import Search
from app.settings import IndexSettings, Settings


@contextmanager
def searching(base: Path, files: Mapping[str, str | bytes]) -> Iterator[Search]:
    """Files by their paths below `base/home`; what the program keeps lies beside it."""
    for name, content in files.items():
        path = base / "home" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    settings, paths = (
        Settings(index=IndexSettings(roots=[str(base / "home")], workers=1)),
        Paths(base / "c", base / "d"),
    )
    update_index(settings, paths)
    search = Search(settings, paths)
    try:
        yield search
    finally:
        search.close()
