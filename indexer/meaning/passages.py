"""The passages of a document that stand for its meaning: about 70 words each, the title in front, at most eight.

A text of up to eight passages is cut evenly and whole; of a longer one, eight of 70 words are taken at even distances,
the first words and the last ones among them. Its windows are the same for all of it, as many as that takes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from indexer.text.analysis import sequence

WORDS = 70
"""of one passage"""
MAX_PASSAGES = 8
MAX_WINDOWS = 256
"""of one document; of a longer one, so many stand at even distances"""
TITLE_LETTERS = 200
VERSION = 2
"""raise it when other passages are cut: all vectors are then made anew"""
_MAX_WORD = 60
_SIGNS = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"


class Passage(NamedTuple):
    start: int
    end: int
    """[start, end) in the document's text"""
    text: str
    """what is encoded: the title, then the words"""
    place: int = -1
    """of a window, the position of its first word among those of the index; -1 for a passage"""


@cache
def _word() -> re.Pattern[str]:
    """A word, a sign of Chinese, Japanese or Korean, or a piece of a very long word: what fits an encoder."""
    return re.compile(rf"[{_SIGNS}]|[^\s{_SIGNS}]{{1,{_MAX_WORD}}}")


def passages_of(title: str, text: str) -> list[Passage]:
    """The passages of one document, in their order in it; none for a document without any word."""
    words = _spans(text)
    title = title[:TITLE_LETTERS].strip()
    if title and not words:
        return [Passage(0, 0, title)]
    return _passages(title, text, words, _cuts(len(words), MAX_PASSAGES))


def windows_of(title: str, text: str) -> list[Passage]:
    """The windows of one document, in their order in it; none for a document without any word."""
    words = _spans(text)
    cuts = _cuts(len(words), MAX_WINDOWS)
    found, place, end = list[Passage](), 0, 0
    for one in _passages(title[:TITLE_LETTERS].strip(), text, words, cuts if words else []):
        place, end = place + len(sequence(text[end : one.start])), one.start
        found.append(one._replace(place=place))
    return found


def _spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _word().finditer(text)]


def _passages(title: str, text: str, words: list[tuple[int, int]], cuts: list[tuple[int, int]]) -> list[Passage]:
    found: list[Passage] = []
    for first, last in cuts if words else ():
        start, end = words[first][0], words[last - 1][1]
        found.append(Passage(start, end, f"{title}. {text[start:end]}" if title else text[start:end]))
    return found


def _cuts(n_words: int, most: int) -> list[tuple[int, int]]:
    """[first, last) words of each passage, at most so many."""
    n = max(round(n_words / WORDS), 1)
    return _evenly(n_words, n) if n <= most else _apart(n_words, most)


def _evenly(n_words: int, n: int) -> list[tuple[int, int]]:
    """All words in `n` parts."""
    return [(n_words * i // n, n_words * (i + 1) // n) for i in range(n)]


def _apart(n_words: int, n: int) -> list[tuple[int, int]]:
    """`n` parts of `WORDS` words, the first and the last ones among them."""
    return [(at, at + WORDS) for at in ((n_words - WORDS) * i // (n - 1) for i in range(n))]
