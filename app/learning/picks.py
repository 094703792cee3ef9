"""The memory of what was opened for which query: where learning from use pays first.

One stray click must not matter, two or three deliberate picks must: strengths are S-shaped in the number of picks.
What is no longer picked fades with time (half in 60 days), and faster when something else answers the same query.
"""

from __future__ import annotations

import math
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from app.learning.pick_keys import PART_BYTES, Hasher, QueryKey, folder_of, move, pack, unpack
from app.learning.traits import FOLDER
from app.store import Store
from foltr.arrays import FloatVector
from indexer.retrieval.feature_values import Usage

D = TypeVar("D")

HALF_LIFE = 60 * 86400.0
"""seconds after which half of a pick is left"""


class PickCount(NamedTuple):
    """A number of picks that fades: `n` is what was left at time `last`, the time of the newest one."""

    n: float
    last: float


class PickedDocument(NamedTuple):
    """One row of picked_documents; every name is a keyed hash."""

    document: bytes
    path: bytes
    part: bytes
    type: bytes
    n_opened: float
    last: float


class Pick(NamedTuple):
    document: bytes
    query: bytes
    n_picks: float
    last: float


def decay(cell: PickCount | None, now: float) -> float:
    """The faded number now; 0 for None. A clock that was set back does not make it grow."""
    return 0.0 if cell is None else cell.n * float(2.0 ** (-max(now - cell.last, 0.0) / HALF_LIFE))


def strength(n: npt.ArrayLike, *, half: float) -> FloatVector:
    """n^4 / (n^4 + half^4): next to nothing for one pick, one half at `half`, below 1 always."""
    steep = np.asarray(n, dtype=np.float64) ** 4
    return np.asarray(steep / (steep + half**4))


def merge(one: PickCount | None, other: PickCount) -> PickCount:
    """Two faded numbers as one, at the later of their times."""
    if one is None:
        return other
    last = max(one.last, other.last)
    return PickCount(decay(one, last) + decay(other, last), last)


class PickTable:
    """All picks by document, query, term, folder and type."""

    def __init__(self, rows: Iterable[PickedDocument], picks: Iterable[Pick] = ()) -> None:
        self.rows = {row.document: row for row in rows}
        self.documents: dict[bytes, PickCount] = {}
        self.by_folder: dict[bytes, PickCount] = {}
        self.by_parent: dict[bytes, PickCount] = {}
        """by the folder that holds the picked document's folder"""
        self.by_type: dict[bytes, PickCount] = {}
        self.total: PickCount | None = None
        self.by_query: dict[bytes, dict[bytes, PickCount]] = {}
        self._by_term: dict[bytes, set[bytes]] = {}
        for row in self.rows.values():
            self._add_document(row, PickCount(row.n_opened, row.last))
        for pick in picks:
            self.by_query.setdefault(pick.query, {})[pick.document] = PickCount(pick.n_picks, pick.last)
            for term in unpack(pick.query):
                self._by_term.setdefault(term, set()).add(pick.query)

    @classmethod
    def read(cls, store: Store) -> PickTable:
        documents = store.rows("SELECT document, path, part, type, n_opened, last FROM picked_documents")
        picks = store.rows("SELECT document, query, n_picks, last FROM picks")
        return cls(map(PickedDocument._make, documents), map(Pick._make, picks))

    def strength_for_similar(
        self, query: QueryKey, documents: Sequence[bytes], now: float, *, half: float
    ) -> dict[bytes, float]:
        """Per document, the sum over other queries of its picks' strength times the squared share of common terms.

        The share is Jaccard's; the sum may exceed 1. Each query counts by strength, not by number of picks, so that
        one asked every day does not spread to every query that shares a word with it.
        """
        found: dict[bytes, list[float]] = {}
        shared = Counter(other for term in query for other in self._by_term.get(term, ()))
        shared.pop(pack(query), None)
        wanted = set(documents)
        for other, n_shared in shared.items():
            likeness = n_shared / (len(query) + len(unpack(other)) - n_shared)
            cells = self.by_query[other]
            for document in cells.keys() & wanted:
                own = strength(decay(cells[document], now), half=half)
                found.setdefault(document, []).append(likeness**2 * float(own))
        return {document: math.fsum(strengths) for document, strengths in found.items()}  # fsum: equal in any order

    def with_opening(self, row: PickedDocument, picks: Sequence[Pick]) -> PickTable:
        """A copy of this table (others may be reading it) after a document, now with this `row`, was opened at
        `row.last`; `picks` are now all those of the query that it answered."""
        after = PickTable(())
        vars(after).update((name, dict(of) if isinstance(of, dict) else of) for name, of in vars(self).items())
        after.rows[row.document] = row
        after._add_document(row, PickCount(1.0, row.last))
        for query in {pick.query for pick in picks}:
            after.by_query[query] = {pick.document: PickCount(pick.n_picks, pick.last) for pick in picks}
            for term in unpack(query):
                after._by_term[term] = {*after._by_term.get(term, ()), query}
        return after

    def _add_document(self, row: PickedDocument, added: PickCount) -> None:
        """Note its row, and count what was `added` by its folder and type."""
        folder = folder_of(row.path)
        self.documents[row.document] = PickCount(row.n_opened, row.last)
        self.total = merge(self.total, added)
        for table, name in ((self.by_folder, folder), (self.by_parent, folder_of(folder)), (self.by_type, row.type)):
            table[name] = merge(table.get(name), added)


