"""Meaning as the search uses it: the encoder, loaded once in the background, and the newest vectors.

While a query is being typed, its page never waits for meaning; the page of the finished query waits for the encoder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from app.paths import Paths
from app.search.open_commit import Reading
from app.settings import MeaningSettings
from indexer.meaning import encoder, multilingual, vectors
from indexer.meaning.nearest import Closeness, Nearest, asked_plainly, conditions, unknown, with_other_languages
from indexer.postings import Ints, Mask, Vectors
from indexer.query.nodes import Query
from indexer.retrieval.candidates import Candidates
from indexer.text.language import NAMES

N_NEAREST = 100
"""candidates by meaning, which need not hold a word of the query"""
LEAST = 0.3
"""least similarity of a candidate by meaning; what is near to everything stays below it"""
LEAST_WORDS = 3
"""least words in title and text of a candidate by meaning: "Sheet1" is near to everything, too"""
KEPT_QUERIES = 256
FRESH_SECONDS = 10.0
"""while somebody types, vectors made meanwhile are read at most this often"""


def why_without(settings: MeaningSettings) -> str:
    """Why this device cannot search by meaning; "" when it can."""
    return encoder.why_none(settings.model) if settings.enabled else "switched off (meaning.enabled)"


class _Encoded:
    """One encoder, loaded once in the background, and the newest vectors that it made."""

    def __init__(self, folder: Path, load: Callable[[], encoder.SentenceEncoder]) -> None:
        self.folder, self._load = folder, load
        self.why_not = ""
        """why it could not be loaded"""
        self._encoder: encoder.SentenceEncoder | None = None
        self._vector_of: Callable[[str], Vectors] | None = None
        self._loading: threading.Thread | None = None
        self._lock = threading.Lock()
        self._read: tuple[Reading, tuple[int, int], float, Nearest] | None = None

    @property
    def is_made(self) -> bool:
        return bool(vectors.state_of(self.folder)[1])

    def load(self) -> threading.Thread:
        with self._lock:
            if self._loading is None:
                self._loading = threading.Thread(target=self._load_now, name="foltr-encoder")
                self._loading.start()
            return self._loading

    def _load_now(self) -> None:
        try:
            loaded = self._load()
        except encoder.NoEncoder as error:
            self.why_not = str(error)  # searching by words goes on
            return
        self._vector_of = lru_cache(KEPT_QUERIES)(lambda text: loaded.encode([text])[0])
        self._encoder = loaded

    def closeness(self, text: str, reading: Reading, *, wait: bool) -> Closeness | None:
        self.load().join(None if wait else 0)
        nearest = self._nearest(reading, 0.0 if wait else FRESH_SECONDS)
        return nearest.to(self._vector_of(text)) if nearest and self._vector_of else None

    def _nearest(self, reading: Reading, fresh_seconds: float) -> Nearest | None:
        """The vectors for a commit, read again after `fresh_seconds` if they have changed since."""
        if self._encoder is None:
            return None
        with self._lock:
            state, now = vectors.state_of(self.folder), time.monotonic()
            if self._read is not None and self._read[0] is reading:
                _, known, when, nearest = self._read
                if state == known or now - when < fresh_seconds:
                    return nearest
            nearest = Nearest(vectors.read(self.folder, self._encoder.kind.name), reading.snapshot)
            self._read = reading, state, now, nearest
            return nearest


class Meaning:
    """How close documents are to a query; safe to call from several threads."""

    def __init__(self, settings: MeaningSettings, paths: Paths, *, resident: bool) -> None:
        """`resident`: this process answers many queries, so that the encoder is loaded before the first of them."""
        self._settings, self._folder = settings, paths.index
        own, across = not why_without(settings), settings.enabled and settings.languages
        self._own = _Encoded(paths.index, lambda: encoder.load(settings.model)) if own else None
        self._across = _Encoded(paths.languages, multilingual.load) if across else None
        self._why_by_words = "" if resident or settings.one_shot else "meaning.one_shot is off, and nothing serves"
        for one in (self._own, self._across):
            if resident and one is not None and one.is_made:
                one.load()

    def closeness(self, reading: Reading, query: Query, *, wait: bool) -> Closeness | None:
        """How close each document is to a plain query; None where that is not asked for, or not known (yet).

        With `wait` the encoder and the newest vectors are loaded first; without it, only what is at hand counts.
        """
        own, across = (one if one and one.is_made else None for one in (self._own, self._across))
        text = asked_plainly(query) if own or across else ""
        if not text or self._why_by_words:
            return None
        near = own.closeness(text, reading, wait=wait) if own else None
        others = multilingual.in_other_languages(query, reading.matcher()) if across else np.zeros(0, dtype=np.bool_)
        far = across.closeness(text, reading, wait=wait) if across and others.any() else None
        if far is None:
            return near
        return with_other_languages(near or unknown(reading.snapshot), far, others, multilingual.as_of_words)

    def why_by_words(self, query: Query) -> str:
        """Why a query that meaning could answer is answered by words alone; "" where meaning has a part."""
        if self._own is None or not self._own.is_made or not asked_plainly(query):
            return ""
        return self._why_by_words or self._own.why_not

    def coverage(self, reading: Reading) -> tuple[str, int, int]:
        """Why there is no encoder, or ""; how many different documents have vectors, and how many can have them."""
        why = why_without(self._settings)
        if why:
            return why, 0, 0
        return why, *vectors.n_with_vectors(reading.snapshot, self._folder, encoder.kind_of(self._settings.model))


def nearest_documents(closeness: Closeness, reading: Reading, query: Query, narrow: Mask | None) -> Ints:
    """The documents closest to a query among those that its filters and `narrow` admit."""
    matcher, documents = reading.matcher(), reading.snapshot.documents
    eligible = reading.snapshot.alive & (documents["n_title"] + documents["n_body"] >= LEAST_WORDS)
    if narrow is not None:
        eligible &= narrow
    for condition in conditions(query):
        eligible = eligible & matcher.admitted(condition)
    across = closeness.is_across(np.arange(eligible.size))  # counted apart, so that they take no others' places
    return np.concatenate([closeness.best(eligible & chosen, N_NEAREST, LEAST) for chosen in (~across, across)])


def languages_of(reading: Reading, closeness: Closeness, docs: Ints) -> dict[int, str]:
    """Place in `docs` -> the name of its language, for those found across languages."""
    languages = reading.snapshot.documents.take("language", docs)
    return {i: NAMES[languages[i]] for i in np.flatnonzero(closeness.is_across(docs)).tolist()}


def passages_without_words(closeness: Closeness, candidates: Candidates, docs: Ints) -> dict[int, tuple[int, int]]:
    """Place in `docs` -> its closest passage, for the candidates that hold none of the words in any field."""
    held = np.isnan(closeness.similarity[candidates.docs])
    for counts in candidates.tf.values():
        held |= counts.any(axis=1)
    places = np.flatnonzero(np.isin(docs, candidates.docs[~held]))
    return {place: closeness.passage(int(docs[place])) for place in places.tolist()}
