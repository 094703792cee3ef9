"""Which languages a question is in, as the index knows them.

A word is of a language if it is a function word there, or if the documents in it hold the word at least a fifth as
often as those of the language that has it most. The question is in the languages that have most of its words: names are
in all of them, and a question of names alone is in every language; one of words that nobody has is in none.
"""

from __future__ import annotations

import numpy as np

from indexer.postings import Mask
from indexer.query.nodes import And, Query, Word
from indexer.retrieval.matching import Matcher
from indexer.text.analysis import fold
from indexer.text.language import LANGUAGES, is_function_word, told_by_signs

SHARE = 0.2
"""of the highest share of documents with a word that those of another language must have"""


def in_other_languages(query: Query, matcher: Matcher) -> Mask:
    """[n_numbers] the living documents whose language is known and none of the question's."""
    languages = np.asarray(matcher.snapshot.documents["language"])
    return np.asarray(matcher.snapshot.alive & ~_is_own(query, matcher, languages)[languages])


def _is_own(query: Query, matcher: Matcher, of_documents: Mask) -> Mask:
    """[n_languages] that the question is in; the unknown one always is."""
    if code := told_by_signs(query.text):
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
