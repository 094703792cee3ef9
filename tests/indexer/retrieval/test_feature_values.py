"""The feature matrix: each value by hand, its scale, and what it must not depend on."""

from __future__ import annotations

from collections.abc import Callable
from math import log, log1p
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexer.postings import Floats
from indexer.query.parse import parse
from indexer.retrieval.candidates import K1, B, Candidates, find, idf
from indexer.retrieval.feature_values import HALF_YEAR, MU, WEEK, Usage, raw_features, scaled
from indexer.retrieval.features import FEATURES, NAMES, USAGE_NAMES
from indexer.storage.index import Index
from indexer.storage.snapshot import Snapshot
from tests.columns import INDEX
from tests.matchers import matcher_of

MakeIndex = Callable[..., Index]
NOW = 2_000_000_000.0
DAY = 86_400.0


def look(
    index: Index, text: str, documents: list[dict[str, Any]], *, usage: Usage | None = None, **options: Any
) -> tuple[list[int], Floats]:
    """The ids of the candidates in order, and their features."""
    snapshot = index.snapshot()
    found = candidates(snapshot, text, **options)
    ids = snapshot.documents["doc_id"][found.docs].tolist()
    raw = raw_features(
        snapshot, found, usage or Usage.zeros(len(ids)), now=NOW,
        titles=[documents[i].get("title", "") for i in ids],
        names=[documents[i].get("path", f"/notes/{i}.txt").rpartition("/")[2] for i in ids],
    )  # fmt: skip
    return ids, scaled(raw)


def candidates(snapshot: Snapshot, text: str, **options: Any) -> Candidates:
    return find(matcher_of(snapshot), parse(text), **{"limit": 100, **options})


def column(found: tuple[list[int], Floats], name: str) -> dict[int, float]:
    """One feature by document id."""
    ids, matrix = found
    return dict(zip(ids, matrix[:, INDEX[name]].tolist(), strict=True))


# By hand -------------------------------------------------------------------------------------------------------------

BIRDS: list[dict[str, Any]] = [
    {"text": "heron heron stork", "title": "Heron", "path": "/birds/heron.txt", "author": "Stork"},
    {"text": "a heron", "title": "Stork and heron", "path": "/x.txt"},
    {"text": "b c d e", "title": "", "path": "/birds/heron/y.txt"},
]


@pytest.fixture(scope="module")
def birds(make_index: MakeIndex) -> Callable[[str], tuple[list[int], Floats]]:
    index = make_index(BIRDS)
    return lambda text: look(index, text, BIRDS)


def test_sums_of_tf_idf_in_a_field_by_hand(birds: Callable[[str], tuple[list[int], Floats]]) -> None:
    """Texts of 3, 2 and 4 words; heron in two of three of them, stork in one; the largest value becomes 1."""
    heron, stork = (log(1 + (3 - df + 0.5) / (df + 0.5)) for df in (2, 1))
    first, second = log1p(2) * heron + log1p(1) * stork, log1p(1) * heron
    assert column(birds("heron OR stork"), "body_tf_idf_sum") == pytest.approx({0: 1.0, 1: second / first, 2: 0.0})
    largest = max(log1p(2) * heron, log1p(1) * stork)
    assert column(birds("heron OR stork"), "body_tf_idf_max") == pytest.approx({0: 1.0, 1: second / largest, 2: 0.0})
    means = {0: (2 / 3 * heron + 1 / 3 * stork) / 2, 1: 1 / 2 * heron / 2, 2: 0.0}
    top = max(means.values())
    assert column(birds("heron OR stork"), "body_tf_idf_mean") == pytest.approx({i: m / top for i, m in means.items()})
    assert column(birds("heron OR stork"), "body_tf") == pytest.approx({0: 1.0, 1: log1p(1) / log1p(3), 2: 0.0})


def test_bm25_of_a_field_by_hand(birds: Callable[[str], tuple[list[int], Floats]]) -> None:
    """The idf is common to both and falls out when the largest value becomes 1."""
    mean, b = (3 + 2 + 4) / 3, B["body"]
    scores = {
        0: 2 * (K1 + 1) / (2 + K1 * (1 - b + b * 3 / mean)),
        1: 1 * (K1 + 1) / (1 + K1 * (1 - b + b * 2 / mean)),
        2: 0.0,
    }
    top = max(scores.values())
    assert column(birds("heron"), "body_bm25") == pytest.approx({i: score / top for i, score in scores.items()})


