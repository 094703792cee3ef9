"""The texts of documents that were shown lately: the next letter of a query mostly brings back the same ones."""

from __future__ import annotations

import threading
from collections import OrderedDict

from app.search.snippets import without_marks
from indexer.storage.catalogue import Catalogue

MOST_KEPT = 2_000_000
"""characters kept together; one text is kept however long it is"""


class RecentTexts:
    """Unpacked texts by document, and whether marks of lines are blanks in them; any thread may ask."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._lock = threading.Lock()
        self._generation = -1
        self._kept: OrderedDict[tuple[int, bool], str] = OrderedDict()
        self._n_kept = 0
        """characters"""

    def of(self, doc_id: int, generation: int, *, unmarked: bool = False) -> str:
        """The text of a document, "" when it was removed meanwhile; `unmarked`: see `without_marks`.

        What is kept is of the commit `generation`, and forgotten with it.
        """
        key = doc_id, unmarked
        with self._lock:
            if generation != self._generation:
                self._kept.clear()
                self._generation, self._n_kept = generation, 0
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        text = without_marks(self.of(doc_id, generation)) if unmarked else self._catalogue.text(doc_id)
        with self._lock:
            self._keep(key, text, generation)
        return text

    def _keep(self, key: tuple[int, bool], text: str, generation: int) -> None:
        if generation != self._generation or key in self._kept:
            return
        self._kept[key] = text
        self._n_kept += len(text)
        while self._n_kept > MOST_KEPT and len(self._kept) > 1:
            self._n_kept -= len(self._kept.popitem(last=False)[1])
