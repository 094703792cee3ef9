"""Clicks on a shown page: what was opened, what was passed over and how far down, and the lesson once it is left."""

from __future__ import annotations

import time

import msgspec
import numpy as np

from app.learning import outcomes
from app.learning.learner import Learner
from app.learning.pick_keys import pack
from app.learning.picks import Picks
from app.search.results import Hit
from app.search.shown_page import ShownPage, forget_shown, load_shown, save_shown
from app.store import Store
from foltr.online.interleaving import FIRST, winner
from indexer.retrieval.features import MANIFEST_HASH


class PageClicks:
    """Records clicks and learns once from each page."""

    def __init__(self, store: Store, picks: Picks, learner: Learner, *, page_size: int) -> None:
        self._store, self._picks, self._learner, self._page_size = store, picks, learner, page_size

    def opened(self, visit: ShownPage, hit: Hit) -> ShownPage:
        """The visit with one more opened result; it counts as a pick at once. The same result counts once.

        A result of another machine counts as a pick on that machine, where it is fetched from.
        """
        place = hit.rank - 1
        if place in visit.opened or place >= len(visit.doc_ids):
            return visit
        if not hit.machine:
            self._picks.record(visit.query, hit.path, hit.part, type=hit.type, now=time.time())
        return msgspec.structs.replace(visit, opened=(*visit.opened, place))

    def leave(self, visit: ShownPage, *, source: str) -> str | None:
        """Learn from a page that is done; a sentence that says what was learned, None when nothing was opened."""
        if not visit.opened or not self._learner.settings.enabled:
            return None
        if visit.manifest_hash != MANIFEST_HASH:
            return None  # shown in another order than the ranker's, or by another version: no lesson in its ranks
        clicks = self._clicks(visit)
        for outcome in self.outcomes_of(visit):
            outcomes.record(self._store, outcome._replace(source=source))
        return self._learner.learn(
            visit.features, np.arange(len(clicks)), clicks,
            scores=visit.scores, query=pack(visit.query), marks=visit.marks, beyond=visit.beyond,
        )  # fmt: skip

    def _clicks(self, visit: ShownPage) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """[k] of the first page, or down to the result after the last one opened: what is further down was not seen."""
        k = min(len(visit.doc_ids), max(self._page_size, max(visit.opened) + 2))
        clicks = np.zeros(k, dtype=np.bool_)
        clicks[list(visit.opened)] = True
        return clicks

    def outcomes_of(self, visit: ShownPage) -> list[outcomes.Outcome]:
        """The ranks of what was opened on a page, as recorded when the page is left; none for pages in other orders."""
        if not visit.opened or visit.manifest_hash != MANIFEST_HASH or not self._learner.settings.enabled:
            return []
        clicks = self._clicks(visit)
        best: str | None = None
        if visit.owners:
            n = min(len(clicks), self._page_size)
            team = winner(visit.owners[:n], clicks[:n])
            best = None if team is None else outcomes.LEARNED if team == FIRST else outcomes.BM25
        winners = (best, *(None for _ in visit.opened[1:]))  # a page has one winner, however many results were opened
        return [
            outcomes.Outcome(time.time(), visit.learned_ranks[place], visit.bm25_ranks[place], "screen", won)
            for place, won in zip(visit.opened, winners, strict=True)
        ]

    def exchange(self, visit: ShownPage | None) -> None:
        """Keep this page, or none, and leave the one kept before, in one transaction: no other process leaves it."""
        kept = load_shown(self._store)
        with self._store.transaction(durable=kept is not None and bool(kept.opened)):
            kept = load_shown(self._store)  # another process may have had it meanwhile
            forget_shown(self._store)
            if kept is not None:
                self.leave(kept, source="command")
            if visit is not None:
                save_shown(self._store, visit)
