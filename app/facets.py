"""Counts of the matching documents by type, folder and time, and the narrowing that they offer."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from app.results import FacetCount, Facets, SearchRequest
from indexer.documents import TYPES, display_path
from indexer.prepare import folder_key
from indexer.retrieval.matching import FolderIds, Mask
from indexer.storage.snapshot import Snapshot

DAY = 86_400.0
TIMES = (("today", "today", DAY), ("week", "last 7 days", 7 * DAY), ("month", "last 30 days", 30 * DAY),
         ("year", "last 12 months", 365 * DAY))  # fmt: skip
"""value, label, and how far back it reaches in seconds"""
MAX_FOLDERS = 8


class FolderNames:
    """The folders of the indexed files by their column value."""

    def __init__(self, paths: Iterable[str]) -> None:
        folders = {os.path.dirname(path) for path in paths}
        self._by_key = {folder_key(folder): folder for folder in folders}

    def counts(self, keys: npt.NDArray[Any], within: str, roots: tuple[str, ...]) -> list[tuple[str, int]]:
        """The folders one step below `within`, with how many of `keys` [n] lie in each.

        Without it: the roots themselves where there are several, else the folders one step below the only one.
        """
        of = _base_of if len(roots) > 1 and not within else _one_step
        total: Counter[str] = Counter()
        for key, n in zip(*np.unique(keys, return_counts=True), strict=True):
            folder = self._by_key.get(int(key))
            step = of(folder, (within,) if within else roots) if folder else None
            if step:
                total[step] += int(n)
        return total.most_common(MAX_FOLDERS)


def _one_step(folder: str, bases: tuple[str, ...]) -> str | None:
    for base in bases:
        prefix = base.rstrip(os.sep) + os.sep
        if folder.startswith(prefix):
            return prefix + folder[len(prefix) :].split(os.sep, 1)[0]
    return None


def _base_of(folder: str, bases: tuple[str, ...]) -> str | None:
    return next((base for base in bases if (folder + os.sep).startswith(base.rstrip(os.sep) + os.sep)), None)


def facets_of(snapshot: Snapshot, admitted: Mask, names: FolderNames | None, *, within: str, roots: tuple[str, ...],
              now: float) -> Facets:  # fmt: skip
    """Facets over the admitted documents; folders only when their names are known."""
    rows = snapshot.documents[admitted]
    types = np.bincount(rows["type"], minlength=len(TYPES))
    by_type = sorted(((int(n), TYPES[i]) for i, n in enumerate(types) if n), reverse=True)
    ages = now - rows["modified"]
    folders = names.counts(rows["folder"], within, roots) if names else []
    return Facets(
        types=tuple(FacetCount(name, name, n) for n, name in by_type),
        folders=tuple(FacetCount(path, display_path(os.path.basename(path)), n) for path, n in folders),
        times=tuple(FacetCount(v, label, n) for v, label, s in TIMES if (n := int((ages < s).sum()))),
    )


def narrowing(snapshot: Snapshot, request: SearchRequest, folder_ids: FolderIds) -> Mask | None:
    """The documents that the request's facets leave; None when it sets none."""
    if not (request.type or request.folder or request.time):
        return None
    mask = snapshot.alive.copy()
    if request.type:
        mask &= snapshot.documents["type"] == (TYPES.index(request.type) if request.type in TYPES else -1)
    if request.time:
        seconds: Mapping[str, float] = {value: s for value, _, s in TIMES}
        mask &= snapshot.documents["modified"] > time.time() - seconds.get(request.time, 0.0)
    if request.folder:
        mask &= snapshot.having(folder_ids(request.folder))
    return mask
