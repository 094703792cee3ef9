"""Making vectors after the text index: in small steps, so that whoever calls can stop, wait, or do something better.

What is wanted follows from the catalogue alone: the documents whose content has no records yet. So a kill costs one
step, a changed document is new, a copy is there already, and records of contents that are gone are dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from indexer.meaning import vectors
from indexer.meaning.encoder import Encoder
from indexer.meaning.passages import passages_of
from indexer.meaning.vectors import VectorWriter, hashes, records_of
from indexer.postings import Floats
from indexer.storage.catalogue import Catalogue, Content

STEP_SECONDS = 1.0
"""of encoding between two looks at whether to go on; what a kill loses"""
DEAD_SHARE = 0.25
"""of the records may belong to contents that are gone before the file is written anew"""

Wanted = Callable[[Sequence[Content]], Floats]
"""how much each document is wanted, [n_docs]; equals go by their date"""


def newest_first(contents: Sequence[Content]) -> Floats:
    """No document is wanted more than another of its date."""
    return np.zeros(len(contents))


def _known(records: np.ndarray) -> set[bytes]:  # type: ignore[type-arg]
    return set(records["content"].view(f"V{vectors.HASH_BYTES}").tolist())


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of an index has vectors."""

    n_made: int
    """documents with vectors"""
    n_documents: int
    """documents that can have them"""


def coverage(catalogue: Catalogue, folder: Path, encoder: str, languages: frozenset[str]) -> Coverage:
    """How many of the documents that the encoder understands have vectors."""
    known = _known(vectors.read(folder, encoder))
    contents = [one for one in catalogue.contents() if understood(one, languages)]
    return Coverage(sum(one.content_hash in known for one in contents), len(contents))


def understood(content: Content, languages: frozenset[str]) -> bool:
    """Whether a document is in a language of the encoder's, or in none that was recognised."""
    return not (languages and content.language) or content.language in languages


@dataclass(slots=True)
class VectorMaker:
    """Makes what is missing, most wanted first; for one thread, and one process at a time."""

    catalogue: Catalogue
    folder: Path
    """of the index"""
    load: Callable[[], Encoder]
    """called once there is something to do"""
    wanted: Wanted = newest_first
    n_done: int = 0
    """documents that have vectors, of `n_total`"""
    n_total: int = 0
    current: str = ""
    _encoder: Encoder | None = None
    _writer: VectorWriter | None = None
    _waiting: list[Content] = field(default_factory=list)
    """the most wanted last"""
    _generation: int = -1

    def step(self, seconds: float = STEP_SECONDS) -> bool:
        """Work for about `seconds`; False when nothing is left. Raises LockedError, NoEncoder, IndexerError."""
        if self.catalogue.generation != self._generation:
            self._look()
        encoder, writer = self._encoder, self._writer
        if not self._waiting or encoder is None or writer is None:
            self.close()
            return False
        until = time.monotonic() + seconds
        made = []
        while self._waiting and time.monotonic() < until:
            content = self._waiting.pop()
            passages = passages_of(content.title, self.catalogue.text(content.doc_id))
            if passages:
                found = encoder.encode([passage.text for passage in passages])
                made.append(records_of(content.content_hash, passages, found))
            self.n_done += 1
        if made:
            writer.append(np.concatenate(made))
        return True

    def _look(self) -> None:
        """Find what is missing now, and drop what belongs to nothing any more."""
        generation = self.catalogue.generation
        encoder = self._encoder = self._encoder or self.load()
        contents = [one for one in self.catalogue.contents() if understood(one, encoder.languages)]
        if self._writer is None:
            self._writer = VectorWriter(self.folder, encoder=encoder.name, n_numbers=encoder.n_numbers)
        records = vectors.read(self.folder, encoder.name)
        known = _known(records)
        self._drop(self._writer, records, contents)
        missing = {one.content_hash: one for one in contents if one.content_hash not in known}
        self._waiting = _in_order(list(missing.values()), self.wanted)
        self.n_total = len({one.content_hash for one in contents})
        self.n_done = self.n_total - len(self._waiting)
        self._generation = generation

    def _drop(self, writer: VectorWriter, records: np.ndarray, contents: list[Content]) -> None:  # type: ignore[type-arg]
        living = np.unique(np.array([one.content_hash for one in contents], dtype=f"S{vectors.HASH_BYTES}"))
        n_dead = int(np.count_nonzero(~np.isin(hashes(records), living)))
        if n_dead > DEAD_SHARE * len(records):
            writer.keep(living)

    def close(self) -> None:
        """Give back the encoder's memory and the lock; the next step begins anew."""
        if self._writer is not None:
            self._writer.close()
        self._writer = self._encoder = None
        self._waiting = []


def _in_order(contents: list[Content], wanted: Wanted) -> list[Content]:
    """The most wanted last; of equals, the newest last."""
    shares = wanted(contents)
    modified = np.array([one.modified for one in contents])
    return [contents[i] for i in np.lexsort((modified, shares)).tolist()]
