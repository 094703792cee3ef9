"""Near-equal candidates: which of them answer a query alike, and which are one text in several formats.

Bills of one firm, minutes of one board, drafts and releases match the words of a query that names them about equally;
what tells them apart for BM25F is then chance (a word more here, a shorter text there), while a person looks for the
newest. Two candidates are *alike* for a query when

* their texts resemble each other, or they belong to one series (the same title and name but for numbers and months),
  and
* each concept of the query stands in both in the same place: outside the text, in the text alone, or not at all. In a
  series, whose texts differ, a concept that stands in the texts of some members only is content, and tells them
  apart.

So a year that the query names keeps the documents of that year together, and a question about what was said in one of
fifty meetings is answered by the text, not by the date.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from indexer.postings import Floats, Ints
from indexer.retrieval.candidates import Candidates
from indexer.text.analysis import fold

LEAST_RESEMBLANCE = 0.5
"""texts with this share of words in common are alike"""
TWIN_RESEMBLANCE = 0.87
"""so high an estimate have seven in eight of the pairs with just nine tenths of their words in common"""
NAMESAKE_RESEMBLANCE = 0.7
MIN_TWIN_WORDS = 20
COMMON_SHARE = 0.9
"""a concept in the texts of so many members of a series says nothing about one of them"""
BULK_SECONDS = 3600.0
"""files whose dates lie within this were written in one go, by a copy or an archive: their names say which is newer"""
LEAST_STEP = 1e-8
"""points between documents of equal score, so that their order is a matter of scores too"""
MONTHS = frozenset({
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec", "januar",
    "februar", "marz", "maerz", "mai", "juni", "juli", "oktober", "dezember", "janvier", "fevrier", "mars",
    "avril", "juin", "juillet", "aout", "septembre", "octobre", "novembre", "decembre", "enero", "febrero",
    "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
    "gennaio", "febbraio", "aprile", "maggio", "giugno", "luglio", "settembre", "ottobre", "dicembre",
})  # fmt: skip
"""in English, German, French, Spanish and Italian, folded"""
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")

ABSENT, IN_TEXT, OUTSIDE = 0, 1, 2


@lru_cache(maxsize=10_000)
def series(title: str, name: str) -> str:
    """What the members of a series have in common: the words of title and file name but for numbers and months.

    "" for a document without such words, which belongs to none.
    """
    stem = os.path.splitext(name)[0]
    words = [" ".join(w for w in _LETTERS.findall(fold(part)) if w not in MONTHS) for part in (title, stem)]
    return "\n".join(words) if any(words) else ""


@lru_cache(maxsize=10_000)
def numbers(name: str) -> tuple[int, ...]:
    """The numbers in a file name, in order: "v2.10-draft3" gives (2, 10, 3)."""
    return tuple(int(digits[:18]) for digits in _DIGITS.findall(os.path.splitext(name)[0]))


def evidence(candidates: Candidates) -> Ints:
    """Where each concept stands in each candidate, `[n_docs, n_concepts]`: ABSENT, IN_TEXT alone, or OUTSIDE it."""
    levels = np.zeros((candidates.docs.size, len(candidates.concepts)), dtype=np.int64)
    for field, tf in candidates.tf.items():
        np.maximum(levels, np.where(tf > 0, IN_TEXT if field == "body" else OUTSIDE, ABSENT), out=levels)
    return levels


def alike(levels: Ints, near: Ints, members_of: Sequence[str], scores: Floats) -> Ints:
    """The class of each candidate, `[n_docs]`: the number of the best-scored one that it is alike to.

    `levels` `[n_docs, n_concepts]` as `evidence` gives them, `near` `[n_pairs, 2]` pairs whose texts resemble each
    other, `members_of` `[n_docs]` as `series` names them.
    """
    classes = np.arange(len(levels))
    others: dict[int, list[int]] = defaultdict(list)
    for i, j in near[(levels[near[:, 0]] == levels[near[:, 1]]).all(axis=1)].tolist():
        others[i].append(j)
        others[j].append(i)
    for rows in _tied_in_series(levels, members_of):
        for i in rows:
            others[i].extend(rows)
    settled: set[int] = set()
    for i in np.argsort(-scores, kind="stable").tolist() if others else ():
        if i in others and i not in settled:
            own = [j for j in others[i] if j not in settled]
            classes[own] = i
            settled.update(own, (i,))
    return classes


def _tied_in_series(levels: Ints, members_of: Sequence[str]) -> list[list[int]]:
    """The members of each series that hold the concepts in the same places, but those told apart by their text."""
    members: dict[str, list[int]] = defaultdict(list)
    for i, name in enumerate(members_of):
        if name:
            members[name].append(i)
    groups = [rows for rows in members.values() if len(rows) > 1]
    if not groups:
        return []
    every, sizes = [i for rows in groups for i in rows], np.array([len(rows) for rows in groups])
    own, of_group = levels[every], np.arange(len(groups)).repeat(sizes)
    share = np.add.reduceat(own > ABSENT, np.cumsum(sizes) - sizes, axis=0, dtype=np.int64) / sizes[:, None]
    common = (share >= COMMON_SHARE)[of_group]
    told_apart = ((own == IN_TEXT) & ~common).any(axis=1)
    own = np.where(common, np.maximum(own, IN_TEXT), own)
    tied: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    for i, group, row, unlike in zip(every, of_group.tolist(), own, told_apart.tolist(), strict=True):
        if not unlike:
            tied[group, row.tobytes()].append(i)
    return [rows for rows in tied.values() if len(rows) > 1]


def newest_first(
    scores: Floats, classes: Ints, modified: Floats, names: Sequence[str], members_of: Sequence[str]
) -> tuple[Floats, Ints]:
    """The scores `[n_docs]` with those of each class dealt out anew among its members, the highest to the newest;
    and how many documents each is the newest of, `[n_docs]`, 0 for all others.

    `modified` is in seconds. Where all dates of a class lie within BULK_SECONDS, the numbers in the names of one series
    decide (`members_of` as `series` names them); where nothing says which is newer, the class stays as it is.
    """
    dealt, newest_of = scores.copy(), np.zeros(len(scores), dtype=np.int64)
    members: dict[int, list[int]] = defaultdict(list)
    for i, leader in enumerate(classes.tolist()):
        members[leader].append(i)
    for rows in members.values():
        if len(rows) > 1 and (newer := _newer(rows, modified, names, members_of)):
            own = dict(zip(rows, scores[rows].tolist(), strict=True))
            newest = sorted(rows, key=lambda row: (-newer[row], -own[row], row))
            dealt[newest] = np.array(sorted(own.values(), reverse=True)) - LEAST_STEP * np.arange(len(rows))
            newest_of[newest[0]] = len(rows)
    return dealt, newest_of


def _newer(
    rows: Sequence[int], modified: Floats, names: Sequence[str], members_of: Sequence[str]
) -> Mapping[int, float]:
    """A number for each of `rows` that is larger the newer it is; none where nothing says which is newer."""
    moments: Sequence[float] = modified[rows].tolist()
    if max(moments) - min(moments) <= BULK_SECONDS:
        if members_of[rows[0]] == "" or len({members_of[row] for row in rows}) > 1:
            return {}
        numbered = [numbers(names[row]) for row in rows]
        moments = [float(sorted(set(numbered)).index(own)) for own in numbered]
    return dict(zip(rows, moments, strict=True)) if max(moments) > min(moments) else {}


def twins(
    pairs: Ints, values: Floats, names: Sequence[str], types: Sequence[str], n_words: Sequence[int]
) -> list[tuple[int, int]]:
    """Those of the `pairs` `[n_pairs, 2]` of resemblance `values` `[n_pairs]` that are one text in two formats.

    Of different types, with the same numbers in their names, and nine tenths of their words in common; seven tenths
    where they have one name but for its ending.
    """
    found = []
    for (i, j), value in zip(pairs.tolist(), values.tolist(), strict=True):
        if types[i] == types[j] or value < NAMESAKE_RESEMBLANCE or min(n_words[i], n_words[j]) < MIN_TWIN_WORDS:
            continue
        is_namesake = os.path.splitext(names[i])[0] == os.path.splitext(names[j])[0]
        if (is_namesake or value >= TWIN_RESEMBLANCE) and numbers(names[i]) == numbers(names[j]):
            found.append((i, j))
    return found
