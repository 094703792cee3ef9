"""The segments of a commit, read without Whoosh: which they are, and whole posting lists of each into arrays.

Their format: `indexer.codec`; columns are as they are mapped. The file `_v3_17.toc` is Whoosh's own, and Whoosh writes
it (`whoosh_codec.write_contents`): sizes of C types, a byte-order mark, versions and the pickled schema (its head), the
commit's number, and the pickled segments. Reading does not load Whoosh, which would take as long as twenty queries.
Unpickling makes segments and sets, and refuses everything else.

Readers that list the folder while a commit replaces the table may find a name that is gone then, and look again.
"""

from __future__ import annotations

import bisect
import contextlib
import io
import mmap
import os
import pickle
import re
import struct
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from indexer.errors import IndexDamaged
from indexer.postings import Bytes, Column, Ints, Mask, decode_runs, number_at, run_places
from indexer.schema import DOCUMENT, VERSION
from indexer.text.spelling import TermList

INDEX_NAME = f"v{VERSION}"
"""Whoosh's index name; holds the schema's version, so that another version is never misread"""
ATTEMPTS = 5
"""how often a reader looks again while commits replace what it wants to read"""
_SEGMENT = ("indexer.codec.whoosh_codec", "Segment")
"""the class that the pickle names"""
_NAME = re.compile(rf"_{INDEX_NAME}_(\d+)\.toc")
_SEGMENT_FILE = re.compile(rf"({INDEX_NAME}_[0-9a-z]+)\.\w+")
_HEAD = struct.Struct("!3xii3x")
"""sizes of three C types, two marks, and the three numbers of Whoosh's version"""
_MARKS = (-12345, -111)
"""of the order of bytes and of the format"""


class ListedSegment(msgspec.Struct, frozen=True):
    """A segment as the table names it."""

    name: str
    n_documents: int
    deleted: frozenset[int]


