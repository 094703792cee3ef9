"""From ranked candidates to a page: orders, collapsed copies, facets, explanations and the words to highlight.

Files that are gone are marked; a narrowing by a facet is a mask over the documents.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from app.learning.learner import DECIMALS, Learner
from app.search.results import FacetCount, Facets, Hit, SearchRequest
from console.printable import display_path
from console.wording import count
from foltr.arrays import FloatMatrix, FloatVector
from foltr.online.interleaving import FIRST, team_draft
from indexer.documents import TYPES
from indexer.postings import Bytes, Ints, Mask
from indexer.query.nodes import Problem, Query
from indexer.retrieval.alike import LEAST_RESEMBLANCE, alike, newest_first, series, twins
from indexer.retrieval.candidates import Candidates
from indexer.retrieval.concepts import MAX_CONCEPTS, Concept
from indexer.retrieval.feature_values import held_as_written
from indexer.retrieval.matching import FolderIds
from indexer.schema import folder_key
from indexer.storage.catalogue import DocumentRow
from indexer.storage.snapshot import Snapshot
from indexer.storage.threads import Thread
from indexer.text.analysis import fold
from indexer.text.language import stem
from indexer.text.sketch import resembling
from indexer.text.spelling import Vocabulary, suggest


class Ranked(Struct, frozen=True, eq=False, dict=True):
    """Candidates in BM25F order, equal ones newest first, with what is needed to show and to learn from them."""

    rows: Sequence[DocumentRow]
    """[n_docs]"""
    features: FloatMatrix
    """[n_docs, n_features]"""
    scores: FloatVector
    """[n_docs] what they are ranked by: the ranker's scores and the extras"""
    bm25f: FloatVector
    """[n_docs]"""
    learner: Learner
    """the ranker as it was at that moment"""
    contents: Sequence[int]
    """[n_docs] equal numbers for copies of one file, and for one text in several formats: they share a row"""
    missing_words: Sequence[tuple[str, ...]]
    """[n_docs] words of a plain query that each does not hold"""
    extra: Mapping[str, FloatVector] = field(default_factory=dict)
    """part of `app.search.reasons.PARTS` -> [n_docs] points that were added to the ranker's"""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """part -> [n_docs] the words that tell of it, as "newest of 44 alike"; "" for none"""
    has_words: bool = True
    """False for a query of conditions only: its documents stand newest first, and there is nothing to learn"""
    threads: Mapping[int, Thread] = field(default_factory=dict)
    """candidate -> its thread, of mails whose threads share a row"""
    passages: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    """candidate -> the passage by which it was found, for those that hold none of the words"""

    @cached_property
    def rows_shared(self) -> list[int]:
        """[n_docs] equal numbers for candidates that share a row: one content, or one thread."""
        by_thread: dict[str, list[int]] = {}
        for i, thread in self.threads.items():
            by_thread.setdefault(thread.name, []).append(i)
        shared = list(self.contents)
        for first, *others in by_thread.values():
            joined = {shared[i] for i in others}
            shared = [shared[first] if number in joined else number for number in shared] if joined else shared
        return shared


def by_bm25f(rows: Sequence[DocumentRow], bm25f: FloatVector) -> list[int]:
    """Candidates of highest `bm25f` [n_docs] first; equal ones newest first, then by path: in any index."""
    scores = np.round(bm25f, DECIMALS).tolist()
    return sorted(range(len(rows)), key=lambda i: (-scores[i], -rows[i].modified, rows[i].path, rows[i].part))


def end_of_day(now: float) -> float:
    """The next local midnight: ages are counted to it, so that a page changes with the date and not by the minute."""
    return datetime.combine(date.fromtimestamp(now) + timedelta(days=1), datetime.min.time()).timestamp()


WRITTEN_STEP = 0.01
"""points between the last document that holds a word as written and the first that does not"""


