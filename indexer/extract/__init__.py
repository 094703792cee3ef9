"""Text out of files: one extractor per format, run in bounded worker processes.

`document_type` decides from a name, `extract_file` reads one file, `WorkerPool` runs a reader over many.
"""

from __future__ import annotations

from indexer.documents import Extraction
from indexer.extract.kinds import MAX_FILE_BYTES, document_type, kind_of, size_cap
from indexer.extract.pool import WorkerPool
from indexer.extract.source import Limits, shown_size

__all__ = [
    "MAX_FILE_BYTES",
    "Limits",
    "WorkerPool",
    "document_type",
    "extract_file",
    "kind_of",
    "shown_size",
    "size_cap",
]


def extract_file(path: str, limits: Limits) -> Extraction:
    """What the file at `path` holds; raises ExtractionError with a line for a person, or MemoryError.

    The extractors are loaded at the first call, so that a process that only crawls stays small.
    """
    from indexer.extract.registry import extract_file as read

    return read(path, limits)
