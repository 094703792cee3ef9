"""Manual pages (roff with the man or mdoc macros): the text without requests and font changes."""

from __future__ import annotations

import re

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import read_text
from indexer.extract.source import Source

_HEADING = re.compile(r"^[.'](?:TH|Dt)\s+(\S+)", re.M)
_NAME = re.compile(r"^\.S[Hh]\s+\"?NAME\"?\s*\n((?:[.'][^\n]*\n)*[^.'\n][^\n]*|\.Nm[^\n]*\n\.Nd[^\n]*)", re.M)
_REQUEST = re.compile(r"^[.']\\\"[^\n]*|^[.'][ \t]*[A-Za-z]{1,4}\b[ \t]*", re.M)
_ESCAPES = re.compile(r"\\(?:f(?:\[\w*\]|\(\w\w|\w)|s[+-]?\d+|\*\(\w\w|\((\w\w)|(.))")
_GLYPHS = {"em": "—", "en": "–", "aq": "'", "dq": '"', "co": "©", "bu": "•", "lq": "“", "rq": "”"}
_SIGNS = {"-": "-", "e": "\\", "\\": "\\", " ": " ", "~": " ", "0": " "}


def extract(source: Source, limits: Limits) -> Extraction:
    """One document, titled by its NAME section ("ls - list directory contents"); without macros it is plain text."""
    text, truncated = read_text(source, limits)
    title = ""
    if heading := _HEADING.search(text[:20_000]):
        name = _NAME.search(text[:20_000])
        title = " ".join(_without_macros(name[1] if name else heading[1]).replace('"', "").split())[:300]
        text = _without_macros(text)
    return Extraction(documents=(ExtractedDocument(text=text, type="text", title=title, truncated=truncated),))


def _without_macros(text: str) -> str:
    return _ESCAPES.sub(_character, _REQUEST.sub("", text))


def _character(found: re.Match[str]) -> str:
    if found[1]:
        return _GLYPHS.get(found[1], " ")
    return _SIGNS.get(found[2] or "", "")
