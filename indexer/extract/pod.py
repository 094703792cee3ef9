"""POD, the documentation format of Perl: the text without formatting codes, titled by its NAME section."""

from __future__ import annotations

import re

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.limits import Limits
from indexer.extract.plain import read_text
from indexer.extract.source import Source

_NAME = re.compile(r"^=head1[ \t]+NAME\b[^\n]*\n\s*([^=\s][^\n]*(?:\n[^=\s][^\n]*)*)", re.M | re.I)
_HEADING = re.compile(r"^=head[12][ \t]+(\S[^\n]*)$", re.M)
_COMMAND = re.compile(r"^=(?:head\d|item|over|back|pod|cut|encoding|begin|end|for)\b[ \t]*", re.M)
_CODE = re.compile(r"[BICFLSX](?:<<+[ ]([^\n]*?)[ ]>>+|<([^<>\n]*)>)")
_INDEX_ENTRY = re.compile(r"X<[^<>\n]*>")
_ENTITY = re.compile(r"E<(\w+)>")
_ENTITIES = {"lt": "<", "gt": ">", "verbar": "|", "sol": "/", "quot": '"', "amp": "&"}


def extract(source: Source, limits: Limits) -> Extraction:
    """One document with the lines of the file."""
    text, truncated = read_text(source, limits)
    title = " ".join(title_of(text[:20_000]).split())[:300]
    text = plain(_COMMAND.sub("", text))
    return Extraction(documents=(ExtractedDocument(text=text, type="markdown", title=title, truncated=truncated),))


def title_of(head: str) -> str:
    """The paragraph under =head1 NAME ("perlrun - how to execute the Perl interpreter"), else the first heading."""
    head = _INDEX_ENTRY.sub("", head)  # they may stand alone under NAME, and are never shown
    found = _NAME.search(head) or _HEADING.search(head)
    return plain(found[1]) if found else ""


def plain(text: str) -> str:
    """`text` without formatting codes, two levels deep: C<< a >>, B<I<b>>."""
    for _ in range(2):
        text = _CODE.sub(lambda found: found[1] or found[2] or "", text)
    return _ENTITY.sub(lambda found: _ENTITIES.get(found[1], " "), text)
