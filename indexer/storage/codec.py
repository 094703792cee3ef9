"""How a segment lies on disk, made for reading whole posting lists into arrays.

Whoosh keeps the segments, the table of contents, deletions and generations; its own codec pickles postings in
blocks of 128, which costs most of the time of indexing and of scoring. Here a segment is three files:

.doc   the columns of `schema.DOCUMENT`, one number for each document; see `indexer.storage.columns`
.trm   a msgpack header, then for each field arrays over its sorted terms: where the term's text ends, document
       frequency, collection frequency, and where its postings end
.pst   for each term: one byte that names the widths of three arrays (gaps between document numbers; occurrences;
       bytes of positions), the three arrays, and the positions in the byte code of `indexer.postings`

All numbers are little-endian. `indexer.storage.whoosh_codec` shows it to Whoosh.
"""

from __future__ import annotations

import bisect
import itertools
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from indexer.errors import IndexDamaged
from indexer.postings import Bytes, Ints, Mask, Rows, decode_runs, run_places
from indexer.schema import TEXT_FIELDS
from indexer.storage.columns import Chosen, mapped_columns, pieces_of, write_columns
from indexer.text.spelling import TermList

EXTENSIONS = (".doc", ".trm", ".pst")
WIDTHS = ("", "<u1", "<u2", "<u4")
"""the array types that the byte before a posting list names, two bits each; the first is an array of ones or none"""
_N_BYTES = np.array([0, 1, 2, 4])
"""of a number of each of these types"""
_TERM_BYTES = 16
"""that a term counts for beside its posting list when runs are cut"""


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


_DAMAGE = (ValueError, IndexError, OverflowError, msgspec.MsgspecError)
"""what reading bytes raises when they are not what was written"""


@contextmanager
def damage_named(segment: str) -> Iterator[None]:
    """Bytes that are not what was written raise IndexDamaged."""
    try:
        yield
    except _DAMAGE as error:
        raise IndexDamaged(f"segment {segment} of the index is damaged: {error}") from error


