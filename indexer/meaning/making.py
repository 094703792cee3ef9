"""Making vectors after the text index, in small steps, so that the caller can stop, wait, or do something better.

What is wanted follows from the index alone: the documents whose content has no records yet, and then the long ones
without windows. So a kill costs one step or the document in hand, a changed document is new, a copy is there already,
and the records of contents that are gone are wiped.

Texts become vectors in a process of its own with one thread. It loads the encoder, gives up its rights
(indexer.confined.confinement), and then takes texts and gives vectors over a pipe until its parent is gone. So neither
a foreign model nor a text that breaks what runs it can read a file, reach a network or start anything.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import numpy as np

from indexer.confined.confinement import available, confine_reader, end_with_parent
from indexer.confined.pool import how_it_ended, start_process
from indexer.confined.reading_process import become_quiet, let_go, limit_cpu, limit_memory
from indexer.errors import IndexerError
from indexer.meaning import vectors
from indexer.meaning.encoder import EncodingFailed, Kind, NoEncoder, SentenceEncoder
from indexer.meaning.vectors import (
    LONG,
    Passage,
    VectorWriter,
    encodable_documents,
    passages_of,
    records_of,
    windows_of,
    without_vectors,
)
from indexer.postings import Floats, Ints, Rows, Vectors
from indexer.storage.catalogue import Catalogue
from indexer.storage.index import Index

MEMORY_MB = 1_024
"""of address space that texts may add to that of the loaded encoder"""
SECONDS = 120.0
"""processor time for the texts of one call"""

PATIENCE = 1.0
"""seconds for a process to be gone whose line is"""
MAX_ANSWER = 1 << 22
"""bytes of the vectors of one call"""


class EncodingProcess:
    """The parent's side; for one thread."""

    def __init__(self, load: Callable[[], SentenceEncoder]) -> None:
        """`load` can be named across processes; NoEncoder when it raises that."""
        self._n_numbers = 0  # as many as the first vector has
        self._line, end = Pipe()
        self._process = start_process(work, load, end, from_copy=True)
        end.close()
        if why := self._answer().decode():
            self.close()
            raise NoEncoder(why)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """As the encoder's; EncodingFailed when there is no answer, and then this process is of no more use."""
        try:
            self._line.send_bytes(msgspec.msgpack.encode(list(texts)))
        except OSError as error:
            raise self._ended() from error
        answer = self._answer()
        vectors = np.frombuffer(answer[: len(answer) // 4 * 4], dtype=np.float32)
        self._n_numbers = self._n_numbers or vectors.size // len(texts)
        if vectors.size != self._n_numbers * len(texts) or not vectors.size or not np.isfinite(vectors).all():
            raise EncodingFailed(f"the encoder gave {len(answer)} bytes for {len(texts)} texts, which are no vectors")
        return vectors.reshape(len(texts), -1)

    def _answer(self) -> bytes:
        try:
            return self._line.recv_bytes(MAX_ANSWER)
        except (EOFError, OSError) as error:
            raise self._ended() from error

    def _ended(self) -> EncodingFailed:
        self._process.join(PATIENCE)
        return EncodingFailed(f"the encoder's process ended: {how_it_ended(self._process.exitcode)[1]}")

    def close(self) -> None:
        """End it now."""
        self._line.close()
        self._process.kill()
        self._process.join()
        self._process.close()


def work(load: Callable[[], SentenceEncoder], line: Connection) -> None:
    """Answer with "" or why there is no encoder, then with the vectors of each list of texts; the process's entry."""
    if sys.platform == "linux":
        let_go({line.fileno()})
        end_with_parent()
    become_quiet()
    try:
        encoder = load()
    except NoEncoder as error:
        line.send_bytes(str(error).encode())
        return
    if available():
        confine_reader(["indexer"])  # there is one thread: neither numpy nor the encoder has begun another
    limit_memory(MEMORY_MB)
    line.send_bytes(b"")
    try:
        while True:
            texts = msgspec.msgpack.decode(line.recv_bytes(), type=list[str])
            limit_cpu(time.process_time() + SECONDS)
            line.send_bytes(encoder.encode(texts).tobytes())
    except (EOFError, OSError):
        return


STEP_SECONDS = 0.5
"""of encoding between two looks at whether to go on; what a kill loses, with a long document in hand"""
AT_ONCE = 16
"""texts that are encoded between two looks at the clock"""
DEAD_SHARE = 0.25
"""of the records may be of contents that are gone, and zeros, before the file is written anew"""
MAX_ENDED = 3
"""documents in a row at which the encoder's process may end before it is the encoder that is at fault"""

Wanted = Callable[[Ints], Floats]
"""document ids [n] -> how much each is wanted [n]; equals go by their date"""


class _Work(msgspec.Struct):
    """One document to be encoded, and how far that is."""

    doc_id: int
    content: int
    cut: Callable[[str, str], list[Passage]]
    is_last: bool
    """nothing else of this document is to be encoded"""
    path: str = ""
    passages: list[Passage] = msgspec.field(default_factory=list)
    made: list[Vectors] = msgspec.field(default_factory=list)


class VectorMaker(msgspec.Struct):
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
    failed: dict[str, str] = msgspec.field(default_factory=dict)
    """files with a text that could not be encoded, and why; they are tried again by the next maker"""
    _encoder: EncodingProcess | None = None
    _n_ended: int = 0
    """processes in a row that ended at a text"""
    _writer: VectorWriter | None = None
    _waiting: list[_Work] = msgspec.field(default_factory=list)
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
        rows = encodable_documents(Index.open(self.folder).snapshot(), self.kind)
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
        without, long = without_vectors(rows, records)
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