class Likeness(Struct, frozen=True, eq=False):
    """Which candidates are the same, and which are alike as regards the query."""

    contents: Sequence[int]
    """[n_docs] equal numbers for copies of one file, and for one text in several formats: they share a row"""
    moved: FloatVector
    """[n_docs] points by which a document gains or loses because the newest of those alike come first"""
    notes: Sequence[str]
    """[n_docs] "newest of 44 alike", else "" """


def likeness(
    levels: Ints, sketches: Bytes, rows: Sequence[DocumentRow], names: Sequence[str], scores: FloatVector, *,
    fixed: Mask, by_age: bool,
) -> Likeness:  # fmt: skip
    """Compare the candidates with each other; `levels` [n_docs, n_concepts] as `alike.evidence` gives them, `sketches`
    [n_docs, BUCKETS] of their texts, `names` [n_docs] of their files, `scores` [n_docs].

    Those that are `fixed` [n_docs] keep their own place: a person has chosen them before. Without `by_age` all do.
    """
    pairs, values = resembling(sketches, LEAST_RESEMBLANCE)
    twinned = twins(pairs, values, names, [row.type for row in rows], [row.n_words for row in rows])
    if not by_age:
        return Likeness(contents_of(rows, twinned), np.zeros(len(rows)), [""] * len(rows))
    members_of = ["" if own else series(row.title, name) for row, name, own in zip(rows, names, fixed, strict=True)]
    classes = alike(levels, pairs[~fixed[pairs].any(axis=1)], members_of, scores)
    dealt, newest_of = newest_first(scores, classes, np.array([row.modified for row in rows]), names, members_of)
    notes = [f"newest of {count(n)} alike" if n else "" for n in newest_of.tolist()]
    return Likeness(contents_of(rows, twinned), dealt - scores, notes)


def written_first(candidates: Candidates, features: FloatMatrix, weights: FloatVector) -> FloatVector:
    """Points [n_docs] that put what only holds the pieces of an identifier below all that hold it as it is written.

    `weights` [n_features] are those of the words. Only for a query of that one word: beside others it is one of many.
    """
    lowered = np.zeros(len(features))
    if len(candidates.concepts) == 1 and candidates.concepts[0].written:
        held = held_as_written(candidates) & candidates.held[:, 0]
        if held.any() and not held.all():
            text = features @ weights
            lowered[~held] = -max(text[~held].max() - text[held].min() + WRITTEN_STEP, 0.0)
    return lowered


def contents_of(rows: Sequence[DocumentRow], twinned: Iterable[tuple[int, int]]) -> list[int]:
    """The content of each candidate, as `Likeness` numbers them, from equal texts and pairs of twins."""
    first: dict[bytes, int] = {}
    contents = [first.setdefault(row.content_hash, i) if row.n_words else i for i, row in enumerate(rows)]
    for i, j in twinned:
        own, other = contents[j], contents[i]
        contents = [other if content == own else content for content in contents]
    return contents


def without_copies(contents: Sequence[int], order: Sequence[int]) -> dict[int, list[int]]:
    """The candidates to show, in order, each with the later ones that share its row: those of the same number."""
    first: dict[int, int] = {}
    shown: dict[int, list[int]] = {}
    for i in order:
        leader = first.setdefault(contents[i], i)
        if leader == i:
            shown[i] = []
        else:
            shown[leader].append(i)
    return shown


def sort_rows(rows: Sequence[DocumentRow], order: str) -> list[int]:
    """Candidates by `modified` (newest first) or `name`."""
    indices = range(len(rows))
    if order == "modified":
        return sorted(indices, key=lambda i: -rows[i].modified)
    return sorted(indices, key=lambda i: (os.path.basename(rows[i].path).casefold(), rows[i].path, rows[i].part))


def bm25_ranks(contents: Sequence[int], scores: FloatVector) -> dict[int, int]:
    """Candidate -> its rank by BM25F `scores` [n_docs], copies collapsed, from 1."""
    rank_of: dict[int, int] = {}
    order = np.argsort(-scores, kind="stable").tolist()
    return {i: rank_of.setdefault(contents[i], len(rank_of) + 1) for i in order}


