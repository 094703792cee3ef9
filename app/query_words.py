"""What the words of a query are to the rest of the device: names in the pick memory, highlights, corrections."""

from __future__ import annotations

import re
from collections.abc import Callable

from indexer.query.parse import Query
from indexer.retrieval.candidates import Candidates
from indexer.retrieval.concepts import Concept
from indexer.text.analysis import fold
from indexer.text.language import stem
from indexer.text.spelling import Vocabulary, suggest

_WORD = re.compile(r"[^\W_]+")


def query_terms(candidates: Candidates, languages: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The stemmed words that name a query to the pick memory, and what its unfinished last word may become."""
    language = languages[0] if languages else ""
    terms = [stem(concept.surface[0], language) for concept in candidates.concepts]
    last = candidates.concepts[-1] if candidates.concepts else None
    if last is None or not getattr(last.node, "prefix", False):
        return terms, []
    return terms, list(dict.fromkeys(stem(run[0], language) for run in last.forms))


def highlight_words(candidates: Candidates) -> tuple[str, ...]:
    """What results are highlighted by: every form that counts as a match, phrases whole, prefixes with a star."""
    words: dict[str, None] = {}
    for concept in candidates.concepts:
        if getattr(concept.node, "prefix", False):
            words[concept.surface[0] + "*"] = None
        else:
            words.update(dict.fromkeys(" ".join(run) for run in concept.forms))
    return tuple(words)


def suggestion(query: Query, candidates: Candidates, vocabulary: Callable[[], Vocabulary]) -> str:
    """The query with its misspelt words replaced; "" when enough was found, or nothing better is known."""
    if candidates.n_matches and not candidates.relaxed:
        return ""
    unknown = [
        c for c, df in zip(candidates.concepts, candidates.any_df.tolist(), strict=True)
        if df <= 1 and c.surface[0].isalpha()
    ]  # fmt: skip
    better = suggest([c.surface[0] for c in unknown], vocabulary()) if unknown else {}
    text = query.text
    for concept in reversed(unknown):
        word = better.get(concept.surface[0])
        if word:
            text = _with_word(text, concept, word)
    return text if text != query.text else ""


def _with_word(text: str, concept: Concept, word: str) -> str:
    """The query with the place where the concept stands in its node replaced."""
    start = concept.node.position
    for match in _WORD.finditer(text, start, start + concept.node.length):
        if fold(match.group()) == concept.surface[0]:
            return text[: match.start()] + word + text[match.end() :]
    return text