class _Pickled:
    """Takes the state of a pickled segment."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == _SEGMENT:
            return _Pickled
        raise pickle.UnpicklingError(f"wanted segments, got {module}.{name}")


def table_of(number: int) -> str:
    """The name of the file that is the table of commit `number`."""
    return f"_{INDEX_NAME}_{number}.toc"


def newest(folder: Path) -> int:
    """The number of the newest commit, -1 where there is none."""
    return max((int(match[1]) for name in os.listdir(folder) if (match := _NAME.fullmatch(name))), default=-1)


def read_contents(folder: Path) -> tuple[int, list[ListedSegment]]:
    """Number and segments of the newest commit; IndexDamaged when they cannot be read."""
    problem: Exception | None = None
    for attempt in range(ATTEMPTS):
        try:
            number = newest(folder)
            return number, _segments((folder / table_of(number)).read_bytes(), number)
        except FileNotFoundError as error:
            problem = error
            time.sleep(0.01 * attempt)
        except Exception as error:  # unpickling raises anything
            raise IndexDamaged(f"the index in {folder} cannot be read: {error}") from error
    raise IndexDamaged(f"the index in {folder} cannot be read: {problem}") from problem


def tidy(folder: Path, number: int, segments: Iterable[ListedSegment]) -> None:
    """Remove the files of commits other than `number`, also of one that was killed while it wrote."""
    kept = {segment.name for segment in segments}
    for name in os.listdir(folder):
        table, file = _NAME.match(name), _SEGMENT_FILE.fullmatch(name)
        if (table and (int(table[1]) != number or table.end() < len(name))) or (file and file[1] not in kept):
            with contextlib.suppress(OSError):  # Windows keeps what a reader has mapped
                os.unlink(folder / name)


def _segments(content: bytes, number: int) -> list[ListedSegment]:
    if (marks := _HEAD.unpack_from(content)) != _MARKS:
        raise ValueError(f"wanted a table of contents that begins with {_MARKS}, got {marks}")
    size, start = number_at(content, _HEAD.size)
    (found,) = struct.unpack_from("!i4x", content, start + size)
    if found != number:
        raise ValueError(f"wanted commit {number}, got {found}")
    return [
        ListedSegment(f"{own['indexname']}_{own['segid']}", int(own["_doccount"]), frozenset(own["_deleted"] or ()))
        for own in map(vars, _Unpickler(io.BytesIO(content[start + size + 8 :])).load())
    ]


EXTENSIONS = (".doc", ".trm", ".pst")
WIDTHS = ("", "<u1", "<u2", "<u4")
"""the array types that the byte before a posting list names, two bits each; the first is an array of ones or none"""
N_BYTES = np.array([0, 1, 2, 4])
"""of a number of each of these types"""
_TERM_BYTES = 16
"""that a term counts for beside its posting list when runs are cut"""
NAMES: tuple[str, ...] = tuple(
    sorted(DOCUMENT.names or (), key=lambda name: (-DOCUMENT[name].base.itemsize, DOCUMENT[name].itemsize))
)
"""in the order in which they stand on disk"""


class Columns:
    """The columns of one or of several segments, one after the other; safe to share between threads."""

    def __init__(self, parts: Sequence[Mapping[str, Column] | Columns], sizes: Sequence[int]) -> None:
        """`parts` [n_parts] of `sizes` [n_parts] documents."""
        self._parts, self._sizes = parts, sizes
        self.size = sum(sizes)
        self._joined: dict[str, Column] = {}

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, name: str) -> Column:
        found = self._joined.get(name)
        if found is None:
            columns = [part[name] for part in self._parts]
            empty = np.zeros(0, dtype=DOCUMENT[name])
            found = columns[0] if len(columns) == 1 else np.concatenate(columns) if columns else empty
            self._joined[name] = found
        return found

    def take(self, name: str, numbers: Ints) -> Column:
        """One column of the documents `numbers` [n]; the rest of it is not read."""
        if name in self._joined or len(self._parts) < 2:
            taken: Column = self[name][numbers]
            return taken
        found = np.empty((numbers.size, *DOCUMENT[name].shape), dtype=DOCUMENT[name].base)
        order, ends = numbers.argsort(), np.cumsum(self._sizes)
        ascending, start, first = numbers[order], 0, 0
        for part, end, bound in zip(self._parts, ends.tolist(), ascending.searchsorted(ends).tolist(), strict=True):
            if start < bound:
                found[order[start:bound]] = part[name][ascending[start:bound] - first]
            start, first = bound, end
        return found


def mapped_columns(data: Any) -> Columns:
    """The columns in the bytes of a .doc file; ValueError when these are no whole number of documents."""
    n, rest = divmod(len(data), DOCUMENT.itemsize)
    if rest:
        raise ValueError(f"{len(data)} bytes are no whole number of documents of {DOCUMENT.itemsize}")
    columns: dict[str, Column] = {}
    at = 0
    for name in NAMES:
        kind = DOCUMENT[name]
        column = np.frombuffer(data, dtype=kind.base, count=n * kind.itemsize // kind.base.itemsize, offset=at)
        columns[name] = column.reshape(n, *kind.shape)
        at += n * kind.itemsize
    return Columns([columns], [n])


class FieldLists(msgspec.Struct, frozen=True):
    """All postings of one field of one segment, grouped by term in the order of the terms."""

    terms: list[bytes]
    df: Ints
    """[n_terms] documents with the term"""
    docs: Ints
    """[n_postings] document numbers in the segment, ascending within a term"""
    tf: Ints
    """[n_postings]"""
    position_lengths: Ints
    """[n_postings] bytes"""
    positions: Bytes


class FieldTable(msgspec.Struct):
    """One field in the header of a .trm file."""

    n_terms: int
    n_bytes: int
    """of the terms' texts"""


class Header(msgspec.Struct):
    """The beginning of a .trm file."""

    fields: dict[str, FieldTable]
    total_lengths: dict[str, int]