def interleave(shown: Mapping[int, list[int]], *, k: int, seed: int) -> tuple[dict[int, list[int]], tuple[int, ...]]:
    """The first k places drafted in turns by the learned order and plain BM25F; and which of them placed each."""
    learned = list(shown)
    page = team_draft(learned, sorted(learned), k=k, rng=np.random.default_rng(seed))
    drafted = page.ranking.tolist()
    placed = set(drafted)
    rest = [i for i in learned if i not in placed]
    owners = (*page.owner.tolist(), *([FIRST] * len(rest)))
    return {i: shown[i] for i in (*drafted, *rest)}, owners


def make_hits(ranked: Ranked, shown: Mapping[int, Sequence[int]], bm25_rank: Mapping[int, int]) -> tuple[Hit, ...]:
    """One hit for each candidate that is shown; `bm25_rank` counts from 1."""
    hits, scores = [], ranked.scores.tolist()
    for rank, (i, others) in enumerate(shown.items(), start=1):
        row = ranked.rows[i]
        copies: list[str] = []
        twins: list[str] = []
        for other in (ranked.rows[j] for j in others if ranked.contents[j] == ranked.contents[i]):
            (copies if other.content_hash == row.content_hash else twins).append(other.path)
        hits.append(make_hit(
            row, rank, score=scores[i], bm25_rank=bm25_rank[i], copies=tuple(copies), twins=tuple(twins),
            thread=ranked.threads.get(i), missing_words=ranked.missing_words[i], passage=ranked.passages.get(i),
        ))  # fmt: skip
    return tuple(hits)


def make_hit(
    row: DocumentRow, rank: int, *, score: float, bm25_rank: int, copies: tuple[str, ...] = (),
    twins: tuple[str, ...] = (), thread: Thread | None = None, missing_words: tuple[str, ...] = (),
    passage: tuple[int, int] | None = None,
) -> Hit:  # fmt: skip
    """One result; looks whether its file is still there."""
    name, n_messages = thread or ("", 0)
    return Hit(  # by position, which takes a third of the time
        rank, row.doc_id, row.path, row.part, row.title, row.type, row.author, row.modified, row.size, row.truncated,
        score, bm25_rank, row.properties, copies, twins, name, n_messages, missing_words, not _is_there(row.path),
        passage,
    )  # fmt: skip


def _is_there(path: str) -> bool:
    """os.path.lexists; where the system can say so without all that it knows of the file, in two thirds of the time."""
    return os.access(path, os.F_OK, follow_symlinks=False) if _ASKS_ALONE else os.path.lexists(path)


_ASKS_ALONE = os.access in os.supports_follow_symlinks
DAY = 86_400.0
TIMES = (("today", "today", DAY), ("week", "last 7 days", 7 * DAY), ("month", "last 30 days", 30 * DAY),
         ("year", "last 12 months", 365 * DAY))  # fmt: skip
"""value, label, and how far back it reaches in seconds"""
MAX_FOLDERS = 8


