"""From ranked candidates to hits: orders, copies, ranks, files that are gone, interleaving."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.learning.learner import Learner
from app.search.candidate_table import PLAIN, CandidateTable
from app.search.page import (
    Ranked,
    bm25_ranks,
    called_first,
    contents_of,
    interleave,
    make_hit,
    make_hits,
    sort_rows,
    without_copies,
)
from app.settings import LearningSettings
from app.store import Store
from foltr.online.interleaving import FIRST, SECOND
from indexer.storage.catalogue import DocumentRow


def row(i: int, content: str = "", *, path: str = "", modified: float = 0.0, n_words: int = 3) -> DocumentRow:
    return DocumentRow(
        doc_id=100 + i, path=path or f"/notes/{i}.txt", part="", title=f"Title {i}", type="text", author="",
        recipients="", properties=(), modified=modified, size=10, language="", truncated="", n_words=n_words,
        content_hash=(content or str(i)).encode(), pages=(),
    )  # fmt: skip


def test_later_copies_go_under_the_first() -> None:
    """0 and 2 are one content; asked in the order 2, 1, 0, it is 2 that stands for both."""
    assert without_copies([0, 1, 0], [0, 1, 2]) == {0: [2], 1: []}
    assert list(without_copies([0, 1, 0], [2, 1, 0]).items()) == [(2, [0]), (1, [])]


def test_contents_join_copies_and_twins() -> None:
    """2 is a copy of 0, 3 the same text as 2 in another format; files without a word have nothing in common."""
    rows = [row(0, "same"), row(1), row(2, "same"), row(3), row(4, "none", n_words=0), row(5, "none", n_words=0)]
    assert contents_of(rows, [(2, 3)]) == [0, 1, 0, 0, 4, 5]
    assert contents_of(rows, []) == [0, 1, 0, 3, 4, 5]


def test_texts_called_by_all_words_stand_above_what_lacks_one() -> None:
    """0 and 1 are called by both words, 3 holds them in its text, 2 and 4 lack one; 5 is a picture of that name.

    0 and 1 rise just above 2 in their order and 3 stays; where 2 was chosen before, only above 4.
    """
    levels = np.array([[2, 2], [2, 2], [2, 0], [1, 2], [0, 1], [2, 2]])
    scores, texts, nobody = np.array([1.0, 2.0, 5.0, 3.0, 1.5, 0.5]), np.array([True] * 5 + [False]), np.zeros(6, bool)
    alone = {"answers": nobody, "behind": nobody}
    points = called_first(levels, scores, called=nobody, fixed=nobody, are_texts=texts, **alone)
    assert (scores + points).tolist() == pytest.approx([5.005, 5.01, 5.0, 3.0, 1.5, 0.5])
    points = called_first(levels, scores, called=nobody, fixed=np.arange(6) == 2, are_texts=texts, **alone)
    assert (scores + points).tolist() == pytest.approx([1.51, 2.0, 5.0, 3.0, 1.5, 0.5])


def test_texts_called_so_by_their_file_names_stand_above_what_only_speaks_of_it() -> None:
    """0 and 4, a picture, are called so; 1 has the word in its title and stays, 2 and 3 have it in their texts.

    0 rises just above 2; where 2 was chosen before, above 3.
    """
    levels, scores = np.array([[2], [2], [1], [1], [2]]), np.array([1.0, 2.0, 5.0, 3.0, 0.5])
    called, texts, nobody = np.array([True, False, False, False, True]), np.arange(5) < 4, np.zeros(5, dtype=bool)
    alone = {"answers": nobody, "behind": nobody}
    points = called_first(levels, scores, called=called, fixed=nobody, are_texts=texts, **alone)
    assert (scores + points).tolist() == pytest.approx([5.01, 2.0, 5.0, 3.0, 0.5])
    points = called_first(levels, scores, called=called, fixed=np.arange(5) == 2, are_texts=texts, **alone)
    assert (scores + points).tolist() == pytest.approx([3.01, 2.0, 5.0, 3.0, 0.5])


@given(st.lists(st.sampled_from("abc"), max_size=8), st.randoms())
def test_collapsing_keeps_every_document_once(contents: list[str], random: object) -> None:
    """In any order each candidate is shown or is a copy, and no two that are shown are the same."""
    order = list(range(len(contents)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shown = without_copies([ord(content) for content in contents], order)
    assert sorted([*shown, *(copy for copies in shown.values() for copy in copies)]) == sorted(order)
    assert len({contents[i] for i in shown}) == len(shown)
    assert list(shown) == [i for i in order if i in shown]


def test_a_table_takes_every_column_in_the_same_order() -> None:
    """What is known of a candidate stays together, lists as well as arrays; a candidate that is not taken is gone."""
    words: list[tuple[str, ...]] = [("a",), ("b",), ("c",)]
    table = CandidateTable(
        rows=[row(i) for i in range(3)], names=["0", "1", "2"], docs=np.arange(3), bm25f=np.arange(3.0),
        features=np.arange(6.0).reshape(3, 2), levels=np.arange(3)[:, None], missing_words=words,
        as_typed=np.array([True, True, False]), named=np.arange(3), chosen_before=np.array([True, False, False]),
        marks=[("a",), ("b",), ("c",)], sketches=np.arange(3)[:, None],
        asides=[PLAIN] * 3, added=np.zeros(3, dtype=bool),
    ).take([2, 0])  # fmt: skip
    assert [one.doc_id for one in table.rows] == [102, 100]
    assert (table.names, table.missing_words) == (["2", "0"], [("c",), ("a",)])
    assert table.features.tolist() == [[4, 5], [0, 1]]
    assert table.marks == [("c",), ("a",)]
    columns = (table.docs, table.bm25f, table.levels[:, 0], table.named)
    assert all(column.tolist() == [2, 0] for column in columns)
    assert (table.chosen_before.tolist(), table.as_typed.tolist()) == ([False, True], [False, True])


def test_sorting_by_date_and_by_name() -> None:
    """Newest first; names without regard to case, then by their path."""
    rows = [row(0, path="/b/Zebra.txt", modified=5), row(1, path="/z/ant.txt", modified=9), row(2, path="/a/ant.txt")]
    assert sort_rows(rows, "modified") == [1, 0, 2]
    assert sort_rows(rows, "name") == [2, 1, 0]


def test_ranks_of_bm25_pass_over_copies() -> None:
    """Four candidates in this order; the third is a copy of the first and shares its rank."""
    assert bm25_ranks([1, 2, 1, 0]) == {0: 1, 1: 2, 2: 1, 3: 3}


def test_hits_name_copies_and_missing_files(tmp_path: Path) -> None:
    """Ranks count on, the copy's path is named, and a path that is gone is marked; a broken link is still there."""
    (tmp_path / "a.txt").write_text("x")
    os.symlink(tmp_path / "gone", tmp_path / "link")
    rows = [row(i, path=str(tmp_path / name)) for i, name in enumerate(("a.txt", "b.txt", "link"))]
    rows[1] = row(0, path=rows[1].path)
    with Store(tmp_path / "state.sqlite") as store:
        learner = Learner(
            store, theta0=[0.0, 0.0], feature_names=("a", "b"), manifest_hash="", settings=LearningSettings()
        )
        missing: list[tuple[str, ...]] = [(), (), ("heron",)]
        scores = np.array([0.5, 0.25, 2.0])
        table = CandidateTable(
            rows=rows, names=["a.txt", "b.txt", "link"], docs=np.arange(3), bm25f=np.zeros(3),
            features=np.zeros((3, 2)), levels=np.zeros((3, 1), dtype=np.int64), missing_words=missing,
            as_typed=np.ones(3, dtype=bool), named=np.zeros(3, dtype=np.int64), chosen_before=np.zeros(3, dtype=bool),
            marks=[()] * 3, sketches=np.zeros((3, 1), dtype=np.uint8),
            asides=[PLAIN] * 3, added=np.zeros(3, dtype=bool),
        )  # fmt: skip
        ranked = Ranked(table, scores, learner, [0, 0, 2])
    hits = make_hits(ranked, {2: [], 0: [1]}, {0: 1, 1: 1, 2: 2})
    assert [hit.missing_words for hit in hits] == [("heron",), ()]
    assert [(hit.rank, hit.doc_id, hit.score, hit.bm25_rank, hit.missing) for hit in hits] == [
        (1, 102, 2.0, 2, False), (2, 100, 0.5, 1, False),
    ]  # fmt: skip
    assert (hits[1].copies, hits[1].twins) == ((str(tmp_path / "b.txt"),), ())
    assert hits[1].paths == (str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))
    assert make_hit(rows[1], 1, score=0.0, bm25_rank=1).missing


@pytest.mark.parametrize("seed", range(5))
def test_interleaving_drafts_the_first_page_and_keeps_the_rest(seed: int) -> None:
    """Both orders take turns over k places; behind them the learned order goes on; copies stay with their leader."""
    learned = {4: [], 0: [9], 3: [], 1: [], 2: []}
    page, owners = interleave(learned, k=2, seed=seed)
    assert set(page) == set(learned)
    assert all(page[i] == learned[i] for i in page)
    assert set(list(page)[:2]) == {4, 0}  # the first of each order: learned 4, BM25 0
    assert list(page)[2:] == [3, 1, 2]
    assert sorted(owners[:2]) == sorted([FIRST, SECOND])
    assert owners[list(page).index(4)] == FIRST
    assert interleave(learned, k=2, seed=seed) == (page, owners)
