"""The container of Office before 2007 and of password-protected newer files; its text is not read."""

from __future__ import annotations

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.kinds import extension
from indexer.extract.limits import Limits
from indexer.extract.source import Source

_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")


def extract(source: Source, limits: Limits) -> Extraction:
    """Raises "encrypted" for a protected file of today, "unsupported" for an old one."""
    if _ENCRYPTED in source.read(limits.max_member_bytes):
        raise ExtractionError("encrypted", "protected by a password")
    raise ExtractionError("unsupported", f"the old binary Office format (.{extension(source.name) or 'doc'})")
