"""Plain text in any encoding; what the other text formats read with."""

from __future__ import annotations

import re
from collections.abc import Callable

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import decode, is_binary
from indexer.extract.limits import Limits, cut, shown_size
from indexer.extract.source import Source

HEAD = 8_192
"""bytes that decide whether a file is text at all"""


TITLE_WITHIN = 20_000
"""characters at the beginning in which a title is looked for"""


def read_text(source: Source, limits: Limits, *, declared: str = "") -> tuple[str, str]:
    """The text of `source` and what was kept of it ("" for all), reading only as much as is kept.

    Raises ExtractionError "unsupported" when the content is binary.
    """
    data = source.read(2 * limits.max_text_bytes + 4)
    if is_binary(data[:HEAD]):
        raise ExtractionError("unsupported", "binary content without text")
    is_cut = len(data) > 2 * limits.max_text_bytes
    text, truncated = cut(decode(data, declared=declared, is_cut=is_cut), limits.max_text_bytes)
    if is_cut and not truncated:
        truncated = f"first {shown_size(limits.max_text_bytes)}"
    return text, truncated


def extract(source: Source, limits: Limits) -> Extraction:
    """The whole file as one document, titled by an underlined first heading; without one the file name serves."""
    return text_document(source, limits, "text", underlined_title)


def text_document(source: Source, limits: Limits, type_: str, title_of: Callable[[str], str]) -> Extraction:
    """A document whose lines are those of the file, so that line numbers mean the same; titled by its beginning."""
    text, truncated = read_text(source, limits)
    title = " ".join(title_of(text[:TITLE_WITHIN]).split())[:300]
    if "base64," in text:
        text = _DATA_URI.sub("", text)
    return Extraction(documents=(ExtractedDocument(text=text, type=type_, title=title, truncated=truncated),))


def underlined_title(head: str) -> str:
    """The first line that is underlined with a run of one sign, where it stands among the first lines."""
    found = _UNDERLINED.search(head[:2_000])
    return found[1].strip() if found and len(found[2]) * 2 >= len(found[1].strip()) else ""


_DATA_URI = re.compile(r"data:[\w/+.;=-]{0,100};base64,[A-Za-z0-9+/=]+")
_UNDERLINED = re.compile(r"^[ \t]*(\S[^\n]{0,200})\n[ \t]*(([=*#~^\"'+-])\3{3,})[ \t]*$", re.M)
