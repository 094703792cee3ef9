"""Which reader an old Office file gets."""

from __future__ import annotations

from collections.abc import Callable

from indexer.documents import ExtractedDocument
from tests.indexer.extract.office.compound_parts import presentation, word


def test_the_streams_decide_and_not_the_name(single: Callable[..., ExtractedDocument]) -> None:
    """A presentation called .doc is a presentation, and a Word file without a name a document."""
    assert single("a.doc", presentation([{"outline": "zebra"}])).type == "presentation"
    assert single("README", word("zebra")).type == "document"
