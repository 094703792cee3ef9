"""From ranked candidates to hits: orders, copies, ranks, files that are gone, interleaving."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.search.page import bm25_ranks, interleave, is_spare, make_hit, make_hits, sort_rows, without_copies
from foltr.online.interleaving import FIRST, SECOND
from tests.app.search.pages import ranked, row, table


def test_later_copies_go_under_the_first() -> None:
    """0 and 2 are one content; asked in the order 2, 1, 0, it is 2 that stands for both."""
    assert without_copies([0, 1, 0], [0, 1, 2]) == {0: [2], 1: []}
    assert list(without_copies([0, 1, 0], [2, 1, 0]).items()) == [(2, [0]), (1, [])]


@given(st.lists(st.sampled_from("abc"), max_size=8), st.randoms())
def test_collapsing_keeps_every_document_once(contents: list[str], random: object) -> None:
    """In any order each candidate is shown or is a copy, and no two that are shown are the same."""
    order = list(range(len(contents)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shown = without_copies([ord(content) for content in contents], order)
    assert sorted([*shown, *(copy for copies in shown.values() for copy in copies)]) == sorted(order)
    assert len({contents[i] for i in shown}) == len(shown)
    assert list(shown) == [i for i in order if i in shown]


def test_sorting_by_date_and_by_name() -> None:
    """Newest first; names without regard to case, then by their path."""
    rows = [row(0, path="/b/Zebra.txt", modified=5), row(1, path="/z/ant.txt", modified=9), row(2, path="/a/ant.txt")]
    assert sort_rows(rows, "modified") == [1, 0, 2]
    assert sort_rows(rows, "name") == [2, 1, 0]


def test_ranks_of_bm25_pass_over_copies() -> None:
    """Four candidates in this order; the third is a copy of the first and shares its rank."""
    assert bm25_ranks([1, 2, 1, 0]) == {0: 1, 1: 2, 2: 1, 3: 3}


def test_a_path_says_that_it_is_a_copy() -> None:
    """In a backup, or by a number or a word behind its name; not a word that only begins so, nor a year."""
    spare = (
        "/h/Backup USB/a.pdf", "/h/novel_backup_2023/a.md", "/h/a (1).pdf", "/h/a - Kopie.pdf", "/h/a copy 2.pdf",
        "/h/Kopie von a.pdf", "/h/Copia de seguridad 2023/a.md", "/h/säkerhetskopia/a.md", "/h/Copy of a.pdf",
    )  # fmt: skip
    own = (
        "/h/a.pdf",
        "/h/copyright/a.pdf",
        "/h/backups.md",
        "/h/The copyist.txt",
        "/h/letter (draft).txt",
        "/h/Copies/a",
    )
    assert [[is_spare(path) for path in paths] for paths in (spare, own)] == [[True] * 9, [False] * 6]


def test_hits_name_copies_and_missing_files(tmp_path: Path) -> None:
    """Ranks count on, the copy's path is named, and a path that is gone is marked; a broken link is still there."""
    (tmp_path / "a.txt").write_text("x")
    os.symlink(tmp_path / "gone", tmp_path / "link")
    rows = [row(i, path=str(tmp_path / name)) for i, name in enumerate(("a.txt", "b.txt", "link"))]
    rows[1] = row(0, path=rows[1].path)
    missing: list[tuple[str, ...]] = [(), (), ("heron",)]
    page = ranked(tmp_path, table(rows, missing_words=missing), [0.5, 0.25, 2.0])
    hits = make_hits(page, {2: [], 0: [1]}, {0: 1, 1: 1, 2: 2})
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
