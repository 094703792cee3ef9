"""Whoosh answers over our segments as over its own codec."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.codec.whoosh_codec import whoosh_schema
from indexer.storage.index import INDEX_NAME, Index

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import whoosh.index
    from whoosh import fields, query, scoring
    from whoosh.analysis import SpaceSeparatedTokenizer
    from whoosh.filedb.filestore import RamStorage
    from whoosh.writing import NO_MERGE
WORDS = ["heron", "stork", "crane", "egret", "ibis"]
# Whoosh keeps the length of a field in one byte, which is exact up to 10 words.
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=10).map(" ".join), min_size=1, max_size=8)
QUERIES: list[Callable[[Callable[[str], Any]], query.Query]] = [
    lambda w: query.Term("body", w("heron")),
    lambda w: query.Term("title", w("stork")),
    lambda w: query.Or([query.Term("body", w("heron")), query.Term("title", w("crane"))]),
    lambda w: query.And([query.Term("body", w("heron")), query.Term("body", w("stork"))]),
    lambda w: query.Not(query.Term("body", w("ibis"))),
    lambda w: query.AndNot(query.Term("body", w("egret")), query.Term("title", w("egret"))),
    lambda w: query.Phrase("body", [w("heron"), w("stork")]),
    lambda w: query.Phrase("body", [w("crane"), w("heron")], slop=3),
    lambda w: query.Term("body", w("unknown")),
    lambda w: query.DisjunctionMax([query.Term("body", w("ibis")), query.Term("title", w("ibis"))]),
]


def plain_whoosh(*parts: list[str]) -> whoosh.index.Index:
    """The same words in Whoosh's own codec, each part a segment."""
    text = fields.TEXT(analyzer=SpaceSeparatedTokenizer())
    index = RamStorage().create_index(fields.Schema(title=text, body=text))
    for part in filter(None, parts):
        writer = index.writer()
        for one in part:
            writer.add_document(title=one.split()[0], body=one)
        writer.commit(merge=False)
    return index


def answers(index: whoosh.index.Index, word: Callable[[str], Any]) -> list[dict[int, float]]:
    """Documents and scores of every query."""
    with index.searcher(weighting=scoring.BM25F()) as searcher:
        return [{hit.docnum: hit.score for hit in searcher.search(make(word), limit=None)} for make in QUERIES]


@settings(max_examples=15, deadline=None)
@given(texts=TEXTS, split=st.integers(0, 8))
def test_whoosh_answers_as_over_an_index_of_its_own(
    make_index: Callable[..., Index], texts: list[str], split: int
) -> None:
    """Terms, unions, phrases and BM25F scores over our codec are those over Whoosh's codec, in one or two segments."""
    ours = make_index([{"text": text, "title": text.split()[0]} for text in texts], sizes=[min(split, len(texts))])
    opened = whoosh.index.open_dir(str(ours.folder), indexname=INDEX_NAME, schema=whoosh_schema())
    expected = answers(plain_whoosh(texts[:split], texts[split:]), str)
    for found, wanted in zip(answers(opened, str.encode), expected, strict=True):
        assert found == pytest.approx(wanted, rel=1e-9)


def test_whoosh_passes_over_removed_documents(make_index: Callable[..., Index]) -> None:
    """A document that was removed and not yet merged away is in no answer."""
    ours = make_index(["heron", "heron stork", "stork", "ibis", "ibis"], removed=[0])
    with whoosh.index.open_dir(str(ours.folder), indexname=INDEX_NAME, schema=whoosh_schema()).searcher() as searcher:
        assert [hit.docnum for hit in searcher.search(query.Term("body", b"heron"))] == [1]
        assert searcher.reader().doc_count() == 5 - 1


def test_whoosh_reads_terms_in_order(make_index: Callable[..., Index]) -> None:
    """Whoosh's readers rely on fields and terms in ascending order, over several segments too."""
    ours = make_index([{"text": "b a c", "title": "z"}, {"text": "d a", "title": "y"}], sizes=[1])
    with whoosh.index.open_dir(str(ours.folder), indexname=INDEX_NAME, schema=whoosh_schema()).reader() as reader:
        terms = list(reader.all_terms())
        assert terms == sorted(terms)
        assert list(reader.expand_prefix("body", b"a")) == [b"a"]
        assert [reader.doc_frequency("body", term) for term in (b"a", b"b", b"x")] == [2, 1, 0]
        assert [reader.frequency("body", term) for term in (b"a", b"b", b"x")] == [2, 1, 0]


def test_whoosh_deletes_documents(make_index: Callable[..., Index]) -> None:
    """What Whoosh's own writer deletes and commits is deleted for this program, which goes on from there."""
    ours = make_index(["heron", "heron stork", "stork", "ibis"], sizes=[2])
    theirs = whoosh.index.open_dir(str(ours.folder), indexname=INDEX_NAME)
    with theirs.writer() as writer:
        assert writer.delete_by_query(query.Term("body", b"stork")) == 2
        writer.mergetype = NO_MERGE
    snapshot = ours.snapshot()
    assert sorted(snapshot.documents["doc_id"][snapshot.alive].tolist()) == [0, 3]
    with ours.writer("the test") as own:
        own.remove([0])
        own.commit(merge=False)
    with theirs.refresh().searcher() as searcher:
        assert [len(searcher.search(query.Term("body", word))) for word in (b"heron", b"stork", b"ibis")] == [0, 0, 1]
