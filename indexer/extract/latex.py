"""LaTeX: the text as written, titled by \\title or the first section."""

from __future__ import annotations

import re

from indexer.documents import Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import text_document
from indexer.extract.source import Source

_COMMAND = re.compile(r"^[^%\n]*?\\(title|chapter|section)\*?(?:\[[^\]]*\])?\{", re.M)
_MACRO = re.compile(r"\\(?:thanks|footnote|label)\{[^{}]*\}|\\\\|\\[A-Za-z]+\*?|[{}~]")


def extract(source: Source, limits: Limits) -> Extraction:
    """One document."""
    return text_document(source, limits, "document", title_of)


def title_of(head: str) -> str:
    """The argument of \\title, else of the first \\chapter or \\section, without commands."""
    found = {command[1]: command.end() for command in reversed(list(_COMMAND.finditer(head)))}
    for name in ("title", "chapter", "section"):
        if name in found:
            return _MACRO.sub(" ", _argument(head, found[name])).strip()
    return ""


def _argument(text: str, start: int) -> str:
    """The text from `start` to the brace that closes it, at most 500 characters."""
    depth = 1
    for position in range(start, min(start + 500, len(text))):
        depth += {"{": 1, "}": -1}.get(text[position], 0)
        if depth == 0:
            return text[start:position]
    return ""
