"""The passages of a document that stand for its meaning: about 70 words each, the title in front, at most eight.

A text of up to eight passages is cut evenly and whole; of a longer one, eight of 70 words are taken at even distances,
the first words and the last ones among them.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

WORDS = 70
"""of one passage"""
MAX_PASSAGES = 8
TITLE_LETTERS = 200
VERSION = 1
"""raise it when other passages are cut: all vectors are then made anew"""
_MAX_WORD = 60
_SIGNS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"


class Passage(NamedTuple):
    start: int
    end: int
    """[start, end) in the document's text"""
    text: str
    """what is encoded: the title, then the words"""


@cache
def _word() -> re.Pattern[str]:
    """A word, a sign of Chinese, Japanese or Korean, or a piece of a very long word: what fits an encoder."""
    return re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]{{1,{_MAX_WORD}}}")


def passages_of(title: str, text: str) -> list[Passage]:
    """The passages of one document, in their order in it; none for a document without any word."""
    title = title[:TITLE_LETTERS].strip()
    words = [match.span() for match in _word().finditer(text)]
    if not words:
        return [Passage(0, 0, title)] if title else []
    found: list[Passage] = []
    for first, last in _cuts(len(words)):
        start, end = words[first][0], words[last - 1][1]
        found.append(Passage(start, end, f"{title}. {text[start:end]}" if title else text[start:end]))
    return found


def _cuts(n_words: int) -> list[tuple[int, int]]:
    """[first, last) words of each passage."""
    n = max(round(n_words / WORDS), 1)
    if n <= MAX_PASSAGES:
        return [(n_words * i // n, n_words * (i + 1) // n) for i in range(n)]
    return [(at, at + WORDS) for at in ((n_words - WORDS) * i // (MAX_PASSAGES - 1) for i in range(MAX_PASSAGES))]
