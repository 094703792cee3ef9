"""CSV, TSV and their kin: the text as written, so that lines stay lines; a cell needs no parsing to be found."""

from __future__ import annotations

from indexer.documents import Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import text_document
from indexer.extract.source import Source


def extract(source: Source, limits: Limits) -> Extraction:
    """One document without a title."""
    return text_document(source, limits, "data", lambda _: "")
