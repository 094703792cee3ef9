"""The order of a page: the ranker's scores, then rules that raise and lower candidates, one after another.

Each rule sees the page as the rules before it left it, and gives every candidate points and an explanation of a few
words; the reasons of a result name the rule that moved it (app.search.reasons.PARTS).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import cached_property

import numpy as np
from msgspec import Struct, structs

from app.learning.learner import Learner
from app.search.candidate_table import CandidateTable
from app.search.code_pages import PageKind, Sides, page_kind, sides_of
from foltr.arrays import FloatVector
from indexer.meaning.nearest import Closeness
from indexer.postings import Floats, Ints, Mask
from indexer.retrieval import near_duplicates
from indexer.retrieval.candidates import Candidates, n_asking
from indexer.retrieval.concepts import Concept
from indexer.retrieval.dates import day_of_name
from indexer.retrieval.feature_values import TYPE_GROUPS, age, scaled
from indexer.retrieval.features import NAMES, USAGE_NAMES
from indexer.retrieval.named import named_by
from indexer.storage.catalogue import DocumentRow
from indexer.storage.snapshot import Snapshot

CALLED_SHARE, CALLED_ROUNDING = 0.4, 1e-9
"""`name_share` where a name of 4 k words holds all k words of the query: 2 k / (k + 4 k)"""
STEP = 0.01
"""points between the lowest document that a rule raises above others and the highest of those others"""
ABROAD = 0.5
"""most that meaning alone earns a text in another language, as a share of the best text's points for its words"""
N_NEAREST, SMOOTHING, SHARPNESS = 5, 0.4, 4
"""how many neighbours in meaning count; how much at most; the power of closeness that weights them"""
CLOSE, MISSING = (0.4, 0.7), (0.2, 0.5)
"""(where the effect starts, where it is full) for the closeness of the nearest, and for the share of the query that the
best text lacks (chosen on cranfield, cisi, medline, scifact, manpages, locomo-chats and adi)"""
LEADING = 0.7
"""`same_query` of two and a half openings that have not faded"""
_USAGE = np.isin(NAMES, USAGE_NAMES)
"""[n_features] True for the features made from the user's own picks"""


