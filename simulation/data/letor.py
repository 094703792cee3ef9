"""Reading LETOR and SVMlight text: `grade qid:ID feature:value ... # comment`, plain or packed.

What is read: grades are integers from 0, also as 2.0; query ids are words; feature ids begin at 1, come in any order
and may be missing, which means 0; values are finite decimal numbers, bit for bit np.float32(float(text)), or the
largest of float32 where they are beyond it, as some of Istella's are. Line ends may be those of DOS or of old Macs, the
last may be missing, empty lines and lines of comment are passed over. A comment that says `docid = WORD`, with or
without spaces, names the document (LETOR 4.0 and the ClueWeb09 features write it so); MSLR has no comments.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO, NoReturn

import numpy as np

from foltr.arrays import Int64Vector
from simulation.data import letor_lines
from simulation.data.letor_lines import LinesRead, Spans, read_lines
from simulation.data.queries import QuerySet
from simulation.errors import DataFileError

BLOCK = 1 << 20
"""bytes read at once"""

_DOCID = re.compile(r"\bdocid\s*=\s*(\S+)")
_WORD = re.compile(rb"[^\s#]{0,40}")
_FEATURE = re.compile(rb"(\d{1,5}):")
_QID = re.compile(rb"\s*\S+\s+qid:(\S+)")
_MARK = b"\xef\xbb\xbf"
_MOST = np.finfo(np.float32).max


def parse_file(path: Path, *, queries: Collection[str] = ()) -> QuerySet:
    """Read a whole file; DataFileError names the first line that cannot be read, and why.

    Queries are in the order of their first lines, each with its lines in the order of the file: one whose lines are
    interrupted by another's is put together. (ielab's loader of 2021 overwrites the earlier lines.) Where `queries` are
    named, only theirs are kept, in no more memory than they need; a value of theirs that is "nan" is 0, as AOL4FOLTR's
    own program has it.
    """
    wanted = frozenset(query.encode() for query in queries)
    try:
        reader = _Reader(path, 0 if wanted else path.stat().st_size)
        with open_text(path) as stream:
            for block in blocks(stream):
                reader.read(_only(block, wanted) if wanted else block)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise DataFileError(path, f"cannot be read: {error}") from error
    except MemoryError as error:
        raise DataFileError(path, f"does not fit into memory: {error}") from error
    return reader.finish()


def open_text(path: Path) -> BinaryIO:
    """The bytes of a file, decompressed where its first bytes are those of gzip, bzip2 or xz, whatever its name is."""
    with path.open("rb") as stream:
        first = stream.read(6)
    packed = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
    unpack = next((unpack for magic, unpack in packed.items() if first.startswith(magic)), Path.open)
    return unpack(path, "rb")  # type: ignore[operator, no-any-return]  # reads as a BinaryIO does


def blocks(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of a stream in blocks of whole lines, each with a line feed at its end."""
    left, end = [stream.read(len(_MARK)).removeprefix(_MARK)], b"\r"
    while chunk := stream.read(BLOCK):
        if cut := chunk.rfind(b"\n") + 1:
            yield b"".join((*left, chunk[:cut]))
            left, end = [], b"\n"
        left.append(chunk[cut:])
    if any(left):  # all of it, where no line ends with a line feed
        yield b"".join(left).replace(end, b"\n") + b"\n"


def _only(block: bytes, wanted: frozenset[bytes]) -> bytes:
    """The block with the lines of other queries emptied, so that errors name the right line."""
    lines = block.split(b"\n")
    for number, line in enumerate(lines):
        found = _QID.match(line)
        kept = found is not None and found[1] in wanted
        lines[number] = line.replace(b":nan", b":0") if kept else b""
    return b"\n".join(lines)


