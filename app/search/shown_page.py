"""A page from the moment it is shown until it is left, with what was opened on it (app.search.page_clicks).

The last one that the command line printed is stored, so that `open N` knows what N was and can learn from it: document
ids, features, ranks, line numbers, types, hashed folders and query terms; no path and no text.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np

from app.learning.pick_keys import QueryKey
from app.store import Store
from foltr.arrays import FloatMatrix, FloatVector
from foltr.errors import ShapeError


class PageRecord(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """What is stored of a page as it is; every sequence with one entry per result is in the order shown."""

    doc_ids: tuple[int, ...]
    """result N is doc_ids[N - 1]"""
    n_shown: int
    """how many of them were printed"""
    learned_ranks: tuple[int, ...]
    """where each stood in the learned order without exploration, 1 for the first"""
    bm25_ranks: tuple[int, ...]
    manifest_hash: str
    time: float
    """seconds since the epoch"""
    opened: tuple[int, ...] = ()
    """positions (from 0) that were opened, in that order"""
    owners: tuple[int, ...] = ()
    """of an interleaved page, which team placed each result; else ()"""
    places: tuple[tuple[int, int], ...] = ()
    """(line, page) of the passages printed for the first results, 0 where unknown"""
    marks: tuple[tuple[str, ...], ...] = ()
    """type and hashed folders of each (app.learning.traits); () where unknown"""
    machines: tuple[str, ...] = ()
    """of a page of several machines, which holds each result, "" for this one"""
    queries: dict[str, bytes] = {}
    """machine -> what names the query there"""


class ShownPage(PageRecord, frozen=True, eq=False, kw_only=True):
    """One shown page."""

    features: FloatMatrix
    """[n_docs, n_features] in the order shown; the page may have learned from more candidates than it printed"""
    scores: FloatVector
    """[n_docs] what it was ranked by"""
    query: QueryKey
    """hashed query terms"""
    beyond: FloatVector | None = None
    """[n_docs] points that the page's kind added to those of the text ranker; None for a page of texts"""

    def __post_init__(self) -> None:
        n = len(self.doc_ids)
        for what, length in (
            ("features", len(self.features)),
            ("scores", len(self.scores)),
            ("learned_ranks", len(self.learned_ranks)),
            ("bm25_ranks", len(self.bm25_ranks)),
            ("owners", len(self.owners) or n),
            ("marks", len(self.marks) or n),
            ("machines", len(self.machines) or n),
            ("beyond", n if self.beyond is None else len(self.beyond)),
        ):
            if length != n:
                raise ShapeError(f"{what} of a page of {n} documents must have {n} entries, not {length}")


KEPT_PAGES = 50
"""pages from which results can still be opened, and which can still be left"""


class OpenPages:
    """The pages shown last, by the numbers that they get here; safe to call from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ids = itertools.count(1)
        self._pages: dict[int, ShownPage] = {}

    def add(self, page: ShownPage) -> int:
        """The number of one more page; the oldest is forgotten."""
        with self._lock:
            page_id = next(self._ids)
            self._pages[page_id] = page
            if len(self._pages) > KEPT_PAGES:
                del self._pages[next(iter(self._pages))]
            return page_id

    def of(self, page_id: int) -> ShownPage | None:
        with self._lock:
            return self._pages.get(page_id)

    def all(self) -> tuple[ShownPage, ...]:
        with self._lock:
            return tuple(self._pages.values())

    def change(self, page_id: int, change: Callable[[ShownPage], ShownPage]) -> bool:
        """Put what `change` makes of a page in its place; False where it is no longer open."""
        with self._lock:
            if page_id not in self._pages:
                return False
            self._pages[page_id] = change(self._pages[page_id])
            return True

    def take(self, page_id: int) -> ShownPage | None:
        """Take the page out: it is no longer open."""
        with self._lock:
            return self._pages.pop(page_id, None)


class _Record(PageRecord, frozen=True, forbid_unknown_fields=True, kw_only=True):
    v: Literal[1]
    n_features: int
    features: bytes
    scores: bytes
    query: tuple[bytes, ...]
    beyond: bytes | None = None


_KEY = "last page"


def encode_shown(page: ShownPage) -> bytes:
    """The page as it is stored, and as one process gives it to another."""
    record = _Record(
        v=1, n_features=page.features.shape[1], features=page.features.astype("<f4").tobytes(),
        scores=page.scores.astype("<f8").tobytes(), query=tuple(sorted(page.query)),
        beyond=None if page.beyond is None else page.beyond.astype("<f8").tobytes(),
        **{name: getattr(page, name) for name in PageRecord.__struct_fields__},
    )  # fmt: skip
    return msgspec.msgpack.encode(record)


def save_shown(store: Store, page: ShownPage) -> None:
    """Make this the last page."""
    store.set_value(_KEY, encode_shown(page))


def load_shown(store: Store) -> ShownPage | None:
    """The last page; None when there is none, or when another version of the program wrote it."""
    stored = store.value(_KEY)
    return None if stored is None else decode_shown(stored)


def decode_shown(stored: bytes) -> ShownPage | None:
    """A page from its bytes; None for what is none, or of another version of the program."""
    try:
        record = msgspec.msgpack.decode(stored, type=_Record)
        features = np.frombuffer(record.features, "<f4").astype(np.float64)
        return ShownPage(
            features=features.reshape(len(record.doc_ids), record.n_features),
            scores=np.frombuffer(record.scores, "<f8").astype(np.float64), query=frozenset(record.query),
            beyond=None if record.beyond is None else np.frombuffer(record.beyond, "<f8").astype(np.float64),
            **{name: getattr(record, name) for name in PageRecord.__struct_fields__},
        )  # fmt: skip
    except (msgspec.MsgspecError, ShapeError, ValueError):
        return None  # it can be searched again; nothing that was learned is lost


def forget_shown(store: Store) -> None:
    store.set_value(_KEY, None)
