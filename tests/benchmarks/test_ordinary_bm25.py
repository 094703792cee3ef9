"""The yardstick of quality: what it indexes, what it finds, and the numbers by which anyone can check a copy of it."""

from __future__ import annotations

import importlib

import pytest

from benchmarks import collections, ordinary_bm25
from benchmarks.collections import Collection, Document, shared_folder

DOCUMENTS = (
    Document("1", "Growing tomatoes", "Tomatoes want sun."),
    Document("2", "Roses", "Roses are pruned; a tomato is not."),
    Document("3", "", "Watering."),
)


def test_the_title_stands_twice() -> None:
    """And a text without a title is itself."""
    assert ordinary_bm25.title_twice(DOCUMENTS[1]).startswith("Roses Roses Roses are")
    assert ordinary_bm25.title_twice(DOCUMENTS[2]) == "Watering."


def test_a_missing_package_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line for whoever wants the tables."""

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(ModuleNotFoundError, match="pip install bm25s PyStemmer"):
        ordinary_bm25.bm25s()


def test_it_finds_by_stems_and_nothing_without_a_common_word() -> None:
    """`tomato` finds both, the title's first; documents without a word of the query are not results."""
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    search = ordinary_bm25.ranking(DOCUMENTS)
    assert search("a tomato") == ["1", "2"]
    assert search("lamps") == []
    assert search("the") == []
    queries, grades = {"q": "watered roses", "r": "lamps"}, {"q": {"2": 1, "3": 1}, "r": {"1": 1}}
    collection = Collection("c", DOCUMENTS, queries, grades)
    assert ordinary_bm25.ndcg(collection).tolist() == [1.0, 0.0]


def test_the_known_numbers() -> None:
    """adi .508, medline .699: k1 1.2, b .75, English stems, the title twice."""
    pytest.importorskip("bm25s", reason="bm25s is not installed")
    try:
        shared_folder()
    except FileNotFoundError as absent:
        pytest.skip(str(absent))
    for name, value in (("adi", 0.508), ("medline", 0.699)):
        assert ordinary_bm25.ndcg(collections.read(name)).mean() == pytest.approx(value, abs=0.0005)
