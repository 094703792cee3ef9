"""Corrections of misspelt words, taken from the words of the user's own files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import zip_longest

import numpy as np
import numpy.typing as npt
from msgspec import Struct

SHORTEST = 4
"""Shorter words are never corrected: too many words lie one letter from them."""
COST_OF_EDIT = 6.0
"""log2 of how many times more frequent a term must be to beat one that is an edit nearer"""
COST_OF_FIRST_LETTER = 3.0
"""the same for a term with another first letter: people seldom get the first one wrong"""

LONGER = 100
"""at most this many terms that begin with the typed word are considered as its completion"""
AT_ONCE = 1 << 12
"""terms processed at a time, so that their letters stay in the processor's cache"""


class TermList(Struct, frozen=True, eq=False):
    """The distinct terms of a segment of the index, memory-mapped: nothing is copied until it is used."""

    text: npt.NDArray[np.uint8]
    """all terms in UTF-8, one after the other"""
    ends: npt.NDArray[np.uint32]
    """[n_terms] where each ends in `text`"""

    def terms(self, rows: npt.NDArray[np.intp]) -> list[str]:
        ends = self.ends[rows].astype(np.int64)
        starts = np.where(rows > 0, self.ends[rows - 1], 0).astype(np.int64)
        return [
            self.text[start:end].tobytes().decode("utf-8", "surrogatepass")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]

    def holding(self, part: str) -> list[str]:
        content, wanted = self.text.tobytes(), part.encode("utf-8", "surrogatepass")
        places, at = list[int](), content.find(wanted)
        while at >= 0:
            places.append(at)
            at = content.find(wanted, at + 1)
        rows = sorted(set(self.ends.searchsorted(np.array(places, dtype=np.int64), side="right").tolist()))
        return [term for term in self.terms(np.array(rows, dtype=np.intp)) if part in term]


class Vocabulary(Struct, frozen=True, eq=False, dict=True):
    """All indexed words, lower case without accents, read in place from the index."""

    lists: Sequence[TermList]
    contains: Callable[[str], int]
    """how many documents hold a term; 0 when none does"""

    @cached_property
    def _shapes(self) -> list[tuple[npt.NDArray[np.int16], npt.NDArray[np.uint32]]]:
        """For each list, the lengths of its terms in characters and their letter sets; [n_terms] each."""
        return [_shapes(own) for own in self.lists]

    def within(self, word: str, limit: int) -> list[tuple[str, int, int]]:
        """The (term, distance, frequency) of terms at most `limit` edits from `word`.

        An edit changes at most two members of the set of letters (one removed, one added), so sets rule out most
        terms; the rest are compared all at once. Ascending, as Python compares strings.
        """
        code = np.frombuffer(word.encode("utf-8", "surrogatepass"), dtype=np.uint8)
        letters = np.bitwise_or.reduce(_letter_bits(code), initial=np.uint32(0))
        near: set[str] = set()
        for own, (lengths, sets) in zip(self.lists, self._shapes, strict=True):
            rows = np.flatnonzero((lengths + limit >= len(word)) & (lengths <= len(word) + limit))
            rows = rows[np.bitwise_count(sets[rows] ^ letters) <= 2 * limit]
            near.update(own.terms(rows))
        terms = sorted(near)
        distances = _distances(word, terms, limit)
        kept = np.flatnonzero(distances <= limit).tolist()
        found = [(terms[k], int(distances[k]), self.contains(terms[k])) for k in kept]
        return [one for one in found if one[2]]

    def begun(self, word: str) -> list[tuple[str, int, int]]:
        """The `LONGER` shortest terms that begin with `word`, in the form of `within`, each counted as one edit."""
        terms = {term for own in self.lists for term in own.holding(word) if term.startswith(word)}
        found = [(term, 1, self.contains(term)) for term in sorted(terms, key=lambda term: (len(term), term))[:LONGER]]
        return [one for one in found if one[2]]


def _letter_bits(text: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint32]:
    """For each byte of UTF-8 one of 32 bits for its letter; 0 for the first byte of a multi-byte letter.

    A letter of two bytes sets one bit, so that the bound of `Vocabulary.within` holds; one of three, as in Georgian,
    sets two: there some terms two edits away may be missed.
    """
    bits: npt.NDArray[np.uint32] = np.left_shift(np.uint32(1), text & np.uint8(31), dtype=np.uint32)
    return np.where(text < 0xC0, bits, np.uint32(0)) if text.size and text.max() >= 0xC0 else bits


