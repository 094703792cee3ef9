"""Our segments as Whoosh sees them, through its own extension point for codecs.

Whoosh's table of contents pickles the segments, and its readers and searchers run over these classes, so a
plain Whoosh query over the index answers as over any other (the tests and the benchmarks rely on that).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from indexer.codec import SegmentFiles
from indexer.postings import Ints, encode
from indexer.schema import TEXT_FIELDS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from whoosh.codec import base, whoosh3
    from whoosh.matching import ListMatcher
    from whoosh.reading import TermInfo, TermNotFound


class Segment(whoosh3.W3Segment):  # type: ignore[misc]
    """A Whoosh segment whose files are ours; pickled in the table of contents."""

    def codec(self, **_: Any) -> ArrayCodec:
        return ArrayCodec()


class ArrayCodec(base.Codec):  # type: ignore[misc]
    """Names the readers of our segments to Whoosh; segments are written by `write_segment`."""

    def per_document_reader(self, storage: Any, segment: Segment) -> WhooshDocuments:
        return WhooshDocuments(SegmentFiles(Path(storage.folder), segment.segment_id()), segment)

    def terms_reader(self, storage: Any, segment: Segment) -> WhooshTerms:
        return WhooshTerms(SegmentFiles(Path(storage.folder), segment.segment_id()))

    def new_segment(self, storage: Any, indexname: str) -> Segment:
        # Whoosh draws names from the global random numbers, which somebody may have seeded.
        return Segment(None, indexname, segid=os.urandom(8).hex())


class WhooshDocuments(base.PerDocumentReader):  # type: ignore[misc]
    """Lengths, deletions and counts of one segment, as Whoosh asks for them."""

    def __init__(self, files: SegmentFiles, segment: Segment) -> None:
        self._files, self._segment = files, segment

    def doc_count(self) -> int:
        return int(self._segment.doc_count())

    def doc_count_all(self) -> int:
        return int(self._segment.doc_count_all())

    def has_deletions(self) -> bool:
        return bool(self._segment.has_deletions())

    def is_deleted(self, docnum: int) -> bool:
        return bool(self._segment.is_deleted(docnum))

    def deleted_docs(self) -> Iterator[int]:
        return iter(self._segment.deleted_docs())

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


class WhooshTerms(base.TermsReader):  # type: ignore[misc]
    """Terms and posting lists of one segment, as Whoosh asks for them."""

    def __init__(self, files: SegmentFiles) -> None:
        self._files = files

    def _number(self, field: str, term: bytes) -> int:
        i = self._files.find(field, term)
        if i < 0:
            raise KeyError(f"No term {field}:{term!r}")  # Whoosh's readers make 0 or TermNotFound of it
        return i

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
        i = self._number(field, term)
        df, cf = self._files.frequencies(field, i)
        docs, tf = self._files.postings(field, i)
        lengths = self._files.documents[f"n_{field}"][docs] if field in TEXT_FIELDS else np.ones(1)
        return TermInfo(
            cf, df, int(lengths.min()), int(lengths.max()), float(tf.max()), int(docs[0]), int(docs[-1])
        )  # fmt: skip

    def frequency(self, field: str, term: bytes) -> int:
        return self._files.frequencies(field, self._number(field, term))[1]

    def doc_frequency(self, field: str, term: bytes) -> int:
        return self._files.frequencies(field, self._number(field, term))[0]

    def matcher(self, field: str, term: bytes, format_: Any, scorer: Any = None) -> ListMatcher:
        i = self._files.find(field, term)
        if i < 0:
            raise TermNotFound(f"No term {field}:{term!r}")
        docs, tf = self._files.postings(field, i)
        in_docs, positions = self._files.positions(field, i, docs)
        ends = np.searchsorted(in_docs, docs, side="right")
        values = [position_value(run) for run in np.split(positions, ends[:-1])]
        return ListMatcher(
            docs.tolist(), tf.astype(float).tolist(), values, format_, scorer,
            term=(field, term), terminfo=self.term_info(field, term),
        )  # fmt: skip


def position_value(positions: Ints) -> bytes:
    """The byte code of ascending positions, as one posting's value."""
    return encode(np.diff(positions, prepend=0))[0].tobytes()
