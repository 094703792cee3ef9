"""From the words of a query to the indexed terms that answer them.

A concept is one thing asked for: a word with the indexed forms that share its stem, the completions of a
prefix, the pieces of a joined word. It has one occurrence count for each document and field.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np

from indexer.postings import Floats, Ints
from indexer.query.nodes import Phrase, Query, Word, positive_words
from indexer.schema import TEXT_FIELDS
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import fold, is_half, raw_terms, raw_tokens, sequence, whole_term
from indexer.text.language import is_function_word, stem

MAX_FORMS = 12
"""indexed forms of one stem; the most frequent are taken"""
MAX_COMPLETIONS = 24
"""completions of one prefix"""
COMPLETED = 0.1
"""what an occurrence of a completion counts where the typed word is one itself: they fill in after its own matches"""
WHOLE = 0.1
"""a typed word that is in this share of the documents of its commonest completion, or more, is taken as finished"""
QUERY_FIELDS = {"from": ("author",), "path": ("path", "name"), None: TEXT_FIELDS}
"""where a query field looks; any other name is the index field itself"""


@dataclass(frozen=True, slots=True)
class Concept:
    """One thing asked for."""

    node: Word | Phrase
    forms: tuple[tuple[str, ...], ...]
    """alternatives; each is a run of terms that must all occur (one term, but for joined words)"""
    surface: tuple[str, ...]
    """the forms exactly as typed, folded: the rest of `forms` are stem variants or completions"""
    fields: tuple[str, ...]
    function_word: bool = False
    width: int = 1
    """how many positions of the query it takes: the pieces of a joined word"""
    offset: int = 0
    """its first position in the query, function words counted"""
    completions: tuple[tuple[str, ...], ...] = ()
    """what a word of the index, half typed perhaps, may become: these count little, and only where `forms` do not"""
    is_beginning: bool = False
    """any word that begins as `surface` answers it: `forms` are completions, or there are some beside them"""


class ConceptLookup:
    """The concepts of the words and phrases of one query, each looked up once however often it is asked for."""

    def __init__(self, snapshot: Snapshot, languages: tuple[str, ...]) -> None:
        self.snapshot, self.languages = snapshot, languages
        self._found: dict[tuple[Word | Phrase, int], list[Concept]] = {}

    def of(self, node: Word | Phrase) -> list[Concept]:
        """As `node_concepts`."""
        key = (node, node.position)  # the same word at two places is equal, and yet two nodes
        if key not in self._found:
            self._found[key] = node_concepts(self.snapshot, node, self.languages)
        return self._found[key]


def concepts_of(query: Query, lookup: ConceptLookup) -> tuple[Concept, ...]:
    """The concepts of a query, in its order; a phrase is one concept for each of its words."""
    found = [concept for node in positive_words(query) for concept in lookup.of(node)]
    ends = accumulate(concept.width for concept in found)
    return tuple(replace(concept, offset=end - concept.width) for concept, end in zip(found, ends, strict=True))


def node_concepts(snapshot: Snapshot, node: Word | Phrase, languages: tuple[str, ...]) -> list[Concept]:
    """The concepts of one word or phrase of the query."""
    fields = QUERY_FIELDS.get(node.field, (node.field or "body",))
    if isinstance(node, Phrase):
        return [Concept(node, ((term,),), (term,), fields) for term in sequence(node.text)]
    raws = raw_tokens(node.text)
    concepts: list[Concept] = []
    for i, raw in enumerate(raws):
        last = i == len(raws) - 1
        concepts.extend(_raw_concepts(snapshot, node, raw, fields, languages, prefix=node.prefix and last))
    return concepts


def _raw_concepts(
    snapshot: Snapshot, node: Word, raw: str, fields: tuple[str, ...], languages: tuple[str, ...], *, prefix: bool
) -> list[Concept]:
    terms, width = raw_terms(raw)
    if not terms:
        return [Concept(node, ((fold(raw),),), (fold(raw),), fields)]
    if width == 1:
        typed = fold(raw)
        whole = typed if any(term == typed for term, _ in terms) else terms[0][0]
        known = prefix and node.unfinished and node.text.endswith(raw) and _is_known(snapshot, whole, fields)
        if (prefix and not known) or (is_half(whole) and not node.exact):
            runs = tuple((term,) for term in _completions(snapshot, whole, fields))
            return [Concept(node, runs, (whole,), fields, is_beginning=prefix)]
        forms = [whole] if node.exact else [whole, *_stem_forms(snapshot, whole, languages)]
        function_word = not node.exact and node.field is None and is_function_word(whole, languages)
        concept = Concept(node, tuple((f,) for f in forms), (whole,), fields, function_word)
        others = _other_endings(snapshot, whole, fields, forms) if known else ()
        return [replace(concept, completions=others, is_beginning=True) if others else concept]
    return _joined_concepts(snapshot, node, terms, fields, whole=whole_term(raw), prefix=prefix)


def _joined_concepts(
    snapshot: Snapshot,
    node: Word,
    terms: Sequence[tuple[str, int]],
    fields: tuple[str, ...],
    *,
    whole: str,
    prefix: bool,
) -> list[Concept]:
    pieces: dict[int, str] = {}
    for term, offset in terms:
        pieces.setdefault(offset, term)
    parts = tuple(pieces[i] for i in sorted(pieces))
    if node.exact and whole:
        return [Concept(node, ((whole,),), (whole,), fields, width=len(parts))]
    known = bool(whole) and _is_known(snapshot, whole, fields)
    if prefix and whole and not (node.unfinished and known):
        completed = [(t,) for t in _completions(snapshot, whole, fields)]
        return [Concept(node, (*completed, parts), (whole,), fields, width=len(parts), is_beginning=True)]
    wordlike = all(len(part) > 1 and part.isalpha() for part in parts)
    if known and not wordlike:
        return [Concept(node, ((whole,),), (whole,), fields, width=len(parts))]
    if wordlike and whole:
        return [Concept(node, ((whole,), parts), (whole, *parts), fields, width=len(parts))]
    return [Concept(node, ((part,),), (part,), fields) for part in parts]


def _is_known(snapshot: Snapshot, term: str, fields: tuple[str, ...]) -> bool:
    return any(snapshot.document_frequency(field, term) for field in fields)


def _completions(snapshot: Snapshot, prefix: str, fields: tuple[str, ...]) -> tuple[str, ...]:
    """`prefix` itself and the most frequent indexed words that begin with it."""

    def look_up() -> tuple[str, ...]:
        total: dict[str, int] = {prefix: 1 << 40}
        for field in fields:
            for term, df in snapshot.terms_with_prefix(field, prefix).items():
                total[term] = total.get(term, 0) + df
        return tuple(sorted(total, key=lambda term: (-total[term], term))[:MAX_COMPLETIONS])

    return snapshot.remember(("completions", prefix, fields), look_up)


def _other_endings(
    snapshot: Snapshot, word: str, fields: tuple[str, ...], forms: Sequence[str]
) -> tuple[tuple[str, ...], ...]:
    """The completions of a word of the index; none where so many documents hold it that it is surely finished."""

    def held(term: str) -> int:
        return max(snapshot.document_frequency(field, term) for field in fields)

    others = [term for term in _completions(snapshot, word, fields) if term not in forms]
    if not others or max(map(held, forms)) >= WHOLE * held(others[0]):
        return ()
    return tuple((term,) for term in others)


def _stem_forms(snapshot: Snapshot, word: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """Indexed words other than `word` with the same stem in one of the languages, the most frequent first."""
    if len(word) < 3 or not word.isalpha():
        return ()

    def look_up() -> tuple[str, ...]:
        found: dict[str, int] = {}
        for language in languages:
            root = stem(word, language)
            shared = len(_common_prefix(root, word))
            start = word[: max(3, shared - (root[-1:] in ("i", "y")))]
            for field in ("body", "title"):
                for term, df in snapshot.terms_with_prefix(field, start).items():
                    if term != word and len(term) <= len(word) + 7 and stem(term, language) == root:
                        found[term] = max(found.get(term, 0), df)
        return tuple(sorted(found, key=lambda term: (-found[term], term))[: MAX_FORMS - 1])

    return snapshot.remember(("stem", word, languages), look_up)


def _common_prefix(a: str, b: str) -> str:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return a[:n]


def field_counts(snapshot: Snapshot, concept: Concept, field: str) -> tuple[Ints, Floats]:
    """The documents [n] (ascending) that hold the concept in `field`, and its occurrences in each [n].

    An alternative of several terms occurs as often as the rarest of them; alternatives add up, but for a
    joined word and its own pieces, of which the larger counts (the index holds the pieces of each whole).
    An occurrence of a completion counts `COMPLETED`.
    """
    if concept.completions:
        return _filled_in(
            field_counts(snapshot, replace(concept, completions=()), field),
            field_counts(snapshot, replace(concept, forms=concept.completions, completions=()), field),
        )
    runs = [_run_counts(snapshot, field, run) for run in concept.forms]
    runs = [run for run in runs if run[0].size]
    if not runs:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    if len(runs) == 1:
        return runs[0]
    docs = np.unique(np.concatenate([docs for docs, _ in runs]))
    total = np.zeros(docs.size)
    joined = any(len(run) > 1 for run in concept.forms)
    for own, tf in runs:
        rows = np.searchsorted(docs, own)
        total[rows] = np.maximum(total[rows], tf) if joined else total[rows] + tf
    return docs, total


def _filled_in(own: tuple[Ints, Floats], others: tuple[Ints, Floats]) -> tuple[Ints, Floats]:
    """The counts of a word, and in the documents that do not hold it `COMPLETED` of those of its completions."""
    new = ~np.isin(others[0], own[0], assume_unique=True)
    docs = np.concatenate([own[0], others[0][new]])
    tf = np.concatenate([own[1], COMPLETED * others[1][new]])
    order = np.argsort(docs)
    return docs[order], tf[order]


def _run_counts(snapshot: Snapshot, field: str, run: tuple[str, ...]) -> tuple[Ints, Floats]:
    first = snapshot.postings(field, run[0])
    docs, tf = first.docs, first.tf.astype(np.float64)
    for term in run[1:]:
        other = snapshot.postings(field, term)
        docs, mine, theirs = np.intersect1d(docs, other.docs, assume_unique=True, return_indices=True)
        tf = np.minimum(tf[mine], other.tf[theirs])
    return docs, tf
