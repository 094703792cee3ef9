"""BERT's pieces of words, against cuts made by hand and the package that made the encoder's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexer.errors import IndexerError
from indexer.meaning.wordpiece import MAX_LETTERS, WordPieces, shipped

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "aff", "!", "中", "cafe"]


def names(text: str, limit: int = 99) -> list[str]:
    return [PIECES[number] for number in WordPieces(PIECES).numbers(text, limit)]


def test_the_longest_piece_from_the_left_comes_first() -> None:
    """unaffable = un + ##aff + ##able; a word with a rest that is no piece is unknown as a whole."""
    assert names("unaffable aff") == ["[CLS]", "un", "##aff", "##able", "aff", "[SEP]"]
    assert names("unknown") == ["[CLS]", "[UNK]", "[SEP]"]
    assert names("a" * (MAX_LETTERS + 1)) == ["[CLS]", "[UNK]", "[SEP]"]


def test_case_accents_and_control_characters_go_and_signs_stand_alone() -> None:
    assert names("CAFÉ\u0000!\u00ad中中") == ["[CLS]", "cafe", "!", "中", "中", "[SEP]"]


def test_a_long_text_is_cut_and_still_closed() -> None:
    assert names("aff " * 50, limit=4) == ["[CLS]", "aff", "aff", "[SEP]"]


def test_a_vocabulary_without_the_signs_is_refused() -> None:
    with pytest.raises(IndexerError, match=r"\[SEP\]"):
        WordPieces(["[UNK]", "[CLS]"])


def test_the_vocabulary_that_ships_is_that_of_bert() -> None:
    """101 and 102 are [CLS] and [SEP]; "hello world" is 7592 2088 (as published with the model)."""
    assert shipped().numbers("Hello, world", 99) == [101, 7592, 1010, 2088, 102]


@given(st.text(st.characters(max_codepoint=0x24F), max_size=60))
def test_the_cut_is_that_of_the_package_tokenizers(text: str) -> None:
    """An independent implementation, on any Latin text; the names of its own signs are read by it as signs."""
    tokenizers = pytest.importorskip("tokenizers")
    numbers = shipped()._numbers
    other = tokenizers.BertWordPieceTokenizer(dict(numbers), lowercase=True) if numbers else None
    assert other is not None
    assert shipped().numbers(text, 10_000) == other.encode(text).ids
