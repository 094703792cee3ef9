"""The answering end of a line: `foltr-search devices answer` reports on this machine's index to a caller from ssh."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import BinaryIO

import msgspec
import numpy as np

from app.learning.pick_keys import pack, unpack
from app.machines import remote_messages as far
from app.search.candidate_table import PLAIN, Aside, CandidateTable
from app.search.page import Found, highlight_words, make_hit
from app.search.results import Hit, ResultPage, SearchRequest, Snippet
from app.search.search import Search
from console.durable import what_failed
from foltr.errors import FoltrError
from indexer.errors import IndexerError
from indexer.retrieval.code import code_counts
from indexer.retrieval.collection_statistics import CollectionStatistics
from indexer.retrieval.features import MANIFEST_HASH
from indexer.storage.catalogue import DocumentRow
from indexer.storage.snapshot import Snapshot

MAX_QUESTION = 4_000_000
"""bytes"""
MAX_FILE = 50_000_000
"""bytes; of a larger one only the text can be had"""


class FarAnswers:
    """Answers the questions of one line, one after another."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._rest: Callable[[CollectionStatistics], Found] | None = None
        self._words: tuple[str, ...] = ()

    def run(self, questions: BinaryIO, answers: BinaryIO) -> None:
        """Until the line ends."""
        while (line := questions.readline(MAX_QUESTION)).endswith(b"\n"):
            try:
                answer = self.answer(msgspec.json.decode(line, type=far.Question))
            except (msgspec.MsgspecError, FoltrError, IndexerError, OSError) as error:
                answer = far.NoAnswer(what_failed(error) if isinstance(error, OSError) else str(error))
            answers.write(far.line_of(answer, far.MARK))
            answers.flush()

    def answer(self, question: far.Question) -> far.Message:
        """The message that answers another."""
        match question:
            case far.Ask():
                return self._ask(question)
            case far.Rank(others):
                return self._rank(others)
            case far.Quote():
                return self._quote(question)
            case far.Read(doc_id):
                return far.FarText(self._search.text_of(self._hit(self._row(doc_id)))[0])
            case far.Fetch():
                return self._fetch(question)

    def _ask(self, ask: far.Ask) -> far.Message:
        if ask.features != MANIFEST_HASH:
            return far.NoAnswer("has another version of foltr-search, with other features")
        self._search.refresh()
        if self._search.trouble:
            return far.NoAnswer(self._search.trouble)
        request = SearchRequest(ask.text, ask.order, ask.limit, type=ask.type, time=ask.time, as_typed=True)
        known, self._rest = self._search.in_two_parts(request, ask.now, ask.tonight, ask.languages)
        return far.Known(known) if known.n_documents else far.NoAnswer("nothing is indexed there")

    def _rank(self, others: CollectionStatistics) -> far.FarTable:
        if self._rest is None:
            raise FoltrError("wanted a question first")
        found = self._rest(others)
        snapshot = self._search.reading.among_others(others).snapshot
        table = msgspec.structs.replace(found.table, asides=self._asides(snapshot, found))
        self._words = highlight_words(found.candidates)
        query = pack(self._search.picks.query_key(found.terms))
        return far.packed(msgspec.structs.replace(found, table=table), self._words, query)

    def _asides(self, snapshot: Snapshot, found: Found) -> list[Aside]:
        """With what only this machine can look up, though few pages need it."""
        table: CandidateTable = found.table
        code = np.zeros((len(table.rows), 3))
        if found.candidates.concepts:  # the source code of another machine may make it a page of code
            code = code_counts(snapshot, found.candidates, table.docs)
        return [
            msgspec.structs.replace(aside, day=self._search.day_of(row), code=tuple(counts))
            for aside, row, counts in zip(table.asides, table.rows, code.tolist(), strict=True)
        ]

    def _quote(self, quote: far.Quote) -> far.Quotes:
        words = tuple(dict.fromkeys((*self._words, *quote.words)))
        page = ResultPage(SearchRequest(""), (), 0, 0, 0.0, words=words)
        rows = self._search.catalogue.documents(quote.doc_ids)
        snippets = []
        for doc_id, passage in zip(quote.doc_ids, quote.passages, strict=False):
            row = rows.get(doc_id)
            hit = self._hit(row, Aside(passage=passage)) if row else None
            snippets.append(self._search.snippet(page, hit, quote.width) if hit else Snippet("", (), 0, 0))
        return far.Quotes(snippets)

    def _fetch(self, fetch: far.Fetch) -> far.FarFile:
        row = self._row(fetch.doc_id)
        is_file = not row.part and row.type != "site" and row.size <= MAX_FILE
        data = None
        if fetch.whole and is_file:
            with open(row.path, "rb") as file:
                data = file.read(MAX_FILE)
        if not self._search.unkept:
            query, now = unpack(fetch.query), time.time()
            self._search.picks.record(query, row.path, row.part, type=row.type, now=now)
        return far.FarFile(far.bare(row), os.fsencode(row.path), data)

    def _row(self, doc_id: int) -> DocumentRow:
        row = self._search.catalogue.documents([doc_id]).get(doc_id)
        if row is None:
            raise FoltrError("it is no longer indexed there")
        return row

    def _hit(self, row: DocumentRow, aside: Aside = PLAIN) -> Hit:
        return make_hit(row, 1, score=0.0, bm25_rank=1, aside=aside)
