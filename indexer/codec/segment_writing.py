"""A segment, written: postings as they come, document by document, become posting lists term by term.

Segments are merged in runs of terms, and columns are copied in pieces, so that neither takes memory.
"""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from indexer.codec.segments import N_BYTES, NAMES, Columns, FieldLists, FieldTable, Header, SegmentFiles, places_of
from indexer.postings import Bytes, Column, FieldPostings, Ints, Mask, Rows, gather
from indexer.schema import DOCUMENT, TEXT_FIELDS

_BLOCK = 100_000
"""postings whose positions are moved at a time, which bounds the memory of the index arrays"""
_RUN_BYTES = 2 << 20
"""of posting lists that are merged at a time; their arrays take about forty times as much memory"""


def _numbered() -> defaultdict[Any, int]:
    """Term -> its number; an unseen one gets the next."""
    return defaultdict(itertools.count().__next__)


def _numbers_of(terms: Sequence[object], numbered: Mapping[Any, int]) -> npt.NDArray[np.int32]:
    return np.fromiter(map(numbered.__getitem__, terms), dtype=np.int32, count=len(terms))


class FieldBuffer:
    """Collects one field's postings of many documents, as arrays."""

    def __init__(self) -> None:
        self._numbers = _numbered()
        self._terms: list[npt.NDArray[np.int32]] = []
        self._docs: list[tuple[int, int]] = []
        self._tf: list[bytes] = []
        self._lengths: list[bytes] = []
        self._positions: list[bytes] = []
        self.n_postings = 0

    def add(self, doc: int, field: FieldPostings) -> None:
        """Append one document's field; `doc` grows from call to call."""
        if not field.terms:
            return
        terms = field.terms.split("\n")
        self._terms.append(_numbers_of(terms, self._numbers))
        self._docs.append((doc, len(terms)))
        self._tf.append(field.tf)
        self._lengths.append(field.position_lengths)
        self._positions.append(field.positions)
        self.n_postings += len(terms)

    def lists(self) -> FieldLists:
        """All that was added, term by term."""
        docs, counts = np.array(self._docs, dtype=np.int32).reshape(-1, 2).T
        return group_lists(
            [term.encode("utf-8", "surrogatepass") for term in self._numbers],
            np.concatenate(self._terms) if self._terms else np.zeros(0, dtype=np.int32),
            docs=np.repeat(docs, counts),
            tf=np.frombuffer(b"".join(self._tf), dtype="<u2"),
            lengths=np.frombuffer(b"".join(self._lengths), dtype="<u4"),
            positions=np.frombuffer(b"".join(self._positions), dtype=np.uint8),
        )


def group_lists(
    names: Sequence[bytes], terms: npt.NDArray[np.int32], *, docs: Ints, tf: Ints, lengths: Ints, positions: Bytes
) -> FieldLists:
    """Sort postings [n] by the bytes of their term's name; documents keep their order within a term."""
    counts = np.bincount(terms, minlength=len(names))
    by_name = sorted(counts.nonzero()[0].tolist(), key=names.__getitem__)
    place = np.zeros(len(names), dtype=np.int64)
    place[by_name] = np.arange(len(by_name))
    sorted_names, df, keys = [names[i] for i in by_name], counts[by_name], place[terms]
    if (keys[1:] >= keys[:-1]).all():  # of one segment that is written anew
        return FieldLists(sorted_names, df, docs, tf, lengths, positions)
    keys = keys << 32 | np.arange(terms.size)
    keys.sort()
    order = keys & 0xFFFFFFFF
    starts = np.cumsum(lengths, dtype=np.int64) - lengths
    blocks = [order[i : i + _BLOCK] for i in range(0, order.size, _BLOCK)]
    moved = [gather(positions, starts[block], lengths[block].astype(np.int64)) for block in blocks]
    return FieldLists(
        sorted_names, df, docs[order], tf[order], lengths[order], np.concatenate(moved) if moved else positions
    )


