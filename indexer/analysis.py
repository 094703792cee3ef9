"""Text becomes terms with positions: the one tokeniser of index and query.

A raw token is a run of word characters with joints inside ("3.2.20", "foo_bar", "user's", "camelCase"). It
gives one term for each piece at successive positions, the parts of a camel-cased piece at the piece's own
position, and, where pieces are joined by anything but an apostrophe, the whole at the position of its first
piece. Terms are lower case without accents; they are not stemmed (queries are expanded instead). Text in
Chinese, Japanese and Korean gives overlapping pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from functools import lru_cache

import numpy as np

from indexer.postings import EMPTY, FieldPostings, group_postings

MAX_TERM_LENGTH = 40
"""characters; longer words are hashes and encoded data (they cost a seventh of the index and nobody types them)"""
MAX_MEMO = 400_000
"""distinct raw tokens that one process remembers before it starts afresh"""

_RAW = re.compile(r"\w+(?:[.\-@'’]\w+)*(?:\+\+|#(?!\w))?")
_JOINT = re.compile(r"[._\-@'’]+")
_CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+")
_HASH = re.compile(r"(?=.*\d)[0-9a-f]{32,}$")
_CJK = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")

RawTerms = tuple[tuple[tuple[str, int], ...], int]
"""((term, offset of its position), ...), and how many positions the raw token takes"""


@lru_cache(maxsize=100_000)
def fold(text: str) -> str:
    """Lower case without accents: "Café" and "CAFE" become "cafe"."""
    text = text.casefold()
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def raw_tokens(text: str) -> list[str]:
    """The raw tokens of `text` in order."""
    return _RAW.findall(text)


def raw_terms(raw: str) -> RawTerms:
    """The terms of one raw token, as the module describes."""
    if _CJK.search(raw):
        return _cjk_terms(raw)
    body = raw.rstrip("+#")
    if len(body) > 2:
        raw = body  # "C++" and "F#" are names; "environment#" is a link's mark
    pieces = [piece for piece in _JOINT.split(body) if piece]
    if len(pieces) > 1 and pieces[-1] in ("s", "S") and body[-2] in "'’":
        pieces.pop()
        body = body[:-2]
    terms: list[tuple[str, int]] = []
    for offset, piece in enumerate(pieces):
        terms.extend((term, offset) for term in _piece_terms(piece))
    if len(pieces) > 1 and "'" not in body and "’" not in body:
        terms.append((fold(_JOINT.sub(_first_joint, body.strip("._-@"))), 0))
    if len(raw) > len(body) and raw[-1] in "+#":
        terms.append((fold(raw), 0))
    kept = tuple((term, offset) for term, offset in dict.fromkeys(terms) if _worth_keeping(term))
    return kept, max(len(pieces), 1)


def _first_joint(match: re.Match[str]) -> str:
    return match.group()[0]


def _piece_terms(piece: str) -> list[str]:
    terms = [fold(piece)]
    if len(piece) > 3 and not piece.islower() and not piece.isupper():
        camel = _CAMEL.findall(piece)
        if len(camel) > 1 and all(len(part) > 1 for part in camel):
            terms.extend(fold(part) for part in camel)
    return terms


def _worth_keeping(term: str) -> bool:
    return 0 < len(term) <= MAX_TERM_LENGTH and not (len(term) >= 32 and _HASH.match(term))


def _cjk_terms(raw: str) -> RawTerms:
    terms: list[tuple[str, int]] = []
    position = start = 0
    for run in _CJK.finditer(raw):
        position = _plain_between(raw[start : run.start()], position, terms)
        text = run.group()
        pairs = [text[i : i + 2] for i in range(len(text) - 1)] or [text]
        terms.extend((fold(pair), position + i) for i, pair in enumerate(pairs))
        position += len(text)
        start = run.end()
    position = _plain_between(raw[start:], position, terms)
    return tuple((term, offset) for term, offset in terms if _worth_keeping(term)), max(position, 1)


def _plain_between(text: str, position: int, terms: list[tuple[str, int]]) -> int:
    for raw in raw_tokens(text):
        found, width = raw_terms(raw)
        terms.extend((term, position + offset) for term, offset in found)
        position += width
    return position


def sequence(text: str) -> list[str]:
    """The terms of `text` in order, one for each position: the pieces, never the wholes or camel parts."""
    words: list[str] = []
    for raw in raw_tokens(text):
        found, width = raw_terms(raw)
        first: dict[int, str] = {}
        for term, offset in found:
            first.setdefault(offset, term)
        words.extend(first[i] for i in range(width) if i in first)
    return words


class _Memo(dict[str, int]):
    """Raw token -> its number; an unseen one is analysed on first sight."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self._analyzer = analyzer

    def __missing__(self, raw: str) -> int:
        number = self[raw] = self._analyzer._learn(raw)
        return number


class Analyzer:
    """Analyses whole texts fast: each distinct raw token is taken apart once, the rest is array work."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._memo = _Memo(self)
        self._term_numbers: dict[str, int] = {}
        self._terms: list[str] = []
        self._starts = array("i", [0])
        self._widths = array("i")
        self._flat_terms = array("i")
        self._flat_offsets = array("i")

    def _learn(self, raw: str) -> int:
        found, width = raw_terms(raw)
        for term, offset in found:
            number = self._term_numbers.setdefault(term, len(self._terms))
            if number == len(self._terms):
                self._terms.append(term)
            self._flat_terms.append(number)
            self._flat_offsets.append(offset)
        self._starts.append(len(self._flat_terms))
        self._widths.append(width)
        return len(self._widths) - 1

    def analyse(self, text: str) -> FieldPostings:
        """The postings of one field of one document."""
        if len(self._memo) > MAX_MEMO:
            self._reset()
        raws = raw_tokens(text)
        if not raws:
            return EMPTY
        memo = self._memo
        numbers = np.fromiter((memo[raw] for raw in raws), dtype=np.int32, count=len(raws))
        widths = np.frombuffer(self._widths, dtype=np.int32)[numbers]
        starts = np.frombuffer(self._starts, dtype=np.int32)
        counts = (starts[1:] - starts[:-1])[numbers]
        first = np.cumsum(widths) - widths
        total = int(counts.sum())
        within = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        flat = np.repeat(starts[:-1][numbers], counts) + within
        terms = np.frombuffer(self._flat_terms, dtype=np.int32)[flat]
        positions = np.repeat(first, counts) + np.frombuffer(self._flat_offsets, dtype=np.int32)[flat]
        return group_postings(terms, positions, self._terms, int(widths.sum()))