class Ranked(Struct, frozen=True, eq=False, dict=True):
    """Candidates in BM25F order, equal ones newest first, with all that is needed to show them and learn from them."""

    table: CandidateTable
    scores: FloatVector
    """[n_docs] what they are ranked by: the ranker's scores and the extras"""
    learner: Learner
    """the ranker as it was at that moment"""
    concepts: tuple[Concept, ...]
    """of the query"""
    sides: Sides
    kind: PageKind | None
    """None for a page of texts"""
    near: tuple[Ints, Floats]
    """pairs of candidates `[n_pairs, 2]` whose texts resemble each other, and how much `[n_pairs]`"""
    closeness: Closeness | None
    """of this machine's documents to the query in meaning; None where meaning has no part"""
    day_of: Callable[[DocumentRow], float | None]
    """the date at the beginning of the text of a document on this machine"""
    tonight: float
    """the next midnight, in seconds since the epoch; dates after it are not believed"""
    extra: Mapping[str, FloatVector] = {}
    """rule -> [n_docs] points that were added to the ranker's"""
    notes: Mapping[str, Sequence[str]] = {}
    """rule -> [n_docs] its explanation in a few words, such as "newest of 44 alike"; "" for none"""

    @property
    def has_words(self) -> bool:
        """False for a query of conditions only: its documents are shown newest first and teach nothing."""
        return bool(self.concepts)

    @cached_property
    def beyond(self) -> FloatVector | None:
        """[n_docs] points that the page's kind adds to those of the text ranker; None for a page of texts."""
        return self.kind.beyond(self.learner.text(self.table.features)) if self.kind else None

    @cached_property
    def are_mails(self) -> Mask:
        return np.array([row.type == "mail" for row in self.table.rows], dtype=bool)

    @cached_property
    def copies(self) -> list[int]:
        """[n_docs] equal numbers for copies of one file."""
        first = dict[bytes, int]()
        return [first.setdefault(row.content_hash, i) if row.n_words else i for i, row in enumerate(self.table.rows)]

    @cached_property
    def contents(self) -> list[int]:
        """[n_docs] equal numbers for copies of one file, and for one text in several formats: they share a row."""
        rows, contents = self.table.rows, self.copies
        for i, j in near_duplicates.twins(
            *self.near, self.table.names, [row.type for row in rows], [row.n_words for row in rows]
        ):
            own, other = contents[j], contents[i]
            contents = [other if content == own else content for content in contents]
        return contents

    @cached_property
    def believed(self) -> FloatVector:
        """[n_docs] the dates of the files; one in the future is replaced by the date that its `age` implies."""
        dates = np.array([row.modified for row in self.table.rows], dtype=np.float64)
        return self.tonight - age(dates, self.tonight)

    @cached_property
    def made(self) -> FloatVector:
        """[n_docs] when each was changed: the date of its oldest copy, as copies in backups may have later ones."""
        oldest = np.full(len(self.believed), np.inf)
        np.minimum.at(oldest, self.copies, self.believed)
        return oldest[self.copies]

    @cached_property
    def rows_shared(self) -> list[int]:
        """[n_docs] equal numbers for candidates that share a row: one content, or one thread."""
        by_thread: dict[str, list[int]] = {}
        for i, aside in enumerate(self.table.asides):
            if aside.thread is not None:
                by_thread.setdefault(aside.thread.name, []).append(i)
        shared = list(self.contents)
        for first, *others in by_thread.values():
            joined = {shared[i] for i in others}
            shared = [shared[first] if number in joined else number for number in shared] if joined else shared
        return shared


Moved = tuple[FloatVector, Sequence[str]]
"""[n_docs] points, and [n_docs] an explanation of each, "" for none; () from a rule that explains nothing"""


def other_languages(page: Ranked) -> Moved:
    """A text in another language lacks the query's words, so its meaning also stands in for part of their points."""
    table, column = page.table, NAMES.index("meaning")
    foreign, closeness = table.foreign, table.features[:, column]
    points = np.zeros(len(page.scores))
    if foreign.any() and not foreign.all():
        words = page.learner.text(table.features, page.beyond) - page.learner.text_weights[column] * closeness
        points = ABROAD * max(words[~foreign].max(), 0.0) * closeness * (foreign & table.as_typed)
    return points, ()


def smoothed_by_meaning(page: Ranked) -> Moved:
    """Texts alike in meaning answer alike: where the best text lacks part of the query, each text's points move towards
    those of its neighbours (Diaz 2005, Regularizing Ad Hoc Retrieval Scores: one step towards his f*).

        points_d = g h_d (sum_e w_de t_e / sum_e w_de - t_d),  w = r^SHARPNESS, e the N_NEAREST, no copies
        g = SMOOTHING rise(1 - any_coverage of the best, MISSING),  h_d = rise(max_e r_de, CLOSE), rise from 0 to 1

    r is their closeness, t the points for the text alone: those for former picks do not spread to neighbours.
    """
    table, points = page.table, np.zeros(len(page.scores))
    if page.closeness is None or page.kind is not None or points.size < 2:
        return points, ()
    text = page.learner.text(table.features)
    missing = 1 - table.features[np.argmax(text), NAMES.index("any_coverage")]
    if missing <= MISSING[0]:
        return points, ()
    close = page.closeness.resemblance(table.docs)
    close[np.equal.outer(page.contents, page.contents)] = 0.0
    least = np.sort(close, axis=1)[:, -min(N_NEAREST, points.size)]
    weights = np.where(close >= least[:, None], close, 0.0) ** SHARPNESS
    has = close.any(axis=1)
    points[has] = weights[has] @ text / weights[has].sum(axis=1) - text[has]
    points *= SMOOTHING * np.interp(missing, MISSING, (0.0, 1.0)) * np.interp(close.max(axis=1), CLOSE, (0.0, 1.0))
    return points, ()