def merged_lists(field: str, segments: Sequence[SegmentFiles], renumbered: Sequence[Ints]) -> Iterator[FieldLists]:
    """The field's lists of several segments as one, in runs of terms that bound the memory.

    `renumbered[s][doc]` is the new number of a document of segment s, -1 for a dead one.
    """
    largest = max(segments, key=lambda segment: segment.n_terms(field))
    n_bytes = max(_RUN_BYTES * largest.n_bytes // max(sum(segment.n_bytes for segment in segments), 1), 1)
    bounds = [largest.term(field, i) for i in largest.runs(field, n_bytes).tolist()]
    starts = [0] * len(segments)
    for bound in [*bounds, None]:
        stops = [s.n_terms(field) if bound is None else s.position_of(field, bound) for s in segments]
        yield _merged_run(field, segments, renumbered, list(zip(starts, stops, strict=True)))
        for segment, start, stop in zip(segments, starts, stops, strict=True):
            if stop > start:
                segment.forget_read(field, start, stop)
        starts = stops


def _merged_run(
    field: str, segments: Sequence[SegmentFiles], renumbered: Sequence[Ints], ranges: Sequence[tuple[int, int]]
) -> FieldLists:
    numbered = _numbered()
    nothing = np.zeros(0, dtype=np.int32)
    parts: list[tuple[Any, ...]] = [(nothing, nothing, nothing, nothing, nothing.astype(np.uint8))]
    for segment, new, (start, stop) in zip(segments, renumbered, ranges, strict=True):
        if stop > start:
            lists = segment.field_lists(field, start, stop)
            parts.append(_living(np.repeat(_numbers_of(lists.terms, numbered), lists.df), lists, new))
    terms, docs, tf, lengths, positions = (np.concatenate(column) for column in zip(*parts, strict=True))
    return group_lists(list(numbered), terms, docs=docs, tf=tf, lengths=lengths, positions=positions)


def _living(
    terms: npt.NDArray[np.int32], lists: FieldLists, new: Ints
) -> tuple[npt.NDArray[np.int32], Ints, Ints, Ints, Bytes]:
    docs = new[lists.docs].astype(np.int32)
    alive = docs >= 0
    tf, lengths = lists.tf.astype(np.uint16), lists.position_lengths.astype(np.uint32)
    if alive.all():
        return terms, docs, tf, lengths, lists.positions
    starts = np.cumsum(lists.position_lengths) - lists.position_lengths
    kept = gather(lists.positions, starts[alive], lists.position_lengths[alive])
    return terms[alive], docs[alive], tf[alive], lengths[alive], kept


def renumber(sizes: Iterable[int], dead: Iterable[Set[int]]) -> tuple[list[Ints], int]:
    """New numbers for the living documents of segments of `sizes`, one after the other, and how many there are."""
    maps: list[Ints] = []
    n = 0
    for size, gone in zip(sizes, dead, strict=True):
        alive = np.ones(size, dtype=bool)
        alive[list(gone)] = False
        new = np.full(size, -1, dtype=np.int64)
        new[alive] = n + np.arange(int(alive.sum()))
        n += int(alive.sum())
        maps.append(new)
    return maps, n


_ROWS = 50_000
"""documents whose columns are copied at a time"""


class Chosen:
    """The columns of those documents of several segments that `kept` [n_segments][n_documents] names, in pieces."""

    def __init__(self, parts: Sequence[Columns], kept: Sequence[Mask]) -> None:
        self._parts, self._kept = parts, kept

    def pieces(self, name: str) -> Iterator[Column]:
        """One column, at most _ROWS documents at a time."""
        for part, kept in zip(self._parts, self._kept, strict=True):
            for i in range(0, kept.size, _ROWS):
                yield part[name][i : i + _ROWS][kept[i : i + _ROWS]]


def pieces_of(documents: Mapping[str, Column] | Rows | Columns | Chosen, name: str) -> Iterable[Column]:
    """One column, in one piece or in several."""
    return documents.pieces(name) if isinstance(documents, Chosen) else [documents[name]]


def write_columns(file: BinaryIO, documents: Mapping[str, Column] | Rows | Columns | Chosen) -> None:
    """Write a .doc file, one column at a time."""
    for name in NAMES:
        for piece in pieces_of(documents, name):
            file.write(np.ascontiguousarray(piece, dtype=DOCUMENT[name].base).data)


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
    widths = [N_BYTES[kind] for kind in kinds]
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


def _write_numbers(code: Bytes, at: Ints, widths: Ints, counts: Ints, values: Ints) -> None:
    """Put `values` where `_read_numbers` reads them."""
    for width, own, places in places_of(at, widths, counts):
        parts = values[own].astype(f"<u{width}").view(np.uint8).reshape(-1, width)
        for i in range(width):
            code[places + i] = parts[:, i]
