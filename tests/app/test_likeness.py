"""Which words of a document are searched for to find similar ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from app import likeness
from app.search.results import SearchRequest
from app.search.search import Search
from tests.app.search.homes import searching

TEXT = "The herons nest in 2024; by the reed a heron and the herons fish."
OTHERS = {"a.txt": "Herons are birds.", "b.txt": "Birds fish, the reed grows.", "c.txt": "Fish and birds of the reed."}


def like(search: Search, name: str) -> str:
    (hit,) = search.search(SearchRequest(f"name:{name}")).hits
    return likeness.query_like(search, hit)


def test_they_stand_often_are_rare_and_another_document_holds_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forms of a word count as one, the commonest; numbers, function words and words of no other document are left
    out."""
    with searching(tmp_path, {"own.txt": TEXT, "alone.txt": "Allein.", **OTHERS}) as search:
        assert like(search, "own.txt") == "herons reed fish"
        assert like(search, "alone.txt") == ""
        monkeypatch.setattr(likeness, "N_WORDS", 1)
        assert like(search, "own.txt") == "herons"


def test_a_word_of_the_title_counts_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a title word, the rarer of two words that occur once wins: sqrt(ln 2) > sqrt(ln 10/7)."""
    monkeypatch.setattr(likeness, "N_WORDS", 1)
    files = {"one.txt": "reed fish", "two.md": "# Fish\n\nreed", "three.txt": "fish", "four.txt": "birds"}
    with searching(tmp_path, files) as search:
        assert (like(search, "one.txt"), like(search, "two.md")) == ("reed", "fish")


def test_words_without_blanks_between_them_are_found_by_their_pairs(tmp_path: Path) -> None:
    """They are searched for as the index stores them."""
    with searching(tmp_path, {"one.txt": "苍鹭捕鱼", "two.txt": "苍鹭筑巢"}) as search:
        assert like(search, "one.txt") == "苍鹭"