class FolderNames:
    """The folders of the indexed files by their column value."""

    def __init__(self, paths: Iterable[str]) -> None:
        by_key = {folder_key(folder): folder for folder in {os.path.dirname(path) for path in paths}}
        self._keys = np.array(sorted(by_key), dtype=np.int64)
        self._folders = [by_key[key] for key in self._keys.tolist()]
        self._steps: dict[tuple[str, tuple[str, ...]], tuple[list[str], Ints]] = {}

    def numbers(self, keys: npt.NDArray[Any]) -> Ints:
        """The number of each of the folders `keys` [n]; -1 for an unknown one."""
        if not self._keys.size:
            return np.full(keys.size, -1)
        places = np.minimum(self._keys.searchsorted(keys), self._keys.size - 1)
        return np.where(self._keys[places] == keys, places, -1)

    def counts(self, numbers: Ints, within: str, roots: tuple[str, ...]) -> list[tuple[str, int]]:
        """The folders one step below `within`, with how many of the documents lie in each, whose folders have these
        `numbers` [n]; at most MAX_FOLDERS.

        Without it: the roots themselves where there are several, else the folders one step below the only one; a root
        within another is no root of its own.
        """
        roots = tuple(one for one in roots if _base_of(one, [other for other in roots if other != one]) is None)
        names, steps = self._steps_from(within, roots)
        counts = np.bincount(numbers + 1, minlength=1)[1:]
        held = counts.nonzero()[0]
        held = held[steps[held] >= 0]
        own = steps[held]
        total = np.bincount(own, weights=counts[held], minlength=len(names)).astype(np.int64)
        found, first = total.nonzero()[0], np.zeros(len(names), dtype=np.int64)
        first[own[::-1]] = np.arange(own.size)[::-1]
        most = found[np.lexsort((first[found], -total[found]))[:MAX_FOLDERS]]
        return [(names[step], int(total[step])) for step in most.tolist()]

    def _steps_from(self, within: str, roots: tuple[str, ...]) -> tuple[list[str], Ints]:
        """What folders are counted under, and which of these each folder is; -1 for one that lies elsewhere."""
        known = self._steps.get((within, roots))
        if known is None:
            of = _base_of if len(roots) > 1 and not within else _one_step
            steps = [of(folder, (within,) if within else roots) for folder in self._folders]
            place = {step: i for i, step in enumerate(dict.fromkeys(step for step in steps if step))}
            known = list(place), np.array([place.get(step or "", -1) for step in steps], dtype=np.int64)
            if len(self._steps) >= MAX_FOLDERS:
                self._steps.clear()
            self._steps[within, roots] = known
        return known


def _one_step(folder: str, bases: tuple[str, ...]) -> str | None:
    for base in bases:
        prefix = base.rstrip(os.sep) + os.sep
        if folder.startswith(prefix):
            return prefix + folder[len(prefix) :].split(os.sep, 1)[0]
    return None


def _base_of(folder: str, bases: Sequence[str]) -> str | None:
    return next((base for base in bases if (folder + os.sep).startswith(base.rstrip(os.sep) + os.sep)), None)


def facets_of(snapshot: Snapshot, admitted: Mask, names: FolderNames | None, *, within: str, roots: tuple[str, ...],
              now: float) -> Facets:  # fmt: skip
    """Facets over the admitted documents; folders only when their names are known."""
    documents, chosen = snapshot.documents, admitted.nonzero()[0]

    def kinds() -> Ints:
        """[n_numbers] the type of each and how many of the times it is too old for, in one number."""
        n_passed = np.searchsorted([seconds for _, _, seconds in TIMES], now - documents["modified"], side="right")
        return np.asarray(n_passed + (len(TIMES) + 1) * documents["type"].astype(np.int64))

    own = snapshot.keep(("kinds", now), kinds)[chosen]
    counts = np.bincount(own, minlength=len(TYPES) * (len(TIMES) + 1)).reshape(len(TYPES), -1)
    by_type = sorted(((n, TYPES[i]) for i, n in enumerate(counts.sum(axis=1).tolist()) if n), reverse=True)
    by_age = counts.sum(axis=0).cumsum().tolist()
    folders: list[tuple[str, int]] = []
    if names is not None:
        numbers = snapshot.remember(("folders", names), partial(names.numbers, documents["folder"]))
        folders = names.counts(numbers[chosen], within, roots)
    return Facets(
        types=tuple(FacetCount(name, name, n) for n, name in by_type),
        folders=tuple(FacetCount(path, display_path(os.path.basename(path)), n) for path, n in folders),
        times=tuple(FacetCount(v, label, n) for (v, label, _), n in zip(TIMES, by_age, strict=False) if n),
    )


