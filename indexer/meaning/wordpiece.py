"""The pieces of words that BERT's encoders read, without upper case and accents (Devlin et al. 2019).

The text is decomposed, stripped of accents and control characters, lower-cased, and cut at blanks, punctuation and
Chinese characters; each word is then cut into the longest pieces that the vocabulary holds, from the left. The
vocabulary that ships, vocabulary.txt, is that of BERT-base-uncased (Apache-2.0).
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

from indexer.errors import IndexerError

VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
MAX_LETTERS = 100
"""a longer word is unknown as a whole, as the encoders have learnt it"""
MAX_KNOWN_WORDS = 50_000
"""words whose pieces are remembered"""
_CJK = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F), (0x2B820, 0x2CEAF),
        (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))  # fmt: skip


class _Letters(dict[int, str]):
    """What each character becomes; made when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        category = unicodedata.category(char)
        if char in "\t\n\r" or category == "Zs":
            made = " "
        elif category[0] == "C" or category == "Mn" or char == "\ufffd":
            made = ""
        elif _stands_alone(code, category):
            made = f" {char} "
        else:
            made = char
        self[code] = made
        return made


def _stands_alone(code: int, category: str) -> bool:
    symbol = 33 <= code <= 126 and not chr(code).isalnum()
    return symbol or category[0] == "P" or any(first <= code <= last for first, last in _CJK)


class WordPieces:
    """Cuts texts into the numbers of pieces; safe to share between threads."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._numbers: Mapping[str, int] = {piece: number for number, piece in enumerate(pieces)}
        missing = [name for name in ("[UNK]", "[CLS]", "[SEP]") if name not in self._numbers]
        if missing:
            raise IndexerError(f"the encoder's vocabulary lacks {', '.join(missing)}")
        self._letters = _Letters()
        self._known: dict[str, tuple[int, ...]] = {}

    def numbers(self, text: str, limit: int) -> list[int]:
        """The numbers of at most `limit` pieces, [CLS] and [SEP] around them included."""
        found = [self._numbers["[CLS]"]]
        for word in self.words(text):
            found += self._of(word)
            if len(found) >= limit:
                break
        return [*found[: limit - 1], self._numbers["[SEP]"]]

    def words(self, text: str) -> list[str]:
        """The text as BERT sees it: plain words and single signs."""
        return unicodedata.normalize("NFD", text).translate(self._letters).lower().split()

    def _of(self, word: str) -> tuple[int, ...]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= MAX_KNOWN_WORDS:
                self._known.clear()
            known = self._known[word] = self._cut(word)
        return known

    def _cut(self, word: str) -> tuple[int, ...]:
        pieces: list[int] = []
        start = 0
        while start < len(word):
            ends = range(len(word), start, -1) if len(word) <= MAX_LETTERS else ()
            mark = "##" if start else ""
            end = next((end for end in ends if mark + word[start:end] in self._numbers), 0)
            if not end:
                return (self._numbers["[UNK]"],)
            pieces.append(self._numbers[mark + word[start:end]])
            start = end
        return tuple(pieces)


@cache
def shipped() -> WordPieces:
    """The pieces of BERT-base-uncased."""
    content = resources.files("indexer.meaning").joinpath("vocabulary.txt").read_bytes()
    if hashlib.sha256(content).hexdigest() != VOCABULARY_SHA256:
        raise IndexerError("indexer/meaning/vocabulary.txt is not the vocabulary of BERT-base-uncased: install again")
    return WordPieces(content.decode("utf-8").splitlines())
