"""The one way a query is answered and learned from: the command line and the screen both call this.

    text -> query tree -> candidates (BM25F) -> features -> the user's ranker -> page -> clicks -> one lesson

The page that was shown is the page that is learned from. Nothing here touches the network.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from app.devices.pick_memory import open_picks
from app.federation.group_ranker import CommonRanker
from app.learning.learner import Learner, session_nonce, theta_prior
from app.learning.outcomes import Outcome
from app.learning.pace import Pace
from app.learning.pick_keys import QueryKey
from app.paths import Paths
from app.search.candidate_table import PLAIN, Aside, CandidateTable, by_bm25f, joined
from app.search.explanation import explanation
from app.search.facets import DAY, facets_of, narrowing
from app.search.headings import heading_among, heading_over
from app.search.meaning import Meaning, languages_of, nearest_documents, passages_without_words
from app.search.page import (
    Found,
    Ranked,
    are_called,
    beside_texts,
    bm25_ranks,
    called_first,
    end_of_day,
    held_as_typed,
    highlight_words,
    interleave,
    is_surely_meant,
    latest_first,
    likeness,
    make_hit,
    make_hits,
    named_first,
    nearest_first,
    query_terms,
    remarks,
    sort_rows,
    suggestion,
    without_copies,
    written_first,
)
from app.search.page_kind import documents_and_code, page_kind
from app.search.reading import Reader, Reading, RecentTexts, language_codes
from app.search.reasons import Reasons
from app.search.results import Explanation, Hit, IndexStatus, Preview, ResultPage, SearchRequest, Snippet
from app.search.saved import SavedSearches
from app.search.shown_page import ShownPage, Visits
from app.search.snippets import matches, passage, passage_snippet, snippet
from app.settings import Settings, index_roots
from app.store import StateError, Store
from console.printable import display_path
from indexer.documents import HEARD, page_name
from indexer.errors import IndexerError
from indexer.meaning.nearest import Closeness, meaning_feature
from indexer.query.nodes import Query, asks_for_people, asks_for_threads
from indexer.query.parse import parse
from indexer.retrieval.alike import IN_TEXT, evidence
from indexer.retrieval.candidates import FEW, Candidates, find, n_asking
from indexer.retrieval.collection import CollectionStatistics
from indexer.retrieval.dated import HEAD, day_of_text
from indexer.retrieval.feature_values import raw_features, scaled
from indexer.retrieval.features import MANIFEST_HASH, NAMES, USAGE_NAMES
from indexer.retrieval.named import TITLE, named_by, named_in
from indexer.storage.catalogue import Catalogue, DocumentRow
from indexer.storage.index import Index, lock_holder
from indexer.storage.mail_threads import Thread
from indexer.storage.sqlite_files import cause, is_unwritable
from indexer.text.spelling import Vocabulary

if TYPE_CHECKING:
    from pathlib import Path

    from app.machines.far_messages import FarFound
    from app.machines.own_machines import OwnMachines
    from app.opener import How
    from indexer.extract.media.recognised import Coverage

UNKEPT = "the data folder cannot be written ({}), so nothing is learned or remembered"
MARKED = ("markdown", "text")
"""types whose excerpts go without rules and signs of headings: plain text mostly underlines its headings, too"""
ONCE = 0.1
"""`same_query` of one pick is less than this, of two more: one does not take a document out of those alike"""
_USAGE = np.isin(NAMES, USAGE_NAMES)
"""[n_features] those made from the user's own picks"""
_name_of = lru_cache(maxsize=10_000)(os.path.basename)
KEPT_PAGES = 50
"""pages that can still be opened from and left"""


PARTS = 5
"""documents that are looked at for each row of those changed lately"""


