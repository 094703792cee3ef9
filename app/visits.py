"""A page from the moment it is shown until it is left: what was opened, and the lesson in it."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from app import last_page, outcomes
from app.last_page import LastPage
from app.learner import Learner
from app.outcomes import BM25, LEARNED, Outcome
from app.picks import Picks
from app.results import Hit
from app.store import Store
from foltr.online.interleaving import FIRST, winner
from indexer.retrieval.features import MANIFEST_HASH


class Visits:
    """Records clicks and learns once from each page."""

    def __init__(self, store: Store, picks: Picks, learner: Learner, *, page_size: int) -> None:
        self._store, self._picks, self._learner, self._page_size = store, picks, learner, page_size

    def opened(self, visit: LastPage, hit: Hit) -> LastPage:
        """The visit with one more opened result; it counts as a pick at once. The same result counts once."""
        place = hit.rank - 1
        if place in visit.opened or place >= len(visit.doc_ids):
            return visit
        self._picks.record(visit.query, hit.path, hit.part, type=hit.type, now=time.time())
        return replace(visit, opened=(*visit.opened, place))

    def leave(self, visit: LastPage, *, source: str) -> str | None:
        """Learn from a page that is done; a sentence that says what was learned, None when nothing was opened."""
        if not visit.opened or not self._learner.settings.enabled:
            return None
        if visit.manifest_hash != MANIFEST_HASH:
            return None  # shown in another order than the ranker's, or by another version: no lesson in its ranks
        clicks = self._clicks(visit)
        self._note_outcomes(visit, clicks, source)
        lesson = self._learner.learn(visit.features, np.arange(len(clicks)), clicks, scores=visit.scores)
        return lesson.sentence if lesson else None

    def _clicks(self, visit: LastPage) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """[k] of the first page, or down to the result after the last one opened."""
        k = min(len(visit.doc_ids), max(self._page_size, max(visit.opened) + 2))
        clicks = np.zeros(k, dtype=np.bool_)
        clicks[list(visit.opened)] = True
        return clicks

    def _note_outcomes(
        self, visit: LastPage, clicks: np.ndarray[tuple[int], np.dtype[np.bool_]], source: str
    ) -> None:
        best: str | None = None
        if visit.owners:
            n = min(len(clicks), self._page_size)
            team = winner(visit.owners[:n], clicks[:n])
            best = None if team is None else LEARNED if team == FIRST else BM25
        for place in visit.opened:
            outcomes.record(
                self._store,
                Outcome(time.time(), visit.learned_ranks[place], visit.bm25_ranks[place], source, best),
            )
            best = None  # a page has one winner, however many results were opened

    def keep(self, visit: LastPage) -> None:
        """Make this the page that `open N` speaks of."""
        last_page.save(self._store, visit)

    def kept(self) -> LastPage | None:
        """The page that `open N` speaks of."""
        return last_page.load(self._store)

    def settle(self) -> str | None:
        """Leave the kept page, now that something else is searched."""
        visit = self.kept()
        if visit is None:
            return None
        last_page.forget(self._store)
        return self.leave(visit, source="command")
