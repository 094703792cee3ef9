"""The newest commit of the index and its catalogue, kept open and replaced by a newer one."""

from __future__ import annotations

import copy
import os
import threading
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path

import numpy as np

from indexer.errors import IndexDamaged
from indexer.properties import note_key, note_names
from indexer.query.nodes import Query
from indexer.retrieval.candidates import Matcher, asked_for
from indexer.retrieval.collection_statistics import CollectionStatistics, among_others, statistics_of
from indexer.retrieval.concepts import ALONE, ConceptLookup, Frequency
from indexer.schema import TAG_FIELD
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index
from indexer.storage.snapshot import CommitName, Snapshot
from indexer.text.language import LANGUAGES, STEMMERS
from indexer.text.spelling import Vocabulary

LEAST_SHARE = 0.02
"""share of the documents below which a language stems only its own documents, not all of them"""
SPELT = ("body", "title", "name")
"""fields whose words correct misspelt ones"""
NOTHING_READ: CommitName = (-1, ())
"""stands for an index that cannot be opened"""


class Reading:
    """One commit with what is derived from it."""

    def __init__(self, snapshot: Snapshot, catalogue: Catalogue, languages: tuple[str, ...]) -> None:
        self.snapshot = snapshot
        self._catalogue = catalogue
        present = _languages(snapshot)
        self.languages = languages or _common(present)
        self.own_languages = () if languages else tuple(code for code in present if code not in self.languages)
        """the rarer languages, each of which stems only its own documents"""
        self._alone: Reading | None = None
        self.elsewhere: Mapping[str, Frequency] = ALONE
        """what other machines hold of the concepts of one query"""

    @property
    def alone(self) -> Reading:
        """The same commit without the other collections that `among_others` counts with it."""
        return self._alone or self

    def stemmed(self, languages: tuple[str, ...]) -> Reading:
        """The same commit, stemmed by these languages; its other languages count in their own documents."""
        own = copy.copy(self)
        own._alone, own.languages = self.alone, languages
        own.own_languages = tuple(code for code in _languages(self.snapshot) if code not in languages)
        return own

    def matcher(self) -> Matcher:
        written = self._catalogue.written
        lookup = ConceptLookup(self.snapshot, self.languages, written, self.own_languages, self.elsewhere)
        return Matcher(lookup, self.folder_ids, self.named_ids)

    def statistics(self, query: Query) -> CollectionStatistics:
        """The counts that another machine needs to rank for a query as if both collections were one."""
        lookup = self.matcher().lookup
        return statistics_of(self.snapshot, lookup, asked_for(query, lookup))

    def among_others(self, others: CollectionStatistics) -> Reading:
        """The same commit as a part of one collection with `others`."""
        wide = copy.copy(self)
        wide._alone, wide.elsewhere = self.alone, others.frequencies
        wide.snapshot = among_others(self.snapshot, others)
        return wide

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """All words of titles and texts with their document frequency."""
        snapshot = self.snapshot  # not `self`: that would be a cycle, which keeps an old commit in memory
        return Vocabulary(
            [own for field in SPELT for own in snapshot.term_lists(field)],
            lambda term: sum(snapshot.document_frequency(field, term) for field in SPELT),
        )

    def vocabulary_of(self, doc_ids: Iterable[int]) -> Vocabulary:
        """The words of these documents; it tells nothing of any other document."""
        snapshot, narrow = self.snapshot, self.snapshot.having(doc_ids)
        return Vocabulary(
            self.vocabulary.lists,
            lambda term: sum(int(narrow[snapshot.postings(field, term).docs].sum()) for field in SPELT),
        )

    def folder_ids(self, folder: str) -> set[int]:
        """The documents in a folder, whether its name is written with composed letters or as a Mac writes it."""
        place = os.path.normpath(os.path.expanduser(folder))
        spelt = {place, *(unicodedata.normalize(form, place) for form in ("NFC", "NFD"))}
        try:
            return {doc_id for one in spelt for doc_id in self._catalogue.doc_ids_below(one)}
        except UnicodeEncodeError:
            return set()  # no file has such a name

    def named_ids(self, kind: str, name: str) -> set[int]:
        """The mails of a thread, or the notes that link to the one with that title, file name, alias or id."""
        if kind == "thread":
            return self._catalogue.doc_ids_of_thread(name)
        called = self._marked(f"called={note_key(name)}")
        notes = self._catalogue.documents(called).values()
        keys = {note_key(name)}.union(*(note_names(note.path, note.title, note.properties) for note in notes))
        return set().union(*(self._marked(f"link={key}") for key in keys)) - set(called)

    def _marked(self, mark: str) -> list[int]:
        """The documents with a mark."""
        ids: list[int] = self.snapshot.documents["doc_id"][self.snapshot.postings(TAG_FIELD, mark).docs].tolist()
        return ids


def _languages(snapshot: Snapshot) -> dict[str, int]:
    """The languages of the living documents with how many are in each, the most frequent first."""
    counts = np.bincount(snapshot.documents["language"][snapshot.alive], minlength=len(LANGUAGES))
    order = sorted(range(1, len(LANGUAGES)), key=lambda i: -counts[i])
    return {LANGUAGES[i]: int(counts[i]) for i in order if counts[i] and LANGUAGES[i] in STEMMERS}


def _common(present: dict[str, int]) -> tuple[str, ...]:
    """The languages by which all documents are stemmed, also those whose language was not recognised."""
    least = LEAST_SHARE * sum(present.values())
    return tuple(code for code, n in present.items() if n >= least) or ("en",)


def language_codes(names: list[str]) -> tuple[str, ...]:
    """Codes of languages given as codes or English names; unknown ones are passed over."""
    by_name = {name: code for code, name in STEMMERS.items()}
    wanted = [by_name.get(name.lower(), name.lower()) for name in names]
    return tuple(code for code in wanted if code in STEMMERS)


class Reader:
    """Opens readings of an index folder that another process may be writing."""

    def __init__(self, folder: Path, catalogue: Catalogue, *, languages: tuple[str, ...] = ()) -> None:
        self._folder, self._catalogue, self._languages = folder, catalogue, languages
        self._lock = threading.Lock()
        self.trouble = ""
        """why the index could not be opened, as one line; it is then treated as empty until it is rebuilt"""
        self.reading = self._open()

    def _open(self) -> Reading:
        try:
            snapshot = Index.open(self._folder).snapshot()
            self.trouble = ""
        except IndexDamaged as error:
            self.trouble = str(error)
            snapshot = Snapshot([], generation=NOTHING_READ[0])
        return Reading(snapshot, self._catalogue, self._languages)

    def refresh(self) -> bool:
        """Open the newest commit when there is a newer one than ours; searches under way keep the old one."""
        with self._lock:
            try:
                newest = Index.open(self._folder).commit_name
            except IndexDamaged:
                newest = NOTHING_READ
            if newest == self.reading.snapshot.commit_name:
                return False
            self.reading = self._open()
            return True
