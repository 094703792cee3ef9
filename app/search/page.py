"""From ranked candidates to a page: orders, collapsed copies, files that are gone, and the words to highlight."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import cached_property

import numpy as np
from msgspec import Struct, field

from app.learning.learner import Learner
from app.search.candidate_table import PLAIN, Aside, CandidateTable
from app.search.page_kind import PageKind
from app.search.results import Hit
from foltr.arrays import FloatVector
from foltr.online.interleaving import FIRST, team_draft
from indexer.postings import Ints, Mask
from indexer.query.nodes import Problem, Query
from indexer.retrieval.alike import (
    ABSENT,
    LEAST_RESEMBLANCE,
    LEAST_STEP,
    NAMESAKE_RESEMBLANCE,
    OUTSIDE,
    Dates,
    alike,
    asks_for_contents,
    newest_first,
    resembling,
    series,
    twins,
    version,
)
from indexer.retrieval.candidates import FEW, Candidates
from indexer.retrieval.concepts import MAX_CONCEPTS, Concept
from indexer.retrieval.dated import day_of_name
from indexer.retrieval.feature_values import held_as_written
from indexer.retrieval.features import NAMES
from indexer.retrieval.named import TITLE
from indexer.storage.catalogue import DocumentRow
from indexer.text.analysis import fold
from indexer.text.language import stem
from indexer.text.spelling import Vocabulary, is_one_edit, suggest


class Found(Struct, frozen=True, eq=False):
    """What one machine finds for a query."""

    query: Query
    """the one that was looked for: what is surely meant, where the typed one finds nothing"""
    candidates: Candidates
    better: str
    """a better spelling"""
    terms: list[str]
    """what names it to the pick memory"""
    completions: list[str]
    table: CandidateTable
    """in BM25F order, its features not yet scaled over the page"""
    n_documents: int
    """of the whole collection"""


class Ranked(Struct, frozen=True, eq=False, dict=True):
    """Candidates in BM25F order, equal ones newest first, with what is needed to show and to learn from them."""

    table: CandidateTable
    scores: FloatVector
    """[n_docs] what they are ranked by: the ranker's scores and the extras"""
    learner: Learner
    """the ranker as it was at that moment"""
    contents: Sequence[int]
    """[n_docs] equal numbers for copies of one file, and for one text in several formats: they share a row"""
    extra: Mapping[str, FloatVector] = field(default_factory=dict)
    """part of `app.search.reasons.PARTS` -> [n_docs] points that were added to the ranker's"""
    notes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """part -> [n_docs] the words that tell of it, as "newest of 44 alike"; "" for none"""
    kind: PageKind | None = None
    """None for a page of texts"""
    has_words: bool = True
    """False for a query of conditions only: its documents stand newest first, and there is nothing to learn"""

    @cached_property
    def beyond(self) -> FloatVector | None:
        """[n_docs] what the kind of the page adds to what the ranker of texts gives; None for a page of texts."""
        return self.kind.beyond(self.learner.text(self.table.features)) if self.kind else None

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


def end_of_day(now: float) -> float:
    """The next local midnight: ages are counted to it, so that a page changes with the date and not by the minute."""
    return datetime.combine(date.fromtimestamp(now) + timedelta(days=1), datetime.min.time()).timestamp()


CALLED_SHARE, CALLED_ROUNDING = 0.4, 1e-9
"""`name_share` of k words that stand in a name of 4 k words: 2 k / (k + 4 k)"""
WRITTEN_STEP = 0.01
"""points between the last document that holds a word as written and the first that does not"""


class Likeness(Struct, frozen=True, eq=False):
    """Which candidates are the same, and which are alike as regards the query."""

    contents: Sequence[int]
    """[n_docs] equal numbers for copies of one file, and for one text in several formats: they share a row"""
    moved: FloatVector
    """[n_docs] points by which a document gains or loses because the newest of those alike come first"""
    notes: Sequence[str]
    """[n_docs] "newest of 44 alike", "older of 44 alike", else "" """


