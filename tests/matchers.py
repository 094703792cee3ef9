"""What finds the documents of a query in an index of a test, where no query names a folder."""

from __future__ import annotations

from indexer.retrieval.candidates import Matcher
from indexer.retrieval.concepts import ConceptLookup
from indexer.storage.snapshot import Snapshot


def nothing_named(kind: str, name: str) -> set[int]:
    """As in an index without mails and notes."""
    return set()


def matcher_of(
    snapshot: Snapshot, languages: tuple[str, ...] = ("en",), own_languages: tuple[str, ...] = ()
) -> Matcher:
    return Matcher(ConceptLookup(snapshot, languages, own_languages=own_languages), lambda folder: set(), nothing_named)
