"""The codec as Whoosh knows it, by its own extension point: its readers and searchers run over these classes.

So a plain Whoosh query over the index answers as over any other (the tests and the benchmarks rely on that), and Whoosh
deletes documents from it. Each commit is a table of contents that Whoosh writes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from console.durable import replace_durably
from indexer.codec.segments import INDEX_NAME, ListedSegment, SegmentFiles, table_of
from indexer.postings import decode, encode
from indexer.schema import FIELDS, TEXT_FIELDS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from whoosh import fields, formats
    from whoosh.codec import base, whoosh3
    from whoosh.filedb.filestore import RamStorage
    from whoosh.index import TOC
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


class WhooshDocuments(base.PerDocumentReader):  # type: ignore[misc]
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


class WhooshTerms(base.TermsReader):  # type: ignore[misc]
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
        in_docs, positions = self._files.positions(field, i, docs)
        ends = np.searchsorted(in_docs, docs, side="right")
        values = [encode(np.diff(run, prepend=0))[0].tobytes() for run in np.split(positions, ends[:-1])]
        return ListMatcher(
            docs.tolist(), tf.astype(float).tolist(), values, format_, scorer,
            term=(field, term), terminfo=self.term_info(field, term),
        )  # fmt: skip


class PositionGaps(formats.Format):  # type: ignore[misc]
    """Whoosh's view of our positions: the byte code of `indexer.postings`."""

    def __init__(self, field_boost: float = 1.0, **options: Any) -> None:
        super().__init__(field_boost=field_boost, **options)

    def decode_positions(self, value: bytes) -> list[int]:
        """The positions behind one posting's value."""
        positions: list[int] = np.cumsum(decode(np.frombuffer(value, dtype=np.uint8))).tolist()
        return positions

    def decode_frequency(self, value: bytes) -> int:
        """How many positions one posting's value holds."""
        return sum(1 for byte in value if byte < 0x80)

    def decode_weight(self, value: bytes) -> float:
        """The same as the frequency."""
        return float(self.decode_frequency(value))


class AnalysedTerms(fields.FieldType):  # type: ignore[misc]
    """A field whose terms arrive analysed; Whoosh reads it like any other."""

    scorable = True

    def __init__(self) -> None:
        self.format = PositionGaps()

    def parse_query(self, fieldname: str, qstring: str, boost: float = 1.0) -> None:
        """Queries are parsed by indexer.query.parse, never by Whoosh."""


def whoosh_schema() -> fields.Schema:
    """The Whoosh schema: one analysed field for each of FIELDS."""
    return fields.Schema(**{name: AnalysedTerms() for name in FIELDS})


def write_contents(folder: Path, number: int, segments: Sequence[ListedSegment]) -> None:
    """Have Whoosh write the table that makes `segments` the commit `number`, and put it in its place durably."""
    made = [
        Segment(None, INDEX_NAME, doccount=one.n_documents, segid=one.name.rpartition("_")[2],
                deleted=set(one.deleted) or None)
        for one in segments
    ]  # fmt: skip
    storage, table = RamStorage(), table_of(number)
    TOC(whoosh_schema(), made, number).write(storage, INDEX_NAME)
    replace_durably(folder / table, storage.files[table])
