"""Where an extractor reads from: a file on disk, or bytes that sat inside another file."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from indexer.documents import Extraction
from indexer.extract.limits import Limits


@dataclass(frozen=True, slots=True)
class Source:
    """One stream of bytes with the name that its extension is taken from."""

    name: str
    """file or member name; only its extension and stem mean anything"""
    path: str = ""
    """path on disk; unused when `data` is given"""
    data: bytes | None = None
    depth: int = 0
    """0 for a file on disk, 1 for a member or attachment of it, and so on"""

    def open(self) -> BinaryIO:
        """A seekable binary stream at its beginning; OSError when the file cannot be opened."""
        return io.BytesIO(self.data) if self.data is not None else open(self.path, "rb")

    def read(self, max_bytes: int) -> bytes:
        """The first `max_bytes` bytes, fewer when there are fewer."""
        if self.data is not None:
            return self.data[:max_bytes]
        with open(self.path, "rb", buffering=0) as stream:
            parts = []
            while max_bytes > 0 and (part := stream.read(min(max_bytes, 1 << 22))):
                parts.append(part)
                max_bytes -= len(part)
        return b"".join(parts)

    @property
    def size(self) -> int:
        """Length in bytes."""
        return len(self.data) if self.data is not None else Path(self.path).stat().st_size


Extractor = Callable[[Source, Limits], Extraction]
"""Reads one kind of file; raises ExtractionError, or anything its library raises on malformed data."""

NestedExtractor = Callable[[Source, Limits, Extractor], Extraction]
"""Reads a container; the third argument reads a member of any kind."""
