"""What a page may be narrowed to: types, folders and times, with how many of the documents each would leave.

A narrowing is a mask over the documents.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial

import numpy as np

from app.search.reading import FolderNames
from app.search.results import FacetCount, Facets, SearchRequest
from console.printable import display_path
from indexer.documents import TYPES
from indexer.postings import Ints, Mask
from indexer.retrieval.candidates import FolderIds
from indexer.storage.snapshot import Snapshot

DAY = 86_400.0
TIMES = (("today", "today", DAY), ("week", "last 7 days", 7 * DAY), ("month", "last 30 days", 30 * DAY),
         ("year", "last 12 months", 365 * DAY))  # fmt: skip
"""value, label, and how far back it reaches in seconds"""


def facets_of(snapshot: Snapshot, admitted: Mask, names: FolderNames | None, *, within: str, roots: tuple[str, ...],
              now: float) -> Facets:  # fmt: skip
    """Facets over the admitted documents; folders only when their names are known."""
    documents, chosen = snapshot.documents, admitted.nonzero()[0]

    def kinds() -> Ints:
        """[n_numbers] the type of each and how many of the times it is too old for, in one number."""
        n_passed = np.searchsorted([seconds for _, _, seconds in TIMES], now - documents["modified"], side="right")
        return np.asarray(n_passed + (len(TIMES) + 1) * documents["type"].astype(np.int64))

    own = snapshot.keep(("kinds", now), kinds)[chosen]
    counts = np.bincount(own, minlength=len(TYPES) * (len(TIMES) + 1)).reshape(len(TYPES), -1)
    by_type = sorted(((n, TYPES[i]) for i, n in enumerate(counts.sum(axis=1).tolist()) if n), reverse=True)
    by_age = counts.sum(axis=0).cumsum().tolist()
    folders: list[tuple[str, int]] = []
    if names is not None:
        numbers = snapshot.remember(("folders", names), partial(names.numbers, documents["folder"]))
        folders = names.counts(numbers[chosen], within, roots)
    return Facets(
        types=tuple(FacetCount(name, name, n) for n, name in by_type),
        folders=tuple(FacetCount(path, display_path(os.path.basename(path)), n) for path, n in folders),
        times=tuple(FacetCount(v, label, n) for (v, label, _), n in zip(TIMES, by_age, strict=False) if n),
    )


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
        seconds: Mapping[str, float] = {value: s for value, _, s in TIMES}
        mask &= snapshot.documents["modified"] > now - seconds.get(request.time, 0.0)
    if request.folder:
        mask &= snapshot.having(folder_ids(request.folder))
    return mask
