"""JSON and JSON lines: keys and strings as written with their escapes undone, so that lines stay lines.

Nothing is parsed, so that a huge, broken or deeply nested file is read like any other.
"""

from __future__ import annotations

import re

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import read_text
from indexer.extract.source import Source

_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_SIGNS = {"n": " ", "r": " ", "t": " ", "b": " ", "f": " "}


def extract(source: Source, limits: Limits) -> Extraction:
    """One document without a title."""
    text, truncated = read_text(source, limits)
    if "\\" in text:
        text = _ESCAPE.sub(_character, text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return Extraction(documents=(ExtractedDocument(text=text, type="data", truncated=truncated),))


def _character(found: re.Match[str]) -> str:
    if found[1] is None:
        return _SIGNS.get(found[2], found[2])
    character = chr(int(found[1], 16))
    return character if character >= " " else " "
