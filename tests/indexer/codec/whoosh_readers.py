"""Whoosh's readers over our segments, by its own extension point: the oracle of tests/indexer/codec.

Its queries, its searchers and its deletions run over the files that `indexer.codec.whoosh_codec` lists for it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from indexer.codec.segments import SegmentFiles
from indexer.codec.whoosh_codec import PositionGaps, Segment
from indexer.postings import Ints, decode, decode_runs, encode, run_places
from indexer.schema import TEXT_FIELDS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from whoosh.codec import base
    from whoosh.matching import ListMatcher
    from whoosh.reading import TermInfo, TermNotFound


class ArrayCodec(base.Codec):
    """Names the readers of our segments."""

    def per_document_reader(self, storage: Any, segment: Segment) -> WhooshDocuments:
        return WhooshDocuments(SegmentFiles(Path(storage.folder), segment.segment_id()), segment)

    def terms_reader(self, storage: Any, segment: Segment) -> WhooshTerms:
        return WhooshTerms(SegmentFiles(Path(storage.folder), segment.segment_id()))


class WhooshDocuments(base.PerDocumentReader):
    """Lengths, deletions and counts of one segment, as Whoosh asks for them."""

    def __init__(self, files: SegmentFiles, segment: Segment) -> None:
        self._files = files
        self.doc_count, self.doc_count_all = segment.doc_count, segment.doc_count_all
        self.has_deletions, self.is_deleted = segment.has_deletions, segment.is_deleted
        self.deleted_docs = segment.deleted_docs

    def stored_fields(self, docnum: int) -> dict[str, int]:
        return {}

    def doc_field_length(self, docnum: int, fieldname: str, default: int = 0) -> int:
        return int(self._files.documents[f"n_{fieldname}"][docnum]) if fieldname in TEXT_FIELDS else default

    def field_length(self, fieldname: str) -> int:
        return self._files.total_lengths.get(fieldname, 0)

    def min_field_length(self, fieldname: str) -> int:
        return int(self._files.documents[f"n_{fieldname}"].min()) if fieldname in TEXT_FIELDS else 0

    def max_field_length(self, fieldname: str) -> int:
        return int(self._files.documents[f"n_{fieldname}"].max()) if fieldname in TEXT_FIELDS else 0


class WhooshTerms(base.TermsReader):
    """Terms and posting lists of one segment, as Whoosh asks for them."""

    def __init__(self, files: SegmentFiles) -> None:
        self._files = files

    def __contains__(self, term: tuple[str, bytes]) -> bool:
        return self._files.find(*term) >= 0

    def indexed_field_names(self) -> list[str]:
        return self._files.fields

    def terms(self) -> Iterator[tuple[str, bytes]]:
        return ((field, term) for field in sorted(self._files.fields) for term in self._files.all_terms(field))

    def terms_from(self, field: str, prefix: bytes) -> Iterator[tuple[str, bytes]]:
        start = self._files.position_of(field, prefix)
        return ((field, self._files.term(field, i)) for i in range(start, self._files.n_terms(field)))

    def items(self) -> Iterator[tuple[tuple[str, bytes], TermInfo]]:
        return ((term, self.term_info(*term)) for term in self.terms())

    def items_from(self, field: str, prefix: bytes) -> Iterator[tuple[tuple[str, bytes], TermInfo]]:
        return ((term, self.term_info(*term)) for term in self.terms_from(field, prefix))

    def term_info(self, field: str, term: bytes) -> TermInfo:
        i = self._files.find(field, term)
        if i < 0:
            raise KeyError(f"No term {field}:{term!r}")  # Whoosh's readers make 0 or TermNotFound of it
        df, cf = self._files.frequencies(field, i)
        docs, tf = self._files.postings(field, i)
        lengths = self._files.documents[f"n_{field}"][docs] if field in TEXT_FIELDS else np.ones(1)
        return TermInfo(
            cf, df, int(lengths.min()), int(lengths.max()), float(tf.max()), int(docs[0]), int(docs[-1])
        )  # fmt: skip

    def matcher(self, field: str, term: bytes, format_: Any, scorer: Any = None) -> ListMatcher:
        i = self._files.find(field, term)
        if i < 0:
            raise TermNotFound(f"No term {field}:{term!r}")
        docs, tf = self._files.postings(field, i)
        in_docs, places = positions(self._files, field, i, docs)
        ends = np.searchsorted(in_docs, docs, side="right")
        values = [encode(np.diff(run, prepend=0))[0].tobytes() for run in np.split(places, ends[:-1])]
        return ListMatcher(
            docs.tolist(), tf.astype(float).tolist(), values, format_, scorer,
            term=(field, term), terminfo=self.term_info(field, term),
        )  # fmt: skip


def positions(files: SegmentFiles, field: str, i: int, wanted: Ints) -> tuple[Ints, Ints]:
    """The positions of the i-th term in the documents `wanted` (ascending; each must hold it).

    Returns the document of each position [n] and the positions [n], ascending within a document.
    """
    docs, starts, sizes = files.position_runs(field, i)
    if not sizes.size or not wanted.size:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    rows = np.searchsorted(docs, wanted)
    code = files.coded_positions(run_places(starts[rows], sizes[rows]))
    found, ends = decode_runs(code, sizes[rows], np.zeros(wanted.size, dtype=np.int64))
    return np.repeat(wanted, np.diff(ends, prepend=0)), found


def decode_positions(self: PositionGaps, value: bytes) -> list[int]:
    """The positions behind one posting's value: the byte code of `indexer.postings`."""
    positions: list[int] = np.cumsum(decode(np.frombuffer(value, dtype=np.uint8))).tolist()
    return positions


def decode_frequency(self: PositionGaps, value: bytes) -> int:
    """How many positions one posting's value holds."""
    return sum(1 for byte in value if byte < 0x80)


Segment.codec = lambda self, **_: ArrayCodec()
PositionGaps.decode_positions, PositionGaps.decode_frequency = decode_positions, decode_frequency
PositionGaps.decode_weight = lambda self, value: float(decode_frequency(self, value))
