"""What a search gives: frozen records that the command line and the screen both show.

One query path serves both, so they always agree on the order. Structs are made in a fifth of a dataclass's time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec import Struct, field

from console.printable import display_path, safe_line

if TYPE_CHECKING:  # the screen paints its first frame with these records, and without numpy
    from app.learning.pick_keys import QueryKey
    from app.search.reasons import Reasons
    from foltr.arrays import FloatMatrix
    from indexer.query.nodes import Problem
    from indexer.storage.catalogue import DocumentRow

ORDERS = ("learned", "bm25", "modified", "name")
"""`learned`: the user's own ranker; `bm25`: plain BM25F; `modified`: newest first; `name`: by file name."""


class Hit(Struct, frozen=True):
    rank: int
    """1 for the first"""
    doc_id: int
    path: str
    """as os.fsdecode gives it; use indexer.documents.display_path to show it"""
    part: str
    """"" for a whole file, else where in it: "message 3", "docs/a.txt" """
    title: str
    type: str
    author: str
    modified: float
    """seconds since the epoch"""
    size: int
    """bytes"""
    truncated: str
    score: float
    bm25_rank: int
    """where plain BM25F would have put it, 1 for the first"""
    properties: tuple[tuple[str, str], ...] = ()
    """what describes it apart from its text: (name, value) pairs, see indexer.properties"""
    copies: tuple[str, ...] = ()
    """paths of other files with the same content, collapsed into this result"""
    twins: tuple[str, ...] = ()
    """paths of the same text in other formats, collapsed into this result"""
    thread: str = ""
    """of a mail, the name that `thread:` finds its thread by; other mails of it are collapsed into this result"""
    n_in_thread: int = 0
    """mails of that thread that are indexed, whether they match or not"""
    missing_words: tuple[str, ...] = ()
    """words of a plain query that it does not hold, folded; () when it holds all, or where operators were written"""
    missing: bool = False
    """the file is gone since it was indexed"""
    passage: tuple[int, int] | None = None
    """found by its meaning alone, it holds none of the words: [start, end) in its text of what is close to the query"""
    foreign: str = ""
    """the name of its language, where that is another one than the query's"""
    machine: str = ""
    """the other machine of this person that holds it, whose name begins `path` then; "" for this one"""

    @property
    def by_meaning(self) -> bool:
        return self.passage is not None

    @property
    def paths(self) -> tuple[str, ...]:
        """All files that this result stands for, its own first."""
        return (self.path, *self.copies, *self.twins)


def title_of(hit: Hit | DocumentRow) -> str:
    """The title, or the name of the file where a document has none; source is known by the name of its file."""
    name = display_path(os.path.basename((hit.part or hit.path).rstrip("/")))
    return safe_line(name if hit.type == "source" else hit.title or name).strip() or "untitled"


class FacetCount(Struct, frozen=True):
    """How many of the matching documents have one value: type "pdf", folder "/home/a/notes", time "week"."""

    value: str
    """what `SearchRequest` takes to narrow to it"""
    label: str
    n_documents: int


class Facets(Struct, frozen=True):
    types: tuple[FacetCount, ...] = ()
    folders: tuple[FacetCount, ...] = ()
    times: tuple[FacetCount, ...] = ()


class SearchRequest(Struct, frozen=True):
    """One question. Frozen and hashable, so that a screen can drop a stale answer by comparing."""

    text: str
    order: str = "learned"
    limit: int = 100
    as_you_type: bool = False
    """the last word is still being typed: treat it as a prefix"""
    explore: bool = True
    """False: never shuffle, whatever the configured temperature"""
    type: str = ""
    folder: str = ""
    """narrow to this folder and all below it; "" for everywhere"""
    time: str = ""
    """narrow to a time facet's value; "" for any time"""
    within: tuple[str, ...] = ()
    """answer as if there were nothing but these folders and all below them; () for everything"""
    as_typed: bool = False
    """never search for a correction in place of the text"""
    on: tuple[str, ...] = ()
    """other machines of this person that are asked, too"""


def _no_features() -> FloatMatrix:
    import numpy as np

    return np.zeros((0, 0))


