"""Making vectors after the text index: in small steps, so that whoever calls can stop, wait, or do something better.

What is wanted follows from the index alone: the documents whose content has no records yet, and then the long ones
without windows. So a kill costs one step or the document in hand, a changed document is new, a copy is there already,
and the records of contents that are gone are wiped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from indexer.errors import IndexerError
from indexer.meaning import vectors
from indexer.meaning.encoder import EncodingFailed, Kind
from indexer.meaning.vectors import Passage, VectorWriter, passages_of, records_of, windows_of
from indexer.postings import Floats, Ints, Mask, Rows, Vectors
from indexer.schema import DOCUMENT
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index
from indexer.storage.snapshot import Snapshot
from indexer.text.language import LANGUAGES

if TYPE_CHECKING:
    from indexer.meaning.encoding_process import EncodingProcess  # who counts what is made needs no processes

STEP_SECONDS = 0.5
"""of encoding between two looks at whether to go on; what a kill loses, with a long document in hand"""
AT_ONCE = 16
"""texts that are encoded between two looks at the clock"""
LONG = 600
"""words of a text from which on it has windows: more than its passages hold"""
DEAD_SHARE = 0.25
"""of the records may be of contents that are gone, and zeros, before the file is written anew"""
MAX_ENDED = 3
"""documents in a row at which the encoder's process may end before it is the encoder that is at fault"""

UNDERSTOOD = np.dtype(
    [(name, DOCUMENT[name]) for name in ("doc_id", "modified", "content", "language", "n_body", "n_title")]
)
"""the columns that say what can be read for its meaning"""

Wanted = Callable[[Ints], Floats]
"""document ids [n] -> how much each is wanted [n]; equals go by their date"""


def understood(snapshot: Snapshot, kind: Kind) -> Rows:
    """The living documents with words that the encoder may know, each content once, the newest first.

    Their language is one of the encoder's, or none that was recognised; of copies the newest stands for all.
    """
    rows = np.empty(snapshot.n_documents, dtype=UNDERSTOOD)
    for name in UNDERSTOOD.names or ():
        rows[name] = snapshot.documents[name][snapshot.alive]
    rows = rows[rows["n_body"] + rows["n_title"] > 0]
    if kind.languages:
        codes = [LANGUAGES.index(code) for code in kind.languages]
        rows = rows[np.isin(rows["language"], codes if kind.is_across else [0, *codes])]
    if kind.is_across and np.unique(rows["language"]).size < 2:
        rows = rows[:0]
    rows = rows[np.lexsort((rows["doc_id"], -rows["modified"]))]
    first = np.unique(rows["content"], return_index=True)[1]
    found: Rows = rows[np.sort(first)]
    return found


def n_with_vectors(snapshot: Snapshot, folder: Path, kind: Kind) -> tuple[int, int]:
    """How many different documents have vectors, and how many can have them."""
    rows = understood(snapshot, kind)
    waiting = np.logical_or(*_unmade(rows, vectors.read(folder, kind.name)))
    return len(rows) - int(np.count_nonzero(waiting)), len(rows)


def _unmade(rows: Rows, records: Rows) -> tuple[Mask, Mask]:
    """Which of the documents have no passages yet, and which of the long ones no windows."""
    content, is_window = np.array(records["content"]), np.array(records["place"]) >= 0
    without = ~np.isin(rows["content"], content[~is_window])
    return without, (rows["n_body"] > LONG) & ~np.isin(rows["content"], content[is_window])


@dataclass(slots=True)
class _Work:
    """One document to be encoded, and how far that is."""

    doc_id: int
    content: int
    cut: Callable[[str, str], list[Passage]]
    is_last: bool
    """nothing else of this document is to be encoded"""
    path: str = ""
    passages: list[Passage] = field(default_factory=list)
    made: list[Vectors] = field(default_factory=list)