def test_language_model_by_hand(birds: Callable[[str], tuple[list[int], Floats]]) -> None:
    """heron is in 2 documents of 9 words: p = 2 / 9; moved and stretched over the three candidates."""
    p, mu = 2 / 9, MU["body"]
    raw = {i: log1p(tf / (mu * p)) + log(mu / (mu + n)) for i, (tf, n) in enumerate([(2, 3), (1, 2), (0, 4)])}
    low, high = min(raw.values()), max(raw.values())
    expected = {i: (value - low) / (high - low) for i, value in raw.items()}
    assert column(birds("heron"), "body_language_model") == pytest.approx(expected)


def test_coverage_weighs_rare_words_more(birds: Callable[[str], tuple[list[int], Floats]]) -> None:
    """heron is somewhere in all three documents, stork in two."""
    heron, stork = (log(1 + (3 - df + 0.5) / (df + 0.5)) for df in (3, 2))
    found = birds("heron OR stork")
    share = heron / (heron + stork)
    assert column(found, "title_coverage") == pytest.approx({0: share, 1: 1.0, 2: 0.0})
    assert column(found, "body_coverage") == pytest.approx({0: 1.0, 1: share, 2: 0.0})
    assert column(found, "name_coverage") == pytest.approx({0: share, 1: 0.0, 2: 0.0})
    assert column(found, "path_coverage") == pytest.approx({0: 0.0, 1: 0.0, 2: share})
    assert column(found, "author_coverage") == pytest.approx({0: 1 - share, 1: 0.0, 2: 0.0})
    assert column(found, "any_coverage") == pytest.approx({0: 1.0, 1: 1.0, 2: share})


def test_the_rarest_word_over_all_fields(birds: Callable[[str], tuple[list[int], Floats]]) -> None:
    """heron 4 (text 2, title, name) and stork 2 (text, author): 2; heron 2 and stork 1: 1; no stork: 0."""
    assert column(birds("heron OR stork"), "least_tf") == pytest.approx({0: 1.0, 1: log1p(1) / log1p(2), 2: 0.0})


def test_exact_titles_and_names(make_index: MakeIndex) -> None:
    """All the words and no others in order 1, in another order 0.8; shares are 2 * common / (both lengths)."""
    documents: list[dict[str, Any]] = [
        {"title": "Grey heron", "path": "/grey heron.txt"},
        {"title": "Heron, grey", "path": "/herons.tar"},
        {"title": "The grey herons of the sea", "path": "/heron-grey"},
        {"title": "", "path": "/x", "text": "grey heron"},
    ]
    found = look(make_index(documents), "grey heron", documents)
    assert column(found, "title_exact") == {0: 1.0, 1: 0.8, 2: 0.0, 3: 0.0}
    assert column(found, "name_exact") == {0: 1.0, 1: 0.0, 2: 0.8, 3: 0.0}
    assert column(found, "title_share") == pytest.approx({0: 1.0, 1: 1.0, 2: 2 * 2 / (6 + 2), 3: 0.0})
    assert column(found, "name_share") == pytest.approx({0: 1.0, 1: 2 * 1 / (1 + 2), 2: 1.0, 3: 0.0})


def test_the_very_form_counts(make_index: MakeIndex) -> None:
    """herons and heron: 1 of 2 occurrences is as typed; only the fields that were asked for are looked at."""
    documents = [{"text": "herons heron"}, {"text": "herons"}, {"title": "herons", "text": "heron"}]
    index = make_index(documents)
    assert column(look(index, "heron", documents), "surface_share") == {0: 1 / 2, 1: 0.0, 2: 1 / 2}
    assert column(look(index, "title:heron", documents), "surface_share") == {2: 0.0}


