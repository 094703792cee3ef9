"""Near-equal candidates: which of them answer a query equally well, and which are one text in several formats.

Bills of one firm, minutes of one board, drafts and releases match the words of a query that names them about equally;
what tells them apart for BM25F is then chance (a word more here, a shorter text there), while a person looks for the
newest. Two candidates are *alike* for a query when

* their texts resemble each other, or they belong to one series (the same title and name but for numbers and months),
  and
* each concept of the query is in the same place in both: outside the text, only in the text, or absent. In a series,
  whose texts differ, a concept in the texts of only some members is content, and tells them apart; so does a query
  most of whose concepts are only in the texts, unless these resemble each other much or their names give versions.

Which one is newer? For mails their dates decide. For other documents the dates in their names decide, if all have one;
then, in a series, the versions (draft, v2, final, signed); else the dates of the files; if the files were written in
one go, the dates in their texts; and last, if the query asks nothing of the texts, the numbers in names.

So a year in the query keeps the documents of that year together, and a question about what was said in one of fifty
meetings is answered by the text, not by the date.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from msgspec import Struct

from indexer.postings import Bytes, Floats, Ints, Mask
from indexer.retrieval.candidates import Candidates
from indexer.retrieval.dates import MONTHS, WEEKDAYS, day_of_name
from indexer.text.analysis import fold

LEAST_RESEMBLANCE = 0.5
"""texts with this share of words in common are alike"""
TWIN_RESEMBLANCE = 0.87
"""seven in eight of the pairs that share just nine tenths of their words have at least this estimate"""
NAMESAKE_RESEMBLANCE = 0.7
"""least resemblance of twins under one name, and of alike texts if the query asks for contents"""
MIN_TWIN_WORDS = 20
COMMON_SHARE = 0.9
"""a concept that this share of a series holds does not tell its members apart"""
BULK_SECONDS = 3600.0
"""files with dates this close were written in one go, by a copy or an archive: names and texts say which is newer"""
MOST_READ = 50
"""most alike documents whose texts are searched for a date"""
MOVED = 1e-6
"""points; smaller moves are not mentioned"""
LEAST_STEP = 1e-8
"""points put between documents of equal score, so that scores alone give the order"""
REPLIES = frozenset({"re", "fwd", "fw", "aw", "wg", "sv", "antw", "tr", "rv"})
"""what stands before the subject of a mail that answers or forwards another"""
STAGES = {
    name: stage for stage, names in enumerate((
        "draft entwurf brouillon ebauche borrador bozza rascunho udkast utkast luonnos черновик taslak",
        "v version ver rev revised revision uberarbeitet",
        "final endfassung endgultig finale definitif definitive definitivo definitiva definitief slutlig lopullinen",
        "signed unterschrieben unterzeichnet signe signee firmado firmada firmato firmata assinado getekend",
    )) for name in names.split()
}  # fmt: skip
"""word in a name that marks a version, folded -> its stage; a name without one has stage 1"""
UNMARKED = (1, 0)
_NO_PART = REPLIES | WEEKDAYS | MONTHS.keys() | STAGES.keys()
_LETTERS = re.compile(r"[^\W\d_]+")
_DIGITS = re.compile(r"\d+")
_VERSION = re.compile(r"([^\W\d_]+)(?:[\W_]*(\d{1,3})(?!\d))?")

ABSENT, IN_TEXT, OUTSIDE = 0, 1, 2


@lru_cache(maxsize=10_000)
def series(title: str, name: str) -> str:
    """What the members of a series share: the words of title and file name without numbers, months, days and versions.

    `name` is "" for mails, whose subject decides. Returns "" without such words: the document belongs to no series.
    """
    stem = os.path.splitext(name)[0]
    words = [" ".join(w for w in _LETTERS.findall(fold(part)) if w not in _NO_PART) for part in (title, stem)]
    return "\n".join(words) if any(words) else ""


@lru_cache(maxsize=10_000)
def version(name: str) -> tuple[int, int]:
    """The stage that a file name gives (STAGES), and its number: "plan draft 2" is (0, 2), "plan_v3" (1, 3) and
    "plan_final_v3" (2, 3)."""
    marks = [(STAGES[word], int(number or 0)) for word, number in _VERSION.findall(fold(name)) if word in STAGES]
    stage, number = max(marks, default=UNMARKED)
    return stage, number or max((own for _, own in marks), default=0)


@lru_cache(maxsize=10_000)
def numbers(name: str) -> tuple[int, ...]:
    """The numbers in a file name, in order: "v2.10-draft3" gives (2, 10, 3)."""
    return tuple(int(digits[:18]) for digits in _DIGITS.findall(os.path.splitext(name)[0]))


def evidence(candidates: Candidates) -> Ints:
    """Where each candidate holds each concept, `[n_docs, n_concepts]`: ABSENT, only IN_TEXT, or OUTSIDE it."""
    levels = np.zeros((candidates.docs.size, len(candidates.concepts)), dtype=np.int64)
    for field, tf in candidates.tf.items():
        np.maximum(levels, np.where(tf > 0, IN_TEXT if field == "body" else OUTSIDE, ABSENT), out=levels)
    return levels


def asks_for_contents(levels: Ints) -> Mask:
    """[n_docs] whether more concepts are only in the text than outside it; `levels` `[n_docs, n_concepts]`."""
    asked: Mask = (levels == IN_TEXT).sum(axis=1) > (levels == OUTSIDE).sum(axis=1)
    return asked


def alike(
    levels: Ints, near: Ints, members_of: Sequence[str], scores: Floats, apart: Ints, are_versions: Mask
) -> Ints:  # fmt: skip
    """The class of each candidate, `[n_docs]`: the number of the best-scored one to which it is alike.

    `levels` `[n_docs, n_concepts]` as `evidence` gives them, `near` `[n_pairs, 2]` pairs whose texts resemble each
    other, `members_of` `[n_docs]` as `series` names them; those of different `apart` `[n_docs]` are never alike. In a
    series, `are_versions` `[n_docs]` are alike even for a query that asks for contents.
    """
    classes = np.arange(len(levels))
    others: dict[int, list[int]] = defaultdict(list)
    one, other = near[:, 0], near[:, 1]
    for i, j in near[(levels[one] == levels[other]).all(axis=1) & (apart[one] == apart[other])].tolist():
        others[i].append(j)
        others[j].append(i)
    for rows in _tied_in_series(levels, members_of, apart, are_versions):
        for i in rows:
            others[i].extend(rows)
    settled: set[int] = set()
    for i in np.argsort(-scores, kind="stable").tolist() if others else ():
        if i in others and i not in settled:
            own = [j for j in others[i] if j not in settled]
            classes[own] = i
            settled.update(own, (i,))
    return classes


def _tied_in_series(
    levels: Ints, members_of: Sequence[str], apart: Ints, are_versions: Mask
) -> list[list[int]]:  # fmt: skip
    """The members of each series that hold the concepts in the same places, without those their texts tell apart."""
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
    told_apart |= asks_for_contents(own) & ~are_versions[every]
    own = np.where(common, np.maximum(own, IN_TEXT), own)
    tied: dict[tuple[int, int, bytes], list[int]] = defaultdict(list)
    groups_apart = zip(every, of_group.tolist(), apart[every].tolist(), own, told_apart.tolist(), strict=True)
    for i, group, side, row, unlike in groups_apart:
        if not unlike:
            tied[group, side, row.tobytes()].append(i)
    return [rows for rows in tied.values() if len(rows) > 1]


class Dates(Struct, frozen=True, eq=False):
    """All that can tell which of the candidates is newer."""

    modified: Floats
    """[n_docs] seconds: the dates of the files, or of the mails themselves"""
    names: Sequence[str]
    """[n_docs] file names with their endings"""
    members_of: Sequence[str]
    """[n_docs] as `series` names them"""
    are_mails: Mask
    """[n_docs]"""
    in_text: Callable[[int], float | None]
    """candidate -> the date at the beginning of its text"""
    by_name: Mask
    """[n_docs] whether no concept is only in its text: only such documents are ordered by mere numbers"""


BY_FILES, BY_NAMES, BY_NUMBERS, BY_TEXTS = "", " by their names", " by their numbers", " by their texts"
BY_VERSIONS = " by their versions"


def newest_first(scores: Floats, classes: Ints, dates: Dates) -> tuple[Floats, list[str]]:
    """The scores `[n_docs]` with those of each class dealt out anew among its members, the highest to the newest;
    and what is said of each, `[n_docs]`: "newest of 44 alike by their names", "" where nothing moved.

    If nothing tells which is newer, a class stays as it is.
    """
    dealt, said = scores.copy(), [""] * len(scores)
    members: dict[int, list[int]] = defaultdict(list)
    for i, leader in enumerate(classes.tolist()):
        members[leader].append(i)
    for rows in members.values():
        newer, how = _newer(rows, dates) if len(rows) > 1 else ([], "")
        if len(set(newer)) > 1:
            age = dict(zip(rows, newer, strict=True))
            newest = sorted(rows, key=lambda row: (-age[row], -scores[row], row))
            dealt[newest] = np.sort(scores[rows])[::-1] - LEAST_STEP * np.arange(len(rows))
            for row in rows:
                way = dealt[row] - scores[row]
                said[row] = f"{'newer' if way > 0 else 'older'} of {len(rows):,} alike{how}" if abs(way) > MOVED else ""
            if age[newest[0]] > age[newest[1]]:
                said[newest[0]] = f"newest of {len(rows):,} alike{how}"
    return dealt, said


def _newer(rows: Sequence[int], dates: Dates) -> tuple[list[float], str]:
    """A number for each of `rows`, larger for newer (all equal, or [], if nothing tells), and by what it was told."""
    moments: list[float] = dates.modified[rows].tolist()
    if dates.are_mails[rows].all():
        return moments, BY_FILES
    stems = [os.path.splitext(dates.names[row])[0] for row in rows]
    in_names, all_series = _days(map(day_of_name, stems)), {dates.members_of[row] for row in rows}
    named = all_series - {""}  # all begin as the shortest: "plan v2 with remarks" is a version of "plan" too
    shortest = min(named, key=len, default="")
    is_series = bool(named) and all(own.startswith(shortest) for own in named)
    versions = _versions(stems, moments) if is_series else [UNMARKED] * len(rows)
    if len(set(in_names)) > 1:
        return _places(list(zip(in_names, versions, strict=True))), BY_NAMES
    if len(set(versions)) > 1:
        return _places(list(zip(versions, moments, strict=True))), BY_VERSIONS
    if max(moments) - min(moments) > BULK_SECONDS:
        return moments, BY_FILES
    in_texts = _days(map(dates.in_text, rows)) if len(rows) <= MOST_READ else []
    if len(set(in_texts)) > 1:
        return in_texts, BY_TEXTS
    return (
        (_places([numbers(dates.names[row]) for row in rows]), BY_NUMBERS)
        if is_series and all(all_series) and dates.by_name[rows].all()
        else ([], "")
    )


def _versions(stems: Sequence[str], moments: Sequence[float]) -> list[tuple[int, int]]:
    """The version of each name; a name without marks that was changed after all marked ones ranks above them."""
    versions = list(map(version, stems))
    latest = max((moment for own, moment in zip(versions, moments, strict=True) if own != UNMARKED), default=math.inf)
    return [
        (1, sys.maxsize) if own == UNMARKED and moment > latest + BULK_SECONDS else own
        for own, moment in zip(versions, moments, strict=True)
    ]


def _places(keys: Sequence[tuple[Any, ...]]) -> list[float]:
    """The rank of each key among the distinct ones, from 0."""
    ordered = {key: float(place) for place, key in enumerate(sorted(set(keys)))}
    return [ordered[key] for key in keys]


def _days(days: Iterable[float | None]) -> list[float]:
    """All days if each is known, else []; stops at the first unknown one."""
    known: list[float] = []
    for day in days:
        if day is None:
            return []
        known.append(day)
    return known


def twins(
    pairs: Ints, values: Floats, names: Sequence[str], types: Sequence[str], n_words: Sequence[int]
) -> list[tuple[int, int]]:
    """Those of the `pairs` `[n_pairs, 2]` of resemblance `values` `[n_pairs]` that are one text in two formats.

    They have different types, equal numbers in their names, and nine tenths of their words (seven under one name).
    """
    found = []
    for (i, j), value in zip(pairs.tolist(), values.tolist(), strict=True):
        if types[i] == types[j] or value < NAMESAKE_RESEMBLANCE or min(n_words[i], n_words[j]) < MIN_TWIN_WORDS:
            continue
        is_namesake = os.path.splitext(names[i])[0] == os.path.splitext(names[j])[0]
        if (is_namesake or value >= TWIN_RESEMBLANCE) and numbers(names[i]) == numbers(names[j]):
            found.append((i, j))
    return found


_COMPARED_FIRST = 32
"""first buckets, which are compared for all pairs"""
_STANDARD_ERRORS = 3.1
"""so few buckets underestimate a pair by more than this once in a thousand times"""


def resembling(sketches: Bytes, least: float) -> tuple[Ints, Floats]:
    """The pairs `[n_pairs, 2]` (earlier, later) of sketches `[n, BUCKETS]` that resemble each other at least so much,
    in order, and their estimated resemblance `[n_pairs]`.

    Pairs that agree in far fewer of the first buckets than `least` are not looked at further.
    """
    columns = np.ascontiguousarray(sketches[:, :_COMPARED_FIRST].T)
    both = columns[:, :, None] == np.maximum(columns, 1)[:, None, :]  # two empty buckets do not agree
    agree = both.view(np.uint8).sum(axis=0, dtype=np.uint8)
    filled = _bits(sketches > 0)
    in_use = filled.view(np.uint32)[:, 0]
    n_used = np.bitwise_count(in_use[:, None] | in_use)
    n = np.arange(_COMPARED_FIRST + 1)
    enough = (least * n - _STANDARD_ERRORS * np.sqrt(least * (1 - least) * n)).astype(np.float32)
    earlier, later = np.divmod((agree >= enough.take(n_used)).ravel().nonzero()[0], len(sketches))
    forward = earlier < later
    earlier, later = earlier[forward], later[forward]
    used = np.bitwise_count(filled[earlier] | filled[later]).sum(axis=1, dtype=np.uint8)
    differ = np.bitwise_count(_bits(sketches[earlier] != sketches[later])).sum(axis=1, dtype=np.uint8)
    values = (used - differ) / np.maximum(used, 1)
    kept = values >= least
    return np.column_stack((earlier[kept], later[kept])), values[kept]


def _bits(mask: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> np.ndarray[tuple[int, int], np.dtype[np.uint64]]:
    """A `mask` [n, BUCKETS] packed into 64-bit words, for counting bits."""
    return np.packbits(mask, axis=1).view(np.uint64)