def likeness(
    table: CandidateTable, scores: FloatVector, *, fixed: Mask, apart: Ints, by_age: bool,
    day_of: Callable[[int], float | None],
) -> Likeness:  # fmt: skip
    """Compare the candidates with each other, by the sketches of their texts and `scores` [n_docs].

    Those that are `fixed` [n_docs] keep their own place: a person has chosen them before. Without `by_age` all do.
    Those that are `apart` [n_docs], of other numbers there, are never alike. `day_of` gives the day that the text of
    a candidate tells.
    """
    rows, names = table.rows, table.names
    pairs, values = resembling(table.sketches, LEAST_RESEMBLANCE)
    twinned = twins(pairs, values, names, [row.type for row in rows], [row.n_words for row in rows])
    if not by_age:
        return Likeness(contents_of(rows, twinned), np.zeros(len(rows)), [""] * len(rows))
    are_mails = np.array([row.type == "mail" for row in rows], dtype=bool)
    members_of = [
        "" if own else series(row.title, "" if row.type == "mail" else name)
        for row, name, own in zip(rows, names, fixed, strict=True)
    ]
    contents = asks_for_contents(table.levels)[pairs].any(axis=1)
    near = pairs[~fixed[pairs].any(axis=1) & (values >= np.where(contents, NAMESAKE_RESEMBLANCE, LEAST_RESEMBLANCE))]
    classes = alike(table.levels, near, members_of, scores, apart)
    dates = Dates(
        np.array([row.modified for row in rows]), names, members_of, are_mails, day_of
    )  # fmt: skip
    dealt, said = newest_first(scores, classes, dates)
    return Likeness(contents_of(rows, twinned), dealt - scores, said)


def held_as_typed(candidates: Candidates) -> Mask:
    """[n_docs] False for what holds another form of a word, or only the pieces of an identifier.

    Only for a query of that one word: beside others it is one of many.
    """
    held = np.ones(candidates.docs.size, dtype=bool)
    if len(candidates.concepts) == 1:
        held = held_as_written(candidates) & candidates.held[:, 0] & candidates.as_typed
    return held


def written_first(as_typed: Mask, text: FloatVector) -> FloatVector:
    """Points [n_docs] that put what is not `as_typed` below all that is, whatever the `text` [n_docs] is worth."""
    lowered = np.zeros(text.size)
    if not as_typed.all():
        lowered[~as_typed] = -max(text[~as_typed].max() - text[as_typed].min() + WRITTEN_STEP, 0.0)
    return lowered


def named_first(levels: Ints, scores: FloatVector, chosen_before: Mask) -> FloatVector:
    """Points [n_docs] that put what the query names above all else; `levels` [n_docs] say how surely, 0 for not.

    But for what a person has `chosen_before` [n_docs] for this very query: that stands by its own points.
    """
    lifted = scores.copy()
    for level in sorted(set(levels[levels > 0].tolist())):  # np.unique would load masked arrays
        own, below = levels == level, (levels < level) & ~chosen_before
        if below.any():
            lifted[own] += max(float(lifted[below].max() - lifted[own].min()) + WRITTEN_STEP, 0.0)
    points: FloatVector = lifted - scores
    return points


def are_called(table: CandidateTable, *, by_names_alone: bool) -> Mask:
    """[n_docs] whether name, title and folders hold all that was typed, a word alone as it was, and the name of all
    that at most three other words each; `by_names_alone` counts no title and no folder."""
    coverage, share = (table.features[:, NAMES.index(name)] for name in ("name_coverage", "name_share"))
    held = coverage > 1 - CALLED_ROUNDING if by_names_alone else (table.levels == OUTSIDE).all(axis=1)
    called: Mask = held & (share > CALLED_SHARE - CALLED_ROUNDING) & table.as_typed
    return called


def called_first(
    levels: Ints, scores: FloatVector, *, called: Mask, fixed: Mask, are_texts: Mask, answers: Mask, behind: Mask
) -> FloatVector:  # fmt: skip
    """Points [n_docs] that put texts above others by what they are called; `levels` as `evidence` gives them.

    Texts with all that was typed in their names, titles or folders stand above what lacks a part of it, and above what
    is `behind` [n_docs], as does what `answers` [n_docs]. Texts that are `called` so [n_docs], by file names that say
    little else, stand above all that has a part of it in its text alone. What is `fixed` [n_docs] does not count: a
    person has chosen it for this very query before.
    """
    outside, are_texts = (levels == OUTSIDE).all(axis=1), are_texts & ~behind
    lifted = scores.copy()
    complete = answers & (levels > ABSENT).all(axis=1)
    for high, low in ((complete, behind), (outside, (levels == ABSENT).any(axis=1) | behind), (called, ~outside)):
        low = low & ~fixed
        if low.any():
            top = lifted[low].max()
            rising = np.flatnonzero(are_texts & high & (lifted < top + WRITTEN_STEP))
            rising = rising[np.argsort(lifted[rising], kind="stable")]
            lifted[rising] = top + WRITTEN_STEP * np.arange(1, rising.size + 1) / max(rising.size, 1)
    points: FloatVector = lifted - scores
    return points


