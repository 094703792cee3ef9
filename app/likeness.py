"""What to search for to find documents like a given one: the words that tell it from others."""

from __future__ import annotations

from collections import Counter

import numpy as np

from app.search.results import Hit
from app.search.search import Search
from indexer.retrieval.candidates import idf
from indexer.storage.catalogue import DocumentRow
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import is_ideographic, words_of
from indexer.text.language import detect, is_function_word, stem

N_WORDS = 12
MOST_READ = 20_000
"""characters of a text that are read"""
SHORTEST = 3
"""least letters of a word, except in Chinese, Japanese and Korean"""
IN_TITLE = 1.5
"""how much more a word of the title counts"""


def query_like(search: Search, document: Hit | DocumentRow) -> str:
    """The query that finds documents like this one; "" if no other holds one of its words."""
    if isinstance(document, Hit) and document.machine:
        text = search.machines.text_or_why(document.machine, document.doc_id)[1]
    else:
        text = search.catalogue.text(document.doc_id)
    reading = search.reading
    languages = (*reading.languages, *reading.own_languages)
    return " ".join(telling_words(reading.snapshot, languages, document.title, text))


def telling_words(snapshot: Snapshot, languages: tuple[str, ...], title: str, text: str) -> tuple[str, ...]:
    """The words of a document, in its order, of the highest tf sqrt(idf) that another document holds, too.

    Forms with one stem are one word, in the form that the document has most often. A text whose language is not told
    may be in any of `languages`. What it finds: docs/benchmarks.md.
    """
    words = words_of(f"{title}\n{text[:MOST_READ]}")
    language = detect(text)
    forms = _forms(words, language, without=(language,) if language else languages)
    in_title = {stem(word, language) for word in words_of(title)}
    worth = {}
    for key, own in forms.items():
        word = own.most_common(1)[0][0]
        df = max(snapshot.document_frequency(field, word) for field in ("body", "title"))
        if df > 1:
            rarity = float(np.sqrt(idf(snapshot.n_documents, df)))
            worth[word] = (IN_TITLE if key in in_title else 1.0) * own.total() * rarity
    best = set(sorted(worth, key=lambda word: -worth[word])[:N_WORDS])
    return tuple(word for word in dict.fromkeys(words) if word in best)


def _forms(words: tuple[str, ...], language: str, *, without: tuple[str, ...]) -> dict[str, Counter[str]]:
    """Stem -> its forms and how often each occurs; without function words of the languages `without`."""
    forms: dict[str, Counter[str]] = {}
    for word, n in Counter(words).items():
        is_long = len(word) >= SHORTEST or is_ideographic(word)
        if is_long and word.isalpha() and not is_function_word(word, without):
            forms.setdefault(stem(word, language), Counter())[word] += n
    return forms