def as_typed_first(page: Ranked) -> Moved:
    """A query of one word means that very word: documents with other forms of it stand below, whatever their score."""
    as_typed, lowered = page.table.as_typed, np.zeros(len(page.scores))
    if not as_typed.all():
        text = page.learner.text(page.table.features, page.beyond)
        lowered[~as_typed] = -max(text[~as_typed].max() - text[as_typed].min() + STEP, 0.0)
    return lowered, ()


def called_first(page: Ranked) -> Moved:
    """Words in a name, title or folder say what a text is; words in its body alone say what it mentions.

    A text with all typed words in name, title and folders stands above those that lack one. It stands above source code
    behind documents, as do the answering documents that hold all words. If its file name says little else, it stands
    above those with a word in the body alone and mails whose subjects lack one. What was chosen before is not passed.
    """
    table, behind, answers = page.table, page.sides.behind, page.sides.answers
    levels, outside = table.levels, (table.levels == near_duplicates.OUTSIDE).all(axis=1)
    texts = _have_words(table) & ~behind
    complete = answers & (levels > near_duplicates.ABSENT).all(axis=1)
    called = are_called(table, by_names_alone=page.kind is not None)
    in_part = table.features[:, NAMES.index("title_coverage")] < 1 - CALLED_ROUNDING
    mentions = (~outside | in_part & page.are_mails) & ~called
    lifted = page.scores.copy()
    for high, low in (
        (complete, behind),
        (outside, (levels == near_duplicates.ABSENT).any(axis=1) | behind),
        (called, mentions),
    ):
        low = low & ~table.chosen_before
        if low.any():
            top = lifted[low].max()
            rising = np.flatnonzero(texts & high & (lifted < top + STEP))
            rising = rising[np.argsort(lifted[rising], kind="stable")]
            lifted[rising] = top + STEP * np.arange(1, rising.size + 1) / max(rising.size, 1)
    in_text = answers & (levels == near_duplicates.IN_TEXT).any(axis=1)
    return lifted - page.scores, ["all your words, in no source code" if own else "" for own in in_text.tolist()]


def _have_words(table: CandidateTable) -> Mask:
    """[n_docs] texts, and scans of texts."""
    return np.array([row.n_words > 0 or row.type in TYPE_GROUPS["is_document"] for row in table.rows], dtype=bool)


def are_called(table: CandidateTable, *, by_names_alone: bool) -> Mask:
    """[n_docs] whether name, title and folders (only the name, with `by_names_alone`) hold all that was typed, a single
    word in that very form, and the name has at most three other words for each word typed (CALLED_SHARE)."""
    coverage, share = (table.features[:, NAMES.index(name)] for name in ("name_coverage", "name_share"))
    held = coverage > 1 - CALLED_ROUNDING if by_names_alone else (table.levels == near_duplicates.OUTSIDE).all(axis=1)
    called: Mask = held & (share > CALLED_SHARE - CALLED_ROUNDING) & table.as_typed
    return called


