"""Office files of before 2007: whatever the name ends in, the streams in the container say which program made them."""

from __future__ import annotations

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.mail import msg
from indexer.extract.office import doc, ppt, xls
from indexer.extract.office.compound import opened
from indexer.extract.source import Extractor, Limits, Source


def extract(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """What the reader that the streams ask for finds; raises "encrypted", and "unsupported" where there is none."""
    with opened(source, limits) as compound:
        if "EncryptedPackage" in compound or "EncryptedSummary" in compound:
            raise ExtractionError("encrypted", "protected by a password")
        if "WordDocument" in compound:
            return doc.extract(compound, limits)
        if "PowerPoint Document" in compound:
            return ppt.extract(compound, limits)
        for name in ("Workbook", "Book"):
            if name in compound:
                return xls.read_workbook(compound.read(name), limits, summary=compound.summary())
        if "__properties_version1.0" in compound:
            return msg.extract(compound, source.depth, limits, member)
    raise ExtractionError("unsupported", "an Office file of a kind that is not read")