def latest_first(
    table: CandidateTable, scores: FloatVector, n_asking: int, behind: Mask
) -> tuple[FloatVector, list[str]]:  # fmt: skip
    """Points [n_docs] for a query whose first `n_asking` concepts ask for the latest, and what is said of each.

    What has the others in its name, title or folders stands newest first, by the date in its name or else its series',
    above all but what holds everything in a row as it was typed. What is `behind` [n_docs] does not count.
    """
    if not n_asking:
        return np.zeros(scores.size), [""] * scores.size
    levels, phrases = table.levels, table.features[:, [NAMES.index(name) for name in ("body_phrase", "title_phrase")]]
    typed = (phrases == 1).any(axis=1) | (levels == OUTSIDE).all(axis=1)
    asked = (levels[:, n_asking:] == OUTSIDE).all(axis=1) & ~(typed | behind | table.chosen_before)
    with_text = asked & np.array([row.n_words > 0 for row in table.rows], dtype=bool)
    asked = with_text if with_text.any() else asked
    if not asked.any():
        return np.zeros(scores.size), [""] * scores.size
    changed: dict[str, float] = {}
    members_of = [series(row.title, name) or row.path for row, name in zip(table.rows, table.names, strict=True)]
    for name, row in itertools.compress(zip(members_of, table.rows, strict=True), asked):
        changed[name] = max(changed.get(name, 0.0), row.modified)

    def age(i: int) -> tuple[float, tuple[int, int], float]:
        stem, moment = os.path.splitext(table.names[i])[0], date.fromtimestamp(changed[members_of[i]])
        return day_of_name(stem) or moment.toordinal(), version(stem), table.rows[i].modified

    oldest = sorted(np.flatnonzero(asked).tolist(), key=age)
    lifted = scores.copy()
    lifted[oldest] = WRITTEN_STEP * np.arange(len(oldest)) / len(oldest)
    points = lifted - scores + named_first(asked + 2 * typed, lifted, table.chosen_before)
    said = np.select([typed, asked], ["as you typed it", "newest first, as asked"], "")
    return points, said.tolist()


