"""Meaning as the search uses it: the encoder, loaded once beside the first questions, and the newest vectors.

A page by words never waits for a page by meaning while a query is typed; the settled page waits for the encoder once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from app.paths import Paths
from app.search.reading import Reading
from app.settings import MeaningSettings
from indexer.meaning import encoder, vectors
from indexer.meaning.making import n_with_vectors
from indexer.meaning.nearest import Closeness, Nearest, asked_plainly, conditions
from indexer.postings import Ints, Mask, Vectors
from indexer.query.nodes import Query
from indexer.retrieval.candidates import Candidates
from indexer.retrieval.concepts import ConceptLookup
from indexer.retrieval.matching import Matcher

N_NEAREST = 100
"""candidates that need not hold a word of the query"""
LEAST = 0.3
"""similarity below which a document is no candidate for its meaning; below it stands what is near to everything"""
LEAST_WORDS = 3
"""in title and text, below which a document is no candidate for its meaning: "Sheet1" is near to everything, too"""
KEPT_QUERIES = 256
FRESH_SECONDS = 10.0
"""vectors that are made while somebody types are taken in after so long"""


def why_without(settings: MeaningSettings) -> str:
    """Why this device has no meaning, "" when it has."""
    return encoder.why_none(settings.model) if settings.enabled else "switched off (meaning.enabled)"


class Meaning:
    """How close documents are to a query; safe to call from several threads."""

    def __init__(self, settings: MeaningSettings, paths: Paths, *, resident: bool) -> None:
        """`resident`: this process answers many queries, so that the encoder is loaded before the first of them."""
        self._settings, self._folder = settings, paths.index
        self._on = not why_without(settings)
        self._why_by_words = "" if resident or settings.one_shot else "meaning.one_shot is off, and nothing serves"
        self._encoder: encoder.Encoder | None = None
        self._vector_of: Callable[[str], Vectors] | None = None
        self._loading: threading.Thread | None = None
        self._lock = threading.Lock()
        self._read: tuple[Reading, tuple[int, int], float, Nearest] | None = None
        if resident and self._on and vectors.state_of(self._folder)[1]:
            self._load()

    def closeness(self, reading: Reading, query: Query, *, wait: bool) -> Closeness | None:
        """How close each document is to a plain query; None where that is not asked for, or not known (yet).

        Who waits has the encoder and the newest vectors; who types has what is at hand.
        """
        text = self._asked(query)
        if not text or self._why_by_words:
            return None
        self._load().join(None if wait else 0)
        nearest = self._nearest(reading, 0.0 if wait else FRESH_SECONDS)
        return nearest.to(self._vector_of(text)) if nearest and self._vector_of else None

    def why_by_words(self, query: Query) -> str:
        """Why a query that meaning would answer here is answered by its words alone; "" where it is not so."""
        return self._why_by_words if self._asked(query) else ""

    def _asked(self, query: Query) -> str:
        """The words of a plain query where there are vectors, else ""."""
        return asked_plainly(query) if self._on and vectors.state_of(self._folder)[1] else ""

    def coverage(self, reading: Reading) -> tuple[str, int, int]:
        """Why there is no encoder, or ""; how many different documents have vectors, and how many can have them."""
        why = why_without(self._settings)
        if why:
            return why, 0, 0
        return why, *n_with_vectors(reading.snapshot, self._folder, encoder.kind_of(self._settings.model))

    def _load(self) -> threading.Thread:
        with self._lock:
            if self._loading is None:
                self._loading = threading.Thread(target=self._load_now, name="foltr-encoder")
                self._loading.start()
            return self._loading

    def _load_now(self) -> None:
        try:
            loaded = encoder.load(self._settings.model)
        except encoder.NoEncoder as error:
            self._why_by_words = str(error)  # words find as ever
            return
        self._vector_of = lru_cache(KEPT_QUERIES)(lambda text: loaded.encode([text])[0])
        self._encoder = loaded

    def _nearest(self, reading: Reading, fresh_seconds: float) -> Nearest | None:
        """The vectors for a commit; those made since are read again after so long."""
        if self._encoder is None:
            return None
        with self._lock:
            state, now = vectors.state_of(self._folder), time.monotonic()
            if self._read is not None and self._read[0] is reading:
                _, known, when, nearest = self._read
                if state == known or now - when < fresh_seconds:
                    return nearest
            nearest = Nearest(vectors.read(self._folder, self._encoder.kind.name), reading.snapshot)
            self._read = reading, state, now, nearest
            return nearest


def nearest_documents(closeness: Closeness, reading: Reading, query: Query, narrow: Mask | None) -> Ints:
    """The documents closest to a query among those that its filters and `narrow` admit."""
    matcher = Matcher(ConceptLookup(reading.snapshot, reading.languages), reading.folder_ids, reading.named_ids)
    documents = reading.snapshot.documents
    eligible = reading.snapshot.alive & (documents["n_title"] + documents["n_body"] >= LEAST_WORDS)
    if narrow is not None:
        eligible &= narrow
    for condition in conditions(query):
        eligible = eligible & matcher.admitted(condition)
    return closeness.best(eligible, N_NEAREST, LEAST)


def passages_without_words(closeness: Closeness, candidates: Candidates, docs: Ints) -> dict[int, tuple[int, int]]:
    """Place in `docs` -> its closest passage, for the candidates that hold none of the words in any field."""
    held = np.isnan(closeness.similarity[candidates.docs])
    for counts in candidates.tf.values():
        held |= counts.any(axis=1)
    places = np.flatnonzero(np.isin(docs, candidates.docs[~held]))
    return {place: closeness.passage(int(docs[place])) for place in places.tolist()}