class _Table(msgspec.Struct, frozen=True):
    """One field's arrays over its terms, views into the mapped .trm file."""

    text_ends: npt.NDArray[np.uint32]
    df: npt.NDArray[np.uint32]
    cf: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.uint64]
    text_start: int

    def text(self, i: int, data: mmap.mmap | bytes) -> bytes:
        start = int(self.text_ends[i - 1]) if i else 0
        return bytes(data[self.text_start + start : self.text_start + int(self.text_ends[i])])


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

    @property
    def fields(self) -> list[str]:
        return list(self._tables)

    @property
    def n_bytes(self) -> int:
        """The size of the posting lists."""
        return len(self._postings)

    def n_terms(self, field: str) -> int:
        """How many distinct terms the field has."""
        return len(self._tables[field].df) if field in self._tables else 0

    def term(self, field: str, i: int) -> bytes:
        """The i-th term of the field in byte order."""
        return self._tables[field].text(i, self._terms)

    def all_terms(self, field: str, start: int = 0, stop: int | None = None) -> list[bytes]:
        """The terms of the field in byte order, from number `start` to before `stop`."""
        if field not in self._tables:
            return []
        table = self._tables[field]
        ends = table.text_ends[start:stop].tolist()
        first = int(table.text_ends[start - 1]) if start else 0
        blob = self._terms[table.text_start + first : table.text_start + (ends[-1] if ends else first)]
        return [blob[a - first : b - first] for a, b in zip([first, *ends[:-1]], ends, strict=True)] if ends else []

    def term_list(self, field: str) -> TermList:
        """The same as they lie on disk."""
        if field not in self._tables:
            return TermList(np.zeros(0, dtype=np.uint8), np.zeros(0, dtype=np.uint32))
        table = self._tables[field]
        size = int(table.text_ends[-1]) if table.text_ends.size else 0
        return TermList(np.frombuffer(self._terms, np.uint8, count=size, offset=table.text_start), table.text_ends)

    def document_frequencies(self, field: str) -> npt.NDArray[np.uint32]:
        """[n_terms] documents with each term, deleted ones included."""
        return self._tables[field].df if field in self._tables else np.zeros(0, dtype=np.uint32)

    def position_of(self, field: str, term: bytes) -> int:
        """Where `term` is or would stand among the field's terms."""
        return bisect.bisect_left(range(self.n_terms(field)), term, key=lambda i: self.term(field, i))

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
        if sizes.size:
            starts = at + np.cumsum(sizes) - sizes
            end = int(self._tables[field].offsets[i + 1])
            if int(starts[-1] + sizes[-1]) != end:
                found = f"{int(starts[-1] + sizes[-1]) - at} bytes of positions expected, {end - at} there"
                raise IndexDamaged(f"segment {self.name} of the index is damaged: {found}")
            return docs, starts, sizes
        return docs, sizes, sizes

    def coded_positions(self, places: Ints) -> Bytes:
        """The bytes at `places` [n] of the file of postings, which are those of whole runs of positions."""
        try:  # not `damage_named`: a query comes here for each of its words
            code: Bytes = self._code[places]
            if code.size and code[-1] >= 0x80:
                raise ValueError("the last position has no end")
        except _DAMAGE as error:
            raise IndexDamaged(f"segment {self.name} of the index is damaged: {error}") from error
        return code

    def _read(self, field: str, i: int) -> tuple[Ints, Ints, Ints, int]:
        try:  # not `damage_named`: a query comes here for every term
            docs, tf, sizes, at = self._arrays(field, i)
            if docs[-1] >= len(self.documents):
                raise IndexError(f"there is no document {docs[-1]}")
        except _DAMAGE as error:
            raise IndexDamaged(f"segment {self.name} of the index is damaged: {error}") from error
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

    def field_lists(self, field: str, start: int, stop: int) -> FieldLists:
        """All postings of the terms number `start` to before `stop`, for merging; read with array work alone."""
        table = self._tables[field]
        offsets = table.offsets[start : stop + 1].astype(np.int64)
        df = table.df[start:stop].astype(np.int64)
        with damage_named(self.name):
            code = self._code[offsets[0] : offsets[-1]]
            flags = code[offsets[:-1] - offsets[0]]
            widths = [_N_BYTES[flags >> shift & 3] for shift in (0, 2, 4)]
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
            positions = code[run_places(starts[3], sizes)]
            return FieldLists(self.all_terms(field, start, stop), df, docs, tf, lengths, positions)

    def forget_read(self, field: str, start: int, stop: int) -> None:
        """Have the system take back the memory that holds the posting lists number `start` to before `stop`."""
        if isinstance(self._postings, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
            offsets = self._tables[field].offsets
            first = int(offsets[start]) // mmap.PAGESIZE * mmap.PAGESIZE
            if size := int(offsets[stop]) - first:
                self._postings.madvise(mmap.MADV_DONTNEED, first, size)

    def runs(self, field: str, n_bytes: int) -> Ints:
        """Numbers of terms that cut the field's posting lists into runs of about `n_bytes`, their terms included."""
        if field not in self._tables:
            return np.zeros(0, dtype=np.int64)
        offsets = self._tables[field].offsets[:-1].astype(np.int64)
        weights = offsets - offsets[:1] + _TERM_BYTES * np.arange(offsets.size)
        cuts = np.arange(n_bytes, int(weights.max(initial=0)), n_bytes)
        found = np.searchsorted(weights, cuts)
        return found[np.diff(found, prepend=-1) > 0]


def _mapped(path: Path) -> mmap.mmap | bytes:
    with open(path, "rb") as file:
        if path.stat().st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def write_segment(
    folder: Path, name: str, *, documents: Rows | Chosen, fields: Mapping[str, Iterable[FieldLists]]
) -> None:
    """Write the three files of segment `name`: documents in number order, each field's lists in runs of terms."""
    lengths = {field: pieces_of(documents, f"n_{field}") for field in TEXT_FIELDS}
    header = Header({}, {field: sum(int(n.sum(dtype=np.int64)) for n in own) for field, own in lengths.items()})
    tables: list[bytes] = []
    with open(folder / f"{name}.pst", "wb", opener=private) as postings:
        for field, runs in fields.items():
            header.fields[field], table = _write_field(postings, runs)
            tables.append(table)
    head = msgspec.msgpack.encode(header)
    with open(folder / f"{name}.trm", "wb", opener=private) as terms:
        terms.write(len(head).to_bytes(4, "little") + head)
        terms.writelines(tables)
    with open(folder / f"{name}.doc", "wb", opener=private) as rows:
        write_columns(rows, documents)


def private(path: str, flags: int) -> int:
    """The opener of files that only their owner may read."""
    return os.open(path, flags, 0o600)


def _write_field(postings: BinaryIO, runs: Iterable[FieldLists]) -> tuple[FieldTable, bytes]:
    nothing = np.zeros(0, dtype="<u4")
    lengths, df, cf = [nothing], [nothing], [nothing]
    texts: list[bytes] = []
    offsets = [np.array([postings.tell()])]
    for lists in itertools.chain.from_iterable(map(_parts, runs)):
        code, ends = _posting_bytes(lists)
        offsets.append(postings.tell() + ends)
        postings.write(code.data)
        lengths.append(np.fromiter(map(len, lists.terms), dtype="<u4", count=len(lists.terms)))
        df.append(lists.df.astype("<u4"))
        cf.append(np.add.reduceat(lists.tf, lists.df.cumsum() - lists.df, dtype=np.int64).astype("<u4"))
        texts.append(b"".join(lists.terms))
    text_ends, text = np.concatenate(lengths).cumsum(dtype="<u4"), b"".join(texts)
    columns = b"".join(column.tobytes() for column in (text_ends, np.concatenate(df), np.concatenate(cf)))
    return FieldTable(text_ends.size, len(text)), columns + np.concatenate(offsets).astype("<u8").tobytes() + text


_PART = 100_000
"""postings whose bytes are made at a time, terms with more aside"""


def _parts(lists: FieldLists) -> Iterator[FieldLists]:
    """The same lists in parts that bound the memory of the index arrays; none where there are no terms."""
    ends, bytes_ends = lists.df.cumsum(), lists.position_lengths.cumsum(dtype=np.int64)
    n_terms = len(lists.terms)
    cuts = np.searchsorted(ends, np.arange(_PART, int(ends[-1]), _PART)).tolist() if n_terms else []
    start = first = first_byte = 0
    for stop in sorted({*cuts, n_terms} - {0}):
        last = int(ends[stop - 1])
        last_byte = int(bytes_ends[last - 1])
        yield FieldLists(
            lists.terms[start:stop], lists.df[start:stop], lists.docs[first:last], lists.tf[first:last],
            lists.position_lengths[first:last], lists.positions[first_byte:last_byte],
        )  # fmt: skip
        start, first, first_byte = stop, last, last_byte


def _posting_bytes(lists: FieldLists) -> tuple[Bytes, Ints]:
    """The posting lists of all terms, one after the other, and where each ends among them [n_terms]."""
    df = lists.df
    firsts = df.cumsum() - df
    gaps = np.diff(lists.docs, prepend=0)
    gaps[firsts] = lists.docs[firsts]
    n_positions = np.add.reduceat(lists.position_lengths, firsts, dtype=np.int64)
    kinds = [_kinds(gaps, firsts), _kinds(lists.tf, firsts), _kinds(lists.position_lengths, firsts)]
    kinds[1][np.maximum.reduceat(lists.tf, firsts) == 1] = 0
    kinds[2][n_positions == 0] = 0
    widths = [_N_BYTES[kind] for kind in kinds]
    ends = (1 + df * (widths[0] + widths[1] + widths[2]) + n_positions).cumsum()
    code: Bytes = np.empty(int(ends[-1]), dtype=np.uint8)
    at = np.concatenate(([0], ends[:-1]))
    code[at] = kinds[0] | kinds[1] << 2 | kinds[2] << 4
    at += 1
    for values, width in zip((gaps, lists.tf, lists.position_lengths), widths, strict=True):
        _write_numbers(code, at, width, df, values)
        at += width * df
    shifts = at - (n_positions.cumsum() - n_positions)
    code[shifts.repeat(n_positions) + np.arange(lists.positions.size)] = lists.positions
    return code, ends


def _kinds(values: Ints, firsts: Ints) -> Ints:
    """For each run of `values` that begins at one of `firsts` the index in WIDTHS of the narrowest array for it."""
    top = np.maximum.reduceat(values, firsts)
    return 1 + (top >= 1 << 8).astype(np.int64) + (top >= 1 << 16)


def _places(at: Ints, widths: Ints, counts: Ints) -> Iterator[tuple[int, Mask, Ints]]:
    """Where the numbers of runs of `counts` numbers, each of `widths` bytes and stored from `at` on, begin: for each
    width that there is, which of all numbers have it and where these begin."""
    for width in (1, 2, 4):
        own = widths == width
        if own.any():
            n = counts[own]
            ranks = np.arange(int(n.sum())) - (n.cumsum() - n).repeat(n)
            yield width, own.repeat(counts), at[own].repeat(n) + width * ranks


def _read_numbers(code: Bytes, at: Ints, widths: Ints, counts: Ints) -> Ints:
    """The numbers of all runs (see `_places`), 0 where a run has no width."""
    values: Ints = np.zeros(int(counts.sum()), dtype=np.int64)
    for width, own, places in _places(at, widths, counts):
        found = code[places].astype(np.int64)
        for i in range(1, width):
            found |= code[places + i].astype(np.int64) << 8 * i
        values[own] = found
    return values


def _write_numbers(code: Bytes, at: Ints, widths: Ints, counts: Ints, values: Ints) -> None:
    """Put `values` where `_read_numbers` reads them."""
    for width, own, places in _places(at, widths, counts):
        parts = values[own].astype(f"<u{width}").view(np.uint8).reshape(-1, width)
        for i in range(width):
            code[places + i] = parts[:, i]