def test_age_size_and_depth(make_index: MakeIndex) -> None:
    """Half after a week, half after half a year; the newest, the largest and the deepest have 1, the others less. A
    date six days after today is as good as one six days before it."""
    documents: list[dict[str, Any]] = [
        {"text": "x", "changed": NOW - WEEK, "size": 9, "path": "/a/b/c/x"},
        {"text": "x", "changed": NOW - HALF_YEAR, "size": 99, "path": "/a/x"},
        {"text": "x", "changed": NOW, "size": 999, "path": "/a/b/x"},
        {"text": "x", "changed": NOW + 6 * DAY, "size": 9, "path": "/a/x"},
    ]
    found = look(make_index(documents), "x", documents)
    assert column(found, "recent_week") == pytest.approx({0: 0.5, 1: 2 ** -(HALF_YEAR / WEEK), 2: 1.0, 3: 0.5})
    assert column(found, "recent_year")[1] == pytest.approx(0.5)
    week, half_year = log1p(7), log1p(182)
    after_a_week = (half_year - week) / half_year
    assert column(found, "newer") == pytest.approx({0: after_a_week, 1: 0.0, 2: 1.0, 3: after_a_week})
    assert column(found, "size") == pytest.approx({0: 0.0, 1: 1 / 2, 2: 1.0, 3: 0.0})  # ln 10, ln 100, ln 1000
    assert column(found, "depth") == {0: 1.0, 1: 0.0, 2: 1 / 2, 3: 0.0}


@pytest.mark.parametrize(
    ("kind", "feature"),
    [("text", "is_text"), ("markdown", "is_text"), ("source", "is_source"), ("data", "is_source"), ("html", "is_html"),
     ("pdf", "is_document"), ("spreadsheet", "is_document"), ("mail", "is_mail"), ("archive", "")],
)  # fmt: skip
def test_types_in_groups(make_index: MakeIndex, kind: str, feature: str) -> None:
    """A document is of one group, or of none."""
    documents: list[dict[str, Any]] = [{"text": "x", "type": kind}]
    found = look(make_index(documents), "x", documents)
    groups = [name for name in NAMES if name.startswith("is_")]
    assert [name for name in groups if column(found, name)[0]] == ([feature] if feature else [])


def test_what_is_known_of_picks_passes_through(make_index: MakeIndex) -> None:
    """The six numbers stand in their columns as they came, in the order of the candidates."""
    documents: list[dict[str, Any]] = [{"text": "x"}, {"text": "x x"}]
    values = np.array([[0.1 * i, 0.9 - 0.1 * i] for i in range(len(USAGE_NAMES))])
    _, matrix = look(make_index(documents), "x", documents, usage=Usage(*values))
    assert matrix[:, [INDEX[name] for name in USAGE_NAMES]].T.tolist() == values.tolist()


# Scales --------------------------------------------------------------------------------------------------------------


def test_scales_by_hand() -> None:
    """share divides by the largest, range moves and stretches, absolute cuts at 0 and 1."""
    raw = np.tile(np.array([[1.0], [3.0], [4.0]]), (1, len(FEATURES)))
    expected = {"share": [1 / 4, 3 / 4, 1.0], "range": [0.0, 2 / 3, 1.0], "absolute": [1.0, 1.0, 1.0]}
    values = scaled(raw)
    for i, feature in enumerate(FEATURES):
        assert values[:, i].tolist() == pytest.approx(expected[feature.scale])
    assert raw[1, 0] == 3.0


def test_equal_candidates_have_no_range() -> None:
    """Where all are equal nothing is said: range 0, share 1, and 0 where there is nothing to share."""
    equal = scaled(np.full((3, len(FEATURES)), 0.5))
    for i, feature in enumerate(FEATURES):
        assert set(equal[:, i].tolist()) == {{"share": 1.0, "range": 0.0, "absolute": 0.5}[feature.scale]}
    assert not scaled(np.zeros((3, len(FEATURES)))).any()
    assert scaled(np.zeros((0, len(FEATURES)))).shape == (0, len(FEATURES))


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(0, 1e9).map(lambda value: round(value, 6)), min_size=1, max_size=6),
    st.floats(0.1, 1e3), st.floats(-1e3, 1e3),
)  # fmt: skip
def test_scales_forget_what_they_are_meant_to_forget(values: list[float], factor: float, shift: float) -> None:
    """A factor does not change a share, a factor and a shift do not change a range."""
    raw = np.tile(np.array(values)[:, None], (1, len(FEATURES)))
    share, range_ = ([i for i, f in enumerate(FEATURES) if f.scale == scale] for scale in ("share", "range"))
    assert scaled(raw * factor)[:, share] == pytest.approx(scaled(raw)[:, share], abs=1e-9)
    if np.ptp(raw) > 1.0:
        assert scaled(raw * factor + shift)[:, range_] == pytest.approx(scaled(raw)[:, range_], abs=1e-5)


