"""What the words of a query are to the pick memory, to highlighting and to corrections."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.search.corrections import is_surely_meant, suggestion
from app.search.page import highlight_words, query_terms
from indexer.documents import ExtractedDocument, FileEntry
from indexer.prepare import prepare_document
from indexer.query.nodes import Query
from indexer.query.parse import parse
from indexer.retrieval.candidates import Candidates, find
from indexer.storage.index import Index
from indexer.storage.snapshot import Snapshot
from indexer.text.spelling import TermList, Vocabulary
from tests.matchers import matcher_of

TEXTS = ["heron herons waits", "heron houses", "house rules foo_bar"]


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    index = Index.open(Path(tmp_path_factory.mktemp("index")))
    with index.writer("test") as writer:
        for i, text in enumerate(TEXTS):
            document = prepare_document(ExtractedDocument(text=text, type="text"))
            writer.add(i, FileEntry(f"/{i}", 1, 1, 1, i), document)
        writer.commit()
    return index.snapshot()


def asked(snapshot: Snapshot, text: str, *, typing: bool = False) -> tuple[Query, Candidates]:
    query = parse(text, as_you_type=typing)
    return query, find(matcher_of(snapshot), query, limit=9)


@pytest.mark.parametrize(
    ("text", "typing", "terms", "completions"),
    [
        ("Herons houses", False, ["heron", "hous"], []),
        ("the heron", False, ["heron"], []),
        ('"house rules" title:heron', False, ["hous", "rule", "heron"], []),
        ("heron hous", True, ["heron", "hous"], ["hous"]),
        ("he", True, ["he"], ["he", "heron"]),
        ("heron -house", False, ["heron"], []),
        ("type:text", False, [], []),
    ],
)
def test_a_query_is_named_by_stems(
    snapshot: Snapshot, text: str, typing: bool, terms: list[str], completions: list[str]
) -> None:
    """Other forms, function words, fields and conditions do not make another query; a beginning has its endings."""
    assert query_terms(asked(snapshot, text, typing=typing)[1], ("en",)) == (terms, completions)


@pytest.mark.parametrize(
    ("text", "typing", "words"),
    [
        ("heron", False, {"heron", "herons"}),
        ("=heron", False, {"heron"}),
        ("her", True, {"her*"}),
        ("foo_bar", False, {"foo_bar", "foo bar"}),
        ("heron heron", False, {"heron", "herons"}),
        ("", False, set()),
    ],
)
def test_every_form_that_counts_is_highlighted(snapshot: Snapshot, text: str, typing: bool, words: set[str]) -> None:
    """Forms of a word, a beginning with its star, a joined word whole and in parts."""
    assert set(highlight_words(asked(snapshot, text, typing=typing)[1])) == words


VOCABULARY = Vocabulary(
    [TermList(np.frombuffer(b"heronhouserules", dtype=np.uint8), np.array([5, 10, 15], dtype=np.uint32))],
    lambda term: 9 * (term in ("heron", "house", "rules")),
)


@pytest.mark.parametrize(
    ("text", "better"),
    [
        ("heorn", "heron"),
        ("title:HEORN rules", "title:heron rules"),
        ('"the heorn" AND huose', '"the heron" AND house'),
        ("ruels* heron", "rules* heron"),
        ("heorn heorn", "heron heron"),
        ("@heorn and a@heorn.org", "heron and a@heron.org"),
        ("heron", ""),
        ("x9z", ""),
        ("type:pdf", ""),
    ],
)
def test_misspelt_words_are_replaced_in_their_place(snapshot: Snapshot, text: str, better: str) -> None:
    """Everything around a corrected word stays as it was typed, but for the sign of a saved search."""
    assert suggestion(*asked(snapshot, text), VOCABULARY) == better


def test_a_name_in_camel_case_is_never_replaced_unasked() -> None:
    """Another word of the same query may be."""
    assert not is_surely_meant("GeoLite setup", "getline setup")
    assert is_surely_meant("GeoLite setpu", "GeoLite setup")
    assert is_surely_meant("SETPU", "setup")