def narrowing(snapshot: Snapshot, request: SearchRequest, folder_ids: FolderIds, *, now: float) -> Mask | None:
    """The documents that the request's facets leave; None when it sets none."""
    if not (request.type or request.folder or request.time or request.within):
        return None
    mask = snapshot.alive.copy()
    if request.within:
        mask &= snapshot.having(doc_id for folder in request.within for doc_id in folder_ids(folder))
    if request.type:
        mask &= snapshot.documents["type"] == (TYPES.index(request.type) if request.type in TYPES else -1)
    if request.time:
        seconds: Mapping[str, float] = {value: s for value, _, s in TIMES}
        mask &= snapshot.documents["modified"] > now - seconds.get(request.time, 0.0)
    if request.folder:
        mask &= snapshot.having(folder_ids(request.folder))
    return mask


_WORD = re.compile(r"[^\W_]+")


def query_terms(candidates: Candidates, languages: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The stemmed words that name a query to the pick memory, and what its unfinished last word may become."""
    language = languages[0] if languages else ""
    terms = [stem(concept.surface[0], language) for concept in candidates.concepts]
    last = candidates.concepts[-1] if candidates.concepts else None
    if last is None or not getattr(last.node, "prefix", False):
        return terms, []
    return terms, list(dict.fromkeys(stem(run[0], language) for run in (*last.forms, *last.completions)))


def passed_over(candidates: Candidates) -> tuple[Problem, ...]:
    """What is said of a query that asks for more than is looked up."""
    message = f"only its first {MAX_CONCEPTS} words and parts of words are asked for one by one, and order the results"
    return (Problem(0, 1, message),) if candidates.passed_over else ()


MAX_CORRECTED = 20
"""unknown words of one query: of a text that was pasted all of them are, and each is compared with every word"""


def highlight_words(candidates: Candidates) -> tuple[str, ...]:
    """What results are highlighted by: every form that counts as a match, phrases whole, prefixes with a star."""
    words: dict[str, None] = {}
    for concept in candidates.concepts:
        if concept.is_beginning:
            words[concept.surface[0] + "*"] = None
        else:
            words.update(dict.fromkeys(" ".join(run) for run in concept.forms))
    return tuple(words)


def suggestion(query: Query, candidates: Candidates, vocabulary: Vocabulary) -> str:
    """The query with its misspelt words replaced; "" when enough was found, or nothing better is known."""
    if candidates.n_matches and not candidates.relaxed:
        return ""
    unknown = [
        c for c, df in zip(candidates.concepts, candidates.any_df.tolist(), strict=True)
        if df <= 1 and c.surface[0].isalpha()
    ]  # fmt: skip
    better = suggest([c.surface[0] for c in unknown[:MAX_CORRECTED]], vocabulary) if unknown else {}
    text = query.text
    for concept in reversed(unknown):
        word = better.get(concept.surface[0])
        if word:
            text = _with_word(text, concept, word)
    return text if text != query.text else ""


_CAMEL = re.compile(r"[a-z][A-Z]")
SURE_LETTERS = 5
"""a word of fewer is never replaced unasked"""


def is_surely_meant(typed: str, better: str) -> bool:
    """Whether a suggestion may be searched for unasked.

    It replaces no name as GeoLite, which may be in no file yet, and no short word, nor one by another first letter: too
    many of these are words of the language that no file happens to hold.
    """
    words = typed.split()
    changed = [(a, b) for a, b in zip(words, better.split(), strict=False) if a != b]
    return all(
        len(word) >= SURE_LETTERS and word[0].lower() == other[0].lower() and not _CAMEL.search(word)
        for word, other in changed
    )


def _with_word(text: str, concept: Concept, word: str) -> str:
    """The query with the place where the concept stands in its node replaced."""
    start = concept.node.position
    for match in _WORD.finditer(text, start, start + concept.node.length):
        if fold(match.group()) == concept.surface[0]:
            return text[: match.start()] + word + text[match.end() :]
    return text
