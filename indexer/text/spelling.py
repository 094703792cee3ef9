"""What a misspelt word may have meant, from the words that the user's own files hold."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

SHORTEST = 4
"""Shorter words are never corrected: too many words lie one letter from them."""
DECENT = 5
"""A word in as many documents is taken as meant."""
MUCH_MORE_FREQUENT = 30
"""A rare word that does exist is corrected only to a word in as many times more documents."""
COST_OF_EDIT = 6.0
"""log2 of how many times more frequent a word must be to win from one that is an edit nearer"""
COST_OF_FIRST_LETTER = 3.0
"""the same for a word with another first letter: people seldom get that one wrong"""



@dataclass(frozen=True, eq=False)
class Vocabulary:
    """All indexed words, lower case without accents."""

    terms: list[str]
    """ascending, as Python compares strings; [n_terms]"""
    frequencies: npt.NDArray[np.int32]
    """documents that hold each word; [n_terms]"""

    def contains(self, term: str) -> int:
        """How many documents hold `term`; 0 when none does."""
        at = bisect_left(self.terms, term)
        return int(self.frequencies[at]) if at < len(self.terms) and self.terms[at] == term else 0

    @cached_property
    def _letters(self) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.int64]]:
        """The low 16 bits of all code points in one row, and where each term begins in it [n_terms + 1]."""
        codes = np.frombuffer("".join(self.terms).encode("utf-32-le", "surrogatepass"), dtype="<u4")
        starts = np.zeros(len(self.terms) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, self.terms), np.int64, len(self.terms)), out=starts[1:])
        return codes.astype(np.uint16), starts

    @cached_property
    def _letter_sets(self) -> npt.NDArray[np.uint64]:
        """For each term the set of its letters, folded into 64 bits; [n_terms]."""
        codes, starts = self._letters
        bits = np.uint64(1) << (np.append(codes, np.uint16(0)) & np.uint16(63)).astype(np.uint64)
        sets = np.bitwise_or.reduceat(bits, starts)[:-1]  # the letter appended is the end's, not a term's
        return np.where(np.diff(starts) > 0, sets, np.uint64(0))

    def within(self, word: str, limit: int, frequency: int) -> list[tuple[str, int, int]]:
        """The (term, distance, frequency) of terms at most `limit` edits from `word`, in `frequency` documents or more.

        An edit changes at most two members of the set of letters, one gone and one come, so most terms are ruled
        out by their sets; the rest are compared all at once.
        """
        codes, starts = self._letters
        bits = 0
        for letter in word:
            bits |= 1 << (ord(letter) & 63)
        lengths = np.diff(starts)
        near = (np.abs(lengths - len(word)) <= limit) & (self.frequencies >= frequency)
        rows = np.flatnonzero(near)
        differing = np.bitwise_count(self._letter_sets[rows] ^ np.uint64(bits))
        rows = rows[differing <= 2 * limit]
        distances = _distances(word, codes, starts[rows], lengths[rows], limit)
        kept = np.flatnonzero(distances <= limit)
        return [(self.terms[int(rows[k])], int(distances[k]), int(self.frequencies[rows[k]])) for k in kept]


def suggest(words: Sequence[str], vocabulary: Vocabulary) -> dict[str, str]:
    """The likeliest correction of each word that seems misspelt; words that seem right are left out.

    `words` are folded as the vocabulary is. One edit (a letter more, less, other, or two swapped) in words of four
    or five letters, two in longer ones; none for words with digits or other signs, nor for words that are
    common enough themselves.
    """
    found = ((word, _correction(word, vocabulary)) for word in dict.fromkeys(words))
    return {word: correction for word, correction in found if correction is not None}


def _correction(word: str, vocabulary: Vocabulary) -> str | None:
    if len(word) < SHORTEST or len(word) > 40 or not word.isalpha():
        return None
    own = vocabulary.contains(word)
    if own >= DECENT:
        return None
    candidates = vocabulary.within(word, edits_allowed(word), max(1, own * MUCH_MORE_FREQUENT))
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
    """The one of a few known names that `word` was probably meant to be: misspelt, or its beginning."""
    names = sorted(known)
    text = "".join(names)
    if not word or not text:
        return None
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint16)
    lengths = np.array([len(name) for name in names], dtype=np.int64)
    limit = edits_allowed(word)
    distances = _distances(word, codes, np.cumsum(lengths) - lengths, lengths, limit)
    best = int(np.argmin(distances))
    if distances[best] <= limit and (names[best][0] == word[0] or sorted(names[best]) == sorted(word)):
        return names[best]
    longer = [name for name in names if len(word) >= 3 and name.startswith(word)]
    return longer[0] if longer else None


def distance(one: str, other: str) -> int:
    """The Damerau-Levenshtein distance (optimal string alignment: no letter is edited twice)."""
    codes = np.array([ord(letter) & 0xFFFF for letter in other], dtype=np.uint16)
    limit = max(len(one), len(other))
    return int(_distances(one, codes, np.zeros(1, np.int64), np.array([len(other)], np.int64), limit)[0])


def _distances(
    word: str,
    codes: npt.NDArray[np.uint16],
    starts: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    limit: int,
) -> npt.NDArray[np.int16]:
    """The distances of `word` to the terms codes[start:start + length], exact up to `limit`, above it larger.

    The classic table, one cell for all terms at a time, and only the cells within `limit` of the diagonal.
    """
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