# All of it -----------------------------------------------------------------------------------------------------------

TEXT = st.lists(st.sampled_from(["heron", "herons", "stork", "the", "foo_bar", "東京"]), max_size=5).map(" ".join)
DOCUMENTS = st.lists(
    st.fixed_dictionaries({
        "text": TEXT, "title": TEXT, "author": TEXT, "type": st.sampled_from(["text", "pdf", "mail"]),
        "changed": st.sampled_from([0, int(NOW), int(NOW + 1e9)]), "size": st.sampled_from([0, 1, 10**12]),
        "path": st.sampled_from(["/heron.txt", "/a/b/stork heron"]),
    }), min_size=1, max_size=5,
)  # fmt: skip
QUERIES = st.sampled_from(
    ["heron", "heron stork", "the", "", "type:pdf", "-heron", '"heron stork"', "foo_bar", "東京", "unknown", "her*",
     "title:heron", "heron OR stork OR the"]
)  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(documents=DOCUMENTS, text=QUERIES, by_date=st.booleans())
def test_every_value_lies_between_0_and_1(
    make_index: MakeIndex, documents: list[dict[str, Any]], text: str, by_date: bool
) -> None:
    """Any documents, any query, any order, times in the past and to come: never NaN, one column for each name."""
    with np.errstate(all="raise", under="ignore"):
        ids, matrix = look(make_index(documents), text, documents, by_date=by_date)
    assert matrix.shape == (len(ids), len(NAMES))
    assert np.isfinite(matrix).all()
    assert (matrix >= 0).all()
    assert (matrix <= 1).all()


@settings(max_examples=15, deadline=None)
@given(documents=DOCUMENTS, text=QUERIES, seed=st.integers(0, 99))
def test_the_order_of_documents_changes_nothing(
    make_index: MakeIndex, documents: list[dict[str, Any]], text: str, seed: int
) -> None:
    """Indexed in another order and in two commits, each document has the same features."""
    order = np.random.default_rng(seed).permutation(len(documents)).tolist()
    shuffled = [documents[i] for i in order]
    ids, matrix = look(make_index(documents), text, documents)
    others, other = look(make_index(shuffled, sizes=[1]), text, shuffled)
    rows = {order[i]: other[row] for row, i in enumerate(others)}
    assert set(rows) == set(ids)
    for row, i in enumerate(ids):
        assert matrix[row] == pytest.approx(rows[i], abs=1e-9)


def test_a_query_without_words_says_nothing_about_words(make_index: MakeIndex) -> None:
    """Only what is known of the documents themselves is not 0."""
    documents: list[dict[str, Any]] = [{"text": "heron", "title": "x"}, {"text": "stork", "changed": NOW}]
    ids, matrix = look(make_index(documents), "type:text", documents)
    assert ids == [1, 0]
    spoken = {NAMES[i] for i in np.flatnonzero(matrix.any(axis=0))}
    assert spoken == {"recent_week", "recent_year", "newer", "is_text"}


def test_one_document_and_none(make_index: MakeIndex) -> None:
    """One candidate has the full share of everything it has; no candidate, no rows."""
    documents: list[dict[str, Any]] = [{"text": "heron"}]
    found = look(make_index(documents), "heron", documents)
    assert column(found, "bm25f") == column(found, "body_coverage") == {0: 1.0}
    assert column(found, "body_language_model") == {0: 0.0}
    assert look(make_index(documents), "stork", documents)[1].shape == (0, len(NAMES))


def test_idf_of_an_absent_word_is_that_of_no_document() -> None:
    """So a word that a field never holds cannot divide by zero."""
    assert float(idf(3, 0)) == pytest.approx(log(1 + 3.5 / 0.5))
