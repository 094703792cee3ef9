"""Plain text in any encoding, and manual pages."""

from __future__ import annotations

import re

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import decode, is_binary
from indexer.extract.limits import Limits, cut, shown_size
from indexer.extract.source import Source

HEAD = 8_192
"""bytes that decide whether a file is text at all"""


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
    """The whole file as one document without a title: the file name serves."""
    text, truncated = read_text(source, limits)
    return Extraction(documents=(ExtractedDocument(text=text, type="text", truncated=truncated),))


def extract_manual(source: Source, limits: Limits) -> Extraction:
    """A manual page without its requests; a file that has none is plain text."""
    text, truncated = read_text(source, limits)
    title = ""
    if _HEADING.search(text):
        title = manual_title(text)
        text = _ESCAPES.sub(_escape, _REQUEST.sub("", text))
    return Extraction(documents=(ExtractedDocument(text=text, type="text", title=title, truncated=truncated),))


def manual_title(text: str) -> str:
    """The NAME line of a manual page, "ls - list directory contents"; else the name of its .TH line."""
    for pattern in (_NAME, _HEADING):
        if found := pattern.search(text):
            return _ESCAPES.sub(_escape, _REQUEST.sub("", found[1])).strip(' "\n')
    return ""


_HEADING = re.compile(r"^[.'](?:TH|Dt)\s+(\S+)", re.M)
_NAME = re.compile(r"^\.S[Hh]\s+\"?NAME\"?\s*\n((?:\.[A-Z]\w*\s)?[^.\n][^\n]*)", re.M)
_REQUEST = re.compile(r"^[.']\\\".*\n?|^[.'][ \t]*[A-Za-z]{1,4}\b[ \t]*", re.M)
_ESCAPES = re.compile(r"\\(?:f(?:\[\w*\]|\(\w\w|\w)|s[+-]?\d+|\((\w\w|..)|([-&|^%:e\\ ])|\*\(\w\w)")

_GLYPHS = {"em": "—", "en": "–", "aq": "'", "dq": '"', "co": "©", "bu": "•", "lq": "“", "rq": "”"}


def _escape(found: re.Match[str]) -> str:
    if found[1]:
        return _GLYPHS.get(found[1], " ")
    return {"-": "-", "e": "\\", "\\": "\\", " ": " "}.get(found[2] or "", "")
