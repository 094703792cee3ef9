"""Adjacent words: where the pieces of a phrase or of a joined word stand in a row, or exactly as written.

Identifiers, options, versions, paths and addresses are meant as written. The index holds no punctuation: `--no-ff`,
`no_ff` and "no ff" are the same two pieces in a row. The stored texts show which documents hold the word as written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from indexer.postings import Floats, Ints, Mask, beginnings
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import MAX_TERM_LENGTH, is_ideographic, is_marked, raw_terms, raw_tokens

Pieces = tuple[tuple[str, ...], ...]
"""for each position of a phrase or a joined word, the terms that may stand there"""

DENSE = 16
"""if at least one number in this many occurs, the union is marked in an array, which is faster than sorting"""


def phrase_starts(snapshot: Snapshot, field: str, words: Sequence[str], docs: Ints | None = None) -> Ints:
    """The places at which the words stand in a row, in this order; `docs` as in `adjacent`."""
    return adjacent(snapshot, field, [(word,) for word in words], docs)


def adjacent(snapshot: Snapshot, field: str, pieces: Sequence[tuple[str, ...]], docs: Ints | None = None) -> Ints:
    """The places at which one term of each piece [n_pieces][n_terms] stands next to one of the next; ascending.

    Only in the ascending `docs`, where they are given.
    """
    common, distinct = docs, tuple(dict.fromkeys(pieces))
    for holders in (union([snapshot.postings(field, term).docs for term in terms]) for terms in distinct):
        if common is None:
            common = holders
        else:
            few, many = (common, holders) if common.size < holders.size else (holders, common)
            common = few[among(few, many)]
        if not common.size:
            return common
    assert common is not None
    places = map(_different, snapshot.all_places([(field, terms) for terms in distinct], common))
    return _in_a_row(tuple(pieces), {(terms,): own for terms, own in zip(distinct, places, strict=True)})


LONGEST_GROUP = 13
"""digits"""
SINGLE_BEFORE = 4
"""digits before which a group may be a single one, as in 978-3-16-148410-0; so may the last group"""
MOST_WAYS = 24
"""most ways in which a number is looked for, the most frequent first: a table of zeros has thousands"""


def in_groups(snapshot: Snapshot, field: str, number: str) -> list[tuple[str, ...]]:
    """The ways in which a field writes a number as several adjacent groups: 4408 1273 for 44081273.

    Only documents with a first and a last group are looked at.
    """
    n = len(number)
    if n < 2:
        return []
    first = [number[:end] for end in range(1, min(LONGEST_GROUP, n - 1) + 1)]
    last = [number[start:] for start in range(max(n - LONGEST_GROUP, 1), n)]
    begun, ended = (union([snapshot.postings(field, term).docs for term in terms]) for terms in (first, last))
    docs = begun[among(begun, ended)]
    reached: list[list[tuple[tuple[str, ...], Ints]]] = [[] for _ in range(n + 1)]
    for term in first if docs.size else ():
        reached[len(term)].append(((term,), snapshot.places(field, term, docs)))
    for start in range(1, n):
        reached[start] = _most_frequent(reached[start])
        shortest = 1 if start < SINGLE_BEFORE or start + 1 == n else 2
        for end in range(start + shortest, min(start + LONGEST_GROUP, n) + 1) if reached[start] else ():
            places = snapshot.places(field, term := number[start:end], docs)
            following = [((*way, term), places[among(places, own + 1)]) for way, own in reached[start]]
            reached[end] += [(way, own) for way, own in following if own.size]
    return [way for way, _ in _most_frequent(reached[n])]


def _most_frequent(ways: list[tuple[tuple[str, ...], Ints]]) -> list[tuple[tuple[str, ...], Ints]]:
    return ways if len(ways) <= MOST_WAYS else sorted(ways, key=lambda way: -way[1].size)[:MOST_WAYS]


def _in_a_row(pieces: Pieces, known: dict[Pieces, Ints]) -> Ints:
    """Where the pieces stand in a row; `known` holds where each stands alone, and caches the runs found on the way.

    A run is found from two parts, the first of 2^k pieces: if pieces repeat, so do the parts, and each is looked for
    only once. A word n times in a row costs log n passes over its places.
    """
    if pieces not in known:
        n = 1 << (len(pieces) - 1).bit_length() - 1
        starts = _in_a_row(pieces[:n], known)
        known[pieces] = starts[among(starts + n, _in_a_row(pieces[n:], known))] if starts.size else starts
    return known[pieces]


def among(values: Ints, known: Ints) -> Mask:
    """Which of `values` [n] are in the ascending `known`: np.isin, without its sorting."""
    if not known.size:
        return np.zeros(values.size, dtype=bool)
    rows = known.searchsorted(values)
    rows[rows == known.size] = 0
    return np.asarray(known[rows] == values)


def union(lists: Sequence[Ints]) -> Ints:
    """The different numbers of several lists of different numbers, ascending."""
    if len(lists) == 1:
        return lists[0]
    every = np.concatenate(lists)
    most = int(every.max(initial=-1)) + 1
    if most < DENSE * every.size:
        is_there = np.zeros(most, dtype=bool)
        is_there[every] = True
        return is_there.nonzero()[0]
    every.sort()
    return _different(every)


def _different(values: Ints) -> Ints:
    """The ascending `values` [n] without repetitions."""
    return values[beginnings(values)]


def of(counts: tuple[Ints, Floats], docs: Ints) -> tuple[Ints, Floats]:
    """The counts in the ascending `docs` alone."""
    held = among(counts[0], docs)
    return counts[0][held], counts[1][held]


Texts = Callable[[Sequence[int]], Iterable[tuple[int, str]]]
"""ids of documents -> for each its id and what is written in it: path, title and text"""
Counts = Mapping[str, tuple[Ints, Floats]]
"""field -> documents [n] (ascending) and occurrences in each [n]"""

BATCH = 100
"""documents whose texts are read together"""
ENOUGH = 100
"""documents found as written after which no more texts are read: a page holds that many results"""
MAX_DOCUMENTS, MAX_WORDS = 1_000, 1_000_000
"""most texts that are read for one word of a query, and their total length in words"""

_AROUND = ",;:!?…'’"
"""signs before or after a word in a sentence that are no part of it; after it, a full stop too"""
_PLAIN = re.compile(
    r"[^\W_]+"  # one token, digits or not
    r"|[^\W\d_]+(?:[-–—/'’][^\W\d_]+)+"  # words of letters joined as in prose
    r"|[^\W_]{1,2}(?:\+\+?|\#)"  # C++ and C#, which are terms of their own, and the beginning of the first
)

RARE = 300
"""documents; a one-piece word held by more of them is not looked up in their texts, whatever it looks like"""
_CODE = re.compile(r"[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Z]{4,}|(?=\D*\d)(?=[\W\d_]*[^\W\d_])\w+")
"""camelCase, CAPITALS, letters with digits"""


def nothing_written(doc_ids: Sequence[int]) -> Iterable[tuple[int, str]]:
    """The `Texts` of an index without stored texts."""
    return ()


def as_written(text: str) -> str:
    """The word of a query in lower case, without what only stands around it; "" for a word of plain prose."""
    word = text.lstrip(_AROUND).rstrip(_AROUND + ".")
    if (len(word) <= MAX_TERM_LENGTH and _PLAIN.fullmatch(word)) or is_ideographic(word) or is_marked(word):
        return ""
    return word.lower()


def is_code(word: str) -> bool:
    """Whether a word without punctuation looks like an identifier: getFile, ENOENT, e1000e."""
    return _CODE.fullmatch(word) is not None


def holders(snapshot: Snapshot, found: Counts, texts: Texts, *ways: str, prefix: bool = False) -> Ints:
    """Those of the documents `found` by their pieces that hold one of the `ways` with no letter, digit or _ beside it.

    Ascending. With `prefix` anything may follow it. If documents are many, those that hold it as a term are read first,
    then those in which the pieces are densest.
    """
    numbers = _to_read(snapshot, found, ways[0])
    ids = snapshot.documents["doc_id"][numbers].tolist()
    number_of = dict(zip(ids, numbers.tolist(), strict=True))
    held: list[int] = []
    for start in range(0, len(ids), BATCH):
        for doc_id, text in texts(ids[start : start + BATCH]):
            if any(_stands_in(text.lower(), way, prefix=prefix) for way in ways):
                held.append(number_of[doc_id])
        if len(held) >= ENOUGH:
            break
    return np.array(sorted(held), dtype=np.int64)


def _stands_in(text: str, written: str, *, prefix: bool) -> bool:
    """Whether a text holds `written` with no letter, digit or _ before it or, unless `prefix`, after it."""
    at = text.find(written)
    while at >= 0:
        end = at + len(written)
        if not (at and _in_word(text[at - 1])) and (prefix or end == len(text) or not _in_word(text[end])):
            return True
        at = text.find(written, at + 1)
    return False


_SIGNED = re.compile(r"([$€£¥₹]?)\s?(\d[\d.,]*)\s?([$€£¥₹%‰°]?)")
_GAPS = ("", " ", "\xa0", "\u202f")


def with_sign(written: str) -> list[str]:
    """How else people write an amount or a share with its sign: 20 € and 20€ for €20; [] for other words."""
    amount = _SIGNED.fullmatch(written)
    if amount is None or not (sign := amount[1] or amount[3]):
        return []
    before = [f"{sign}{gap}{amount[2]}" for gap in _GAPS if sign not in "%‰°"]
    return [*before, *(f"{amount[2]}{gap}{sign}" for gap in _GAPS)]


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _to_read(snapshot: Snapshot, found: Counts, written: str) -> Ints:
    """The documents to read [n]: those with its longest term, then those with most occurrences for their length."""
    numbers = union([docs for docs, _ in found.values()])
    occurrences, as_term = np.zeros(numbers.size), np.zeros(numbers.size, dtype=bool)
    whole = max((term for raw in raw_tokens(written) for term, _ in raw_terms(raw)[0]), key=len, default=written)
    for field, (docs, tf) in found.items():
        occurrences[np.searchsorted(numbers, docs)] += tf
        as_term |= among(numbers, snapshot.postings(field, whole).docs)
    lengths = snapshot.documents["n_body"][numbers].astype(np.int64)
    density = occurrences / (1 + lengths / snapshot.average_length["body"])
    order = np.lexsort((numbers, -density, ~as_term))[:MAX_DOCUMENTS]
    chosen: Ints = numbers[order[np.cumsum(lengths[order]) - lengths[order] <= MAX_WORDS]]
    return chosen
