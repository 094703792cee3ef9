"""Text out of files: one extractor per format, run in bounded worker processes.

`extract_file` reads one file, `indexer.extract.pool` runs a reader over many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from indexer.documents import Extraction
    from indexer.extract.source import Limits


def extract_file(path: str, limits: Limits) -> Extraction:
    """What the file at `path` holds; raises ExtractionError with a line for a person, or MemoryError.

    The extractors are loaded at the first call, so that a process that only crawls stays small.
    """
    from indexer.extract.registry import extract_file as read

    return read(path, limits)
