"""From ranked candidates to a page: orders, collapsed copies, files that are gone, and the words to highlight."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timedelta

import numpy as np
from msgspec import Struct, structs

from app.learning.pick_keys import QueryKey
from app.search.candidate_table import PLAIN, Aside, CandidateTable
from app.search.page_order import Ranked
from app.search.reasons import Reasons
from app.search.results import Hit, SearchRequest
from app.search.shown_page import ShownPage
from foltr.online.interleaving import FIRST, team_draft
from indexer.meaning.nearest import Closeness
from indexer.query.nodes import Problem, Query
from indexer.retrieval.candidates import FEW, Candidates
from indexer.retrieval.concepts import MAX_CONCEPTS
from indexer.retrieval.features import MANIFEST_HASH
from indexer.retrieval.named import TITLE
from indexer.storage.catalogue import DocumentRow
from indexer.text.analysis import MAX_TERM_LENGTH, is_half
from indexer.text.language import stem


class Found(Struct, frozen=True, eq=False):
    """What one machine finds for a query."""

    query: Query
    """the query that was looked up: as typed, or what was surely meant where nothing holds all its words"""
    candidates: Candidates
    better: str
    """a better spelling"""
    terms: list[str]
    """the words by which the pick memory knows the query"""
    completions: list[str]
    table: CandidateTable
    """in BM25F order, its features not yet scaled over the page"""
    closeness: Closeness | None
    """None where meaning has no part"""
    n_documents: int
    """of the whole collection"""


Rows = tuple[dict[int, list[int]], tuple[int, ...]]
"""the candidates to show in order, each with its copies; and who placed each"""


def end_of_day(now: float) -> float:
    """The next local midnight: ages are counted to it, so that a page changes with the date and not by the minute."""
    return midnight(date.fromtimestamp(now) + timedelta(days=1))


def midnight(day: date) -> float:
    """When a day begins here, in seconds since the epoch."""
    return datetime.combine(day, datetime.min.time()).timestamp()


def arranged(ranked: Ranked, request: SearchRequest, *, page_size: int, draw: int | None) -> tuple[Ranked, Rows]:
    """The rows to show, interleaved where `draw` seeds that; what leads one has the points that put the row there."""
    rows = ranked.table.rows
    if request.order in ("modified", "name"):
        return ranked, (without_copies(ranked.rows_shared, sort_rows(rows, request.order)), ())
    if request.order == "bm25" or not ranked.has_words:
        return ranked, (without_copies(ranked.rows_shared, range(len(rows))), ())
    order = ranked.learner.order(
        ranked.table.features, [row.doc_id for row in rows], k=page_size, explore=request.explore, scores=ranked.scores
    )
    placed = without_copies(ranked.rows_shared, order.tolist())
    shown, points = nearest_first(placed, ranked.table, ranked.contents), np.zeros(len(rows))
    points[list(shown)] = ranked.scores[list(placed)] - ranked.scores[list(shown)]
    if points.any():
        extra = {**ranked.extra, "copy": points}
        ranked = structs.replace(ranked, scores=ranked.scores + points, extra=extra)
    return ranked, (shown, ()) if draw is None else interleave(shown, k=page_size, seed=draw)


def without_copies(contents: Sequence[int], order: Sequence[int]) -> dict[int, list[int]]:
    """The candidates to show, in order, each with the later ones that share its row: those of the same number."""
    first, shown = dict[int, int](), dict[int, list[int]]()
    for i in order:
        others = shown.setdefault(first.setdefault(contents[i], i), [])
        if i not in shown:
            others.append(i)
    return shown


def sort_rows(rows: Sequence[DocumentRow], order: str) -> list[int]:
    """Candidates by `modified` (newest first) or `name`."""
    indices = range(len(rows))
    if order == "modified":
        return sorted(indices, key=lambda i: -rows[i].modified)
    return sorted(indices, key=lambda i: (os.path.basename(rows[i].path).casefold(), rows[i].path, rows[i].part))


_SPARE = re.compile(
    r"/[^/]*\b(?:backups?|sicherung(?:en)?|sauvegardes?"
    r"|\w+kerhetskopi\w+|copias? de seguridad|kopi[ae] zapasow\w+)\b[^/]*/"
    r"|[/ _.-](?:copy|kopie|copie|copia|kopia)\b[^/]*$|\(\d+\)\.?\w*$"
)


def is_spare(path: str) -> bool:
    """Whether a path says that the file is a copy of another: in a backup, `letter (1).pdf`, `letter - Copy.pdf`."""
    return _SPARE.search(path.lower().replace("_", " ")) is not None


def nearest_first(
    shown: Mapping[int, list[int]], table: CandidateTable, contents: Sequence[int]
) -> dict[int, list[int]]:  # fmt: skip
    """The same rows, each led by its nearest copy: on this machine, and a file rather than a part of one.

    A copy in an archive, a mailbox or a backup, and one whose name says that it is a copy, is in front only where there
    is no other, or the query names it alone, or it was chosen before.
    """

    def fronted(i: int, others: list[int]) -> tuple[int, list[int]]:
        own = table.rows[i]
        if not (table.asides[i].machine or own.part) and (table.chosen_before[i] or not is_spare(own.path)):
            return i, others

        def distance(j: int) -> tuple[bool, bool, int, bool, bool]:
            is_far, row = bool(table.asides[j].machine), table.rows[j]
            return is_far, contents[j] != contents[i], -table.named[j], bool(row.part), is_spare(row.path)

        first = min((i, *others), key=distance)
        return first, [j for j in (i, *others) if j != first]

    return dict(fronted(i, others) for i, others in shown.items())


def bm25_ranks(contents: Sequence[int]) -> dict[int, int]:
    """Candidate -> its rank from 1 by BM25F, copies collapsed; `contents` is in that order."""
    rank_of: dict[int, int] = {}
    return {i: rank_of.setdefault(content, len(rank_of) + 1) for i, content in enumerate(contents)}


def interleave(shown: Mapping[int, list[int]], *, k: int, seed: int) -> Rows:
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
    """One result; checks whether its file is still there."""
    name, n_messages = aside.thread or ("", 0)
    is_there = aside.machine != "" or (
        os.access(row.path, os.F_OK, follow_symlinks=False) if _ASKS_ALONE else os.path.lexists(row.path)
    )
    return Hit(
        rank=rank, doc_id=row.doc_id, path=row.path, part=row.part, title=row.title, type=row.type, author=row.author,
        modified=row.modified, size=row.size, truncated=row.truncated, score=score, bm25_rank=bm25_rank,
        properties=row.properties, copies=copies, twins=twins, thread=name, n_in_thread=n_messages,
        missing_words=missing_words, missing=not is_there, passage=aside.passage,
        foreign=aside.foreign, machine=aside.machine,
    )  # fmt: skip


def shown_page(
    ranked: Ranked, chosen: list[int], hits: tuple[Hit, ...], request: SearchRequest, query: QueryKey,
    owners: tuple[int, ...], queries: dict[str, bytes],
) -> ShownPage:  # fmt: skip
    """What can be learned from a page later on."""
    scores = ranked.scores[chosen]
    places = np.empty(len(chosen), dtype=np.int64)
    places[np.argsort(-scores, kind="stable")] = np.arange(1, len(chosen) + 1)
    return ShownPage(
        doc_ids=tuple(hit.doc_id for hit in hits),
        features=ranked.table.features[chosen],
        scores=scores,
        n_shown=len(hits),
        learned_ranks=tuple(places.tolist()),
        bm25_ranks=tuple(hit.bm25_rank for hit in hits),
        query=query,
        manifest_hash=MANIFEST_HASH if request.order == "learned" and ranked.has_words else "",
        time=time.time(),
        owners=owners[: len(chosen)],
        marks=tuple(tuple(ranked.table.marks[i]) for i in chosen),
        beyond=None if ranked.beyond is None else ranked.beyond[chosen],
        machines=tuple(hit.machine for hit in hits) if any(hit.machine for hit in hits) else (),
        queries=queries,
    )


def reasons_of(ranked: Ranked, shown: Mapping[int, int], times: Callable[[str, str], float]) -> Reasons:
    """Why the candidates `shown` (each with its rank by BM25F) stand in this order."""
    rows = ranked.table.rows
    return Reasons(
        ranked.learner, ranked.table.features, ranked.scores, np.fromiter(shown, dtype=np.int64),
        np.fromiter(shown.values(), dtype=np.int64) - 1,
        marks=ranked.table.marks, extra=ranked.extra, notes=ranked.notes, kind=ranked.kind,
        n_picks=lambda candidate: times(rows[candidate].path, rows[candidate].part),
    )  # fmt: skip


_ASKS_ALONE = os.access in os.supports_follow_symlinks
"""whether the system can check that a file exists without reading its metadata, in two thirds of the time"""


def query_terms(candidates: Candidates, languages: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The stemmed words by which the pick memory knows a query, and the completions of its unfinished last word."""
    language = languages[0] if languages else ""
    terms = [stem(concept.surface[0], language) for concept in candidates.concepts]
    last = candidates.concepts[-1] if candidates.concepts else None
    if last is None or not getattr(last.node, "prefix", False):
        return terms, []
    return terms, list(dict.fromkeys(stem(run[0], language) for run in (*last.forms, *last.completions)))


