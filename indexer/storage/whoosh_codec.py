"""Our segments as Whoosh sees them, through its own extension point for codecs, and the first table of contents.

Whoosh's readers and searchers run over these classes, so a plain Whoosh query over the index answers as over any other
(the tests and the benchmarks rely on that).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from console.durable import sync
from indexer.postings import Ints, encode
from indexer.schema import TEXT_FIELDS
from indexer.storage.codec import SegmentFiles, private
from indexer.storage.contents import INDEX_NAME
from indexer.whoosh_schema import whoosh_schema

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from whoosh.codec import base, whoosh3
    from whoosh.matching import ListMatcher
    from whoosh.reading import TermInfo, TermNotFound


class Segment(whoosh3.W3Segment):  # type: ignore[misc]
    """A Whoosh segment whose files are ours; pickled in the table of contents."""

    def codec(self, **_: Any) -> ArrayCodec:
        return ArrayCodec()


# Every table of contents on disk names the class by this path, whatever file it stands in.
Segment.__module__ = "indexer.whoosh_codec"
sys.modules[Segment.__module__] = sys.modules[__name__]


class ArrayCodec(base.Codec):  # type: ignore[misc]
    """Names the readers of our segments to Whoosh; segments are written by `write_segment`."""

    def per_document_reader(self, storage: Any, segment: Segment) -> WhooshDocuments:
        return WhooshDocuments(SegmentFiles(Path(storage.folder), segment.segment_id()), segment)

    def terms_reader(self, storage: Any, segment: Segment) -> WhooshTerms:
        return WhooshTerms(SegmentFiles(Path(storage.folder), segment.segment_id()))


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


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from whoosh.filedb.filestore import FileStorage
    from whoosh.filedb.structfile import StructFile
    from whoosh.index import TOC


class Storage(FileStorage):  # type: ignore[misc]
    """A folder whose files are for their owner only, and durable before they get their name."""

    def create_file(self, name: str, excl: bool = False, mode: str = "wb", **options: Any) -> StructFile:
        """Open a new or emptied file for writing."""
        return StructFile(open(self._fpath(name), mode, opener=private), name=name, **options)

    def rename_file(self, oldname: str, newname: str, safe: bool = False) -> None:
        """Make the file durable, then rename it."""
        sync([Path(self._fpath(oldname))])
        super().rename_file(oldname, newname, safe=safe)


def create_contents(storage: Storage) -> None:
    """Write the table of an empty index; another process may be doing the same."""
    try:
        TOC(whoosh_schema(), [], 0).write(storage, INDEX_NAME)
    except (NameError, FileNotFoundError):
        return  # Whoosh's way to say that the table is already there, and ours when a writer has tidied up
