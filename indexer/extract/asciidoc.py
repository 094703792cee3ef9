"""AsciiDoc: the text as written, titled by its document title."""

from __future__ import annotations

import re

from indexer.documents import Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import text_document, underlined_title
from indexer.extract.source import Source

_TITLE = re.compile(r"^={1,3}[ \t]+(\S[^\n]*?)[ \t=]*$", re.M)


def extract(source: Source, limits: Limits) -> Extraction:
    """One document."""
    return text_document(source, limits, "markdown", title_of)


def title_of(head: str) -> str:
    """The line that begins with "= ", else the first underlined line."""
    found = _TITLE.search(head)
    return found[1] if found else underlined_title(head)
