"""The page that `search` printed last, so that `open N` knows what N was and can learn from it.

It holds document ids, features, ranks and hashed query terms; no path and no text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import msgspec
import numpy as np

from app.pick_keys import QueryKey
from app.store import Store
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError


@dataclass(frozen=True, slots=True, eq=False)
class LastPage:
    """One shown page; every sequence with one entry per result is in the order shown."""

    doc_ids: tuple[int, ...]
    """result N is doc_ids[N - 1]"""
    features: FloatMatrix
    """[n_docs, n_features] in the order shown; the page may have learned from more candidates than it printed"""
    scores: FloatVector
    """[n_docs] what it was ranked by"""
    n_shown: int
    """how many of them were printed"""
    learned_ranks: tuple[int, ...]
    """where each stood in the learned order without exploration, 1 for the first"""
    bm25_ranks: tuple[int, ...]
    query: QueryKey
    """hashed query terms"""
    manifest_hash: str
    time: float
    """seconds since the epoch"""
    opened: tuple[int, ...] = ()
    """positions (from 0) that were opened, in that order"""
    owners: tuple[int, ...] = ()
    """of an interleaved page, which team placed each result; else ()"""

    def __post_init__(self) -> None:
        n = len(self.doc_ids)
        for what, length in (
            ("features", len(self.features)),
            ("scores", len(self.scores)),
            ("learned_ranks", len(self.learned_ranks)),
            ("bm25_ranks", len(self.bm25_ranks)),
            ("owners", len(self.owners) or n),
        ):
            if length != n:
                raise ShapeError(f"{what} of a page of {n} documents must have {n} entries, not {length}")


class _Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    v: Literal[1]
    doc_ids: tuple[int, ...]
    n_features: int
    features: bytes
    scores: bytes
    n_shown: int
    learned_ranks: tuple[int, ...]
    bm25_ranks: tuple[int, ...]
    query: tuple[bytes, ...]
    manifest_hash: str
    time: float
    opened: tuple[int, ...]
    owners: tuple[int, ...]


_KEY = "last page"


def save(store: Store, page: LastPage) -> None:
    """Make this the last page."""
    record = _Record(
        v=1,
        doc_ids=page.doc_ids,
        n_features=page.features.shape[1],
        features=page.features.astype("<f4").tobytes(),
        scores=page.scores.astype("<f8").tobytes(),
        n_shown=page.n_shown,
        learned_ranks=page.learned_ranks,
        bm25_ranks=page.bm25_ranks,
        query=tuple(sorted(page.query)),
        manifest_hash=page.manifest_hash,
        time=page.time,
        opened=page.opened,
        owners=page.owners,
    )
    store.set_value(_KEY, msgspec.msgpack.encode(record))


def load(store: Store) -> LastPage | None:
    """The last page; None when there is none, or when another version of the program wrote it."""
    stored = store.value(_KEY)
    if stored is None:
        return None
    try:
        record = msgspec.msgpack.decode(stored, type=_Record)
        features = np.frombuffer(record.features, "<f4").astype(np.float64)
        return LastPage(
            doc_ids=record.doc_ids,
            features=features.reshape(len(record.doc_ids), record.n_features),
            scores=np.frombuffer(record.scores, "<f8").astype(np.float64),
            n_shown=record.n_shown,
            learned_ranks=record.learned_ranks,
            bm25_ranks=record.bm25_ranks,
            query=frozenset(record.query),
            manifest_hash=record.manifest_hash,
            time=record.time,
            opened=record.opened,
            owners=record.owners,
        )
    except (msgspec.MsgspecError, ShapeError, ValueError):
        return None  # it can be searched again; nothing that was learned is lost


def forget(store: Store) -> None:
    store.set_value(_KEY, None)
