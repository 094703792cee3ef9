"""Odd queries: a bounded run of what the benchmark asks by the ten thousand."""

from __future__ import annotations

import random
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from app.following.indexing import update_index
from app.search.search import Search
from app.settings import IndexSettings, Paths, Settings
from benchmarks.odd_queries import KINDS, LONGEST, ask, odd_query, run, vocabulary

TEXT = "The heron waits for e-mail; the stork_nest of A. Bird (2024) is in getFile. 中文 漢字 naïve café "


def made(folder: Path) -> tuple[Search, list[str]]:
    (folder / "notes").mkdir()
    for i in range(8):
        (folder / "notes" / f"{i}.txt").write_text(TEXT * (1 + 200 * (i == 7)) + f"number {i}", encoding="utf-8")
    paths = Paths(folder / "config", folder / "data")
    update_index(Settings(index=IndexSettings(workers=1)), paths, roots=[str(folder / "notes")])
    return Search(Settings(), paths), vocabulary(paths)


def test_none_raises_whatever_is_asked(tmp_path: Path) -> None:
    """Of each kind, from seeds that nobody chose; a query that failed once is kept here by its text."""
    search, words = made(tmp_path)
    try:

        @settings(max_examples=40, deadline=None, database=None)
        @given(st.sampled_from(KINDS), st.integers(0, 2**32))
        def asked(kind: object, seed: int) -> None:
            assert callable(kind)
            assert ask(search, kind(random.Random(seed), words)[:LONGEST]) >= 0.0

        asked()
        for text in (
            "~\ud800/x",
            "file:///\ud800",
            "~\0x",
            "é;鱻",
            "漢가 ㊂ا 大韓민국",
            "0000000",
            "0a",
            '"' + "the " * 2_500 + '"',
            "a_" * 5_000,
            "the." * 3_000,
            "(" * 5_000 + "heron",
        ):
            ask(search, text)
    finally:
        search.close()


def test_the_benchmark_says_what_was_slow(tmp_path: Path) -> None:
    """With nothing allowed all are too slow; with an hour each, none; the same seed asks the same."""
    search, words = made(tmp_path)
    try:
        assert run(search, words, n=20, seed=3, most=3_600.0)
        assert not run(search, words, n=20, seed=3, most=0.0)
    finally:
        search.close()
    assert odd_query(random.Random(3), words) == odd_query(random.Random(3), words)
