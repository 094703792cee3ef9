"""One review: the next document, the answer to it, and how much of what matters is found.

Each answer is on the disk before the order changes, and the order follows from them alone: a kill changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from app.review.estimate import LEAST_FOUND, Estimate, estimate
from app.review.judgements import Answer, Judgement, JudgementBook, ReviewError
from app.review.population import AllDocuments, content_number, identity, population
from app.review.relevance import N_PRESUMED, WordTable, fit, read_table
from app.search.page import make_hit
from app.search.results import Hit, Preview, ResultPage, SearchRequest, Snippet
from app.search.search import Search
from console.wording import count
from foltr.arrays import FloatVector
from indexer.postings import Ints, Mask
from indexer.query.parse import parse
from indexer.storage.catalogue import DocumentRow

GOAL = 0.9
"""the share of what matters at which a person may stop, once it is surely found"""
ANSWER_WEIGHT = 0.3
"""what the best answer to the query weighs beside the words of a document, whose length is 1"""
REREAD_SECONDS = 300.0
"""a newer commit of the index is not looked at before"""
MOST_LEARNED = 8
"""words that a saved search gets beside those of the query"""


class Proposal(Struct, frozen=True, eq=False):
    """A document that is to be judged."""

    hit: Hit
    identity: bytes
    before: str
    """the answer that another version of this very file got; "" for none"""

    @property
    def remark(self) -> str:
        """What is odd about it, as one line; "" for nothing."""
        gone = "the file is gone; this is what was indexed" if self.hit.missing else ""
        return gone or (f"changed since you said {self.before}" if self.before else "")


class Review:
    """A search to the end over the index as it is; one thread at a time may use it."""

    def __init__(self, search: Search, number: int) -> None:
        """Raises ReviewError where there is no such review, nothing could be kept, or the index cannot be read."""
        _require(search)
        self.search, self.book = search, JudgementBook(search.store)
        self.about = self.book.review(number)
        search.refresh()
        self._look()

    @classmethod
    def of_query(cls, search: Search, query: str, *, begun: bool = False) -> Review:
        """The review of a query: the one that was `begun`, else a new one, if that may be."""
        _require(search)
        text = " ".join(query.split()).encode("utf-8", "replace").decode("utf-8")
        return cls(search, JudgementBook(search.store).number_of(text, begun=begun))

    def _look(self) -> None:
        """Use the newest commit of the index."""
        self._looked = time.monotonic()
        self.population: AllDocuments = population(self.search, self.about.query)
        answers = ANSWER_WEIGHT * self.population.answers
        table, self._vocabulary = read_table(self.population.snapshot, self.population.docs, answers)
        own, values = self._vocabulary.row_of(self.population.words)
        as_asked = np.append(own, table.n_columns - 1), np.append(values, ANSWER_WEIGHT)
        self._table: WordTable = table.with_row(*as_asked)
        self._reorder()

    def _look_again(self) -> bool:
        """Whether there is a newer commit of the index, which is read then; another thread may have opened it."""
        self.search.refresh()
        is_newer = self.search.reading.snapshot is not self.population.snapshot
        if is_newer:
            self._look()
        self._looked = time.monotonic()
        return is_newer

    def _reorder(self) -> None:
        """Learn from all that was judged, and score what was not."""
        self.judgements: Sequence[Judgement] = self.book.of(self.about.number)
        contents = [content_number(one.identity) for one in self.judgements]
        places = self.population.places_of(np.array(contents, dtype=np.int64))
        answers = np.array([one.answer for one in self.judgements], dtype="U5")
        matters, is_read, is_there = answers == "yes", answers != "later", places >= 0
        read, self._later = places[is_there & is_read], places[is_there & ~is_read]
        self._unread: Mask = np.ones(self.population.docs.size, dtype=np.bool_)
        self._unread[read] = False
        self.progress: Estimate = estimate(matters[is_read], int(self._unread.sum()) + int(is_read.sum()))
        learned = self._learned(read, matters[is_there & is_read])
        self._scores = learned if read.size else self.population.answers

    def _learned(self, read: Ints, matters: Mask) -> FloatVector:
        """[n_docs] the scores after so many were read."""
        luck = np.random.default_rng([self.about.number, len(self.judgements)])
        unread = np.flatnonzero(self._unread)
        presumed = luck.choice(unread, min(N_PRESUMED, unread.size // 2), replace=False)
        query = self.population.docs.size
        rows = np.concatenate((read, presumed, [query])).astype(np.int64)
        is_relevant = np.concatenate((matters, np.zeros(presumed.size, dtype=np.bool_), [True]))
        table, columns = self._table.take(rows).narrowed()
        self._weights: FloatVector = np.zeros(self._table.n_columns)
        self._weights[columns] = fit(table, is_relevant)
        return self._table.times(self._weights)[:query]

    def next(self) -> Proposal | None:
        """The document to judge now; those put off come last. None at the end."""
        if time.monotonic() - self._looked > REREAD_SECONDS:
            self._look_again()
        waiting = self._unread.copy()
        waiting[self._later] = False
        best = np.flatnonzero(waiting)
        for place in [*best[np.argsort(-self._scores[best], kind="stable")].tolist(), *self._later.tolist()]:
            row = self.search.catalogue.documents([self.population.doc_ids[place]]).get(self.population.doc_ids[place])
            if row is not None:
                return self._shown(row, float(self._scores[place]))
            if self._look_again():  # it went with a commit
                return self.next()
        return self.next() if self._look_again() else None

    def _shown(self, row: DocumentRow, score: float) -> Proposal:
        hit = make_hit(row, self.progress.n_read + 1, score=score, bm25_rank=0)
        own = identity(row)
        of_file = [one for one in self.judgements if (one.path, one.part) == (row.path, row.part)]
        before = [one.answer for one in of_file if one.identity != own]
        return Proposal(hit, own, before[-1] if before else "")

    def answer(self, shown: Proposal, answer: Answer) -> None:
        """Keep a judgement, and put all the others into a new order."""
        hit = shown.hit
        self.book.add(self.about.number, Judgement(shown.identity, hit.path, hit.part, hit.title, answer, time.time()))
        self._reorder()

    def undo(self) -> bool:
        """Take the last answer back; False where there is none."""
        is_taken = self.book.take_back(self.about.number)
        self._reorder()
        return is_taken

    @property
    def page(self) -> ResultPage:
        """A page of the query, by which texts are marked."""
        n_all = self.population.docs.size
        return ResultPage(SearchRequest(self.about.query), (), n_all, n_all, 0.0, words=self.population.marked)

    def preview(self, shown: Proposal) -> Preview:
        """The text of a document with what answers the query."""
        return self.search.preview(self.page, shown.hit)

    def snippet(self, shown: Proposal, width: int) -> Snippet:
        return self.search.snippet(self.page, shown.hit, width)

    def as_search(self) -> str:
        """The query with what was learned: for a plain one the words that tell best what matters are added."""
        plain = parse(self.search.written_out(self.about.query)).plain
        return " ".join((self.about.query, *(self.learned_words() if plain else ())))

    def learned_words(self) -> list[str]:
        """The words that tell best what matters, those of the query left out."""
        n_words = self._table.n_columns - 1
        names = list(self._vocabulary.columns)
        best = np.argsort(-self._weights[:n_words], kind="stable")[: 10 * MOST_LEARNED].tolist()
        words = [names[i].decode("utf-8", "replace") for i in best if self._weights[i] > 0]
        fresh = [word for word in words if word.isalpha() and len(word) > 2 and word not in self.population.words]
        return fresh[:MOST_LEARNED]

    def teach(self) -> int:
        """Each document that matters counts as opened for this query, once; how many are new among these."""
        if not self.search.picks.is_enabled:
            raise ReviewError("nothing was learned: learning.enabled or learning.remember_picks is off")
        key, now = self.search.picks.query_key(self.population.terms), time.time()
        with self.search.store.transaction():
            fresh = self.book.take_untaught(self.about.number)
            rows = [row for one in fresh for row in self.rows_of(one)[:1]]
            for row in rows:
                self.search.picks.record(key, row.path, row.part, type=row.type, now=now)
        return len(rows)

    def rows_of(self, judgement: Judgement) -> list[DocumentRow]:
        """All documents of the index that hold what was judged, the one of its path first; [] where none does."""
        documents = self.population.snapshot.documents
        near = np.flatnonzero(documents["content"] == content_number(judgement.identity))
        ids = [*documents["doc_id"][near].tolist(), *self.search.catalogue.doc_ids_of(judgement.path)]
        rows = self.search.catalogue.documents(dict.fromkeys(ids)).values()
        same = [row for row in rows if identity(row) == judgement.identity]
        return sorted(same, key=lambda row: (row.path, row.part) != (judgement.path, judgement.part))


def _require(search: Search) -> None:
    if why := search.unkept or search.trouble:
        raise ReviewError(why)


def is_enough(found: Estimate) -> bool:
    """Whether a person may stop, by the estimate."""
    return found.sure_share >= GOAL or found.n_read >= found.n_documents


def progress_line(found: Estimate) -> str:
    """As "38 of about 41, surely more than 90 %: you may stop"."""
    if not found.n_documents:
        return "no document meets the filters of the query"
    if found.n_read >= found.n_documents:
        return f"{found.n_found:,} found, all {count(found.n_documents, 'document')} read"
    if found.n_found < LEAST_FOUND:
        return f"{found.n_found:,} found, too few to estimate how many there are"
    surely = max(int(np.ceil(100 * found.sure_share)) - 1, 0)
    line = f"{found.n_found:,} of about {found.n_found + found.n_left:,}, surely more than {surely} %"
    return f"{line}: you may stop" if is_enough(found) else line