@dataclass(slots=True)
class VectorMaker:
    """Makes what is missing, most wanted first; for one thread."""

    catalogue: Catalogue
    folder: Path
    """of the index"""
    kind: Kind
    start: Callable[[], EncodingProcess]
    """called when there is something to encode"""
    wanted: Wanted = lambda doc_ids: np.zeros(len(doc_ids))
    most_long: int | None = None
    """long documents that get windows, the most wanted ones; None for all, 0 for those of an encoder without any"""
    vectors_in: Path | None = None
    """the folder of the vectors, if that is another one"""
    n_done: int = 0
    """documents that have vectors, of `n_total`"""
    n_total: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    """files with a text that could not be encoded, and why; they are tried again by the next maker"""
    _encoder: EncodingProcess | None = None
    _n_ended: int = 0
    """processes in a row that ended at a text"""
    _writer: VectorWriter | None = None
    _waiting: list[_Work] = field(default_factory=list)
    """the most wanted last"""
    _now: _Work | None = None
    _generation: int = -1
    """of the index that was looked at last"""

    def step(self, seconds: float = STEP_SECONDS) -> bool:
        """Work for about `seconds`; False when nothing is left to do.

        Raises LockedError while another process makes vectors, NoEncoder when the encoder cannot be loaded,
        EncodingFailed when it ended at `MAX_ENDED` documents in a row.
        """
        if self.catalogue.generation != self._generation:
            self._look()
        if not (self._waiting or self._now) or self._writer is None:
            self.close()
            return False
        until, made = time.monotonic() + seconds, list[Rows]()
        while (self._waiting or self._now) and time.monotonic() < until:
            made += self._go_on()
        if made:
            self._writer.append(np.concatenate(made))
        return True

    def _go_on(self) -> list[Rows]:
        """Some of the document in hand, or the next one; its records when they are whole, and its file noted if not."""
        work, self._now = self._now, None
        try:
            if work is None:
                work = self._begun(self._waiting.pop())
            texts = [one.text for one in work.passages[AT_ONCE * len(work.made) :][:AT_ONCE]]
            if texts:
                work.made.append(self._encode(texts))
            if AT_ONCE * len(work.made) < len(work.passages):
                self._now = work
                return []
            self.n_done += work.is_last
            return [records_of(work.content, work.passages, np.concatenate(work.made))] if work.made else []
        except EncodingFailed as error:
            self._stop_encoder()
            self._n_ended += 1
            if self._n_ended >= MAX_ENDED:
                raise
            why = str(error)
        except (IndexerError, OSError):
            raise
        except Exception as error:  # whatever is odd about one text, the others go on
            why = f"{type(error).__name__}: {error}"
        self.failed[work.path if work else ""] = why[:200]
        self.n_done += work.is_last if work else 0
        return []

    def _begun(self, work: _Work) -> _Work:
        if row := self.catalogue.documents([work.doc_id]).get(work.doc_id):
            work.path = row.path
            work.passages = work.cut(row.title, self.catalogue.text(work.doc_id))
        return work

    def _encode(self, texts: list[str]) -> Vectors:
        if self._encoder is None:
            self._encoder = self.start()
        vectors = self._encoder.encode(texts)
        self._n_ended = 0
        return vectors

    def _stop_encoder(self) -> None:
        if self._encoder is not None:
            self._encoder.close()
        self._encoder = None

    def close(self) -> None:
        """Let others write, and end the encoder's process; what waits is looked for again."""
        self._stop_encoder()
        if self._writer is not None:
            self._writer.close()
        self._writer = None
        if self._waiting or self._now:
            self._waiting, self._now, self._generation = [], None, -1

    def _look(self) -> None:
        """Find what is missing now, and drop what belongs to nothing any more, once the index is whole."""
        generation = self.catalogue.generation
        folder = self.vectors_in or self.folder
        if self._writer is None:
            self._writer = VectorWriter(folder, self.kind.name)
        rows = understood(Index.open(self.folder).snapshot(), self.kind)
        records = vectors.read(folder, self.kind.name)
        made = records["content"]
        dead = ~np.isin(made, rows["content"])
        if not self.catalogue.is_whole:
            pass  # it is being made anew, beside this process or by one that was killed
        elif np.count_nonzero(dead) > DEAD_SHARE * len(made):
            self._writer.keep(rows["content"])
        else:
            self._writer.wipe(dead)
        rows = rows[np.argsort(-self.wanted(rows["doc_id"]), kind="stable")][::-1]
        without, long = _unmade(rows, records)
        long &= self.most_long != 0
        self._now, self._waiting = None, [
            _Work(row["doc_id"], row["content"], cut, cut is windows_of or row["n_body"] <= LONG or self.most_long == 0)
            for chosen, cut in ((rows[long][::-1][: self.most_long][::-1], windows_of), (rows[without], passages_of))
            for row in _as_dicts(chosen)
        ]  # fmt: skip
        self.n_done, self.n_total = len(rows) - int(np.count_nonzero(without | long)), len(rows)
        self._generation = generation


def _as_dicts(rows: Rows) -> Iterator[dict[str, int]]:
    names = ("doc_id", "content", "n_body")
    return (dict(zip(names, one, strict=True)) for one in zip(*(rows[name].tolist() for name in names), strict=True))
