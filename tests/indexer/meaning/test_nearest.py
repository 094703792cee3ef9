"""What is nearest, against products written out document by document.

The feature of meaning: windows of long documents chosen by words, seen against the other candidates.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from indexer.meaning import nearest as room
from indexer.meaning.nearest import (
    LEAST_DEVIATION,
    MIDDLE,
    STEP,
    Nearest,
    asked_plainly,
    conditions,
    filled,
    meaning_feature,
)
from indexer.meaning.vectors import MAX_PASSAGES, WORDS, Passage, passages_of, records_of, windows_of
from indexer.postings import Floats, Rows
from indexer.query.parse import parse
from indexer.retrieval.candidates import Candidates, find
from indexer.storage.index import Index
from indexer.storage.snapshot import Snapshot
from tests.matchers import matcher_of

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


def test_documents_resemble_each_other_by_the_sums_of_their_passages(make_index: MakeIndex) -> None:
    """Against cosines written out; one without vectors, one of another machine (-1), and each with itself have 0.

    2 is four times as long as its passages can say, and is trusted half."""
    rng = np.random.default_rng(4)
    texts = [f"text {i}" if i != 2 else "word " * 4 * MAX_PASSAGES * WORDS for i in range(6)]
    snapshot = make_index(texts).snapshot()
    content = dict(zip(snapshot.documents["doc_id"].tolist(), snapshot.documents["content"].tolist(), strict=True))
    made = {i: np.abs(unit(rng, i + 1)) for i in (0, 1, 2, 4)}
    spans = [Passage(10 * i, 10 * i + 5, "") for i in range(5)]
    records = np.concatenate([records_of(content[i], spans[: len(own)], own) for i, own in made.items()])
    closeness = Nearest(records, snapshot).to(unit(rng, 1)[0])
    ids = snapshot.documents["doc_id"].tolist()
    docs = np.array([ids.index(4), -1, ids.index(3), ids.index(0), ids.index(2)])
    sums = {i: own.sum(axis=0) / np.linalg.norm(own.sum(axis=0)) for i, own in made.items()}
    found = closeness.resemblance(docs)
    for i, a in enumerate((4, None, 3, 0, 2)):
        for j, b in enumerate((4, None, 3, 0, 2)):
            known = i != j and a in sums and b in sums
            trust = 0.5 if 2 in (a, b) else 1.0
            assert found[i, j] == pytest.approx(trust * float(sums[a] @ sums[b]) if known else 0.0, abs=0.02)
    assert closeness.resemblance(docs[2:3]).tolist() == [[0.0]]


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
        ("transp* law", ""), ("DE44 2004 1133", ""), ("2024", ""), ("tax 2024", "tax 2024"),
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
    np.testing.assert_allclose(filled(np.array([0.6, 0.2, np.nan]), np.array([1.0, 1.0, 1.1])), [0.6, 0.2, 0.4])


def test_where_nothing_is_known_all_are_equal() -> None:
    assert not filled(np.array([np.nan, np.nan]), np.array([0.0, 1.0])).any()


QUERY = np.array([1.0, 0.0], dtype=np.float32)


def vector(cosine: float) -> np.ndarray:
    return np.array([cosine, np.sqrt(1 - cosine**2)], dtype=np.float32)


def candidates(snapshot: Snapshot, text: str) -> Candidates:
    return find(matcher_of(snapshot), parse(text), limit=99)


def records(snapshot: Snapshot, made: dict[int, list[tuple[Passage, float]]]) -> Rows:
    """By document id the passages and windows with their cosines."""
    content = dict(zip(snapshot.documents["doc_id"].tolist(), snapshot.documents["content"].tolist(), strict=True))
    return np.concatenate([
        records_of(content[i], [one for one, _ in own], np.array([vector(cosine) for _, cosine in own]).reshape(-1, 2))
        for i, own in made.items()
    ])  # fmt: skip


def feature(snapshot: Snapshot, text: str, made: dict[int, list[tuple[Passage, float]]]) -> Floats:
    """By document id."""
    found = candidates(snapshot, text)
    values = meaning_feature(Nearest(records(snapshot, made), snapshot).to(QUERY), found, snapshot)
    return values[np.argsort(snapshot.documents["doc_id"][found.docs])]


def test_it_says_how_far_each_is_from_the_mean_of_the_others(make_index: MakeIndex) -> None:
    """.2, .4 and .9: the mean is .5, the deviation sqrt(.26 / 3)."""
    snapshot = make_index(["heron a", "heron b", "heron c"]).snapshot()
    cosines = np.array([0.2, 0.4, 0.9])
    found = feature(snapshot, "heron", {i: [(Passage(0, 5, ""), one)] for i, one in enumerate(cosines.tolist())})
    np.testing.assert_allclose(found, MIDDLE + STEP * (cosines - 0.5) / np.sqrt(0.26 / 3), atol=0.01)


def test_small_differences_stay_small_and_nothing_known_is_the_middle(make_index: MakeIndex) -> None:
    snapshot = make_index(["heron a", "heron b"]).snapshot()
    near = feature(snapshot, "heron", {i: [(Passage(0, 5, ""), 0.5 + i / 50)] for i in range(2)})
    assert near[1] - near[0] == pytest.approx(STEP * 0.02 / LEAST_DEVIATION, abs=0.02)
    for known in ([], [(Passage(0, 5, ""), 0.5)]):
        assert feature(snapshot, "heron", {0: known}).tolist() == [MIDDLE, MIDDLE]


def test_of_a_long_document_the_windows_with_the_words_count(make_index: MakeIndex) -> None:
    """A window without the words is the closest by far; of the three with most of them the closest counts."""
    words = [f"w{i}" for i in range(2100)]
    for place in (700, 701, 1400, 1401, 2030, 2031):
        words[place] = "heron"
    words[1750] = "heron"
    text = " ".join(words)
    snapshot = make_index([text, "heron here", "heron there"]).snapshot()
    windows = windows_of("", text)
    cosines = dict.fromkeys(range(30), 0.0) | {3: 0.99, 10: 0.3, 20: 0.6, 29: 0.4, 25: 0.9}
    own = [(one, cosines[i]) for i, one in enumerate(windows)]
    passages = [(one, 0.1) for one in passages_of("", text)]
    short = {i: [(Passage(0, 5, ""), cosine)] for i, cosine in ((1, 0.2), (2, 0.7))}
    found = feature(snapshot, "heron", {0: passages + own, **short})
    values = np.array([0.6, 0.2, 0.7])
    expected = MIDDLE + STEP * (values - values.mean()) / values.std()
    np.testing.assert_allclose(found, np.maximum(expected, 0), atol=0.01)


def test_what_stands_for_a_long_document_is_trusted_less(make_index: MakeIndex) -> None:
    """8,960 words: with all 128 windows by sqrt(32 / 128) = 1/2, with eight passages by sqrt(8 / 128) = 1/4."""
    text = "heron " + " ".join(f"w{i}" for i in range(8959))
    snapshot = make_index([text, "heron"]).snapshot()
    passages = [(one, 0.8) for one in passages_of("", text)]
    short = {1: [(Passage(0, 5, ""), 0.4)]}
    all_of_it = {0: passages + [(one, 0.8) for one in windows_of("", text)], **short}
    for made, trust in ((all_of_it, 0.5), ({0: passages, **short}, 0.25)):
        found = feature(snapshot, "heron", made)
        np.testing.assert_allclose(found, [MIDDLE + STEP * trust, MIDDLE - STEP], atol=0.01)
