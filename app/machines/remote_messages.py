"""The messages between two machines, one line of JSON each, and candidates of one as the other ranks them.

What comes from another machine is checked, whoever sent it: types, sizes, numbers that are numbers. Its texts are
cleaned where they are printed, as those of the own files are.
"""

from __future__ import annotations

import os
import re
from typing import Any, ClassVar
from zlib import crc32

import msgspec
import numpy as np

from app.external_programs import MachineError
from app.learning.traits import FOLDER
from app.search.candidate_table import Aside, CandidateTable
from app.search.page import Found
from app.search.results import Snippet
from console.printable import safe_line
from indexer.documents import TYPES
from indexer.retrieval.collection_statistics import CollectionStatistics
from indexer.retrieval.features import MANIFEST_HASH, NAMES
from indexer.storage.catalogue import DocumentRow
from indexer.storage.mail_threads import Thread
from indexer.text.analysis import BUCKETS

MARK = b"foltr-search 1 "
"""how every line begins that is an answer; what a shell says before it is passed over"""
MAX_ROWS, MAX_WORDS = 5_000, 500
_FOLDER = re.compile(re.escape(FOLDER) + "[0-9a-f]+")
LATEST = 1e11
"""seconds since the epoch"""


class Message(msgspec.Struct, frozen=True, tag_field="kind", tag=True):
    most: ClassVar[int] = 2_000_000
    """bytes that its answer may have; a page of a thousand rows has 1.4 million"""


class Ask(Message, frozen=True):
    """What the documents there are like, as regards this question."""

    text: str
    """with saved searches written out"""
    order: str
    limit: int
    type: str
    time: str
    now: float
    tonight: float
    languages: tuple[str, ...]
    features: str = MANIFEST_HASH
    """the features that the asking machine's ranker understands"""


class Rank(Message, frozen=True):
    """The candidates for it, with features as of one collection with these others."""

    others: CollectionStatistics


class Quote(Message, frozen=True):
    """The best lines of these documents."""

    doc_ids: list[int]
    passages: list[tuple[int, int] | None]
    words: tuple[str, ...]
    width: int


class Read(Message, frozen=True):
    most = 100_000_000
    doc_id: int


class Fetch(Message, frozen=True):
    """A document that is opened for the question of this name; what comes back is its file where `whole`."""

    most = 100_000_000
    doc_id: int
    query: bytes
    whole: bool


Question = Ask | Rank | Quote | Read | Fetch


class Known(Message, frozen=True):
    statistics: CollectionStatistics


class Quotes(Message, frozen=True):
    snippets: list[Snippet]


class FarText(Message, frozen=True):
    text: str


class FarFile(Message, frozen=True):
    """A document, and its file where it is one of its own and not too large."""

    row: DocumentRow
    path: bytes
    data: bytes | None


class NoAnswer(Message, frozen=True):
    why: str


_COLUMNS: dict[str, tuple[str, int]] = {
    "bm25f": ("<f8", 1), "features": ("<f8", len(NAMES)), "levels": ("i1", 0), "as_typed": ("?", 1),
    "named": ("i1", 1), "chosen_before": ("?", 1), "added": ("?", 1), "sketches": ("u1", BUCKETS),
}  # fmt: skip
"""type, and how many for each document; 0: one for each concept"""


class FarTable(Message, frozen=True):
    """The answer to `Rank`: a table of candidates and what else the page says of them."""

    rows: list[DocumentRow]
    paths: list[bytes]
    asides: list[Aside]
    missing_words: list[tuple[str, ...]]
    marks: list[tuple[str, ...]]
    columns: dict[str, bytes]
    n_matches: int
    n_all_words: int
    words: tuple[str, ...]
    query: bytes
    """what names the question there, to say that a result was opened"""


class FarFound(msgspec.Struct, frozen=True):
    """The candidates of another machine."""

    machine: str
    table: CandidateTable
    n_matches: int
    n_all_words: int
    words: tuple[str, ...]
    query: bytes


def far_id(machine: str, doc_id: int) -> int:
    """What a document of another machine is called here: below zero, as none of the own is."""
    return -1 - (crc32(machine.encode()) << 31 | doc_id)


