"""Writing a segment, as `indexer.codec` describes its three files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from indexer.codec import WIDTHS, FieldLists, FieldTable, Header
from indexer.postings import Ints
from indexer.schema import TEXT_FIELDS


def narrow(values: Ints) -> tuple[int, bytes]:
    """The index in WIDTHS of the narrowest array that holds `values`, and its bytes."""
    top = int(values.max()) if values.size else 0
    width = 1 if top < 1 << 8 else 2 if top < 1 << 16 else 3
    return width, values.astype(WIDTHS[width]).tobytes()


def write_segment(
    folder: Path, name: str, *, documents: npt.NDArray[np.void], fields: Mapping[str, Iterable[FieldLists]]
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
        rows.write(documents.tobytes())


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