class Search:
    """Searches one index and learns from what is opened; safe to call from several threads."""

    def __init__(self, settings: Settings, paths: Paths, *, resident: bool = False) -> None:
        """`resident`: many queries will be asked, so that what takes a while to load is worth it."""
        paths.create_data_dir()
        self._settings, self._paths = settings, paths
        self._catalogue = Catalogue.open(paths.catalogue)
        self._texts = RecentTexts(self._catalogue)
        self._day_of = lru_cache(maxsize=10_000)(lambda doc_id: day_of_text(self._catalogue.beginning(doc_id, HEAD)))
        self._reader = Reader(paths.index, self._catalogue, languages=language_codes(settings.search.languages))
        self._meaning = Meaning(settings.meaning, paths, resident=resident)
        self._open_state()
        self._page_ids = itertools.count(1)
        self._shown: OrderedDict[int, ShownPage] = OrderedDict()
        self._gone: set[str] = set()
        self._saved = SavedSearches(paths.saved)
        self._lock = threading.Lock()

    def _open_state(self) -> None:
        """What was learned, and what learns."""
        self.store = Store.for_searching(self._paths.state)
        self.unkept = UNKEPT.format(self.store.why_unkept) if self.store.why_unkept else ""
        """why nothing is learned or remembered now, as one line; "" when all is well"""
        learning = self._settings.learning
        self.picks, self.log = open_picks(
            self.store, self._paths, self._catalogue, enabled=learning.enabled and learning.remember_picks
        )
        self.learner = Learner(
            self.store, theta0=theta_prior(), feature_names=NAMES, manifest_hash=MANIFEST_HASH, settings=learning,
            pace=Pace.shipped(NAMES), common=CommonRanker(self.store).blend,
            log=self.log, of_assistant=bool(self._paths.assistant),
        )  # fmt: skip
        self._visits = Visits(self.store, self.picks, self.learner, page_size=self._settings.search.page_size)

    def _follow_state(self) -> None:
        """Open the state anew where its file was removed or replaced."""
        if self.store.is_lost:
            self._open_state()

    def close(self) -> None:
        """Close the files; the search cannot be used afterwards."""
        if "machines" in self.__dict__:
            self.machines.close()  # who waits for one has an answer then
        self.store.close()
        self._catalogue.close()

    @property
    def trouble(self) -> str:
        """Why the index cannot be read, as one line; "" when it can. It answers as an empty one until then."""
        return self._reader.trouble

    @property
    def reading(self) -> Reading:
        """The commit that is asked now."""
        return self._reader.reading

    @property
    def catalogue(self) -> Catalogue:
        return self._catalogue

    def written_out(self, text: str) -> str:
        """A query with its saved searches written out."""
        return self._saved.written_out(text).text

    def refresh(self) -> bool:
        """Look for a newer commit of the index and use it from now on; True when there was one."""
        is_newer = self._reader.refresh()
        if is_newer:
            self._gone.clear()
        return is_newer

    def search(self, request: SearchRequest) -> ResultPage:
        """Answer one request."""
        started = time.perf_counter()
        self._follow_state()
        now = time.time()
        tonight = end_of_day(now)
        reading = self._reader.reading
        written = self._saved.written_out(request.text, as_you_type=request.as_you_type)
        typed = parse(written.text, now=now, as_you_type=request.as_you_type)
        if request.order == "learned" and asks_for_people(typed):  # no word says which of their letters matters more
            request = structs.replace(request, order="modified")
        found, far, unasked = self._everywhere(reading, request, typed, now, tonight)
        query, candidates, better = found.query, found.candidates, found.better
        table = joined([found.table, *(one.table for one in far)], self._limit(request)) if far else found.table
        ranked = self._rank(reading, candidates, table)
        n_matches = candidates.n_matches + sum(one.n_matches for one in far)
        n_all_words = candidates.n_all_words + sum(one.n_all_words for one in far)
        shown, owners = self._arrange(ranked, request)
        chosen = list(shown)[: request.limit]
        by_words = bm25_ranks(ranked.rows_shared)
        hits = make_hits(ranked, {i: shown[i] for i in chosen}, by_words)
        self._purge(hits)
        return ResultPage(
            request=request,
            hits=hits,
            n_matches=n_matches,
            n_all_words=n_all_words,
            n_documents=found.n_documents,
            seconds=time.perf_counter() - started,
            problems=written.as_typed(remarks(typed, candidates)),
            suggestion=better if query is typed else "",
            searched="" if query is typed else better,
            by_words="" if request.order != "learned" else self._meaning.why_by_words(query),
            relaxed=n_all_words < min(FEW, n_matches),
            facets=facets_of(
                reading.snapshot, candidates.admitted, reading.folders(), within=request.folder,
                roots=self._catalogue.roots, now=tonight,
            ),
            features=ranked.table.features[chosen],
            words=tuple(dict.fromkeys((*highlight_words(candidates), *(word for one in far for word in one.words)))),
            unasked=unasked,
            page_id=self._remember(structs.replace(
                self._visit(ranked, chosen, hits, request, self.picks.query_key(found.terms), owners),
                queries={one.machine: one.query for one in far},
            )),
            reasons=self._reasons(
                ranked, {i: by_words[i] for i in shown},
                partial(self.picks.times, found.terms, completions=found.completions, now=tonight),
            ) if request.order == "learned" and ranked.has_words else None,
        )  # fmt: skip

    def _everywhere(
        self, reading: Reading, request: SearchRequest, typed: Query, now: float, tonight: float
    ) -> tuple[Found, list[FarFound], tuple[str, ...]]:
        """What is found here, and on the other machines that are asked; and a line for each that has no part."""
        if not request.on or typed.root is None or request.folder:
            return self._found(reading, request, typed, now, tonight), [], ()
        as_typed = structs.replace(request, text=typed.text, as_typed=True)
        return self.machines.together(
            as_typed, reading, typed, (now, tonight),
            lambda others: self._found(reading.among_others(others), as_typed, typed, now, tonight),
        )  # fmt: skip

    @cached_property
    def machines(self) -> OwnMachines:
        """The lines to this person's other machines."""
        from app.machines.own_machines import OwnMachines

        return OwnMachines(self._settings.devices)

    def in_two_parts(
        self, request: SearchRequest, now: float, tonight: float, languages: tuple[str, ...]
    ) -> tuple[CollectionStatistics, Callable[[CollectionStatistics], Found]]:
        """For another machine that asks: what this collection is like, then what is found in it beside the others."""
        self._follow_state()
        reading, typed = self._reader.reading.stemmed(languages), parse(request.text, now=now)
        return reading.statistics(typed), lambda others: self._found(
            reading.among_others(others), request, typed, now, tonight
        )

    def _found(self, reading: Reading, request: SearchRequest, typed: Query, now: float, tonight: float) -> Found:
        query, candidates, closeness, better = self._look_up(reading, request, typed, now, tonight)
        terms, completions = query_terms(candidates, reading.languages)
        table = self._table(reading, candidates, terms, completions, tonight, closeness)
        if not asks_for_threads(query) and (threads := self._threads(table.rows)):
            asides = [structs.replace(own, thread=threads.get(i)) for i, own in enumerate(table.asides)]
            table = structs.replace(table, asides=asides)
        return Found(query, candidates, better, terms, completions, table, reading.snapshot.n_documents)

    def _look_up(
        self, reading: Reading, request: SearchRequest, query: Query, now: float, tonight: float
    ) -> tuple[Query, Candidates, Closeness | None, str]:
        """What a query finds, and its better spelling; where nothing, what is surely meant and what that finds."""
        closeness = self._closeness(reading, query, request)
        candidates = self._candidates(reading, query, request, tonight, closeness)
        if request.as_you_type or candidates.named.any():
            return query, candidates, closeness, ""
        better = suggestion(query, candidates, reading.vocabulary)
        if not better:
            return query, candidates, closeness, ""
        meant, is_sure = parse(better, now=now), is_surely_meant(query.text, better)
        near = self._closeness(reading, meant, request)
        instead = self._candidates(reading, meant, request, tonight, near)
        # What says the same in other words lacks the words: where meaning answers, they stay as they are.
        unfound = not request.as_typed and not candidates.n_all_words and closeness is None
        if is_sure and unfound and instead.n_all_words:
            return meant, instead, near, better
        return query, candidates, closeness, better if is_sure or instead.n_all_words else ""

    def _closeness(self, reading: Reading, query: Query, request: SearchRequest) -> Closeness | None:
        if request.order != "learned":
            return None
        return self._meaning.closeness(reading.alone, query, wait=not request.as_you_type)

    def _candidates(
        self, reading: Reading, query: Query, request: SearchRequest, now: float, closeness: Closeness | None
    ) -> Candidates:
        narrow = narrowing(reading.snapshot, request, reading.folder_ids, now=now)
        named = named_in(reading.snapshot, query.text, self._catalogue.documents, narrow)
        if query.root is None and query.text.strip():
            narrow = np.zeros(reading.snapshot.alive.size, dtype=np.bool_)  # nothing in the text can be looked for
        return find(
            reading.matcher(),
            query,
            limit=self._limit(request),
            narrow=narrow,
            by_date=request.order == "modified",
            by_name=request.order == "name",
            near=None if closeness is None else nearest_documents(closeness, reading, query, narrow),
            named=named,
        )

    def _limit(self, request: SearchRequest) -> int:
        return max(self._settings.search.limit, request.limit)

    def _rows(self, reading: Reading, candidates: Candidates) -> list[DocumentRow]:
        """The catalogue's rows; a document removed since the commit was opened gets an empty one, marked missing."""
        ids = reading.snapshot.documents["doc_id"][candidates.docs].tolist()
        known = self._catalogue.documents(ids)
        return [known.get(i) or _gone(i) for i in ids]

    def _threads(self, rows: Sequence[DocumentRow]) -> dict[int, Thread]:
        """The threads of the mails among `rows`, by their places."""
        mails = {row.doc_id: i for i, row in enumerate(rows) if row.type == "mail"}
        return {mails[i]: thread for i, thread in self._catalogue.threads_of(mails).items()} if mails else {}

    def _table(
        self, reading: Reading, candidates: Candidates, terms: list[str], completions: list[str], now: float,
        closeness: Closeness | None,
    ) -> CandidateTable:  # fmt: skip
        """All that is known of the candidates, in BM25F order."""
        rows = self._rows(reading, candidates)
        documents = [(row.path, row.part, row.type) for row in rows]
        usage = self.picks.usage(terms, documents, now=now, completions=completions)
        names = [_name_of(row.part or row.path) for row in rows]
        features = raw_features(
            reading.snapshot, candidates, usage, titles=[row.title for row in rows], names=names, now=now,
            meaning=meaning_feature(closeness, candidates, reading.snapshot) if closeness else None,
        )  # fmt: skip
        is_called = candidates.named > TITLE
        return CandidateTable(
            rows=rows, names=names, docs=candidates.docs, bm25f=candidates.bm25f, features=features,
            levels=evidence(candidates), named=candidates.named,
            missing_words=[() if i else words for words, i in zip(candidates.missing_words, is_called, strict=True)],
            as_typed=held_as_typed(candidates), chosen_before=usage.same_query > ONCE,
            marks=list(self.picks.marks(documents)),
            sketches=reading.snapshot.documents.take("sketch", candidates.docs),
            asides=_asides(reading, candidates, closeness) if closeness else [PLAIN] * len(rows),
            added=np.arange(len(rows)) >= candidates.n_best,
        ).take(by_bm25f(rows, candidates.bm25f))  # fmt: skip

    def _rank(self, reading: Reading, candidates: Candidates, found: CandidateTable) -> Ranked:
        features = scaled(found.features)
        features[:, _USAGE] *= min(self._settings.learning.strength, 1.0)
        table = structs.replace(found, features=features, as_typed=found.as_typed | (not found.as_typed.any()))
        learner, fixed = self.learner.as_it_is(), table.chosen_before | False
        answers, behind = documents_and_code(candidates, table)
        kind = page_kind(reading.snapshot, candidates, table, behind)
        if kind and learner.of_assistant:
            table = structs.replace(table, marks=kind.with_roles(table.marks))
        beyond = kind.beyond(learner.text(table.features)) if kind else None
        written = written_first(table.as_typed, learner.text(table.features, beyond))
        scores, extra = learner.scores(table.features, table.marks, beyond) + written, {"written": written}
        are_texts = np.array([row.n_words > 0 for row in table.rows], dtype=bool)
        extra["called"] = called_first(
            table.levels, scores, called=are_called(table, by_names_alone=kind is not None), fixed=table.chosen_before,
            are_texts=are_texts, answers=answers, behind=behind,
        )  # fmt: skip
        scores += extra["called"]
        extra["latest"], asked = latest_first(table, scores, n_asking(candidates.concepts), behind)
        scores += extra["latest"]
        extra["named"] = named_first(table.named, scores, table.chosen_before)
        fixed[[i for i, aside in enumerate(table.asides) if aside.passage]] = True  # they hold none of the words
        fixed |= extra["latest"] != 0
        alike = likeness(
            table, scores + extra["named"],
            fixed=fixed, apart=2 * table.named + (written < 0), by_age=not learner.prefers_older(),
            day_of=lambda i: table.asides[i].day if table.asides[i].machine else self.day_of(table.rows[i]),
        )  # fmt: skip
        extra["alike"] = alike.moved
        scores += extra["named"] + extra["alike"]
        extra["beside"] = beside_texts(table.rows, [not words for words in table.missing_words], scores)
        notes = {"alike": alike.notes, "named": list(map(named_by, table.named.tolist())), "latest": asked}
        in_text = answers & (table.levels == IN_TEXT).any(axis=1)
        notes["called"] = ["all your words, in no source code" if own else "" for own in in_text.tolist()]
        return Ranked(
            table, scores + extra["beside"], learner, alike.contents,
            extra=extra, notes=notes, kind=kind, has_words=bool(candidates.concepts),
        )  # fmt: skip

    def day_of(self, row: DocumentRow) -> float | None:
        """The day that a text tells at its beginning."""
        return self._day_of(row.doc_id)

    def _arrange(self, ranked: Ranked, request: SearchRequest) -> tuple[dict[int, list[int]], tuple[int, ...]]:
        """The candidates to show in order, each with its copies; and who placed each, on an interleaved page."""
        if request.order in ("modified", "name"):
            return without_copies(ranked.rows_shared, sort_rows(ranked.table.rows, request.order)), ()
        if request.order == "bm25" or not ranked.has_words:
            return without_copies(ranked.rows_shared, range(len(ranked.table.rows))), ()
        keys = [row.doc_id for row in ranked.table.rows]
        k = self._settings.search.page_size
        order = self.learner.order(ranked.table.features, keys, k=k, explore=request.explore, scores=ranked.scores)
        shown = nearest_first(without_copies(ranked.rows_shared, order.tolist()), ranked.table, ranked.contents)
        learning = self._settings.learning
        if not (learning.interleave and learning.enabled and request.explore):
            return shown, ()
        seed = int.from_bytes(session_nonce(self.store, now=time.time())[:8], "little")
        return interleave(shown, k=k, seed=seed)

    @staticmethod
    def _reasons(ranked: Ranked, shown: Mapping[int, int], times: Callable[[str, str], float]) -> Reasons:
        """Why the candidates `shown` (each with its rank by BM25F) stand in this order."""

        def n_picks(candidate: int) -> float:
            row = ranked.table.rows[candidate]
            return times(row.path, row.part)

        return Reasons(
            ranked.learner, ranked.table.features, ranked.scores, np.fromiter(shown, dtype=np.int64),
            np.fromiter(shown.values(), dtype=np.int64) - 1,
            marks=ranked.table.marks, extra=ranked.extra, notes=ranked.notes, n_picks=n_picks, kind=ranked.kind,
        )  # fmt: skip

    def _visit(
        self, ranked: Ranked, chosen: list[int], hits: tuple[Hit, ...], request: SearchRequest, query: QueryKey,
        owners: tuple[int, ...],
    ) -> ShownPage:  # fmt: skip
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
        )

    def _purge(self, hits: tuple[Hit, ...]) -> None:
        """Note files that are gone, each once: the catalogue may be busy, and nobody waits for this twice."""
        for hit in hits:
            if hit.missing and hit.path and hit.path not in self._gone:
                self._gone.add(hit.path)
                with contextlib.suppress(IndexerError):  # a full disk is no reason not to answer; scans find it too
                    self._catalogue.purge(hit.path)

    def _remember(self, visit: ShownPage) -> int:
        with self._lock:
            page_id = next(self._page_ids)
            self._shown[page_id] = visit
            while len(self._shown) > KEPT_PAGES:
                self._shown.popitem(last=False)
            return page_id

    def opened(self, page: ResultPage, hit: Hit) -> None:
        """Record that a result of a page was opened: a pick at once, a click when the page is left."""
        with self._lock, self._unless_unkept():
            visit = self._shown.get(page.page_id)
            if visit is not None and not self.unkept:
                self._shown[page.page_id] = self._visits.opened(visit, hit)
            elif page.page_id == 0 and not self.unkept:
                self.picks.record((), hit.path, hit.part, type=hit.type, now=time.time())

    def leave(self, page: ResultPage) -> str | None:
        """The user is done with a page: learn from it once. A sentence that says what was learned, None for nothing."""
        with self._lock:
            visit = self._shown.pop(page.page_id, None)
        with self._unless_unkept():
            return self._visits.leave(visit, source="screen") if visit is not None and not self.unkept else None
        return None

    def recent(self, *, n_opened: int = 8, n_changed: int = 20) -> ResultPage:
        """A page for no question: what was opened last, then what was changed last; nothing is kept for it.

        An archive is one of the latter, and not each file in it; a date in the future, which a clock gave that was
        wrong, is none.
        """
        page = self.search(SearchRequest("", order="modified", limit=PARTS * n_changed))
        until = time.time() + DAY
        past = [hit for hit in page.hits if hit.modified < until]
        whole = {hit.path for hit in past if not hit.part}
        changed = [hit for hit in past if not (hit.part and hit.path in whole)][:n_changed]
        first = self.picks.lately(self._catalogue.paths(), self._catalogue.parts_of, limit=n_opened)
        rows = self._catalogue.documents(first)
        opened = [make_hit(rows[doc_id], 1, score=0.0, bm25_rank=0) for doc_id in first if doc_id in rows]
        hits = (*opened, *(hit for hit in changed if hit.doc_id not in first))
        ranked = tuple(structs.replace(hit, rank=rank) for rank, hit in enumerate(hits, 1))
        return structs.replace(page, hits=ranked, words=(), page_id=0)

    def failures(self) -> list[tuple[str, str]]:
        """(path, reason) of each file that could not be read."""
        return [(failure.path, failure.reason) for failure in self._catalogue.failures()]

    def pending_outcomes(self) -> list[Outcome]:
        """Where the results stand that were opened on pages that were not left yet: what `leave` will note of them."""
        with self._lock:
            visits = tuple(self._shown.values())
        return [outcome for visit in visits for outcome in self._visits.outcomes_of(visit)]

    def follow(self, moves: Iterable[tuple[str, str]]) -> None:
        """Files were moved, (from, to) each: what was learned about them goes along."""
        with self._unless_unkept():
            for old, new in moves:
                self.picks.rename(old, new)

    def keep(self, page: ResultPage) -> None:
        """Make a page the one that `open_kept` speaks of, also in other processes; the former one is left."""
        with self._lock:
            visit = self._shown.get(page.page_id)
        with self._unless_unkept():
            self._visits.exchange(visit)

    def keep_places(self, places: Sequence[tuple[int, int]]) -> None:
        """Where (line, page) the passages are that were printed of the first results of the kept page."""
        with self._unless_unkept(), self.store.transaction(durable=False):
            visit = self._visits.kept()
            if visit is not None:
                self._visits.keep(structs.replace(visit, places=tuple(places)))

    def here(self, page: ResultPage, hit: Hit, how: How, data_dir: Path) -> tuple[Hit, How]:
        """A result to open, of another machine where it was brought to, and how; MachineError."""
        with self._lock:
            visit = self._shown.get(page.page_id)
        if not hit.machine or visit is None:
            return hit, how
        row, how = self.machines.bring(visit, hit.rank, how, data_dir)
        return structs.replace(hit, path=row.path), how

    def open_kept(self, rank: int, far: DocumentRow | None = None) -> Hit | None:
        """Record that result `rank` of the kept page was opened and give it; None when there is no such result.

        `far` is the row of one of another machine.
        """
        with self._unless_unkept(), self.store.transaction():
            visit = self._visits.kept()
            if visit is None or not 1 <= rank <= visit.n_shown:
                return None
            doc_id = visit.doc_ids[rank - 1]
            row = far or self._catalogue.documents([doc_id]).get(doc_id)
            if row is None:
                return None
            aside = Aside(machine=visit.machines[rank - 1]) if far else PLAIN
            hit = make_hit(
                row, rank, score=float(visit.scores[rank - 1]), bm25_rank=visit.bm25_ranks[rank - 1], aside=aside
            )
            self._visits.keep(self._visits.opened(visit, hit))
            return hit
        return None  # nothing could be kept

    @contextlib.contextmanager
    def _unless_unkept(self) -> Iterator[None]:
        """When the disk gets full meanwhile, what cannot be kept is left out, and `unkept` says so."""
        self._follow_state()
        try:
            yield
        except StateError as error:
            if not is_unwritable(error.__cause__):
                raise
            self.unkept = UNKEPT.format(cause(error.__cause__))

    def snippet(self, page: ResultPage, hit: Hit, width: int = 160) -> Snippet:
        """The best lines of one result."""
        if hit.machine:
            return self.machines.snippet(page, hit, width)
        row = self._catalogue.documents([hit.doc_id]).get(hit.doc_id)
        generation = self._reader.reading.snapshot.generation
        text, pages = self._texts.of(hit.doc_id, generation), row.pages if row else ()
        if hit.passage:
            found = passage_snippet(text, hit.passage, width=width, pages=pages)
        else:
            plain = self._texts.of(hit.doc_id, generation, unmarked=True) if hit.type in MARKED else text
            found = snippet(plain, page.words, width=width, pages=pages, title=hit.title)
        if hit.type in HEARD and found.page:
            return structs.replace(found, heading=f"at {page_name(hit.type, found.page)}")
        if hit.type == "markdown" and found.line:
            return structs.replace(found, heading=heading_over(text, found.line, hit.part or hit.path, title=hit.title))
        if row and row.headings and found.line:
            return structs.replace(found, heading=heading_among(text, found.line, row.headings, title=hit.title))
        return found

    def text_of(self, hit: Hit) -> tuple[str, tuple[int, ...]]:
        """The whole extracted text of a result, and the offsets at which its pages begin."""
        row = self._catalogue.documents([hit.doc_id]).get(hit.doc_id)
        return self._texts.of(hit.doc_id, self._reader.reading.snapshot.generation), row.pages if row else ()

    def vocabulary_of(self, doc_ids: Iterable[int]) -> Vocabulary:
        """The words of these documents alone."""
        return self._reader.reading.vocabulary_of(doc_ids)

    def preview(self, page: ResultPage, hit: Hit, width: int = 160) -> Preview:
        """The whole text of one result with its matches, and where the snippet of that width is in it."""
        row = self._catalogue.documents([hit.doc_id]).get(hit.doc_id)
        if hit.machine:
            note, text = self.machines.text_or_why(hit.machine, hit.doc_id)
        else:
            note = "the file is gone" if hit.missing or row is None else row.truncated
            text = self._texts.of(hit.doc_id, self._reader.reading.snapshot.generation)
        if hit.passage:
            return Preview(text, (hit.passage,) if any(hit.passage) else (), row.pages if row else (), note)
        shown, spans = passage(text, page.words, width=width), matches(text, page.words)
        if shown and shown[0] not in spans:
            spans = tuple(sorted({*spans, *shown}))
        return Preview(text, spans, row.pages if row else (), note, spans.index(shown[0]) if shown else 0)

    def explain(self, page: ResultPage, hit: Hit) -> Explanation:
        """Why a result stands where it stands."""
        return explanation(page, hit)

    def why(self, page: ResultPage, hit: Hit) -> str:
        """The same in two to five words; "" for a result that stands where its words alone would put it."""
        if hit.by_meaning:
            return f"by meaning, in {hit.foreign}" if hit.foreign else "by meaning"
        return page.reasons.words(hit.rank - 1, hit.type) if page.reasons is not None else ""

    def status(self) -> IndexStatus:
        """What the index holds and who is writing to it."""
        counts = self._catalogue.counts()
        why_none, n_read, n_all = self._meaning.coverage(self._reader.reading)
        ocr, speech = self._recognition()
        return IndexStatus(
            n_files=counts.n_files, n_named=counts.n_named, n_documents=counts.n_documents,
            n_failures=counts.n_failures, n_skipped=counts.n_skipped,
            generation=self._reader.reading.snapshot.generation, index_bytes=Index.bytes_on_disk(self._paths.index),
            data_bytes=Index.bytes_on_disk(self._paths.data_dir),
            roots=self._catalogue.roots or index_roots(self._settings, self._paths),
            writer=lock_holder(self._paths.index), last_update=self._catalogue.last_update,
            away=tuple(display_path(f"{one.path} {one.reason}") for one in self._catalogue.away()),
            n_read_for_meaning=n_read, n_for_meaning=n_all, why_no_meaning=why_none,
            n_recognised=ocr.n_recognised, n_to_recognise=ocr.n_waiting, n_without_text=ocr.n_empty,
            n_unrecognised=ocr.n_failed, n_heard=speech.n_recognised, n_to_hear=speech.n_waiting,
            n_without_speech=speech.n_empty, n_unheard=speech.n_failed, n_unwiped=Index(self._paths.index).n_unwiped,
        )  # fmt: skip

    def _recognition(self) -> tuple[Coverage, Coverage]:
        """Of pictures and of recordings."""
        from indexer.extract.media.recognised import FILE, PICTURES, RECORDINGS, coverage  # no query asks

        connection, store = self._catalogue.connection, self._paths.data_dir / FILE
        return (
            coverage(connection, store, PICTURES, self._settings.ocr.max_bytes),
            coverage(connection, store, RECORDINGS, self._settings.speech.max_bytes),
        )


def _asides(reading: Reading, candidates: Candidates, closeness: Closeness) -> list[Aside]:
    """[n_docs] of the candidates."""
    passages = passages_without_words(closeness, candidates, candidates.docs)
    foreign = languages_of(reading, closeness, candidates.docs)
    rare = passages.keys() | foreign.keys()
    return [
        Aside(passage=passages.get(i), foreign=foreign.get(i, "")) if i in rare else PLAIN
        for i in range(candidates.docs.size)
    ]


def _gone(doc_id: int) -> DocumentRow:
    return DocumentRow(doc_id, "", "", "(removed)", "text", "", "", (), 0.0, 0, "", "", 0, b"", ())
