"""Indexes of a few notes, read by one process that tests share, because starting it takes longer than reading."""

from __future__ import annotations

import atexit
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from app.following.indexing import make_updater, open_index, reader_pool
from app.settings import IndexSettings, Paths, Settings
from indexer.confined.pool import WorkerPool
from indexer.prepare import PreparedFile


@cache
def readers() -> WorkerPool[PreparedFile]:
    """By the shipped settings."""
    pool = reader_pool(Settings(index=IndexSettings(workers=1)), Paths(Path("config"), Path("data")))
    atexit.register(pool.close)
    return pool


def index_files(settings: Settings, paths: Paths, roots: Sequence[str]) -> None:
    """As `foltr-search index ROOTS`, with the shipped limits for readers."""
    catalogue, note = open_index(paths, rebuild=False)
    with closing(catalogue):
        make_updater(settings, paths, catalogue, readers(), roots=roots, holder="a test").scan(note=note)