RECENT_HALF_LIFE = 14 * 86400.0
"""seconds after which `opened_recently` has halved"""
RIVAL_FACTOR = 0.75
"""what is left of a query's other picks when it is answered by opening something else"""
FADED = 0.01
"""a pick of which less is left is forgotten"""
SAME_HALF = 2.0
"""picks for one query at which their strength reaches one half"""
SHARE_PRIOR = 8.0
"""picks one must have made before the share of a folder or a type reaches half of its value"""
BESIDE = 0.25
"""weight of picks from the parent folder and the folders beside, against those from the folder itself"""
FOLDERS = 3
"""how many folders above a document mark it: the nearest ones"""
MAX_PICKS = 20_000
MAX_DOCUMENTS = 10_000
MAX_COMPLETIONS = 20

Document = tuple[str, str, str]
"""path, part, type"""

_REVISION, _KEY_CHECK = "picks revision", "picks key"


class PickLog(Protocol):
    """Receives each change, within its transaction."""

    def opened(self, query: bytes, names: tuple[bytes, bytes, bytes], path: str, part: str, *, now: float) -> None: ...

    def moved(self, old: bytes, new: bytes) -> None: ...

    def forgot(self, what: Literal["picks"]) -> None: ...


class Picks:
    """The pick memory of one device. Kept as keyed hashes only; switched off, it stores nothing and knows nothing."""

    def __init__(
        self, store: Store, key: bytes, *, enabled: bool = True, place: Callable[[str], str] = str,
        log: PickLog | None = None,
    ) -> None:  # fmt: skip
        """`key` from `pick_keys.load_key`. Picks made with another key could never match again: they are erased.

        `place` gives the path to hash for the path of a file.
        """
        self._store, self._log = store, log
        self._hasher = Hasher(key, place)
        self._folders = lru_cache(maxsize=8192)(self._folder_marks)
        self.is_enabled = enabled
        self._revision: bytes | None = None
        self._table = PickTable(())
        check = self._hasher.name("check", b"", 8)
        if enabled and store.value(_KEY_CHECK) != check:
            store.erase("picks", "picked_documents")
            store.set_value(_KEY_CHECK, check)

    def query_key(self, query_terms: Sequence[str]) -> QueryKey:
        """The hashed terms of a query, to record a pick later without keeping its text."""
        return self._hasher.query(query_terms)

    def record(self, query: Sequence[str] | QueryKey, path: str, part: str, *, type: str, now: float) -> None:
        """The user opened this document for this query: stemmed terms, or their `query_key`. Durable on return."""
        if not self.is_enabled:
            return
        key = query if isinstance(query, frozenset) else self._hasher.query(query)
        hashed, hashed_part = self._hasher.path(path), self._hasher.part(part)
        document = self._hasher.document(hashed, hashed_part)
        with self._store.transaction() as db:
            found = db.execute("SELECT n_opened, last FROM picked_documents WHERE document = ?", (document,)).fetchone()
            n_opened = decay(PickCount(*found) if found else None, now) + 1.0
            row = PickedDocument(document, hashed, hashed_part, self._hasher.type(type), n_opened, now)
            db.execute("INSERT OR REPLACE INTO picked_documents VALUES (?, ?, ?, ?, ?, ?)", row)
            picks = _record_query(db, document, pack(key), now) if key else []
            if self._log:
                self._log.opened(pack(key), row[1:4], path, part, now=now)
            self._changed((row, picks) if not _forget_oldest(db) else None)

    def usage(
        self, query_terms: Sequence[str], documents: Sequence[Document], *, now: float, completions: Sequence[str] = ()
    ) -> Usage:
        """What is remembered about these candidates of this query.

        `completions` are stems that the last term may become while it is still being typed.
        """
        if not self.is_enabled or not documents:
            return Usage.zeros(len(documents))
        with self._store.lock:
            table = self._current()
            if not table.rows:
                return Usage.zeros(len(documents))
            paths = [self._hasher.path(path) for path, _, _ in documents]
            names = [
                self._hasher.document(path, self._hasher.part(part))
                for path, (_, part, _) in zip(paths, documents, strict=True)
            ]
            same, similar = self._query_strengths(table, query_terms, completions, names, now)
            opened = np.array([decay(table.documents.get(name), now) for name in names])
            recent = np.array([_recency(table.documents.get(name), now) for name in names])
            n_all = decay(table.total, now) + SHARE_PRIOR
            types = [self._hasher.type(type_) for _, _, type_ in documents]
            return Usage(
                opened=strength(opened, half=3.0),
                opened_recently=recent * strength(opened, half=1.0),
                same_query=strength(same, half=SAME_HALF),
                similar_query=similar,
                folder_share=np.array([_folder_picks(table, folder_of(path), now) for path in paths]) / n_all,
                type_share=np.array([decay(table.by_type.get(name), now) for name in types]) / n_all,
            )

    def marks(self, documents: Sequence[Document]) -> list[tuple[str, ...]]:
        """What each document is known by beside its text: its type, and the nearest of its folders, hashed.

        Without folders when switched off.
        """
        if not self.is_enabled:
            return [(type_,) for _, _, type_ in documents]
        return [(type_, *self._folders(folder_of(self._hasher.path(path)))) for path, _, type_ in documents]

    def _folder_marks(self, folder: bytes) -> tuple[str, ...]:
        above = [folder]
        while above[-1] and len(above) < FOLDERS:
            above.append(folder_of(above[-1]))
        return tuple(FOLDER + self._hasher.name("folder", one, PART_BYTES).hex() for one in above if one)

    def times(
        self, query_terms: Sequence[str], path: str, part: str, *, now: float, completions: Sequence[str] = ()
    ) -> float:
        """The faded number of times that a document was opened for exactly this query; 0 when switched off."""
        if not self.is_enabled:
            return 0.0
        with self._store.lock:
            table, hashed = self._current(), self._hasher.path(path)
            name = self._hasher.document(hashed, self._hasher.part(part))
            return float(self._query_strengths(table, query_terms, completions, [name], now)[0][0])

    def lately(self, paths: Iterable[str], parts_of: Callable[[str], Mapping[str, D]], *, limit: int) -> list[D]:
        """The documents that were opened last, the last one first, of the files at `paths`.

        `parts_of` gives the documents of a file by their parts. Only hashes are kept, so every path is tried.
        """
        if not self.is_enabled:
            return []
        with self._store.lock:
            wanted = sorted(self._current().rows.values(), key=lambda row: -row.last)[:limit]
        sought = {row.path for row in wanted}
        found: dict[bytes, D] = {}
        for path in paths if wanted else ():
            name = self._hasher.path(path)
            if name in sought:
                sought.remove(name)
                for part, document in parts_of(path).items():
                    found[self._hasher.document(name, self._hasher.part(part))] = document
                if not sought:
                    break
        return [found[row.document] for row in wanted if row.document in found]

    def rename(self, old: str, new: str) -> int:
        """Let picks follow a file or a folder that was moved; returns how many documents were concerned."""
        if not self.is_enabled:
            return 0
        before, after = self._hasher.path(old), self._hasher.path(new)
        with self._store.transaction() as db:
            table = self._current()
            concerned = [(row, move(row.path, before, after)) for row in table.rows.values()]
            renamed = [(row, path) for row, path in concerned if path is not None and path != row.path]
            for row, path in renamed:
                _rename(db, table, row, path, self._hasher.document(path, row.part))
            if renamed:
                if self._log:
                    self._log.moved(before, after)
                self._changed()
            return len(renamed)

    def clear(self) -> None:
        """Forget everything, also when switched off."""
        with self._store.transaction():
            self._store.erase("picks", "picked_documents")
            if self._log:
                self._log.forgot("picks")
            self._changed()
        self._store.erase()

    def hold(self, documents: Iterable[PickedDocument], picks: Iterable[Pick]) -> None:
        """Replace everything that is remembered by these rows."""
        if not self.is_enabled:
            return
        with self._store.transaction() as db:
            self._store.erase("picks", "picked_documents")
            db.executemany("INSERT INTO picked_documents VALUES (?, ?, ?, ?, ?, ?)", documents)
            db.executemany("INSERT INTO picks VALUES (?, ?, ?, ?)", picks)
            _forget_oldest(db)
            self._changed()

    def count(self) -> int:
        return int(self._store.rows("SELECT count(*) FROM picked_documents")[0][0])

    def _query_strengths(
        self, table: PickTable, terms: Sequence[str], completions: Sequence[str], names: Sequence[bytes], now: float
    ) -> tuple[FloatVector, FloatVector]:
        """Picks for exactly this query, and the strength of those for similar ones in [0, 1], `[n_docs]` each.

        Of several ways in which the last word may end, the one remembered best counts.
        """
        same, similar = np.zeros(len(names)), np.zeros(len(names))
        endings = [list(terms), *([*terms[:-1], stem] for stem in completions[:MAX_COMPLETIONS] if terms)]
        for ending in endings:
            key = self._hasher.query(ending)
            exact = table.by_query.get(pack(key), {})
            same = np.maximum(same, [decay(exact.get(name), now) for name in names])
            others = table.strength_for_similar(key, names, now, half=SAME_HALF)
            similar = np.maximum(similar, [others.get(name, 0.0) for name in names])
        return same, np.minimum(similar, 1.0)

    def _current(self) -> PickTable:
        """The table in memory, read again when anyone changed it (or a change was undone)."""
        revision = self._store.value(_REVISION)
        if revision != self._revision:
            self._table = PickTable.read(self._store)
            self._revision = revision
        return self._table

    def _changed(self, opening: tuple[PickedDocument, list[Pick]] | None = None) -> None:
        """Note a change: add an opening to the table in memory if that was current; after others, read it again.

        Both are done here, where a click can wait, rather than in the next query.
        """
        before, revision = self._store.value(_REVISION), os.urandom(8)
        self._store.set_value(_REVISION, revision)
        if opening is not None and before != self._revision:
            return  # others changed it, or it was never read: the next query reads it
        self._revision = revision
        if opening is None:
            self._table = PickTable.read(self._store)
        else:
            self._table = self._table.with_opening(*opening)


