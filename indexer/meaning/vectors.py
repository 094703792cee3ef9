"""The vectors of all passages, in one file beside the index.

    HEADER: what it is, the encoder's name, numbers a vector, records that are durable
    record: the content of its document as the index names it, [start, end) of the passage in the text, the place of a
            window (-1: a passage), a scale, int8 [n_numbers]; the passages of one content stand together

Records are appended and made durable before the header counts them, so that whatever a kill leaves behind them is cut
off by the next writer. Copies share their records, for they share the content. Readers map the file and keep what
they mapped; dropping records writes a new file over the old name, and few of them become zeros in their places.

The passages of a document that stand for its meaning: about 70 words each, the title in front, at most eight.

A text of up to eight passages is cut evenly and whole; of a longer one, eight of 70 words are taken at even distances,
the first words and the last ones among them. Its windows are the same for all of it, as many as that takes.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from console.durable import replace_durably
from indexer.errors import IndexerError, LockedError
from indexer.postings import Ints, Mask, Rows, Vectors
from indexer.schema import DOCUMENT
from indexer.storage.file_lock import FileLock
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import sequence
from indexer.text.language import LANGUAGES

if TYPE_CHECKING:
    from indexer.meaning.encoder import Kind  # who writes the index needs no encoder

WORDS = 70
"""of one passage"""
MAX_PASSAGES = 8
MAX_WINDOWS = 256
"""of one document; of a longer one, so many stand at even distances"""
TITLE_LETTERS = 200
VERSION = 2
"""raise it when other passages are cut: all vectors are then made anew"""
_MAX_WORD = 60
_SIGNS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"


class Passage(NamedTuple):
    start: int
    end: int
    """[start, end) in the document's text"""
    text: str
    """what is encoded: the title, then the words"""
    place: int = -1
    """of a window, the position of its first word among those of the index; -1 for a passage"""


@cache
def _word() -> re.Pattern[str]:
    """A word, a sign of Chinese, Japanese or Korean, or a piece of a very long word: what fits an encoder."""
    return re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]{{1,{_MAX_WORD}}}")


def passages_of(title: str, text: str) -> list[Passage]:
    """The passages of one document, in their order in it; none for a document without any word."""
    words = _spans(text)
    title = title[:TITLE_LETTERS].strip()
    if title and not words:
        return [Passage(0, 0, title)]
    return _passages(title, text, words, _cuts(len(words), MAX_PASSAGES))


def windows_of(title: str, text: str) -> list[Passage]:
    """The windows of one document, in their order in it; none for a document without any word."""
    words = _spans(text)
    cuts = _cuts(len(words), MAX_WINDOWS)
    found, place, end = list[Passage](), 0, 0
    for one in _passages(title[:TITLE_LETTERS].strip(), text, words, cuts if words else []):
        place, end = place + len(sequence(text[end : one.start])), one.start
        found.append(one._replace(place=place))
    return found


def _spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _word().finditer(text)]


def _passages(title: str, text: str, words: list[tuple[int, int]], cuts: list[tuple[int, int]]) -> list[Passage]:
    found: list[Passage] = []
    for first, last in cuts if words else ():
        start, end = words[first][0], words[last - 1][1]
        found.append(Passage(start, end, f"{title}. {text[start:end]}" if title else text[start:end]))
    return found