@contextlib.contextmanager
def damage_named(segment: str) -> Iterator[None]:
    """Bytes that are not what was written raise IndexDamaged."""
    try:
        yield
    except (ValueError, IndexError, OverflowError, msgspec.MsgspecError) as error:
        raise IndexDamaged(f"segment {segment} of the index is damaged: {error}") from error


class _Table(msgspec.Struct, frozen=True):
    """One field's arrays over its terms, views into the mapped .trm file."""

    text_ends: npt.NDArray[np.uint32]
    df: npt.NDArray[np.uint32]
    cf: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.uint64]
    text_start: int

    def text(self, i: int, data: mmap.mmap | bytes) -> bytes:
        start = self.text_ends.item(i - 1) if i else 0
        return data[self.text_start + start : self.text_start + self.text_ends.item(i)]


_NONE = np.zeros(0, dtype=np.uint32)
_EMPTY = _Table(_NONE, _NONE, _NONE, np.zeros(1, dtype=np.uint64), 0)
"""of a field that no document of the segment has"""


class SegmentFiles:
    """The three files of one segment, mapped for reading; safe to share between threads."""

    def __init__(self, folder: Path, name: str) -> None:
        """FileNotFoundError when a file is not there, IndexDamaged when it is not whole."""
        self.name = name
        with damage_named(name):
            self._open(folder, name)

    def _open(self, folder: Path, name: str) -> None:
        self.documents = mapped_columns(_mapped(folder / f"{name}.doc"))
        self._terms = _mapped(folder / f"{name}.trm")
        self._postings = _mapped(folder / f"{name}.pst")
        self._code: Bytes = np.frombuffer(self._postings, dtype=np.uint8)
        size = int.from_bytes(self._terms[:4], "little")
        self._header = msgspec.msgpack.decode(self._terms[4 : 4 + size], type=Header)
        self.total_lengths = self._header.total_lengths
        self._tables = self._open_tables(4 + size)

    def _open_tables(self, at: int) -> dict[str, _Table]:
        tables: dict[str, _Table] = {}
        for field, table in self._header.fields.items():
            n = table.n_terms
            arrays: list[Any] = []
            for kind, count in (("<u4", n), ("<u4", n), ("<u4", n), ("<u8", n + 1)):
                arrays.append(np.frombuffer(self._terms, dtype=kind, count=count, offset=at))
                at += count * int(kind[2])
            text_ends, df, cf, offsets = arrays
            tables[field] = _Table(text_ends, df, cf, offsets, at)
            at += table.n_bytes
        n_bytes = max((int(table.offsets[-1]) for table in tables.values()), default=0)
        if (at, n_bytes) != (len(self._terms), len(self._postings)):
            raise ValueError(f"{at} and {n_bytes} bytes expected, {len(self._terms)} and {len(self._postings)} there")
        return tables

    def _table(self, field: str) -> _Table:
        return self._tables.get(field, _EMPTY)

    @property
    def fields(self) -> list[str]:
        return list(self._tables)

    @property
    def n_bytes(self) -> int:
        """The size of the posting lists."""
        return len(self._postings)

    def n_terms(self, field: str) -> int:
        """How many distinct terms the field has."""
        return len(self._table(field).df)

    def term(self, field: str, i: int) -> bytes:
        return self._tables[field].text(i, self._terms)

    def all_terms(self, field: str, start: int = 0, stop: int | None = None) -> list[bytes]:
        """The terms of the field in byte order, from number `start` to before `stop`."""
        table = self._table(field)
        ends = table.text_ends[start:stop].tolist()
        first = int(table.text_ends[start - 1]) if start else 0
        blob = self._terms[table.text_start + first : table.text_start + (ends[-1] if ends else first)]
        return [blob[a - first : b - first] for a, b in zip([first, *ends[:-1]], ends, strict=True)] if ends else []

    def term_list(self, field: str) -> TermList:
        """The same as they lie on disk."""
        table = self._table(field)
        size = int(table.text_ends[-1]) if table.text_ends.size else 0
        return TermList(np.frombuffer(self._terms, np.uint8, count=size, offset=table.text_start), table.text_ends)

    def document_frequencies(self, field: str) -> npt.NDArray[np.uint32]:
        """[n_terms] documents with each term, deleted ones included."""
        return self._table(field).df

    def position_of(self, field: str, term: bytes, start: int = 0, stop: int | None = None) -> int:
        """Where `term` is or would stand among the field's terms of the numbers from `start` to before `stop`."""
        table, terms = self._table(field), self._terms
        places = range(len(table.df))[start:stop]
        return start + bisect.bisect_left(places, term, key=lambda i: table.text(i, terms))

    def find(self, field: str, term: bytes) -> int:
        """The number of `term` in the field, -1 when it is not there."""
        i = self.position_of(field, term)
        return i if i < self.n_terms(field) and self.term(field, i) == term else -1

    def frequencies(self, field: str, i: int) -> tuple[int, int]:
        """Document and collection frequency of the i-th term."""
        table = self._tables[field]
        return int(table.df[i]), int(table.cf[i])

    def postings(self, field: str, i: int) -> tuple[Ints, Ints]:
        """Document numbers and occurrences of the i-th term."""
        docs, tf, _, _ = self._read(field, i)
        return docs, tf

    def positions(self, field: str, i: int, wanted: Ints) -> tuple[Ints, Ints]:
        """The positions of the i-th term in the documents `wanted` (ascending; each must hold it).

        Returns the document of each position [n] and the positions [n], ascending within a document.
        """
        docs, starts, sizes = self.position_runs(field, i)
        if not sizes.size or not wanted.size:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        rows = np.searchsorted(docs, wanted)
        code = self.coded_positions(run_places(starts[rows], sizes[rows]))
        positions, ends = decode_runs(code, sizes[rows], np.zeros(wanted.size, dtype=np.int64))
        return np.repeat(wanted, np.diff(ends, prepend=0)), positions

    def position_runs(self, field: str, i: int) -> tuple[Ints, Ints, Ints]:
        """The documents of the i-th term [n], and where in the file the bytes of its positions start in each [n] and
        how many they are [n]; nothing for a field without positions."""
        docs, _, sizes, at = self._read(field, i)
        if not sizes.size:
            return docs, sizes, sizes
        starts = at + np.cumsum(sizes) - sizes
        n_bytes, n_there = int(sizes.sum()), int(self._tables[field].offsets[i + 1]) - at
        if n_bytes != n_there:
            found = f"{n_bytes} bytes of positions expected, {n_there} there"
            raise IndexDamaged(f"segment {self.name} of the index is damaged: {found}")
        return docs, starts, sizes

    def coded_positions(self, places: Ints) -> Bytes:
        """The bytes at `places` [n] of the file of postings, which are those of whole runs of positions."""
        with damage_named(self.name):
            code: Bytes = self._code[places]
            if code.size and code[-1] >= 0x80:
                raise ValueError("the last position has no end")
            return code

    def _read(self, field: str, i: int) -> tuple[Ints, Ints, Ints, int]:
        with damage_named(self.name):
            docs, tf, sizes, at = self._arrays(field, i)
            if docs[-1] >= len(self.documents):
                raise IndexError(f"there is no document {docs[-1]}")
            return docs, tf, sizes, at

    def _arrays(self, field: str, i: int) -> tuple[Ints, Ints, Ints, int]:
        table = self._tables[field]
        at, n = int(table.offsets[i]), int(table.df[i])
        flags = self._postings[at]
        at += 1
        arrays: list[Ints] = []
        for width in (flags & 3, flags >> 2 & 3, flags >> 4 & 3):
            if width == 0:
                arrays.append(np.zeros(0, dtype=np.int64))
                continue
            arrays.append(np.frombuffer(self._postings, WIDTHS[width], count=n, offset=at).astype(np.int64))
            at += n * int(WIDTHS[width][2])
        tf = arrays[1] if arrays[1].size else np.ones(n, dtype=np.int64)
        return np.cumsum(arrays[0]), tf, arrays[2], at

    def field_lists(self, field: str, start: int, stop: int, *, positions: bool = True) -> FieldLists:
        """All postings of the terms number `start` to before `stop`; read with array work alone.

        Without `positions` their bytes are not read, and none is given.
        """
        table = self._tables[field]
        offsets = table.offsets[start : stop + 1].astype(np.int64)
        df = table.df[start:stop].astype(np.int64)
        with damage_named(self.name):
            code = self._code[offsets[0] : offsets[-1]]
            flags = code[offsets[:-1] - offsets[0]]
            widths = [N_BYTES[flags >> shift & 3] for shift in (0, 2, 4)]
            starts = [offsets[:-1] - offsets[0] + 1]
            for width in widths:
                starts.append(starts[-1] + width * df)
            sizes = offsets[1:] - offsets[0] - starts[3]
            if (sizes < 0).any() or not widths[0].all():
                raise ValueError(f"posting lists of the field {field!r} are longer than they may be")
            gaps, tf, lengths = (_read_numbers(code, *one, df) for one in zip(starts[:3], widths, strict=True))
            ends = df.cumsum()
            docs = gaps.cumsum()
            docs -= (docs[ends - df] - gaps[ends - df]).repeat(df)
            if (last := int(docs.max(initial=-1))) >= len(self.documents):
                raise IndexError(f"there is no document {last}")
            if (np.add.reduceat(lengths, ends - df) != sizes).any():
                raise ValueError(f"positions of the field {field!r} are not as long as they say")
            tf[(widths[1] == 0).repeat(df)] = 1
            codes = code[run_places(starts[3], sizes)] if positions else code[:0]
            return FieldLists(self.all_terms(field, start, stop), df, docs, tf, lengths, codes)

    def forget_read(self, field: str, start: int, stop: int) -> None:
        """Have the system take back the memory that holds the posting lists number `start` to before `stop`."""
        if isinstance(self._postings, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            offsets = self._tables[field].offsets
            first = int(offsets[start]) // mmap.PAGESIZE * mmap.PAGESIZE
            if size := int(offsets[stop]) - first:
                self._postings.madvise(mmap.MADV_DONTNEED, first, size)

    def runs(self, field: str, n_bytes: int) -> Ints:
        """Numbers of terms that cut the field's posting lists into runs of about `n_bytes`, their terms included."""
        offsets = self._table(field).offsets[:-1].astype(np.int64)
        weights = offsets - offsets[:1] + _TERM_BYTES * np.arange(offsets.size)
        cuts = np.arange(n_bytes, int(weights.max(initial=0)), n_bytes)
        found = np.searchsorted(weights, cuts)
        return found[np.diff(found, prepend=-1) > 0]


def _mapped(path: Path) -> mmap.mmap | bytes:
    with open(path, "rb") as file:
        if path.stat().st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def places_of(at: Ints, widths: Ints, counts: Ints) -> Iterator[tuple[int, Mask, Ints]]:
    """Where the numbers of runs of `counts` numbers, each of `widths` bytes and stored from `at` on, begin: for each
    width that there is, which of all numbers have it and where these begin."""
    for width in (1, 2, 4):
        own = widths == width
        if own.any():
            n = counts[own]
            ranks = np.arange(int(n.sum())) - (n.cumsum() - n).repeat(n)
            yield width, own.repeat(counts), at[own].repeat(n) + width * ranks


def _read_numbers(code: Bytes, at: Ints, widths: Ints, counts: Ints) -> Ints:
    """The numbers of all runs (see `places_of`), 0 where a run has no width."""
    values: Ints = np.zeros(int(counts.sum()), dtype=np.int64)
    for width, own, places in places_of(at, widths, counts):
        found = code[places].astype(np.int64)
        for i in range(1, width):
            found |= code[places + i].astype(np.int64) << 8 * i
        values[own] = found
    return values
