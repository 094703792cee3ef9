"""The one way a query is answered and learned from: the command line and the screen both call this.

    text -> query tree -> candidates (BM25F) -> features -> the user's ranker -> page -> clicks -> one lesson

The page that was shown is the page that is learned from. Nothing here touches the network.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import structs

from app.data_folder import create_data_folder
from app.devices.pick_memory import open_picks
from app.federation.group_ranker import CommonRanker
from app.learning.exploration import session_nonce
from app.learning.learner import Learner
from app.learning.outcomes import Outcome
from app.learning.prior import LearningRates
from app.paths import Paths
from app.search import page as pages
from app.search.candidate_table import PLAIN, Aside, joined, table_of, with_threads
from app.search.corrections import in_words, is_one_word, is_surely_meant, most_words_held, suggestion
from app.search.document_texts import RecentTexts, preview
from app.search.explanation import explanation
from app.search.facets import facets_of, folder_names, narrowing
from app.search.index_status import IndexStatus, index_status
from app.search.meaning import Meaning, nearest_documents
from app.search.open_commit import Reader, Reading, language_codes
from app.search.page_clicks import PageClicks
from app.search.page_order import Ranked, rank
from app.search.reasons import Reasons
from app.search.results import Explanation, Facets, Hit, Preview, ResultPage, SearchRequest, Snippet
from app.search.saved import SavedSearches
from app.search.shown_page import OpenPages, ShownPage, load_shown, save_shown
from app.settings import Settings
from app.store import StateError, Store
from indexer.errors import IndexerError
from indexer.meaning.nearest import Closeness
from indexer.query.nodes import Phrase, Query, asks_for_people, asks_for_threads
from indexer.query.parse import parse
from indexer.retrieval.candidates import FEW, Candidates, find
from indexer.retrieval.collection_statistics import CollectionStatistics
from indexer.retrieval.dates import HEAD, day_of_text
from indexer.retrieval.feature_values import DAY
from indexer.retrieval.features import NAMES
from indexer.retrieval.named import named_in
from indexer.retrieval.variants import with_neighbours
from indexer.storage.catalogue import Catalogue, DocumentRow
from indexer.storage.sqlite_files import cause, is_unwritable

if TYPE_CHECKING:
    from pathlib import Path

    from app.external_programs import How
    from app.machines.own_machines import OwnMachines
    from app.machines.remote_messages import FarFound

UNKEPT = "the data folder cannot be written ({}), so nothing is learned or remembered"
PARTS = 5
"""documents fetched for each row wanted among those changed last: the files of one archive share a row"""


class Search:
    """Searches one index and learns from what is opened; safe to call from several threads."""

    def __init__(self, settings: Settings, paths: Paths, *, resident: bool = False) -> None:
        """`resident`: this process will answer many queries, so it is worth loading what takes a while."""
        create_data_folder(paths)
        self._settings, self._paths = settings, paths
        self.catalogue = Catalogue.open(paths.catalogue)
        self._texts = RecentTexts(self.catalogue)
        self._day_of = lru_cache(maxsize=10_000)(lambda i, _content: day_of_text(self.catalogue.beginning(i, HEAD)))
        self._reader = Reader(paths.index, self.catalogue, languages=language_codes(settings.search.languages))
        self._meaning = Meaning(settings.meaning, paths, resident=resident)
        self._open_state()
        self._shown = OpenPages()
        self._gone: set[str] = set()
        self._saved = SavedSearches(paths.saved)

    def _open_state(self) -> None:
        """Open what was learned, and what learns from clicks."""
        self.store = Store.for_searching(self._paths.state)
        self.unkept = UNKEPT.format(self.store.why_unkept) if self.store.why_unkept else ""
        """why nothing is learned or remembered now, as one line; "" when all is well"""
        learning = self._settings.learning
        self.picks, self.log = open_picks(
            self.store, self._paths, self.catalogue, enabled=learning.enabled and learning.remember_picks
        )
        self.learner = Learner(
            self.store, settings=learning, rates=LearningRates.shipped(NAMES), common=CommonRanker(self.store).blend,
            log=self.log, of_assistant=bool(self._paths.assistant),
        )  # fmt: skip
        self._clicks = PageClicks(self.store, self.picks, self.learner, page_size=self._settings.search.page_size)

    def _follow_state(self) -> None:
        """Open the state anew where its file was removed or replaced."""
        if self.store.is_lost:
            create_data_folder(self._paths)
            self._open_state()

    def close(self) -> None:
        """Close the files; the search cannot be used afterwards."""
        if "machines" in self.__dict__:
            self.machines.close()  # ends the wait of whoever still waits for one
        self.store.close()
        self.catalogue.close()

    @property
    def trouble(self) -> str:
        """Why the index cannot be read, as one line; "" when it can. Until then it is treated as empty."""
        return self._reader.trouble

    @property
    def reading(self) -> Reading:
        """The commit that queries run on now."""
        return self._reader.reading

    def written_out(self, text: str) -> str:
        """A query with its saved searches written out."""
        return self._saved.written_out(text).text

    def refresh(self) -> bool:
        """Look for a newer commit of the index and use it from now on; True when there was one."""
        create_data_folder(self._paths)  # it may have been removed
        is_newer = self._reader.refresh()
        if is_newer:
            self._gone.clear()
        return is_newer

    def search(self, request: SearchRequest) -> ResultPage:
        """The page that answers a request; it is kept, so that what is opened on it can be learned from."""
        started, now = time.perf_counter(), time.time()
        tonight = pages.end_of_day(now)
        self._follow_state()
        reading = self._reader.reading
        written = self._saved.written_out(request.text, as_you_type=request.as_you_type)
        typed = parse(written.text, now=now, as_you_type=request.as_you_type)
        typed = with_neighbours(typed, reading.snapshot, (*reading.languages, *reading.own_languages))
        if request.order == "learned" and asks_for_people(typed):  # no word says which of their mails matters more
            request = structs.replace(request, order="modified")
        found, far, unasked = self._everywhere(reading, request, typed, now, tonight)
        candidates, is_as_typed = found.candidates, found.query is typed
        table = joined([found.table, *(one.table for one in far)], self._limit(request)) if far else found.table
        ranked = rank(table, candidates, found.closeness, reading.snapshot, self.learner, self.day_of, tonight)
        size, draw = self._settings.search.page_size, self._draw(request)
        ranked, (shown, owners) = pages.arranged(ranked, request, page_size=size, draw=draw)
        chosen = list(shown)[: request.limit]
        by_words = pages.bm25_ranks(ranked.rows_shared)
        hits = pages.make_hits(ranked, {i: shown[i] for i in chosen}, by_words)
        self._purge(hits)
        queries = {one.machine: one.query for one in far}
        visit = pages.shown_page(ranked, chosen, hits, request, self.picks.query_key(found.terms), owners, queries)
        n_matches = candidates.n_matches + sum(one.n_matches for one in far)
        n_all_words = candidates.n_all_words + sum(one.n_all_words for one in far)
        has_reasons = request.order == "learned" and ranked.has_words
        return ResultPage(
            request=request,
            hits=hits,
            n_matches=n_matches,
            n_all_words=n_all_words,
            n_documents=found.n_documents,
            seconds=time.perf_counter() - started,
            problems=written.as_typed(pages.remarks(typed, candidates)),
            suggestion=found.better if is_as_typed else "",
            searched="" if is_as_typed else found.better,
            by_words="" if request.order != "learned" else self._meaning.why_by_words(found.query),
            relaxed=n_all_words < min(FEW, n_matches),
            facets=self._facets(reading, candidates, request, tonight),
            features=ranked.table.features[chosen],
            words=tuple(dict.fromkeys(sum((one.words for one in far), pages.highlight_words(candidates)))),
            unasked=unasked,
            page_id=self._shown.add(visit),
            query=visit.query,
            reasons=self._reasons(ranked, found, {i: by_words[i] for i in shown}, tonight) if has_reasons else None,
        )

    def _facets(self, reading: Reading, candidates: Candidates, request: SearchRequest, tonight: float) -> Facets:
        return facets_of(
            reading.snapshot, candidates.admitted, folder_names(reading.snapshot, self.catalogue),
            within=request.folder, roots=self.catalogue.roots, now=tonight,
        )  # fmt: skip

    def _reasons(self, ranked: Ranked, found: pages.Found, shown: dict[int, int], tonight: float) -> Reasons:
        """Why the candidates `shown`, each with its rank by BM25F, stand in this order."""
        times = partial(self.picks.times, found.terms, completions=found.completions, now=tonight)
        return pages.reasons_of(ranked, shown, times)

    def _everywhere(
        self, reading: Reading, request: SearchRequest, typed: Query, now: float, tonight: float
    ) -> tuple[pages.Found, list[FarFound], tuple[str, ...]]:
        """What this machine and the other machines asked find; and a line for each of those that took no part."""
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
    ) -> tuple[CollectionStatistics, Callable[[CollectionStatistics], pages.Found]]:
        """Answer another machine in two steps: this collection's counts, then its results given the others' counts."""
        self._follow_state()
        reading, typed = self.reading.stemmed(languages), parse(request.text, now=now)
        return reading.statistics(typed), lambda others: self._found(
            reading.among_others(others), request, typed, now, tonight
        )

    def _found(self, reading: Reading, request: SearchRequest, typed: Query, now: float, tonight: float) -> pages.Found:
        query, candidates, closeness, better = self._look_up(reading, request, typed, now, tonight)
        terms, completions = pages.query_terms(candidates, reading.languages)
        table = table_of(reading, self.catalogue, candidates, closeness, self.picks, terms, completions, now=tonight)
        if not asks_for_threads(query):
            table = with_threads(table, self.catalogue)
        return pages.Found(
            query, candidates, better, terms, completions, table, closeness, reading.snapshot.n_documents
        )

    def _look_up(
        self, reading: Reading, request: SearchRequest, query: Query, now: float, tonight: float
    ) -> tuple[Query, Candidates, Closeness | None, str]:
        """What a query finds and a better spelling; if nothing has all its words, what the surely meant one finds."""
        closeness = self._closeness(reading, query, request)
        candidates = self._candidates(reading, query, request, tonight, closeness)
        if request.as_you_type or candidates.named.any():
            return query, candidates, closeness, ""
        is_literal = candidates.n_matches or request.as_typed or isinstance(query.root, Phrase) or not query.operators
        if not is_literal and (words := in_words(query, len(candidates.words))) != query.text:
            as_typed = structs.replace(request, as_typed=True)
            found = self._look_up(reading, as_typed, parse(words, now=now), now, tonight)
            if found[1].n_matches:
                return *found[:3], words
        better = suggestion(query, candidates, reading.vocabulary)
        is_sure = is_surely_meant(query.text, better)
        if not candidates.n_matches and not (better and is_sure) and is_one_word(query):
            begun = self._candidates(reading, parse(f"{query.text}*", now=now), request, tonight, None)
            better, is_sure = (f"{query.text}*", True) if begun.n_matches else (better, is_sure)
        if not better:
            return query, candidates, closeness, ""
        meant = parse(better, now=now)
        near = self._closeness(reading, meant, request)
        instead = self._candidates(reading, meant, request, tonight, near)
        # A text that says the same in other words lacks these: where meaning answers, the query stays as typed.
        unfound = not request.as_typed and not candidates.n_all_words and closeness is None
        if is_sure and unfound and instead.n_all_words:
            return meant, instead, near, better
        is_better = instead.n_all_words or (is_sure and most_words_held(instead) > most_words_held(candidates))
        return query, candidates, closeness, better if is_better else ""

    def _closeness(self, reading: Reading, query: Query, request: SearchRequest) -> Closeness | None:
        if request.order != "learned":
            return None
        return self._meaning.closeness(reading.alone, query, wait=not request.as_you_type)

    def _candidates(
        self, reading: Reading, query: Query, request: SearchRequest, now: float, closeness: Closeness | None
    ) -> Candidates:
        narrow = narrowing(reading.snapshot, request, reading.folder_ids, now=now)
        named = named_in(reading.snapshot, query.text, self.catalogue.documents, narrow)
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

    def day_of(self, row: DocumentRow) -> float | None:
        """The date at the beginning of a document's text."""
        return self._day_of(row.doc_id, row.content_hash)

    def _draw(self, request: SearchRequest) -> int | None:
        """The seed, the same all session, that interleaves the first page with plain BM25F; None where none is."""
        learning = self._settings.learning
        if not (learning.interleave and learning.enabled and request.explore):
            return None
        return int.from_bytes(session_nonce(self.store, now=time.time())[:8], "little")

    def _purge(self, hits: tuple[Hit, ...]) -> None:
        """Note each missing file in the catalogue once: it may be busy, and nobody should wait for it twice."""
        for hit in hits:
            if hit.missing and hit.path and hit.path not in self._gone:
                self._gone.add(hit.path)
                with contextlib.suppress(IndexerError):  # a full disk is no reason not to answer; scans find it too
                    self.catalogue.purge(hit.path)

    def opened(self, page: ResultPage, hit: Hit) -> None:
        """Record that a result of a page was opened: a pick at once, a click when the page is left."""
        with self._unless_unkept():
            if self.unkept or self._shown.change(page.page_id, lambda visit: self._clicks.opened(visit, hit)):
                return
            if not hit.machine:  # on a page that was left before, or has no lesson
                self.picks.record(page.query, hit.path, hit.part, type=hit.type, now=time.time())

    def leave(self, page: ResultPage) -> str | None:
        """The user is done with a page: learn from it once. A sentence that says what was learned, None for nothing."""
        visit = self._shown.take(page.page_id)
        with self._unless_unkept():
            return self._clicks.leave(visit, source="screen") if visit is not None and not self.unkept else None
        return None

    def recent(self, *, n_opened: int = 8, n_changed: int = 20) -> ResultPage:
        """A page for an empty query: the documents opened last, then those changed last; nothing is kept for it.

        An archive counts as one changed document; those dated more than a day ahead (a wrong clock) are left out.
        """
        page = self.search(SearchRequest("", order="modified", limit=PARTS * n_changed))
        self._shown.take(page.page_id)
        until = time.time() + DAY
        past = [hit for hit in page.hits if hit.modified < until]
        whole = {hit.path for hit in past if not hit.part}
        changed = [hit for hit in past if not (hit.part and hit.path in whole)][:n_changed]
        first = self.picks.lately(self.catalogue.paths(), self.catalogue.parts_of, limit=n_opened)
        rows = self.catalogue.documents(first)
        opened = [pages.make_hit(rows[doc_id], 1, score=0.0, bm25_rank=0) for doc_id in first if doc_id in rows]
        hits = (*opened, *(hit for hit in changed if hit.doc_id not in first))
        ranked = tuple(structs.replace(hit, rank=rank) for rank, hit in enumerate(hits, 1))
        return structs.replace(page, hits=ranked, words=(), page_id=0)

    def failures(self) -> list[tuple[str, str]]:
        """(path, reason) of each file that could not be read."""
        return [(failure.path, failure.reason) for failure in self.catalogue.failures()]

    def pending_outcomes(self) -> list[Outcome]:
        """The ranks of results that were opened on pages still open: what `leave` will record."""
        return [outcome for visit in self._shown.all() for outcome in self._clicks.outcomes_of(visit)]

    def follow(self, moves: Iterable[tuple[str, str]]) -> None:
        """Let what was learned about files follow them; `moves` are pairs of old and new path."""
        with self._unless_unkept():
            for old, new in moves:
                self.picks.rename(old, new)

    def keep(self, page: ResultPage) -> ShownPage | None:
        """Make this the page that `open` uses, also in other processes; the former one is left."""
        visit = self._shown.of(page.page_id)
        with self._unless_unkept():
            self._clicks.exchange(visit)
        return visit

    def keep_places(self, page: ShownPage | None, places: Sequence[tuple[int, int]]) -> None:
        """Remember where (line, page) the passages printed for its first results are, if `page` is the one kept now."""
        with self._unless_unkept(), self.store.transaction(durable=False):
            visit = load_shown(self.store)
            if visit is not None and page is not None and visit.time == page.time:
                save_shown(self.store, structs.replace(visit, places=tuple(places)))

    def here(self, page: ResultPage, hit: Hit, how: How, data_dir: Path) -> tuple[Hit, How]:
        """The result to open, and how; one of another machine is fetched first and gets its path here. MachineError."""
        visit = self._shown.of(page.page_id)
        if not hit.machine or visit is None:
            return hit, how
        row, how = self.machines.bring(visit, hit.rank, how, data_dir)
        return structs.replace(hit, path=row.path), how

    def open_shown(self, page: ShownPage | None, rank: int, far: DocumentRow | None = None) -> Hit | None:
        """Record that result `rank` of a kept page was opened, and return it; None when there is no such result.

        If another search has replaced the page meanwhile, the page is left at once. `far` is the row of a result of
        another machine.
        """
        with self._unless_unkept(), self.store.transaction():
            kept = load_shown(self.store)
            if page is None or not 1 <= rank <= page.n_shown:
                return None
            visit = kept if kept is not None and kept.time == page.time else page
            doc_id = visit.doc_ids[rank - 1]
            if (row := far or self.catalogue.documents([doc_id]).get(doc_id)) is None:
                return None
            aside = Aside(machine=visit.machines[rank - 1]) if far else PLAIN
            hit = pages.make_hit(
                row, rank, score=float(visit.scores[rank - 1]), bm25_rank=visit.bm25_ranks[rank - 1], aside=aside
            )
            after = self._clicks.opened(visit, hit)
            if visit is kept:
                save_shown(self.store, after)
            elif not page.opened:  # else its lesson was learned when it was left
                self._clicks.leave(after, source="command")
            return hit
        return None  # nothing could be kept

    @contextlib.contextmanager
    def _unless_unkept(self) -> Iterator[None]:
        """If the state can no longer be written (a full disk), what would be kept is dropped, and `unkept` says so."""
        self._follow_state()
        try:
            yield
        except StateError as error:
            if not is_unwritable(error.__cause__):
                raise
            self.unkept = UNKEPT.format(cause(error.__cause__, self.store.path))

    def snippet(self, page: ResultPage, hit: Hit, width: int = 160) -> Snippet:
        if hit.machine:
            return self.machines.snippet(page, hit, width)
        return self._texts.snippet(hit, self._row(hit), page.words, width, self.reading.snapshot.generation)

    def _row(self, hit: Hit) -> DocumentRow | None:
        return self.catalogue.documents([hit.doc_id]).get(hit.doc_id)

    def text_of(self, hit: Hit) -> tuple[str, tuple[int, ...]]:
        """The whole extracted text of a result, and the offsets at which its pages begin."""
        row = self._row(hit)
        return self._texts.of(hit.doc_id, self.reading.snapshot.generation), row.pages if row else ()

    def preview(self, page: ResultPage, hit: Hit, width: int = 160) -> Preview:
        """The whole text of one result with its matches, and where the snippet of that width is in it."""
        row = self._row(hit)
        if hit.machine:
            note, text = self.machines.text_or_why(hit.machine, hit.doc_id)
        else:
            note = "the file is gone" if hit.missing or row is None else row.truncated
            text = self._texts.of(hit.doc_id, self.reading.snapshot.generation)
        return preview(text, hit, page.words, width, pages=row.pages if row else (), note=note)

    def explain(self, page: ResultPage, hit: Hit) -> Explanation:
        return explanation(page, hit)

    def why(self, page: ResultPage, hit: Hit) -> str:
        """The reason in two to five words; "" where the words alone would give the same place."""
        if hit.by_meaning:
            return f"by meaning, in {hit.foreign}" if hit.foreign else "by meaning"
        return page.reasons.words(hit.rank - 1, hit.type) if page.reasons is not None else ""

    def status(self) -> IndexStatus:
        return index_status(self._settings, self._paths, self.catalogue, self.reading, self._meaning)
