"""A better spelling of what was typed: which one, whether it is searched for unasked, and a query read as prose."""

from __future__ import annotations

import re

from indexer.query.nodes import Query, Word
from indexer.retrieval.candidates import Candidates
from indexer.retrieval.concepts import Concept
from indexer.retrieval.near_duplicates import ABSENT, evidence
from indexer.text.analysis import fold
from indexer.text.spelling import SHORTEST, Vocabulary, is_one_edit, suggest

_WORD = re.compile(r"[^\W_]+")
_OF_NAME = re.compile(r"(?<!\S)@$")
"""the @ before a corrected word, which is dropped: @taxx names no saved search, but @tax might"""
MAX_CORRECTED = 20
"""unknown words corrected in a query: a pasted text may have many, and each is compared with every known word"""
_SENTENCE, _NO_QUOTES = 5, str.maketrans(dict.fromkeys('"“”„«»', " "))
"""words from which on a query's quotes and capitals may be those of prose; and the table that removes quotes"""
_OPTION = re.compile(r"(?<!\S)-(?=\w\w?(?!\S))")
_CAMEL = re.compile(r"[a-z][A-Z]")
SURE_LETTERS = 5
"""a word of fewer is never replaced unasked"""


def suggestion(query: Query, candidates: Candidates, vocabulary: Vocabulary) -> str:
    """The query with its misspelt words replaced; "" when enough was found, or nothing better is known."""
    if candidates.n_matches and not candidates.relaxed:
        return ""
    unknown = [
        c for c, df in zip(candidates.concepts, candidates.any_df.tolist(), strict=True)
        if not df and c.surface[0].isalpha()
    ]  # fmt: skip
    better = suggest([c.surface[0] for c in unknown[:MAX_CORRECTED]], vocabulary) if unknown else {}
    text = query.text
    for concept in reversed(unknown):
        if word := better.get(concept.surface[0]):
            text = _with_word(text, concept, word)
    return text if text != query.text else ""


def in_words(query: Query, n_words: int) -> str:
    """The text of a query without dashes of options; a sentence without quotes and with AND, OR and NOT as words."""
    text = query.text
    for sign in reversed(query.operators if n_words >= _SENTENCE else ()):
        start, end = sign.position, sign.position + sign.length
        text = text[:start] + text[start:end].lower().translate(_NO_QUOTES) + text[end:]
    return " ".join(_OPTION.sub("", text).split())


def is_one_word(query: Query) -> bool:
    """Whether a query is nothing but a word of `SHORTEST` letters or more, which may be the beginning of others."""
    word = query.root
    return isinstance(word, Word) and not (word.exact or word.prefix) and len(query.text) >= SHORTEST


def most_words_held(candidates: Candidates) -> int:
    """The largest number of the query's content words that one document holds."""
    telling = [not concept.function_word for concept in candidates.concepts]
    return int((evidence(candidates)[:, telling] > ABSENT).sum(axis=1).max(initial=0))


def is_surely_meant(typed: str, better: str) -> bool:
    """Whether a suggestion may be searched for unasked, or offered though no document holds all of its words.

    Not if it changes a name like GeoLite, which may be in no file yet, a short word, a first or last letter, or a word
    by more than one edit: too many of these are words, and forms of words, that no file happens to hold.
    """
    words = typed.split()
    changed = [(a, b) for a, b in zip(words, better.split(), strict=False) if a != b]
    return all(not _CAMEL.search(word) and _is_slip(fold(word), fold(other)) for word, other in changed)


def _is_slip(word: str, other: str) -> bool:
    same_end = word[-1] == other[-1] or sorted(word) == sorted(other)
    return len(word) >= SURE_LETTERS and word[0] == other[0] and same_end and is_one_edit(word, other)


def _with_word(text: str, concept: Concept, word: str) -> str:
    """The text of a query with `word` in place of the concept, within the concept's node."""
    start = concept.node.position
    for match in _WORD.finditer(text, start, start + concept.node.length):
        if fold(match.group()) == concept.surface[0]:
            return _OF_NAME.sub("", text[: match.start()]) + word + text[match.end() :]
    return text
