"""What a page may be narrowed to: types, folders and times, with how many of the documents each would leave.

A narrowing is a mask over the documents.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from app.search.page import midnight
from app.search.results import FacetCount, Facets, SearchRequest
from console.printable import display_path
from indexer.documents import TYPES
from indexer.postings import Ints, Mask
from indexer.retrieval.candidates import FolderIds
from indexer.retrieval.feature_values import age
from indexer.schema import folder_key
from indexer.storage.catalogue import Catalogue
from indexer.storage.snapshot import Snapshot

TIMES = (("today", "today", 1), ("week", "last 7 days", 7), ("month", "last 30 days", 30),
         ("year", "last 12 months", 365))  # fmt: skip
"""value, label, and how many days of the local calendar it reaches back, today included"""

MAX_FOLDERS = 8
"""folders counted for one page"""


class FolderNames:
    """The folders of the indexed files by their column value."""

    def __init__(self, paths: Iterable[str]) -> None:
        by_key = {folder_key(folder): folder for folder in {os.path.dirname(path) for path in paths}}
        self._keys = np.array(sorted(by_key), dtype=np.int64)
        self._folders = [by_key[key] for key in self._keys.tolist()]
        self._steps: dict[tuple[str, tuple[str, ...]], tuple[list[str], Ints]] = {}

    def numbers(self, keys: npt.NDArray[Any]) -> Ints:
        """The number of each of the folders `keys` [n]; -1 for an unknown one."""
        if not self._keys.size:
            return np.full(keys.size, -1)
        places = np.minimum(self._keys.searchsorted(keys), self._keys.size - 1)
        return np.where(self._keys[places] == keys, places, -1)

    def counts(self, numbers: Ints, within: str, roots: tuple[str, ...]) -> list[tuple[str, int]]:
        """The folders one step below `within`, each with how many documents (in folders `numbers` [n]) it holds.

        At most MAX_FOLDERS. Without it: the roots where there are several (none within another), else the folders one
        step below the only one.
        """
        roots = tuple(one for one in roots if _base_of(one, [other for other in roots if other != one]) is None)
        names, steps = self._steps_from(within, roots)
        counts = np.bincount(numbers + 1, minlength=1)[1:]
        held = counts.nonzero()[0]
        held = held[steps[held] >= 0]
        own = steps[held]
        total = np.bincount(own, weights=counts[held], minlength=len(names)).astype(np.int64)
        found, first = total.nonzero()[0], np.zeros(len(names), dtype=np.int64)
        first[own[::-1]] = np.arange(own.size)[::-1]
        most = found[np.lexsort((first[found], -total[found]))[:MAX_FOLDERS]]
        return [(names[step], int(total[step])) for step in most.tolist()]

    def _steps_from(self, within: str, roots: tuple[str, ...]) -> tuple[list[str], Ints]:
        """The folders that counts are given for, and in which of them each folder lies; -1 for one elsewhere."""
        known = self._steps.get((within, roots))
        if known is None:
            of = _base_of if len(roots) > 1 and not within else _one_step
            steps = [of(folder, (within,) if within else roots) for folder in self._folders]
            place = {step: i for i, step in enumerate(dict.fromkeys(step for step in steps if step))}
            known = list(place), np.array([place.get(step or "", -1) for step in steps], dtype=np.int64)
            if len(self._steps) >= MAX_FOLDERS:
                self._steps.clear()
            self._steps[within, roots] = known
        return known


def _one_step(folder: str, bases: tuple[str, ...]) -> str | None:
    for base in bases:
        prefix = base.rstrip(os.sep) + os.sep
        if folder.startswith(prefix):
            return prefix + folder[len(prefix) :].split(os.sep, 1)[0]
    return None


def _base_of(folder: str, bases: Sequence[str]) -> str | None:
    return next((base for base in bases if (folder + os.sep).startswith(base.rstrip(os.sep) + os.sep)), None)


def folder_names(snapshot: Snapshot, catalogue: Catalogue) -> FolderNames:
    """The folders of the indexed files, looked up once for a commit."""

    def look_up() -> FolderNames:
        documents, alive = snapshot.documents, snapshot.alive.nonzero()[0]
        _, one_in_each = np.unique(documents["folder"][alive], return_index=True)
        return FolderNames(catalogue.paths_of(documents.take("doc_id", alive[one_in_each]).tolist()))

    return snapshot.remember("folder names", look_up)


def facets_of(snapshot: Snapshot, admitted: Mask, names: FolderNames, *, within: str, roots: tuple[str, ...],
              now: float) -> Facets:  # fmt: skip
    """What the `admitted` documents may be narrowed to; `now` is tonight, the next midnight."""
    documents, chosen = snapshot.documents, admitted.nonzero()[0]

    def kinds() -> Ints:
        """[n_numbers] each document's type, and how many of the TIMES it is too old for, as one number."""
        n_passed = np.searchsorted(list(_reach(now).values()), age(documents["modified"], now), side="left")
        return np.asarray(n_passed + (len(TIMES) + 1) * documents["type"].astype(np.int64))

    own = snapshot.keep(("kinds", now), kinds)[chosen]
    counts = np.bincount(own, minlength=len(TYPES) * (len(TIMES) + 1)).reshape(len(TYPES), -1)
    by_type = sorted(((n, TYPES[i]) for i, n in enumerate(counts.sum(axis=1).tolist()) if n), reverse=True)
    by_age = counts.sum(axis=0).cumsum().tolist()
    numbers = snapshot.remember(("folders", names), partial(names.numbers, documents["folder"]))
    folders = names.counts(numbers[chosen], within, roots)
    return Facets(
        types=tuple(FacetCount(name, name, n) for n, name in by_type),
        folders=tuple(FacetCount(path, display_path(os.path.basename(path)), n) for path, n in folders),
        times=tuple(FacetCount(v, label, n) for (v, label, _), n in zip(TIMES, by_age, strict=False) if n),
    )


def _reach(tonight: float) -> dict[str, float]:
    """How many seconds each time reaches back from `tonight`; a day on which clocks change has 23 or 25 hours."""
    tomorrow = date.fromtimestamp(tonight)
    return {value: tonight - midnight(tomorrow - timedelta(days)) for value, _, days in TIMES}


def narrowing(snapshot: Snapshot, request: SearchRequest, folder_ids: FolderIds, *, now: float) -> Mask | None:
    """The documents that the request's facets leave; None when it sets none."""
    if not (request.type or request.folder or request.time or request.within):
        return None
    mask = snapshot.alive.copy()
    if request.within:
        mask &= snapshot.having(doc_id for folder in request.within for doc_id in folder_ids(folder))
    if request.type:
        mask &= snapshot.documents["type"] == (TYPES.index(request.type) if request.type in TYPES else -1)
    if request.time:
        mask &= age(snapshot.documents["modified"], now) <= _reach(now).get(request.time, -1.0)
    if request.folder:
        mask &= snapshot.having(folder_ids(request.folder))
    return mask
