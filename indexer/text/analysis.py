"""Text becomes terms with positions: the one tokeniser of index and query.

A raw token is a run of word characters with joints inside ("3.2.20", "foo_bar", "user's", "camelCase"). It
gives one term for each piece at successive positions, the parts of a camel-cased piece at the piece's own
position, and, where pieces are joined by anything but an apostrophe, the whole at the position of its first
piece. Terms are lower case without accents; they are not stemmed (queries are expanded instead). Text in
Chinese, Japanese and Korean gives overlapping pairs of characters, one position each, and its last character.
What gives no term (encoded data, an underline) takes no position, so a phrase is a run of successive positions.
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
MAX_MEMO = 50_000
"""distinct raw tokens that one process remembers before it starts afresh"""

MAX_RAW_LENGTH = 200
"""characters; longer raw tokens are not remembered, and a longer piece or whole cannot fold to a term"""

_TOKEN = r"{0}+(?:[.\-@'’]{0}+)*(?:\+\+|#(?!\w))?"
_RAW = re.compile(_TOKEN.format(r"\w"))
_OPTION = r"(?:(?<![\w\-])--(?=[^\W\d_]))?"
_RAW_OPTIONS = re.compile(_OPTION + _TOKEN.format(r"\w"))
_MARKS = "".join(c for c in map(chr, range(0x300, 0x1E00)) if unicodedata.category(c) in ("Mn", "Mc"))
"""vowel signs and points that belong to the word they stand in, though no letters"""
_MARK = re.compile(f"[{_MARKS}]")
_RAW_MARKED = re.compile(_TOKEN.format(rf"[\w{_MARKS}]"))
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
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    return bare.casefold()  # what was taken apart may be capitals: ℂ has no small letter, C has


def raw_tokens(text: str) -> list[str]:
    """The raw tokens of `text` in order; letters and accents that are written apart are put together first."""
    plain = _RAW_OPTIONS if "--" in text else _RAW
    if text.isascii():
        return plain.findall(text)
    text = unicodedata.normalize("NFC", text)
    return (_RAW_MARKED if _MARK.search(text) else plain).findall(text)


@lru_cache(maxsize=20_000)
def raw_terms(raw: str) -> RawTerms:
    """The terms of one raw token, as the module describes."""
    if _CJK.search(raw):
        return _cjk_terms(raw)
    pieces, body, mark = _taken_apart(raw)
    terms: list[tuple[str, int]] = []
    width = 0
    for piece in pieces:
        own = [term for term in _piece_terms(piece) if _worth_keeping(term)]
        terms.extend((term, width) for term in own)
        width += bool(own)
    terms.extend((term, 0) for term in (_whole(pieces, body), mark) if _worth_keeping(term))
    return tuple(dict.fromkeys(terms)), max(width, bool(terms))


def whole_term(raw: str) -> str:
    """The term of a joined raw token as a whole, "" where it has none."""
    if _CJK.search(raw):
        return ""
    pieces, body, _ = _taken_apart(raw)
    whole = _whole(pieces, body)
    return whole if _worth_keeping(whole) else ""


def is_ideographic(text: str) -> bool:
    """Whether `text` holds a character of a script that is indexed in pairs."""
    return _CJK.search(text) is not None


def is_marked(text: str) -> bool:
    """Whether `text` holds vowel signs or points, as Hindi and Hebrew have them."""
    return _MARK.search(text) is not None


def is_half(term: str) -> bool:
    """Whether `term` is one character of a script that is indexed in pairs."""
    return len(term) == 1 and _CJK.match(term) is not None


def _taken_apart(raw: str) -> tuple[list[str], str, str]:
    """The pieces, what they were joined to, and the name with its mark as in "C++" and "--verbose"."""
    body = raw.rstrip("+#").removeprefix("--")
    short = len(body) <= 2 and raw[-1] in "+#"  # "environment#" is a link's mark
    mark = fold(raw) if short or (raw[0] == "-" and len(raw) <= MAX_TERM_LENGTH) else ""
    pieces = [piece for piece in _JOINT.split(body) if piece]
    if len(pieces) > 1 and pieces[-1] in ("s", "S") and body[-2] in "'’":
        pieces.pop()
        body = body[:-2]
    return pieces, body, mark


def _whole(pieces: list[str], body: str) -> str:
    if len(pieces) < 2 or len(body) > MAX_RAW_LENGTH or "'" in body or "’" in body:
        return ""
    return fold(_JOINT.sub(_first_joint, body.strip("._-@")))


def _first_joint(match: re.Match[str]) -> str:
    return match.group()[0]


def _piece_terms(piece: str) -> list[str]:
    if len(piece) > MAX_RAW_LENGTH:
        return []
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
        position += len(pairs)
        if len(text) > 1:
            terms.append((fold(text[-1]), position - 1))  # every character now begins a term
        start = run.end()
    position = _plain_between(raw[start:], position, terms)
    return tuple(terms), position


def _plain_between(text: str, position: int, terms: list[tuple[str, int]]) -> int:
    for raw in raw_tokens(text):
        found, width = raw_terms(raw)
        terms.extend((term, position + offset) for term, offset in found)
        position += width
    return position


def sequence(text: str) -> list[str]:
    """The terms of `text` in order, one for each position: the pieces, never the wholes or camel parts."""
    return list(words_of(text))


@lru_cache(maxsize=10_000)
def words_of(text: str) -> tuple[str, ...]:
    """As `sequence`; remembered, for titles and names that come again."""
    words: list[str] = []
    for raw in raw_tokens(text):
        found, width = raw_terms(raw)
        first: dict[int, str] = {}
        for term, offset in found:
            first.setdefault(offset, term)
        words.extend(first[i] for i in range(width))
    return tuple(words)


class _Memo(dict[str, int]):
    """Raw token -> its number; an unseen one is analysed on first sight."""

    def __init__(self, analyzer: Analyzer) -> None:
        super().__init__()
        self._analyzer = analyzer

    def __missing__(self, raw: str) -> int:
        number = self._analyzer._learn(raw)
        if len(raw) <= MAX_RAW_LENGTH:
            self[raw] = number
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
        if len(self._widths) > MAX_MEMO:
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
