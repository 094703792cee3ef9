"""Markdown: the text as written, titled by front matter or the first heading."""

from __future__ import annotations

import re

from indexer.documents import Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import text_document, underlined_title
from indexer.extract.source import Source

_FRONT_MATTER = re.compile(r"\A(?:---|\+\+\+)\s*\n(.*?)\n(?:---|\+\+\+|\.\.\.)\s*\n", re.S)
_FRONT_TITLE = re.compile(r"^title\s*[:=]\s*(.+)$", re.M | re.I)
_FENCE = re.compile(r"^(```|~~~)[^\n]*\n.*?(?:^\1|\Z)", re.M | re.S)
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S[^\n]*?)[ \t#]*$", re.M)
_MARKS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|[*_`]{1,3}|<[^>]*>|\{#[^}]*\}")


def extract(source: Source, limits: Limits) -> Extraction:
    """One document; a heading inside a code block is no title."""
    return text_document(source, limits, "markdown", title_of)


def title_of(head: str) -> str:
    """The title in the front matter, else the first heading of the highest level near the top."""
    if front := _FRONT_MATTER.match(head):
        if named := _FRONT_TITLE.search(front[1]):
            return named[1].strip().strip("\"'")
        head = head[front.end() :]
    head = _FENCE.sub("", head)
    heading = _HEADING.search(head)
    underlined = underlined_title(head)
    if heading is not None and (not underlined or heading.start() < head.find(underlined)):
        return plain_heading(heading[2])
    return plain_heading(underlined)


def plain_heading(heading: str) -> str:
    """`heading` without links, emphasis and code marks."""
    return _MARKS.sub(lambda found: found[1] or "", heading).strip()