def latest_first(page: Ranked) -> Moved:
    """A query for the latest puts what has its other words in name, title and folders on top, newest first by the date
    in the name or else that of the series; only what holds all that was typed, as it was typed, stands higher.

    Source code that stands behind documents is not raised as one of the latest.
    """
    table, scores, n = page.table, page.scores, n_asking(page.concepts)
    typed, asked = _typed_and_asked(page, n) if n else (np.zeros(0, dtype=bool), np.zeros(0, dtype=bool))
    if not asked.any():
        return np.zeros(scores.size), ()
    changed: dict[str, float] = {}
    members_of = [
        near_duplicates.series(row.title, name) or row.path for row, name in zip(table.rows, table.names, strict=True)
    ]
    for i in np.flatnonzero(asked).tolist():
        changed[members_of[i]] = max(changed.get(members_of[i], 0.0), page.believed[i])

    def age(i: int) -> tuple[float, tuple[int, int], float]:
        stem, moment = os.path.splitext(table.names[i])[0], date.fromtimestamp(changed[members_of[i]])
        return day_of_name(stem) or moment.toordinal(), near_duplicates.version(stem), page.believed[i]

    oldest = sorted(np.flatnonzero(asked).tolist(), key=age)
    lifted = scores.copy()
    lifted[oldest] = STEP * np.arange(len(oldest)) / len(oldest)
    points = lifted - scores + raised(asked + 2 * typed, lifted, table.chosen_before)
    said: list[str] = np.select([typed, asked], ["as you typed it", "newest first, as asked"], "").tolist()
    return points, said


def _typed_and_asked(page: Ranked, n_asking: int) -> tuple[Mask, Mask]:
    """[n_docs] what holds all that was typed (in a row, or outside its text); of the rest, what holds outside its text
    all but the first `n_asking` concepts, which ask for the latest: only texts, where there are any."""
    table, phrases = page.table, [NAMES.index(name) for name in ("body_phrase", "title_phrase")]
    typed = (table.features[:, phrases] == 1).any(axis=1) | (table.levels == near_duplicates.OUTSIDE).all(axis=1)
    excluded = typed | page.sides.behind | table.chosen_before
    asked = (table.levels[:, n_asking:] == near_duplicates.OUTSIDE).all(axis=1) & ~excluded
    texts = asked & _have_words(table)
    return typed, texts if texts.any() else asked


def named_first(page: Ranked) -> Moved:
    """Documents that the query names stand above all others, the surest first."""
    named = page.table.named
    return raised(named, page.scores, page.table.chosen_before), list(map(named_by, named.tolist()))


def chosen_first(page: Ranked) -> Moved:
    """What was opened three times for this very query stands above what never was, however well that answers."""
    leads = page.table.features[:, NAMES.index("same_query")] > LEADING
    return raised(leads.astype(np.int64), page.scores, page.table.chosen_before), ()


def raised(levels: Ints, scores: FloatVector, chosen_before: Mask) -> FloatVector:
    """Points [n_docs] that put documents of a higher level above all of lower `levels` [n_docs]; 0 is not raised.

    What a person has `chosen_before` [n_docs] for this very query need not be passed: it stands by its own points.
    """
    lifted = scores.copy()
    for level in sorted(set(levels[levels > 0].tolist())):  # np.unique would load masked arrays
        own, below = levels == level, (levels < level) & ~chosen_before
        if below.any():
            lifted[own] += max(float(lifted[below].max() - lifted[own].min()) + STEP, 0.0)
    points: FloatVector = lifted - scores
    return points


def newest_of_alike(page: Ranked) -> Moved:
    """Words cannot tell which of one firm's bills or which draft of a letter is meant: the newest comes first.

    What was chosen before, moved by the rule `latest` or found without words keeps its place; so does everything for a
    person who prefers older documents. Never alike: what the query names more or less surely, or other forms of a word.
    """
    table, rows, names = page.table, page.table.rows, page.table.names
    if page.learner.prefers_older():
        return np.zeros(len(rows)), ()
    wordless = np.array([bool(aside.passage) for aside in table.asides], dtype=bool)
    fixed = table.chosen_before | (page.extra["latest"] != 0) | wordless
    members_of = [
        "" if own else near_duplicates.series(row.title, "" if row.type == "mail" else name)
        for row, name, own in zip(rows, names, fixed, strict=True)
    ]
    pairs, values = page.near
    contents = near_duplicates.asks_for_contents(table.levels)[pairs].any(axis=1)
    near = pairs[
        ~fixed[pairs].any(axis=1)
        & (values >= np.where(contents, near_duplicates.NAMESAKE_RESEMBLANCE, near_duplicates.LEAST_RESEMBLANCE))
    ]
    are_versions = np.array(
        [near_duplicates.version(os.path.splitext(name)[0]) != near_duplicates.UNMARKED for name in names], dtype=bool
    )
    apart = 2 * table.named + (page.extra["written"] < 0)
    classes = near_duplicates.alike(table.levels, near, members_of, page.scores, apart, are_versions)

    def day_of(i: int) -> float | None:
        return table.asides[i].day if table.asides[i].machine else page.day_of(rows[i])

    dates = near_duplicates.Dates(
        page.made, names, members_of, page.are_mails, day_of, (table.levels != near_duplicates.IN_TEXT).all(axis=1)
    )
    dealt, said = near_duplicates.newest_first(page.scores, classes, dates)
    return dealt - page.scores, said