def remarks(query: Query, candidates: Candidates) -> tuple[Problem, ...]:
    """Remarks about a query: what was not understood, which operators were read where little is found, and that a
    long query is not looked up whole; none where the text is a name or a title."""
    if (candidates.named >= TITLE).any():
        return ()
    found = query.problems + (query.operators if candidates.n_matches < FEW else ())
    message = f"only its first {MAX_CONCEPTS} words and parts of words are asked for one by one, and order the results"
    return (*found, Problem(0, 1, message)) if candidates.passed_over else found


def highlight_words(candidates: Candidates) -> tuple[str, ...]:
    """The words to highlight: every form that counts as a match, phrases whole, prefixes with a star.

    Senders and recipients are left out: a text names them in its signature, which is no passage to show.
    """
    words: dict[str, None] = {}
    for concept in candidates.concepts:
        if concept.node.field in ("from", "to"):
            continue
        if concept.is_beginning or is_half(concept.surface[0]):
            words[concept.surface[0] + "*" * concept.is_beginning] = None
        else:
            words.update(dict.fromkeys(" ".join(run) for run in (*concept.forms, *concept.completions)))
            words.update(dict.fromkeys(term for _, term in (*concept.own_forms, *concept.compounds)))
        words.update(dict.fromkeys(map(" ".join, concept.spellings)))
    return tuple(word + "*" * (len(word) == MAX_TERM_LENGTH) for word in words)  # the beginning of a longer one