def _record_query(db: sqlite3.Connection, document: bytes, query: bytes, now: float) -> list[Pick]:
    """One more pick of the document for the query, and a little less of every other; returns all of that query."""
    db.execute(
        "UPDATE picks SET n_picks = n_picks * ? WHERE query = ? AND document != ?", (RIVAL_FACTOR, query, document)
    )
    db.execute("DELETE FROM picks WHERE query = ? AND n_picks < ?", (query, FADED))
    of_query = "SELECT document, query, n_picks, last FROM picks WHERE query = ?"
    picks = {pick.document: pick for pick in map(Pick._make, db.execute(of_query, (query,)))}
    before = picks.get(document)
    n_picks = decay(PickCount(before.n_picks, before.last) if before else None, now) + 1.0
    picks[document] = Pick(document, query, n_picks, now)
    db.execute("INSERT OR REPLACE INTO picks VALUES (?, ?, ?, ?)", picks[document])
    return list(picks.values())


def _forget_oldest(db: sqlite3.Connection) -> bool:
    """Keep the tables below their caps; a tenth goes at a time, so that this is rare. Returns whether any went."""
    (n_picks,) = db.execute("SELECT count(*) FROM picks").fetchone()
    if n_picks > MAX_PICKS:
        oldest = "SELECT document, query FROM picks ORDER BY last LIMIT ?"
        db.execute(f"DELETE FROM picks WHERE (document, query) IN ({oldest})", (n_picks - MAX_PICKS * 9 // 10,))
    (n_documents,) = db.execute("SELECT count(*) FROM picked_documents").fetchone()
    if n_documents > MAX_DOCUMENTS:
        oldest = "SELECT document FROM picked_documents ORDER BY last LIMIT ?"
        surplus = n_documents - MAX_DOCUMENTS * 9 // 10
        db.execute(f"DELETE FROM picked_documents WHERE document IN ({oldest})", (surplus,))
        db.execute("DELETE FROM picks WHERE document NOT IN (SELECT document FROM picked_documents)")
    return bool(n_picks > MAX_PICKS or n_documents > MAX_DOCUMENTS)


def _rename(db: sqlite3.Connection, table: PickTable, row: PickedDocument, path: bytes, new: bytes) -> None:
    """Move one document's rows to its new name, and add to its own picks what is left of them."""
    opened = merge(table.documents.get(new), PickCount(row.n_opened, row.last))
    db.execute(
        "INSERT OR REPLACE INTO picked_documents VALUES (?, ?, ?, ?, ?, ?)", (new, path, row.part, row.type, *opened)
    )
    for query, cells in table.by_query.items():
        if row.document in cells:
            n_picks = merge(cells.get(new), cells[row.document])
            db.execute("INSERT OR REPLACE INTO picks VALUES (?, ?, ?, ?)", (new, query, *n_picks))
    db.execute("DELETE FROM picked_documents WHERE document = ?", (row.document,))
    db.execute("DELETE FROM picks WHERE document = ?", (row.document,))


def _recency(cell: PickCount | None, now: float) -> float:
    return 0.0 if cell is None else float(2.0 ** (-max(now - cell.last, 0.0) / RECENT_HALF_LIFE))


def _folder_picks(table: PickTable, folder: bytes, now: float) -> float:
    """Picks from this folder, and at lower weight from its parent and the folders beside it."""
    here, parent = decay(table.by_folder.get(folder), now), folder_of(folder)
    beside = decay(table.by_folder.get(parent), now) + decay(table.by_parent.get(parent), now) - here
    return here + BESIDE * max(beside, 0.0)
