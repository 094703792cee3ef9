"""Pages of source code have a ranker of their own: the more of what was found is source code, the more it says.

    t_d = (1 - g) theta0 . x_d + g w . z_d        without picks and habits, which stand on top of it
    g = r(share) r(best), r(x) = (x - LEAST) / (MOST - LEAST), within [0, 1]
    share = of (BM25F / the best BM25F)^2, added up over the candidates, what is source code
    best = the best BM25F of source code / the best BM25F: a letter that alone has a rare word stays first, however many
           files of a checkout have the others
    g = 0 where a mail or an office document holds more words, and rarer ones, than all source code

w is shipped (app/code.json, made by `python -m benchmarks code`), z are the features of indexer.retrieval.code.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct

from app.learning.prior import shipped_weights
from app.learning.traits import NO_CODE, TEST, Marks
from app.search.candidate_table import CandidateTable
from foltr.arrays import FloatMatrix, FloatVector
from indexer.postings import Mask
from indexer.retrieval.candidates import Candidates, n_asking
from indexer.retrieval.code import CODE_FEATURES, CODE_NAMES, as_asked, code_counts, code_values
from indexer.retrieval.concepts import Concept
from indexer.retrieval.feature_values import TYPE_GROUPS
from indexer.retrieval.features import NAMES, Feature
from indexer.retrieval.near_duplicates import ABSENT, OUTSIDE
from indexer.storage.snapshot import Snapshot

LEAST, MOST = 0.3, 0.5
"""`share` and `best` up to which the ranker of source code counts nothing, and from which on it counts fully"""
KINDS = (frozenset({"source"}), frozenset({*TYPE_GROUPS["is_document"], *TYPE_GROUPS["is_mail"]}))
"""types of source code, and of documents that people do not keep among source code"""
SHORT = 3
"""most concepts of a short query: many a book holds all the words of a longer one"""
ROUNDING = 1e-9
WEIGHTS = Path(__file__).parents[1] / "code.json"


class PageKind(Struct, frozen=True, eq=False):
    """What a page holds other than texts, and what the ranker of that kind of page gives its candidates."""

    called: str
    share: float
    """g, how much the ranker of this kind counts, in (0, 1]"""
    features: Sequence[Feature]
    values: FloatMatrix
    """[n_docs, n_own_features]"""
    points: FloatMatrix
    """[n_docs, n_own_features] g times weights times values"""

    def beyond(self, text: FloatVector) -> FloatVector:
        """[n_docs] what it adds to the points of the text ranker, `text`: its own points less g times those."""
        points: FloatVector = self.points.sum(axis=1) - self.share * text
        return points

    def with_roles(self, marks: Marks) -> list[tuple[str, ...]]:
        """Each document's marks: its type if that is source code, its folders, and whether it is a test or no code."""
        tests = self.values[:, CODE_NAMES.index("is_test")].tolist()
        roles = ((TEST, NO_CODE), (TEST,), (NO_CODE,), ())
        source = [own[0] == "source" for own in marks]
        return [(*own[not of_code :], *roles[2 * (not test) + of_code])
                for own, test, of_code in zip(marks, tests, source, strict=True)]  # fmt: skip


class Sides(Struct, frozen=True, eq=False):
    """Which candidates are source code and which are documents; [n_docs] each."""

    source: Mask
    """the source code"""
    office: Mask
    """the mails and office documents, which no checkout holds"""
    answers: Mask
    """those of them that answer the query (`sides_of`); none where it has an identifier"""
    behind: Mask
    """the source code that stands behind the answers: all of it, or none"""


def sides_of(concepts: tuple[Concept, ...], table: CandidateTable) -> Sides:
    """Documents answer if name, title and folders hold all words; to a short query, if they do and no code does."""
    source, office = (np.array([row.type in types for row in table.rows], dtype=bool) for types in KINDS)
    if not (concepts and source.any() and office.any()):
        return Sides(source, office, office & False, source & False)
    called = (table.levels[:, n_asking(concepts) :] == OUTSIDE).all(axis=1)
    complete = (table.levels > ABSENT).all(axis=1) & (len(concepts) <= SHORT)
    answers = office & (called | (complete & ~(complete & source).any())) & table.as_typed
    answers &= not any(concept.written for concept in concepts)
    return Sides(source, office, answers, source & answers.any())


def page_kind(
    snapshot: Snapshot, candidates: Candidates, table: CandidateTable, sides: Sides
) -> PageKind | None:  # fmt: skip
    """What kind of page the documents of `table` make (`candidates`: those of this index); None for a page of texts.

    None where all source code stands behind documents, or mails or documents hold more words and rarer ones."""
    held = ((table.levels > ABSENT).sum(axis=1), table.features[:, NAMES.index("any_coverage")])
    holds_less = all(own[sides.source].max(initial=0) < own[sides.office].max(initial=0) - ROUNDING for own in held)
    of_code = sides.source & ~sides.behind & (not holds_less)
    share = share_of_code(of_code, table.bm25f) if candidates.concepts else 0.0
    if share <= 0.0:
        return None
    counts, own = np.array([aside.code for aside in table.asides]), table.docs >= 0
    counts[own] = code_counts(snapshot, candidates, table.docs[own])
    pairs = zip(table.rows, table.asides, strict=True)
    paths = [row.path.removeprefix(f"{aside.machine}:") if aside.machine else row.path for row, aside in pairs]
    values = code_values(snapshot, candidates, counts, table.bm25f, paths)
    points = share * shipped_weights(WEIGHTS, CODE_NAMES) * as_asked(candidates.concepts) * values
    return PageKind("source code", share, CODE_FEATURES, values, points)


def share_of_code(is_source: Mask, bm25f: FloatVector) -> float:
    """g, from which candidates [n_docs] are source code and from the BM25F of all."""
    if not is_source.any():
        return 0.0
    near = bm25f / max(float(bm25f.max()), 1e-9)
    likely = near**2
    share = float(likely[is_source].sum()) / max(float(likely.sum()), 1e-9)
    return _rising(share) * _rising(float(near[is_source].max()))


def _rising(x: float) -> float:
    return min(max((x - LEAST) / (MOST - LEAST), 0.0), 1.0)
