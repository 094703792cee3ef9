"""Where the words of a query stand in a document's text: accents, case and ligatures do not matter.

The text is folded one character to one character, so offsets found in it hold in the original. A match begins and
ends at the edge of a word or of a part of a joined one, as the index splits them: `foo` is found in foo_bar, FooBar
and foo.bar, not in food. Chinese, Japanese and Korean have no such edges.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice

import numpy as np
import numpy.typing as npt

from indexer.analysis import fold

Span = tuple[int, int]
"""[start, end) offsets in a text"""

MAX_WORDS = 400
"""Forms beyond are not looked for: the pattern stays small."""

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_IS_CJK = re.compile(f"[{_CJK}]")
_MARKS = "[\u0300-\u036f]"
_COMMON_MARKS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0323\u0326\u0327\u0328"
"""Combining marks of decomposed text, as some systems write it; a text without any needs simpler patterns."""
_FOLDING = (*range(0x80, 0x3400), *range(0xA000, 0xAC00), *range(0xF900, 0xFFF0), *range(0x1D400, 0x1D800))
"""code points outside of which nothing folds to anything else (but for rarities)"""
_BETWEEN = r"(?:['’][sS])?[\W_]{1,20}"
"""between the words of a phrase: blanks, punctuation, line ends"""
_LETTERS = {"ascii": "[a-zA-Z0-9]", "unicode": r"[^\W_]", "marks": r"[^\W_]", "cjk": rf"[^\W_{_CJK}]"}
"""what words are made of; in "unicode" and "marks" the text has no CJK left, in "cjk" such words are looked for"""


def matches(text: str, words: Sequence[str], limit: int = 1000) -> tuple[Span, ...]:
    """The first `limit` places of `words` in `text`, ascending, none overlapping another.

    A word is a whole word ("house"), the beginning of one ("hous*") or several in a row ("new house").
    """
    return tuple(islice(find(text, tuple(words)), max(limit, 0)))


def find(text: str, words: tuple[str, ...]) -> Iterator[Span]:
    """The places of `words` in `text`, one after the other."""
    words = words[:MAX_WORDS]
    if text.isascii():
        return _spans(_pattern(words, "ascii"), text)
    plain = folded(text, without_cjk=True)
    alphabet = "marks" if any(mark in plain for mark in _COMMON_MARKS) else "unicode"
    found = _spans(_pattern(words, alphabet), plain)
    overlapping = _pattern(words, "cjk")
    return found if overlapping is None else _merged(found, _spans(overlapping, folded(text)))


def _spans(pattern: re.Pattern[str] | None, text: str) -> Iterator[Span]:
    return (match.span(match.lastindex or 0) for match in pattern.finditer(text)) if pattern else iter(())


def _merged(one: Iterator[Span], other: Iterator[Span]) -> Iterator[Span]:
    """Both, ascending, with matches that overlap made one."""
    end_of_all = (1 << 62, 1 << 62)
    a, b = next(one, end_of_all), next(other, end_of_all)
    start, end = -1, -1
    while True:
        following = min(a, b)
        if following[0] >= end or following == end_of_all:
            if end > start:
                yield start, end
            if following == end_of_all:
                return
            start, end = following
        else:
            end = max(end, following[1])
        if a <= b:
            a = next(one, end_of_all)
        else:
            b = next(other, end_of_all)


def _index_form(text: str) -> str:
    """`text` as the index holds it, Korean syllables put together again."""
    return unicodedata.normalize("NFC", fold(text))


@cache
def _ligatures() -> dict[str, str]:
    """The letters that the index spells out, by their spelling: "fi" is written ﬁ too, "ss" ß and ẞ."""
    signs: dict[str, str] = {}
    for letter in map(chr, _FOLDING):
        if len(spelling := _index_form(letter)) > 1 and unicodedata.category(letter) in ("Ll", "Lu", "Lt", "Lo"):
            signs[spelling] = signs.get(spelling, "") + letter
    return signs


@cache
def _table(*, without_cjk: bool) -> npt.NDArray[np.uint32]:
    """For each character of the first two planes the one that it folds to, case kept; [131072]."""
    table = np.arange(0x20000, dtype=np.uint32)
    for code in _FOLDING:
        index_form = _index_form(chr(code))
        kept = "".join(c for c in unicodedata.normalize("NFKD", chr(code)) if not unicodedata.combining(c))
        if len(index_form) == 1:
            table[code] = ord(kept if kept.lower() == index_form else index_form)
    if without_cjk:
        for first, last in re.findall("(.)-(.)", _CJK):
            table[ord(first) : ord(last) + 1] = ord("·")
    return table


def folded(text: str, *, without_cjk: bool = False) -> str:
    """`text` without accents, of the same length; case, ligatures and combining marks are kept."""
    if text.isascii():
        return text
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    table = _table(without_cjk=without_cjk)
    plain = np.where(codes < len(table), table[np.minimum(codes, len(table) - 1)], codes).astype("<u4")
    return plain.tobytes().decode("utf-32-le", "surrogatepass")


@lru_cache(maxsize=128)
def _pattern(words: tuple[str, ...], alphabet: str) -> re.Pattern[str] | None:
    """Finds those of `words` that are written in `alphabet`; CJK words, which overlap, in group 1 of a look ahead."""
    cleaned = dict.fromkeys(_index_form(word).strip() for word in words)
    known = sorted((word for word in cleaned if any(c.isalnum() for c in word)), key=len, reverse=True)
    if alphabet == "ascii":
        known = [word for word in known if word.isascii()]
    else:
        known = [word for word in known if (alphabet == "cjk") == bool(_IS_CJK.search(word))]
    if not known:
        return None
    pattern = _alternatives(known, alphabet)
    return re.compile(f"(?=({pattern}))" if alphabet == "cjk" else pattern, re.DOTALL)


def _alternatives(words: Sequence[str], alphabet: str) -> str:
    """One branch for each first letter, longer words first; a class of letters in front lets the scan skip."""
    branches: dict[tuple[str, str], list[str]] = {}
    for word in words:
        starts = [(word[0], word[1:])]
        if alphabet != "ascii":
            starts += [(sign, word[n:]) for n in (2, 3) for sign in _ligatures().get(word[:n], "") if len(word) >= n]
        for first, rest in starts:
            edge = _right_edge(first + rest, alphabet)
            branches.setdefault((first, edge), []).append(_rest(first, rest, alphabet))
    return "|".join(
        f"[{_cases(first)}]{_second(first, words, alphabet)}{_left_edge(first, alphabet)}(?i:{'|'.join(rests)}){edge}"
        for (first, edge), rests in branches.items()
    )


def _second(first: str, words: Sequence[str], alphabet: str) -> str:
    """A look at the second letter, which rules out most places before the dearer look for an edge."""
    seconds = {word[1:2] for word in words if word[0] == first}
    if alphabet != "ascii" or not all(letter.isalnum() for letter in seconds):
        return ""
    return f"(?=[{''.join(_cases(letter) for letter in sorted(seconds))}])"


def _cases(letter: str) -> str:
    cases = {letter, letter.lower(), letter.upper(), letter.title()}
    return "".join(re.escape(case) for case in sorted(cases) if len(case) == 1)


def _left_edge(first: str, alphabet: str) -> str:
    """No letter stands before the first one, which was just read; or a new part of a camel-cased word begins."""
    if _IS_CJK.match(first):
        return ""
    letter = _LETTERS[alphabet]
    return rf"(?:(?<!{letter}.)|(?<=[a-z][A-Z])|(?<=[A-Z][A-Z])(?=[a-z]))" if first.isalnum() else ""


def _right_edge(word: str, alphabet: str) -> str:
    """No letter follows the last one; or a new part of a camel-cased word begins. A prefix takes the letters in."""
    letter, last = _LETTERS[alphabet], word[-1]
    if last == "*":
        return f"{letter}*"
    if _IS_CJK.match(last) or not last.isalnum():
        return ""
    return rf"(?:(?!{letter})|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]))"


def _rest(first: str, rest: str, alphabet: str) -> str:
    """The pattern of what follows the first letter: letters, and gaps between the words of a phrase."""
    parts = _overlaps_joined((first + rest.rstrip("*")).split())
    parts[0] = parts[0][1:]
    optional = f"{_MARKS}*" if alphabet == "marks" else ""
    return optional + _BETWEEN.join(_letters(part, alphabet, optional) for part in parts)


def _letters(part: str, alphabet: str, optional: str) -> str:
    if alphabet == "ascii":
        return re.escape(part)
    signs = _ligatures()
    pattern, at = "", 0
    while at < len(part):
        n = next((n for n in (3, 2) if part[at : at + n] in signs and at + n <= len(part)), 1)
        spelled = part[at : at + n]
        plain = "".join(re.escape(letter) + optional for letter in spelled)
        partly = "|ﬀi|fﬁ" if spelled == "ffi" else "|ﬀl|fﬂ" if spelled == "ffl" else ""
        pattern += plain if n == 1 else f"(?:{plain}|[{signs[spelled]}]{optional}{partly})"
        at += n
    return pattern


def _overlaps_joined(parts: list[str]) -> list[str]:
    """Pairs of CJK characters that overlap, as the index cuts them, put together again: 中文 文字 is 中文字."""
    joined = parts[:1]
    for part in parts[1:]:
        if _IS_CJK.match(part) and joined[-1][-1] == part[0]:
            joined[-1] += part[1:]
        else:
            joined.append(part)
    return joined