class _Reader:
    """The rows so far; grows as blocks come."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        """bytes of the file: tells how many lines to expect; memory that no line needs is never touched"""
        self.line = 0
        self.n_docs = 0
        self.width = 0
        self.features = np.zeros((0, 0), dtype=np.float32)
        self.grades = np.zeros(0, dtype=np.int8)
        self.runs: list[tuple[str, int]] = []
        """query id and first row: wherever the query id changes"""
        self.docids: list[str] = []
        """"" where a comment names no document; shorter than the rows where the last ones have no comment"""

    def read(self, block: bytes) -> None:
        text = np.frombuffer(block, dtype=np.uint8)
        spans = _room_for(block)
        if not self.n_docs:
            first = block[: block.index(b"\n")].split(b"#")[0]
            expected = len(spans.lines) * self.size // len(block)
            self._grow(expected + expected // 20, max(map(int, _FEATURE.findall(first)), default=1))
        self._grow(len(spans.lines), self.features.shape[1])
        at, status = 0, letor_lines.WIDER
        while status == letor_lines.WIDER:
            seen = np.full(self.features.shape[1] + 1, -1, dtype=np.int64)
            outcome = read_lines(text, at, self.features[self.n_docs :], self.grades[self.n_docs :], spans, seen)
            self._keep(block, spans, outcome)
            status = outcome.status
            if status == letor_lines.WIDER:
                at = outcome.start
                self.line -= 1
                self._grow(0, max(outcome.wanted, self.features.shape[1] * 3 // 2))
        if status != letor_lines.DONE:
            self._refuse(block, outcome)

    def _grow(self, more: int, width: int) -> None:
        """Room for more documents and at least `width` features, zero where nothing was read yet."""
        rows = len(self.features)
        if self.n_docs + more > rows:
            rows = max(self.n_docs + more, 2 * rows)
        if (rows, width) != self.features.shape:
            former, self.features = self.features, np.zeros((rows, max(width, 1)), dtype=np.float32)
            self.features[: self.n_docs, : former.shape[1]] = former[: self.n_docs]
            self.grades = np.concatenate((self.grades, np.zeros(rows - len(self.grades), dtype=np.int8)))

    def _keep(self, block: bytes, spans: Spans, outcome: LinesRead) -> None:
        """Take over what was read of a block, words as strings, the hard numbers by Python's float."""
        n = outcome.rows
        self._fill_hard(block, spans, outcome.hard)
        for row in np.flatnonzero(spans.opens[:n]).tolist():
            begin, end = spans.queries[row].tolist()
            query = block[begin:end].decode("utf-8", "backslashreplace")  # two ids stay two
            if not self.runs or self.runs[-1][0] != query:
                self.runs.append((query, self.n_docs + row))
        if (spans.comments[:n, 0] < spans.comments[:n, 1]).any():
            self.docids += [""] * (self.n_docs - len(self.docids))
            comments = (block[begin:end].decode("utf-8", "replace") for begin, end in spans.comments[:n].tolist())
            self.docids += [match[1] if (match := _DOCID.search(comment)) else "" for comment in comments]
        self.n_docs += n
        self.line += outcome.line
        self.width = max(self.width, outcome.width)

    def _fill_hard(self, block: bytes, spans: Spans, count: int) -> None:
        if not count:
            return
        rows, columns = spans.hard[:count, 0], spans.hard[:count, 1]
        values = np.array([float(block[begin:end]) for begin, end in spans.hard[:count, 2:].tolist()])
        self.features[self.n_docs + rows, columns] = values.clip(-_MOST, _MOST)
        beyond = np.flatnonzero(np.isinf(values))
        if len(beyond):
            row, column, begin, end = spans.hard[beyond[0]].tolist()
            message = f"feature {column + 1}: a number within the range of float64 was expected"
            came = f"'{block[begin:end][:40].decode()}'"
            raise DataFileError(self.path, f"{message}, {came} came", line=self.line + int(spans.lines[row]))

    def _refuse(self, block: bytes, outcome: LinesRead) -> NoReturn:
        """Say what stands at the place that could not be read."""
        if b"\0" in block:
            wanted = "text in UTF-8 was expected, plain or packed by gzip, bzip2 or xz"
            raise DataFileError(self.path, f"{wanted}, an archive or other bytes came")
        word = _WORD.match(block, outcome.place)
        came = repr(word[0].decode("utf-8", "replace")) if word and word[0] else "the end of the line"
        expected = {
            letor_lines.BAD_GRADE: f"a grade, an integer from 0 to {letor_lines.TOP_GRADE}, was expected",
            letor_lines.BAD_QID: "qid:ID was expected behind the grade",
            letor_lines.BAD_FEATURE: f"feature:value with an id from 1 to {letor_lines.TOP_FEATURE} was expected",
            letor_lines.TWICE: f"feature {outcome.wanted} was expected once",
            letor_lines.BAD_NUMBER: f"feature {outcome.wanted}: a finite decimal number was expected",
        }[outcome.status]
        raise DataFileError(self.path, f"{expected}, {came} came", line=self.line)

    def finish(self) -> QuerySet:
        """Put the queries together; DataFileError for a file without documents."""
        n = self.n_docs
        if not n:
            raise DataFileError(self.path, "at least one document was expected, none came")
        features = np.ascontiguousarray(self.features[:n, : max(self.width, 1)])
        docids = self.docids + [""] * (n - len(self.docids)) if any(self.docids) else []
        order, offsets, qids = _put_together(self.runs, n)
        grades = self.grades[:n].copy()
        if len(qids) < len(self.runs):
            features, grades = features[order], grades[order]
            docids = [docids[row] for row in order] if docids else []
        return QuerySet(features, grades, offsets, qids, tuple(docids))


def _room_for(block: bytes) -> Spans:
    """Arrays for all that a block may hold; the shortest hard number with its id takes seven bytes (1:1e23)."""
    n = block.count(b"\n")
    return Spans(
        queries=np.empty((n, 2), dtype=np.int64),
        opens=np.empty(n, dtype=np.bool_),
        comments=np.empty((n, 2), dtype=np.int64),
        lines=np.empty(n, dtype=np.int64),
        hard=np.empty((len(block) // 7 + 1, 4), dtype=np.int64),
    )


def _put_together(runs: list[tuple[str, int]], n_docs: int) -> tuple[Int64Vector, Int64Vector, tuple[str, ...]]:
    """The order of the rows, where queries begin in it, and their ids."""
    numbers: dict[str, int] = {}
    for qid, _ in runs:
        numbers.setdefault(qid, len(numbers))
    starts = np.array([row for _, row in runs] + [n_docs], dtype=np.int64)
    query_of_row = np.repeat([numbers[qid] for qid, _ in runs], np.diff(starts))
    offsets = np.concatenate(([0], np.cumsum(np.bincount(query_of_row)))).astype(np.int64)
    return np.argsort(query_of_row, kind="stable"), offsets, tuple(numbers)