def id_there(doc_id: int) -> int:
    """What it is called there."""
    return -1 - doc_id & (1 << 31) - 1


def packed(found: Found, words: tuple[str, ...], query: bytes) -> FarTable:
    """A table to send; documents whose file is gone stay here."""
    table = found.table.take([i for i, row in enumerate(found.table.rows) if os.path.lexists(row.path)])
    columns = {
        name: np.ascontiguousarray(getattr(table, name).astype(kind)).tobytes() for name, (kind, _) in _COLUMNS.items()
    }
    return FarTable(
        [bare(row) for row in table.rows], [os.fsencode(row.path) for row in table.rows], table.asides,
        table.missing_words, table.marks, columns, found.candidates.n_matches, found.candidates.n_all_words,
        words, query,
    )  # fmt: skip


def bare(row: DocumentRow) -> DocumentRow:
    """A row without its path, which need not be text, and without what only its own machine can use."""
    return msgspec.structs.replace(row, path="", pages=(), headings=())


def there(machine: str, row: DocumentRow, path: bytes) -> DocumentRow:
    """A row as it is named here: its path as scp takes it."""
    if not 0 <= row.doc_id < 1 << 31 or row.type not in TYPES or not abs(row.modified) < LATEST:
        raise MachineError(f"gave a document that is none: {row.type[:20]!r} of {row.modified:g} s")
    return msgspec.structs.replace(
        row, doc_id=far_id(machine, row.doc_id), path=f"{machine}:{os.fsdecode(path)}",
        truncated=safe_line(row.truncated),
    )  # fmt: skip


def unpacked(machine: str, sent: FarTable, n_concepts: int) -> FarFound:
    """The candidates that another machine sent; MachineError for what is no table of this question."""
    n = len(sent.rows)
    lists = (sent.paths, sent.asides, sent.missing_words, sent.marks)
    if n > MAX_ROWS or any(len(column) != n for column in lists) or min(sent.n_matches, sent.n_all_words) < 0:
        raise MachineError(f"gave a table of {n} documents that does not fit together")
    rows = [there(machine, row, path) for row, path in zip(sent.rows, sent.paths, strict=True)]
    if len({row.doc_id for row in rows}) < n:
        raise MachineError("gave one document twice")
    table = CandidateTable(
        rows=rows, names=[os.path.basename(row.path) for row in rows], docs=np.full(n, -1, dtype=np.int64),
        missing_words=[tuple(map(safe_line, words)) for words in sent.missing_words],
        marks=[(row.type, *filter(_FOLDER.fullmatch, marks)) for row, marks in zip(rows, sent.marks, strict=True)],
        asides=[_cleaned(aside, machine) for aside in sent.asides],
        **{name: _column(sent.columns.get(name, b""), name, n, n_concepts) for name in _COLUMNS},
    )  # fmt: skip
    return FarFound(machine, table, sent.n_matches, sent.n_all_words, sent.words[:MAX_WORDS], sent.query)


def _cleaned(aside: Aside, machine: str) -> Aside:
    start, end = aside.passage or (0, 0)
    name, n_messages = aside.thread or ("", 0)
    if not 0 <= start <= end < 1 << 31:
        raise MachineError(f"gave a passage that is none: {start} to {end}")
    thread = Thread(safe_line(name), n_messages) if name else None
    return msgspec.structs.replace(aside, machine=machine, foreign=safe_line(aside.foreign), thread=thread)


def _column(content: bytes, name: str, n: int, n_concepts: int) -> Any:
    kind, width = _COLUMNS[name]
    width = width or n_concepts
    if len(content) != n * width * np.dtype(kind).itemsize:
        raise MachineError(f"read the question otherwise: {name} has {len(content)} bytes for {n} documents")
    values = np.frombuffer(content, kind)
    if kind == "<f8" and not (np.abs(values) < 1e9).all():
        raise MachineError(f"gave {name} that are no numbers")
    plain: Any = values.astype({"<f8": np.float64, "i1": np.int64, "?": np.bool_, "u1": np.uint8}[kind])
    return plain if _COLUMNS[name][1] == 1 else plain.reshape(n, width)


def line_of(message: Message, mark: bytes = b"") -> bytes:
    return mark + msgspec.json.encode(message) + b"\n"