def beside_texts(rows: Sequence[DocumentRow], holds_all: Sequence[bool], scores: FloatVector) -> FloatVector:
    """Points [n_docs] for pictures, recordings and films, which no text speaks for: after every two texts of `scores`
    [n_docs] the best of those left that hold all words (`holds_all` [n_docs]) in their names and properties."""
    are_silent = np.array([not row.n_words and row.type in ("image", "audio", "video") for row in rows], dtype=bool)
    texts, silent = np.sort(scores[~are_silent])[::-1], (are_silent & np.array(holds_all, dtype=bool)).nonzero()[0]
    points = np.zeros(len(rows))
    silent = silent[np.argsort(-scores[silent], kind="stable")][: texts.size // 2]
    above = texts[1 : 2 * silent.size : 2] - LEAST_STEP / 2
    points[silent] = np.maximum(above - scores[silent], 0.0)
    return points


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


def nearest_first(
    shown: Mapping[int, list[int]], table: CandidateTable, contents: Sequence[int]
) -> dict[int, list[int]]:  # fmt: skip
    """The same rows, each with the nearest of its copies in front: on this machine, and a file of its own.

    A copy in an archive or a mailbox is in front only where there is no other, or the query names it alone.
    """

    def fronted(i: int, others: list[int]) -> tuple[int, list[int]]:
        if not table.asides[i].machine and not table.rows[i].part:
            return i, others

        def distance(j: int) -> tuple[bool, bool, int, bool]:
            return bool(table.asides[j].machine), contents[j] != contents[i], -table.named[j], bool(table.rows[j].part)

        first = min((i, *others), key=distance)
        return first, [j for j in (i, *others) if j != first]

    return dict(fronted(i, others) for i, others in shown.items())


def bm25_ranks(contents: Sequence[int]) -> dict[int, int]:
    """Candidate -> its rank by BM25F, in whose order they stand, copies collapsed, from 1."""
    rank_of: dict[int, int] = {}
    return {i: rank_of.setdefault(content, len(rank_of) + 1) for i, content in enumerate(contents)}


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
    hits, rows, scores = [], ranked.table.rows, ranked.scores.tolist()
    for rank, (i, others) in enumerate(shown.items(), start=1):
        row = rows[i]
        copies: list[str] = []
        twins: list[str] = []
        for other in (rows[j] for j in others if ranked.contents[j] == ranked.contents[i]):
            (copies if other.content_hash == row.content_hash else twins).append(other.path)
        hits.append(make_hit(
            row, rank, score=scores[i], bm25_rank=bm25_rank[i], copies=tuple(copies), twins=tuple(twins),
            aside=ranked.table.asides[i], missing_words=ranked.table.missing_words[i],
        ))  # fmt: skip
    return tuple(hits)


def make_hit(
    row: DocumentRow, rank: int, *, score: float, bm25_rank: int, copies: tuple[str, ...] = (),
    twins: tuple[str, ...] = (), missing_words: tuple[str, ...] = (), aside: Aside = PLAIN,
) -> Hit:  # fmt: skip
    """One result; looks whether its file is still there."""
    name, n_messages = aside.thread or ("", 0)
    return Hit(
        rank=rank, doc_id=row.doc_id, path=row.path, part=row.part, title=row.title, type=row.type, author=row.author,
        modified=row.modified, size=row.size, truncated=row.truncated, score=score, bm25_rank=bm25_rank,
        properties=row.properties, copies=copies, twins=twins, thread=name, n_in_thread=n_messages,
        missing_words=missing_words, missing=not aside.machine and not _is_there(row.path), passage=aside.passage,
        foreign=aside.foreign, machine=aside.machine,
    )  # fmt: skip


def _is_there(path: str) -> bool:
    """os.path.lexists; where the system can say so without all that it knows of the file, in two thirds of the time."""
    return os.access(path, os.F_OK, follow_symlinks=False) if _ASKS_ALONE else os.path.lexists(path)


_ASKS_ALONE = os.access in os.supports_follow_symlinks

_WORD = re.compile(r"[^\W_]+")


def query_terms(candidates: Candidates, languages: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The stemmed words that name a query to the pick memory, and what its unfinished last word may become."""
    language = languages[0] if languages else ""
    terms = [stem(concept.surface[0], language) for concept in candidates.concepts]
    last = candidates.concepts[-1] if candidates.concepts else None
    if last is None or not getattr(last.node, "prefix", False):
        return terms, []
    return terms, list(dict.fromkeys(stem(run[0], language) for run in (*last.forms, *last.completions)))


def remarks(query: Query, candidates: Candidates) -> tuple[Problem, ...]:
    """What is said of a query: what was not understood, the operators read in one that finds little, and that not all
    of a long one is looked up; nothing where its text is a name or a title."""
    if (candidates.named >= TITLE).any():
        return ()
    found = query.problems + (query.operators if candidates.n_matches < FEW else ())
    message = f"only its first {MAX_CONCEPTS} words and parts of words are asked for one by one, and order the results"
    return (*found, Problem(0, 1, message)) if candidates.passed_over else found


MAX_CORRECTED = 20
"""unknown words of one query: of a text that was pasted all of them are, and each is compared with every word"""


def highlight_words(candidates: Candidates) -> tuple[str, ...]:
    """What results are highlighted by: every form that counts as a match, phrases whole, prefixes with a star.

    But who wrote it and to whom: a text says that in its signature, which is no passage to show.
    """
    words: dict[str, None] = {}
    for concept in candidates.concepts:
        if concept.node.field in ("from", "to"):
            continue
        if concept.is_beginning:
            words[concept.surface[0] + "*"] = None
        else:
            words.update(dict.fromkeys(" ".join(run) for run in concept.forms))
            words.update(dict.fromkeys(term for _, term in (*concept.own_forms, *concept.compounds)))
    return tuple(words)


def suggestion(query: Query, candidates: Candidates, vocabulary: Vocabulary) -> str:
    """The query with its misspelt words replaced; "" when enough was found, or nothing better is known."""
    if candidates.n_matches and not candidates.relaxed:
        return ""
    unknown = [
        c for c, df in zip(candidates.concepts, candidates.any_df.tolist(), strict=True)
        if not df and c.surface[0].isalpha()
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
    """Whether a suggestion may be searched for unasked, and made where it finds no better.

    It replaces no name as GeoLite, which may be in no file yet, and no short word, nor one by another first or last
    letter or by two edits: too many of these are words, and forms of words, that no file happens to hold.
    """
    words = typed.split()
    changed = [(a, b) for a, b in zip(words, better.split(), strict=False) if a != b]
    return all(not _CAMEL.search(word) and _is_slip(fold(word), fold(other)) for word, other in changed)


def _is_slip(word: str, other: str) -> bool:
    same_end = word[-1] == other[-1] or sorted(word) == sorted(other)
    return len(word) >= SURE_LETTERS and word[0] == other[0] and same_end and is_one_edit(word, other)


def _with_word(text: str, concept: Concept, word: str) -> str:
    """The query with the place where the concept stands in its node replaced."""
    start = concept.node.position
    for match in _WORD.finditer(text, start, start + concept.node.length):
        if fold(match.group()) == concept.surface[0]:
            return text[: match.start()] + word + text[match.end() :]
    return text
