"""reStructuredText: the text as written, titled by the first section title."""

from __future__ import annotations

import re

from indexer.documents import Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import text_document
from indexer.extract.source import Source

_SIGN = r"[=\-`:.'\"~^_*+#<>]"
_TITLE = re.compile(rf"^(\S[^\n]*|[ ]\S[^\n]*)\n(({_SIGN})\3{{2,}})[ \t]*$", re.M)
_RULE = re.compile(rf"^({_SIGN})\1{{2,}}\s*$")
_ROLE = re.compile(r":[\w:.+-]+:`([^`<]*?)\s*(?:<[^`>]*>)?`|`{1,2}([^`]*)`{1,2}_{0,2}|[*|]{1,2}")


def extract(source: Source, limits: Limits) -> Extraction:
    """One document."""
    return text_document(source, limits, "markdown", title_of)


def title_of(head: str) -> str:
    """The first line that is underlined over its whole length."""
    for found in _TITLE.finditer(head):
        line = found[1].strip()
        if len(found[2]) * 10 >= len(line) * 9 and not _RULE.match(line):
            return _ROLE.sub(lambda role: role[1] or role[2] or "", line).strip()
    return ""
