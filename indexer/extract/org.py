"""Org: the text as written, titled by #+TITLE or the first headline."""

from __future__ import annotations

import re

from indexer.documents import Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import text_document
from indexer.extract.source import Source

_TITLE = re.compile(r"^#\+title:[ \t]*(\S[^\n]*)$", re.M | re.I)
_HEADLINE = re.compile(r"^\*+[ \t]+(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+)?(?:\[#\w\][ \t]+)?(\S[^\n]*)$", re.M)
_TAGS = re.compile(r"[ \t]+:[\w@#%:]+:[ \t]*$")


def extract(source: Source, limits: Limits) -> Extraction:
    """One document."""
    return text_document(source, limits, "markdown", title_of)


def title_of(head: str) -> str:
    """What #+TITLE says, else the first headline without its state and tags."""
    found = _TITLE.search(head) or _HEADLINE.search(head)
    return _TAGS.sub("", found[1]).strip() if found else ""