def _cuts(n_words: int, most: int) -> list[tuple[int, int]]:
    """[first, last) words of each passage, at most so many."""
    n = max(round(n_words / WORDS), 1)
    return [(n_words * i // n, n_words * (i + 1) // n) for i in range(n)] if n <= most else _apart(n_words, most)


def _apart(n_words: int, n: int) -> list[tuple[int, int]]:
    """`n` parts of `WORDS` words, the first and the last ones among them."""
    return [(at, at + WORDS) for at in ((n_words - WORDS) * i // (n - 1) for i in range(n))]


FILE = "meaning.vectors"
LOCK = "meaning.lock"
HEADER = np.dtype([
    ("magic", "S16"), ("encoder", "S32"), ("n_numbers", "<u4"), ("passages", "<u4"), ("n_records", "<u8"),
])  # fmt: skip
MAGIC = b"foltr-meaning 1"


def record_type(n_numbers: int) -> np.dtype[np.void]:
    return np.dtype([
        ("content", "<i8"), ("start", "<u4"), ("end", "<u4"), ("place", "<i4"), ("scale", "<f4"),
        ("vector", "i1", (n_numbers,)),
    ])  # fmt: skip


def no_records() -> Rows:
    """What a file holds that is not there."""
    return np.zeros(0, dtype=record_type(1))


def records_of(content: int, passages: Sequence[Passage], vectors: Vectors) -> Rows:
    """The records of one document; `vectors` [n_passages, n_numbers] keep 127 steps of their largest number."""
    made = np.zeros(len(passages), dtype=record_type(vectors.shape[1]))
    made["content"] = content
    for name in ("start", "end", "place"):
        made[name] = [getattr(one, name) for one in passages]
    scale = np.maximum(np.abs(vectors).max(axis=1), 1e-12) / 127
    made["scale"], made["vector"] = scale, np.rint(vectors / scale[:, None])
    return made


def read(folder: Path, encoder: str) -> Rows:
    """The durable records, mapped; none where this encoder made none."""
    try:
        with open(folder / FILE, "rb") as file:
            header = _header(file.read(HEADER.itemsize))
            if header is None or header["encoder"] != encoder.encode() or header["passages"] != VERSION:
                return no_records()
            dtype = record_type(int(header["n_numbers"]))
            n = min(int(header["n_records"]), (os.fstat(file.fileno()).st_size - HEADER.itemsize) // dtype.itemsize)
            return np.memmap(file, dtype, "r", HEADER.itemsize, (n,)) if n else np.zeros(0, dtype=dtype)
    except FileNotFoundError:
        return no_records()


def _header(content: bytes) -> Any:
    if len(content) < HEADER.itemsize:
        return None
    header = np.frombuffer(content, HEADER)[0]
    return header if header["magic"] == MAGIC else None


def state_of(folder: Path) -> tuple[int, int]:
    """What changes when the file does; (0, 0) where there is none."""
    try:
        found = os.stat(folder / FILE)
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, found.st_size


def destroy(folder: Path) -> None:
    (folder / FILE).unlink(missing_ok=True)


class VectorWriter:
    """The one writer of a folder's vectors, under a lock of its own."""

    def __init__(self, folder: Path, encoder: str) -> None:
        """Raises LockedError while another process writes vectors; what another encoder made is thrown away."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self._folder, self._encoder = folder, encoder
        self._lock = FileLock(folder / LOCK)
        if not self._lock.take():
            self._lock.close()
            raise LockedError("another process is making the vectors of meaning")
        for path in folder.glob(f"{FILE}.*"):  # unfinished
            path.unlink(missing_ok=True)
        self._records = read(folder, encoder)
        if not len(self._records):
            destroy(folder)

    def close(self) -> None:
        self._lock.close()

    def append(self, records: Rows) -> None:
        """Add records, durable when this returns; IndexerError for vectors of another length than those there."""
        n, dtype = len(self._records), records.dtype
        if n and dtype != self._records.dtype:
            raise IndexerError(f"wanted records of {self._records.itemsize} bytes in {FILE}, got {dtype.itemsize}")
        if not n:
            self._replace(records)
            return
        with open(self._folder / FILE, "rb+") as file:
            file.seek(HEADER.itemsize + n * dtype.itemsize)
            file.write(records.tobytes())
            file.truncate()
            os.fsync(file.fileno())
            file.seek(0)
            file.write(_head(self._encoder, dtype, n + len(records)))
        self._records = read(self._folder, self._encoder)

    def keep(self, contents: Ints) -> None:
        """Drop the records of all contents but these."""
        living = np.isin(self._records["content"], contents)
        if not living.all():
            self._replace(np.asarray(self._records[living]))

    def wipe(self, dead: Mask) -> None:
        """Overwrite records [n] with zeros in their places, durably; no document has the content 0."""
        wanted = dead & (self._records["content"] != 0)
        if wanted.any():
            dtype, n = self._records.dtype, len(self._records)
            stored = np.memmap(self._folder / FILE, dtype, "r+", HEADER.itemsize, (n,))
            stored[wanted] = np.zeros((), dtype)
            stored.flush()

    def _replace(self, records: Rows) -> None:
        content = _head(self._encoder, records.dtype, len(records)) + records.tobytes()
        self._records = no_records()  # Windows replaces no file that is mapped
        try:
            replace_durably(self._folder / FILE, content)
        except PermissionError as error:
            if os.name != "nt":
                raise
            raise LockedError("another process reads the vectors of meaning; they are replaced when it ends") from error
        self._records = read(self._folder, self._encoder)


def _head(encoder: str, dtype: np.dtype[np.void], n_records: int) -> bytes:
    n_numbers = dtype["vector"].shape[0]
    return np.array((MAGIC, encoder.encode(), n_numbers, VERSION, n_records), dtype=HEADER).tobytes()


LONG = 600
"""words of a text from which on it has windows: more than its passages hold"""

UNDERSTOOD = np.dtype(
    [(name, DOCUMENT[name]) for name in ("doc_id", "modified", "content", "language", "n_body", "n_title")]
)
"""the columns that say what can be read for its meaning"""


def encodable_documents(snapshot: Snapshot, kind: Kind) -> Rows:
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
    rows = encodable_documents(snapshot, kind)
    waiting = np.logical_or(*without_vectors(rows, read(folder, kind.name)))
    return len(rows) - int(np.count_nonzero(waiting)), len(rows)


def without_vectors(rows: Rows, records: Rows) -> tuple[Mask, Mask]:
    """Which of the documents have no passages yet, and which of the long ones no windows."""
    content, is_window = np.array(records["content"]), np.array(records["place"]) >= 0
    without = ~np.isin(rows["content"], content[~is_window])
    return without, (rows["n_body"] > LONG) & ~np.isin(rows["content"], content[is_window])
