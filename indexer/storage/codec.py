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
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from indexer.errors import IndexDamaged
from indexer.postings import Bytes, Ints, Rows, decode, gather
from indexer.schema import TEXT_FIELDS
from indexer.storage.columns import Chosen, mapped_columns, write_columns
from indexer.text.spelling import TermList

EXTENSIONS = (".doc", ".trm", ".pst")
WIDTHS = ("", "<u1", "<u2", "<u4")
"""the array types that the byte before a posting list names, two bits each; the first is an array of ones or none"""


@dataclass(frozen=True, slots=True)
class FieldLists:
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


@dataclass(frozen=True, slots=True)
class _Table:
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
        positions, ends = self.place_keys(starts[rows], sizes[rows], np.zeros(wanted.size, dtype=np.int64))
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

    def place_keys(self, starts: Ints, sizes: Ints, firsts: Ints) -> tuple[Ints, Ints]:
        """The positions in the runs of bytes [start, start + size) [n_runs], to each the run's of `firsts` [n_runs]
        added; and where each run ends among them [n_runs]."""
        with damage_named(self.name):
            code = gather(self._code, starts, sizes)
            if code.size and code[-1] >= 0x80:
                raise ValueError("the last position has no end")
            is_end = code < 0x80
            running = np.cumsum(decode(code))
            ends = np.add.reduceat(is_end, np.cumsum(sizes) - sizes, dtype=np.int64).cumsum()
            firsts = firsts.copy()
            firsts[1:] -= running[ends[:-1] - 1]
            return running + firsts.repeat(np.diff(ends, prepend=0)), ends

    def _read(self, field: str, i: int) -> tuple[Ints, Ints, Ints, int]:
        try:  # not `damage_named`: merging comes here for every term
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
        """All postings of the terms number `start` to before `stop`, for merging."""
        nothing: Ints = np.zeros(0, dtype=np.int64)
        docs, tfs, lengths = [nothing], [nothing], [nothing]
        positions: list[bytes] = []
        offsets = self._tables[field].offsets[start : stop + 1].tolist()
        for i in range(start, stop):
            ids, tf, sizes, at = self._read(field, i)
            docs.append(ids)
            tfs.append(tf)
            lengths.append(sizes if sizes.size else np.zeros(ids.size, dtype=np.int64))
            positions.append(self._postings[at : offsets[i - start + 1]])
        return FieldLists(
            self.all_terms(field, start, stop),
            self._tables[field].df[start:stop].astype(np.int64),
            np.concatenate(docs),
            np.concatenate(tfs),
            np.concatenate(lengths),
            np.frombuffer(b"".join(positions), dtype=np.uint8),
        )


def _mapped(path: Path) -> mmap.mmap | bytes:
    with open(path, "rb") as file:
        if path.stat().st_size == 0:
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def narrow(values: Ints) -> tuple[int, bytes]:
    """The index in WIDTHS of the narrowest array that holds `values`, and its bytes."""
    top = int(values.max()) if values.size else 0
    width = 1 if top < 1 << 8 else 2 if top < 1 << 16 else 3
    return width, values.astype(WIDTHS[width]).tobytes()


def write_segment(
    folder: Path, name: str, *, documents: Rows | Chosen, fields: Mapping[str, Iterable[FieldLists]]
) -> None:
    """Write the three files of segment `name`: documents in number order, each field's lists in runs of terms."""
    header = Header({}, {f: int(documents[f"n_{f}"].sum(dtype=np.int64)) for f in TEXT_FIELDS})
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
    nothing: Ints = np.zeros(0, dtype=np.int64)
    ends, df, cf = [nothing], [nothing], [nothing]
    texts: list[bytes] = []
    offsets = [np.array([postings.tell()])]
    for lists in runs:
        blobs = _posting_blobs(lists)
        if not blobs:
            continue
        offsets.append(postings.tell() + np.cumsum(np.fromiter(map(len, blobs), dtype=np.int64, count=len(blobs))))
        postings.writelines(blobs)
        ends.append(np.fromiter(map(len, lists.terms), dtype=np.int64, count=len(lists.terms)))
        df.append(lists.df)
        cf.append(np.add.reduceat(lists.tf.astype(np.int64), np.cumsum(lists.df) - lists.df))
        texts.append(b"".join(lists.terms))
    arrays = [np.cumsum(np.concatenate(ends)), np.concatenate(df), np.concatenate(cf)]
    text = b"".join(texts)
    columns = b"".join(column.astype("<u4").tobytes() for column in arrays)
    return FieldTable(arrays[0].size, len(text)), columns + np.concatenate(offsets).astype("<u8").tobytes() + text


def _posting_blobs(lists: FieldLists) -> list[bytes]:
    ends = np.cumsum(lists.df)
    starts = ends - lists.df
    gaps = np.diff(lists.docs, prepend=0)
    gaps[starts] = lists.docs[starts]
    position_ends = np.cumsum(lists.position_lengths)
    first_byte = (position_ends[starts] - lists.position_lengths[starts]).tolist() if starts.size else []
    last_byte = position_ends[ends - 1].tolist() if starts.size else []
    positions = lists.positions.tobytes()
    blobs: list[bytes] = []
    for start, end, first, last in zip(starts.tolist(), ends.tolist(), first_byte, last_byte, strict=True):
        gap_width, gap_bytes = narrow(gaps[start:end])
        tf = lists.tf[start:end]
        tf_width, tf_bytes = (0, b"") if tf[0] == 1 and tf.max() == 1 else narrow(tf)
        size_width, size_bytes = narrow(lists.position_lengths[start:end]) if last > first else (0, b"")
        flags = gap_width | tf_width << 2 | size_width << 4
        blobs.append(b"".join((bytes((flags,)), gap_bytes, tf_bytes, size_bytes, positions[first:last])))
    return blobs
