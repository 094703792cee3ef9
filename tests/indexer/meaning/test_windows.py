"""The feature of meaning: windows of long documents chosen by words, seen against the other candidates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from indexer.meaning.nearest import Nearest
from indexer.meaning.passages import Passage, passages_of, windows_of
from indexer.meaning.vectors import records_of
from indexer.meaning.windows import LEAST_DEVIATION, MIDDLE, STEP, meaning_feature
from indexer.postings import Floats, Rows
from indexer.query.parse import parse
from indexer.retrieval.candidates import Candidates, find
from indexer.storage.index import Index
from indexer.storage.snapshot import Snapshot
from tests.matchers import matcher_of

MakeIndex = Callable[..., Index]
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
    unknown = feature(snapshot, "heron", {0: []})
    assert unknown.tolist() == [MIDDLE, MIDDLE]


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
