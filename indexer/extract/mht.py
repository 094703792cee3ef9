"""Web pages saved with their pictures as one MIME file (.mht, .mhtml)."""

from __future__ import annotations

from email.parser import BytesParser

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract import html
from indexer.extract.limits import Limits, shown_size
from indexer.extract.source import Source


def extract(source: Source, limits: Limits) -> Extraction:
    """The page as an HTML document."""
    data = source.read(limits.max_member_bytes + 1)
    if len(data) > limits.max_member_bytes:
        raise ExtractionError("too-large", f"saved page of more than {shown_size(limits.max_member_bytes)}")
    return html.extract(Source(name="page.html", data=web_page(data)), limits)


def web_page(data: bytes) -> bytes:
    """The first HTML part of a MIME file; ExtractionError "malformed" when there is none."""
    for part in BytesParser().parsebytes(data).walk():
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            payload = part.get_payload(decode=True)
            return payload if isinstance(payload, bytes) else b""
    raise ExtractionError("malformed", "no web page in the file")
