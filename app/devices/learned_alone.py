"""What a device learned alone, renamed as the others name it when the device becomes one of several.

Hashes cannot be read, so each word, file and folder of the index is hashed with both keys, and what is known under the
old name is then known under the new one. What the index no longer holds is left behind; so is a page that a group may
still learn from if its query cannot be renamed, for it would count as another query's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import datetime, time

import msgspec

from app.devices.naming import Naming, hashed_content
from app.devices.record_log import RecordLog
from app.devices.records import Lesson, Opened, told_as_lessons
from app.learning.model_versions import load
from app.learning.pick_keys import PART_BYTES, TERM_BYTES, Hasher, pack, unpack
from app.learning.picks import PickTable
from app.learning.traits import FOLDER
from app.learning.votes import Vote
from app.search.shown_page import forget_shown
from app.store import Store
from indexer.storage.catalogue import Catalogue


class Renaming(msgspec.Struct, frozen=True):
    """From names by one key to names by another."""

    old: Hasher
    new: Hasher
    terms: dict[bytes, bytes] | None
    """None where words keep their names"""
    folders: dict[str, str]

    @classmethod
    def between(cls, old: Naming, new: Naming, words: Iterable[str], folders: Iterable[str]) -> Renaming:
        """For the stems of an index and its folders."""
        before, after = Hasher(old.key, old.place), Hasher(new.key, new.place)
        terms = None
        if old.key != new.key:
            terms = {before.name("term", word, TERM_BYTES): after.name("term", word, TERM_BYTES)
                     for word in (word.encode("utf-8", "surrogatepass") for word in words)}  # fmt: skip
        return cls(before, after, terms, {_mark(before, one): _mark(after, one) for one in folders})

    def query(self, packed: bytes) -> bytes | None:
        """The query by its new name; None where a word of it is unknown."""
        if self.terms is None:
            return packed
        found = [self.terms.get(term) for term in unpack(packed)]
        return None if None in found else pack(frozenset(term for term in found if term))

    def mark(self, mark: str) -> str | None:
        return self.folders.get(mark) if mark.startswith(FOLDER) else mark


def _mark(hasher: Hasher, folder: str) -> str:
    return FOLDER + hasher.name("folder", hasher.path(folder), PART_BYTES).hex()


def folders_above(paths: Iterable[str]) -> set[str]:
    """Every folder above any of these paths."""
    found: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in found:
            found.add(folder)
            folder = os.path.dirname(folder)
    return found


def bring(store: Store, log: RecordLog, catalogue: Catalogue, renaming: Renaming) -> None:
    """Write what this state has learned as records; its pages are renamed in place."""
    with store.transaction():
        for happened, opened in sorted(_openings(store, catalogue, renaming), key=lambda one: one[0]):
            log.add(opened, happened=happened)
        for lesson in _lessons(store, renaming):
            noon = datetime.combine(datetime.fromordinal(lesson.vote.day or 1), time(12)).timestamp()
            log.add(lesson, happened=noon)
        _name_pages(store, renaming)
        forget_shown(store)


def _openings(store: Store, catalogue: Catalogue, renaming: Renaming) -> Iterator[tuple[float, Opened]]:
    table, old, new = PickTable.read(store), renaming.old, renaming.new
    documents: dict[bytes, Opened] = {}
    sql = "SELECT f.path, d.part, d.type, d.content_hash FROM documents d JOIN files f USING (file_id)"
    for path, part, type_, content in catalogue.connection.execute(sql):
        place = os.fsdecode(path)
        name = old.document(old.path(place), old.part(part))
        if row := table.rows.get(name):
            names = new.path(place), new.part(part), new.type(type_)
            documents[name] = Opened(b"", *names, hashed_content(new, content), row.n_opened, 0.0)
            yield row.last, documents[name]
    for packed, cells in table.by_query.items():
        query = renaming.query(packed)
        for name in cells.keys() & documents.keys() if query else ():
            n_picks, last = cells[name]
            yield last, msgspec.structs.replace(documents[name], query=query, n_opened=0.0, n_picks=n_picks)


def _lessons(store: Store, renaming: Renaming) -> list[Lesson]:
    model, votes = load(store, "linear"), list[Vote]()
    for vote in model.votes.votes if model else ():
        said = {mark: vote.said[name] for name in vote.said if (mark := renaming.mark(name))}
        votes.append(Vote(renaming.query(vote.query) or b"", vote.day, said))
    return told_as_lessons(votes, model.n_pages, model.n_picks) if model else []


def _name_pages(store: Store, renaming: Renaming) -> None:
    for number, query, marks in store.rows("SELECT id, query, marks FROM interactions"):
        own = msgspec.msgpack.decode(marks, type=list[list[str]]) if marks else []
        named = [[mark for old in one if (mark := renaming.mark(old))] for one in own]
        with store.transaction() as db:
            if (renamed := renaming.query(query)) is None:
                db.execute("DELETE FROM interactions WHERE id = ?", (number,))
            else:
                packed = msgspec.msgpack.encode(named) if named else b""
                db.execute("UPDATE interactions SET query = ?, marks = ? WHERE id = ?", (renamed, packed, number))
