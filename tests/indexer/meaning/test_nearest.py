"""What is nearest, against products written out document by document."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from indexer.meaning import nearest as room
from indexer.meaning.nearest import Nearest, asked_plainly, conditions, filled
from indexer.meaning.passages import Passage
from indexer.meaning.vectors import records_of
from indexer.query.parse import parse
from indexer.storage.index import Index

MakeIndex = Callable[..., Index]


def unit(rng: np.random.Generator, n: int) -> np.ndarray:
    made = rng.standard_normal((n, 16)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def test_a_document_is_as_close_as_its_closest_passage(make_index: MakeIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies share, a document without vectors has none, a removed one is not proposed; blocks change nothing."""
    monkeypatch.setattr(room, "BLOCK", 4)
    rng = np.random.default_rng(3)
    texts = [f"text {i}" for i in range(9)]
    snapshot = make_index([*texts, texts[2]], sizes=(4,), removed=[1]).snapshot()
    content = dict(zip(snapshot.documents["doc_id"].tolist(), snapshot.documents["content"].tolist(), strict=True))
    made = {doc_id: unit(rng, doc_id % 3 + 1) for doc_id in (7, 2, 0, 1, 5)}
    spans = [Passage(10 * i, 10 * i + 5, "") for i in range(3)]
    records = np.concatenate([records_of(content[i], spans[: len(own)], own) for i, own in made.items()])
    query = unit(rng, 1)[0]
    found = Nearest(records, snapshot).to(query)
    number = {int(doc_id): n for n, doc_id in enumerate(snapshot.documents["doc_id"])}
    for doc_id, n in number.items():
        own = made.get(2 if doc_id == 9 else doc_id)
        if own is None:
            assert np.isnan(found.similarity[n])
        else:
            products = own @ query
            assert found.similarity[n] == pytest.approx(products.max(), abs=0.02)
            start = 10 * int(products.argmax())
            assert found.passage(n) == (start, start + 5)
    wanted = sorted((i for i in (0, 2, 5, 7, 9)), key=lambda i: (-found.similarity[number[i]], number[i]))
    best = found.best(snapshot.alive, 3, -1.0)
    assert snapshot.documents["doc_id"][best].tolist() == wanted[:3]
    least = float(found.similarity[number[wanted[0]]])
    closest = [number[i] for i in wanted if found.similarity[number[i]] >= least]
    assert found.best(snapshot.alive, 3, least).tolist() == closest


def test_without_vectors_nothing_is_near(make_index: MakeIndex, tmp_path: Path) -> None:
    snapshot = make_index(["heron"]).snapshot()
    empty = Nearest(records_of(0, [], np.zeros((0, 4), dtype=np.float32)), snapshot)
    assert not empty
    assert empty.to(np.ones(4, dtype=np.float32)).best(snapshot.alive, 9, -1.0).tolist() == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mend a car", "mend a car"), ("mend car ext:pdf -type:mail", "mend car"), ('mend "a car"', ""),
        ("mend OR car", ""), ("mend -car", ""), ("title:car", ""), ("=car", ""), ("ext:pdf", ""), ("", ""),
        ("transp* law", ""),
    ],
)  # fmt: skip
def test_only_plain_words_are_asked_by_meaning(text: str, words: str) -> None:
    assert asked_plainly(parse(text)) == words


def test_a_word_that_is_still_typed_is_plain() -> None:
    assert asked_plainly(parse("mend a ca", as_you_type=True)) == "mend a ca"


def test_the_conditions_are_the_filters() -> None:
    assert len(list(conditions(parse("mend car ext:pdf -type:mail")))) == 2
    assert list(conditions(parse("mend"))) == []


def test_a_similarity_is_the_feature_and_below_nothing_is_nothing() -> None:
    np.testing.assert_allclose(filled(np.array([0.5, -0.2, 0.8]), np.zeros(3)), [0.5, 0, 0.8])


def test_a_document_without_vectors_gets_what_its_text_score_lets_expect() -> None:
    """The line through (0, .2), (1, .4), (2, .6) is .2 + .2 x: at x = 1.5 it says .5, at 9 no more than was seen."""
    found = filled(np.array([0.2, 0.4, 0.6, np.nan, np.nan]), np.array([0.0, 1.0, 2.0, 1.5, 9.0]))
    np.testing.assert_allclose(found, [0.2, 0.4, 0.6, 0.5, 0.6])


def test_a_falling_line_is_not_believed() -> None:
    """Better words never mean less: with similarities that fall, the mean is expected of all."""
    np.testing.assert_allclose(filled(np.array([0.6, 0.2, np.nan]), np.array([0.0, 1.0, 5.0])), [0.6, 0.2, 0.4])


def test_where_nothing_is_known_all_are_equal() -> None:
    assert not filled(np.array([np.nan, np.nan]), np.array([0.0, 1.0])).any()