class ResultPage(Struct, frozen=True, eq=False):
    """The answer to one request: the page that is shown is the page that is learned from."""

    request: SearchRequest
    hits: tuple[Hit, ...]
    n_matches: int
    """all documents that match by their words, those with some of the words included: what the facets count; `hits`
    holds the first `limit` after duplicates were collapsed, and may hold others that are close in meaning"""
    n_documents: int
    """documents in the index at that moment"""
    seconds: float
    problems: tuple[Problem, ...] = ()
    suggestion: str = ""
    """the query with its misspelt words replaced, "" when there is nothing to suggest"""
    n_all_words: int = 0
    """how many of `n_matches` hold all the words of a plain query; all of them where operators were written"""
    searched: str = ""
    """the correction that was searched for, because nothing holds all the words as typed; "" for the text itself"""
    relaxed: bool = False
    """few documents hold all the words, so that most of the page has only some of them"""
    by_words: str = ""
    """why meaning has no part in this page, though texts were read for it and the query is plain; "" otherwise"""
    facets: Facets = field(default_factory=Facets)
    features: FloatMatrix = field(default_factory=_no_features)
    """[n_hits, n_features], rows in the order of `hits`, normalised per query to [0, 1]"""
    words: tuple[str, ...] = ()
    """the folded words and prefixes ("trans*") that results are highlighted by"""
    page_id: int = 0
    """names this page to `Search.opened` and `Search.leave`"""
    query: QueryKey = frozenset()
    """what names the query to the pick memory"""
    unasked: tuple[str, ...] = ()
    """a line for each other machine that has no part in this page: which, and why"""
    reasons: Reasons | None = None
    """why its results stand where they stand; None where it is not ranked by the user's ranker"""


class Snippet(Struct, frozen=True):
    """A few lines of a document around its best match."""

    text: str
    """one line: white space folded"""
    spans: tuple[tuple[int, int], ...]
    """[start, end) offsets in `text` to highlight"""
    line: int
    """line number in the document of the first match, 1 for the first; 0 when unknown"""
    page: int
    """page number of the first match where the format has pages, else 0"""
    column: int = 0
    """where in its line the first match begins, from 1 and in bytes of UTF-8; 0 when unknown"""
    heading: str = ""
    """of a note, the heading over the first match; of a recording when it was said, as "at 12:40"; "" for none"""


class Preview(Struct, frozen=True):
    """The whole extracted text of one document, for the preview pane."""

    text: str
    spans: tuple[tuple[int, int], ...]
    """[start, end) offsets of all matches, ascending (the first 1,000, and those of the passage)"""
    pages: tuple[int, ...]
    """offsets at which pages begin; () where the format has none"""
    note: str
    """"" or one line: "first 2 MB", "the file is gone" """
    best: int = 0
    """index of the match at which the passage of the snippet begins"""


class Contribution(Struct, frozen=True):
    """What one feature did to the score of one result."""

    feature: str
    description: str
    value: float
    """in [0, 1], normalised over the query's candidates"""
    prior: float
    """points from the shipped ranker: its weight times the value"""
    learned: float
    """points added by what was learned on this device, after its bound"""


class Part(Struct, frozen=True):
    """One part of a result's score."""

    name: str
    """one of app.search.reasons.PARTS"""
    description: str
    points: float
    ahead: float
    """points more than the other result has of it"""


class Contrast(Struct, frozen=True):
    """A result beside the one in the row above it (the first one: in the row below)."""

    other: Hit
    parts: tuple[Part, ...]
    """those in which they differ most come first"""

    @property
    def ahead(self) -> float:
        """By how many points the result leads the other, luck included: what its parts add up to."""
        return sum(part.ahead for part in self.parts)


class Explanation(Struct, frozen=True):
    """Why one result ranks where it does."""

    hit: Hit
    score: float
    contributions: tuple[Contribution, ...]
    """those that moved it most come first"""
    summary: str
    """one sentence: "Its words alone would put it at 8; it stands at 1: opened 3 times for this." """
    contrast: Contrast | None = None
    """None where nothing else was found, or the order is not that of the scores"""
    ranked_as: str = ""
    """the kind of page that it stands on, "source code"; "" for one of texts"""
