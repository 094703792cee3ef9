"""Each commit is a table of contents that Whoosh writes, with the classes that it names there.

By its own extension point Whoosh's readers, searchers and deletions run over our segments (the tests do that).
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from console.durable import replace_durably
from indexer.codec.segments import INDEX_NAME, ListedSegment, table_of
from indexer.schema import FIELDS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from whoosh import fields, formats
    from whoosh.codec import whoosh3
    from whoosh.filedb.filestore import RamStorage
    from whoosh.index import TOC


class Segment(whoosh3.W3Segment):  # type: ignore[misc]
    """A Whoosh segment whose files are ours; pickled in the table of contents."""


class PositionGaps(formats.Format):  # type: ignore[misc]
    """Whoosh's view of our positions: the byte code of `indexer.postings`."""


class AnalysedTerms(fields.FieldType):  # type: ignore[misc]
    """A field whose terms arrive analysed; Whoosh reads it like any other."""

    scorable = True

    def __init__(self) -> None:
        self.format = PositionGaps()


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