def beside_texts(page: Ranked) -> Moved:
    """Pictures, recordings and films have no text to earn points: after every two texts stands the best one left whose
    name and properties hold all words."""
    rows, scores = page.table.rows, page.scores
    are_silent = np.array([not row.n_words and row.type in ("image", "audio", "video") for row in rows], dtype=bool)
    hold_all = np.array([not words for words in page.table.missing_words], dtype=bool)
    texts, silent = np.sort(scores[~are_silent])[::-1], (are_silent & hold_all).nonzero()[0]
    points = np.zeros(len(rows))
    silent = silent[np.argsort(-scores[silent], kind="stable")][: texts.size // 2]
    above = texts[1 : 2 * silent.size : 2] - near_duplicates.LEAST_STEP / 2
    points[silent] = np.maximum(above - scores[silent], 0.0)
    return points, ()


class PageRule(Struct, frozen=True):
    moves: Callable[[Ranked], Moved]
    moves_most: bool = False
    """whether most candidates get points; a reason then compares a result's points with those of the others"""


RULES: dict[str, PageRule] = {
    "abroad": PageRule(other_languages),
    "nearest": PageRule(smoothed_by_meaning, moves_most=True),
    "written": PageRule(as_typed_first),
    "called": PageRule(called_first),
    "latest": PageRule(latest_first),
    "named": PageRule(named_first),
    "chosen": PageRule(chosen_first),
    "alike": PageRule(newest_of_alike),
    "beside": PageRule(beside_texts),
}
"""the part of a score -> the rule that gives it, in the order in which they are asked"""


def rank(
    found: CandidateTable, candidates: Candidates, closeness: Closeness | None, snapshot: Snapshot, learner: Learner,
    day_of: Callable[[DocumentRow], float | None], tonight: float,
) -> Ranked:  # fmt: skip
    """The candidates with what the ranker and all rules give them; `found` also has those of other machines."""
    features, own = scaled(found.features), ~found.foreign
    if not own.all():  # documents in the query's language are scaled among themselves
        features[own] = scaled(found.features[own])
    features[:, _USAGE] *= min(learner.settings.strength, 1.0)
    table = structs.replace(found, features=features, as_typed=found.as_typed | (not found.as_typed.any()))
    learner, sides = learner.as_it_is(), sides_of(candidates.concepts, table)
    kind = page_kind(snapshot, candidates, table, sides)
    if kind and learner.of_assistant:
        table = structs.replace(table, marks=kind.with_roles(table.marks))
    near = near_duplicates.resembling(table.sketches, near_duplicates.LEAST_RESEMBLANCE)
    scores = np.zeros(len(table.rows))
    page = Ranked(table, scores, learner, candidates.concepts, sides, kind, near, closeness, day_of, tonight)
    page = structs.replace(page, scores=learner.scores(table.features, table.marks, page.beyond))
    for name, rule in RULES.items():
        points, said = rule.moves(page)
        notes = {**page.notes, name: said} if said else page.notes
        page = structs.replace(page, scores=page.scores + points, extra={**page.extra, name: points}, notes=notes)
    return page