def _shapes(own: TermList) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.uint32]]:
    n = own.ends.size
    lengths, sets = np.zeros(n, dtype=np.int16), np.zeros(n, dtype=np.uint32)
    for first in range(0, n, AT_ONCE):
        start = int(own.ends[first - 1]) if first else 0
        ends = own.ends[first : first + AT_ONCE].astype(np.int64) - start
        starts = np.concatenate(([0], ends[:-1]))
        text = own.text[start : start + int(ends[-1])]
        sizes = ends - starts
        if text.size and text.max() >= 0x80:
            within_letters = np.cumsum((text & 0xC0) == 0x80, dtype=np.int32)
            before = np.concatenate(([0], within_letters))
            sizes = sizes - (before[ends] - before[starts])
        lengths[first : first + ends.size] = np.minimum(sizes, np.iinfo(np.int16).max)
        filled = np.flatnonzero(ends > starts)
        if filled.size:
            sets[first + filled] = np.bitwise_or.reduceat(_letter_bits(text), starts[filled])
    return lengths, sets


def suggest(words: Sequence[str], vocabulary: Vocabulary) -> dict[str, str]:
    """word -> its likeliest correction, for words that seem misspelt; words that seem right are left out.

    `words` are folded as the vocabulary is. Up to one edit (a letter added, dropped or changed, or two swapped) in
    words of 4 or 5 letters, two in longer ones; where no word is one edit away, a completion counts as one. None for
    words with digits or other signs, nor for words that any document holds.
    """
    found = ((word, _correction(word, vocabulary)) for word in dict.fromkeys(words))
    return {word: correction for word, correction in found if correction is not None}


def _correction(word: str, vocabulary: Vocabulary) -> str | None:
    if not SHORTEST <= len(word) <= 40 or not word.isalpha() or vocabulary.contains(word):
        return None
    candidates = vocabulary.within(word, edits_allowed(word))
    if all(distance > 1 for _, distance, _ in candidates):
        candidates += vocabulary.begun(word)
    scored = [
        (np.log2(frequency) - COST_OF_EDIT * distance - COST_OF_FIRST_LETTER * (term[0] != word[0]), term)
        for term, distance, frequency in candidates
        if term != word and term.isalpha()
    ]
    return max(scored, key=lambda pair: pair[0])[1] if scored else None


def edits_allowed(word: str) -> int:
    """How many edits a misspelling of `word` may have."""
    return 1 if len(word) < 6 else 2


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name, of a few, that `word` probably means: a misspelling or the beginning of it; None for none."""
    names = sorted(known)
    if not word or not any(names):
        return None
    distances = _distances(word, names, edits_allowed(word))
    best = int(np.argmin(distances))
    if distances[best] <= edits_allowed(word) and (names[best][0] == word[0] or sorted(names[best]) == sorted(word)):
        return names[best]
    return next((name for name in names if len(word) >= 3 and name.startswith(word)), None)


def is_one_edit(one: str, other: str) -> bool:
    """Whether one letter added, dropped or changed, or two swapped, turn one into the other; in linear time."""
    same = next((place for place, (a, b) in enumerate(zip_longest(one, other)) if a != b), len(one))
    a, b = one[same:], other[same:]
    swapped = a[1::-1] == b[:2] and a[2:] == b[2:]
    return one != other and (swapped or a[1:] == b or a == b[1:] or a[1:] == b[1:])


def _distances(word: str, terms: Sequence[str], limit: int) -> npt.NDArray[np.int16]:
    """The edits (Damerau-Levenshtein, no letter edited twice) from `word` to each of `terms`, exact up to `limit`.

    The classic table: each cell is computed for all terms at once, and only within `limit` of the diagonal.
    """
    codes = np.frombuffer("".join(terms).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint16)
    lengths = np.fromiter(map(len, terms), dtype=np.int64, count=len(terms))
    starts = lengths.cumsum() - lengths
    n, m = len(word), int(lengths.max(initial=0))
    far = np.int16(limit + 1)
    letters = np.full((m, len(lengths)), 0, dtype=np.uint16)
    for column in range(m):
        letters[column] = codes[np.minimum(starts + column, max(len(codes) - 1, 0))]
    table = np.full((n + 1, m + 1, len(lengths)), far, dtype=np.int16)
    for i in range(n + 1):
        for j in range(max(0, i - limit), min(m, i + limit) + 1):
            if i == 0 or j == 0:
                table[i, j] = max(i, j)
                continue
            same = letters[j - 1] == (ord(word[i - 1]) & 0xFFFF)
            cell = np.minimum(np.minimum(table[i - 1, j], table[i, j - 1]) + 1, table[i - 1, j - 1] + ~same)
            if i > 1 and j > 1:
                swapped = (letters[j - 1] == (ord(word[i - 2]) & 0xFFFF)) & (
                    letters[j - 2] == (ord(word[i - 1]) & 0xFFFF)
                )
                cell = np.where(swapped, np.minimum(cell, table[i - 2, j - 2] + 1), cell)
            table[i, j] = cell
    found: npt.NDArray[np.int16] = table[n, lengths, np.arange(len(lengths))]
    return found
