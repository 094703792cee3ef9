"""Source code and configuration: the text as written; the first line of a module's docstring is its title."""

from __future__ import annotations

import re

from indexer.documents import Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import text_document
from indexer.extract.source import Source

_DOCSTRING = re.compile(r"\A(?:\ufeff|[ \t]*#[^\n]*\n|\s*\n)*[rRuU]?(\"\"\"|''')\\?\s*([^\n]*?\S[^\n]*?)\s*(?:\1|\n)")


def extract(source: Source, limits: Limits) -> Extraction:
    """One document."""
    python = source.name.endswith((".py", ".pyi", ".pyw", ".pyx"))
    return text_document(source, limits, "source", title_of if python else _no_title)


def title_of(head: str) -> str:
    """The first line of the docstring of a Python module."""
    found = _DOCSTRING.match(head)
    return found[2].rstrip(".") if found else ""


def _no_title(head: str) -> str:
    return ""
