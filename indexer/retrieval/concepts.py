"""From the words of a query to the indexed terms that answer them.

A concept is one thing asked for: a word with the indexed forms that share its stem, the completions of a
prefix, the pieces of a joined word. It has one occurrence count for each document and field.

A joined word (get_or_create, --no-ff, /etc/fstab) is answered by the documents that hold it as written, then by those
that hold its pieces next to each other; only if there are none, by those that hold all pieces anywhere. If there are
none either, or a piece is a function word (peut-il), its pieces are asked for one by one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from msgspec.structs import replace

from indexer.postings import Floats, Ints
from indexer.query.nodes import Meant, Phrase, Query, Word, positive_words
from indexer.retrieval import adjacency, variants
from indexer.retrieval.dates import MONTH_NAMES, MONTHS
from indexer.schema import TEXT_FIELDS
from indexer.storage.snapshot import PLACE_BITS, Answer, Snapshot, stored_field
from indexer.text.analysis import (
    fold,
    is_half,
    is_ideographic,
    marked_name,
    raw_terms,
    raw_tokens,
    sequence,
    whole_term,
)
from indexer.text.language import is_function_word

COMPLETED = 0.1
"""weight of a completion's occurrence where the typed word is itself indexed: completions come after its matches"""
QUERY_FIELDS = {
    "from": ("author",), "to": ("recipients",), "path": ("path", "name"), "subject": ("title", "subject"),
    None: TEXT_FIELDS,
}  # fmt: skip
"""field of the query -> fields of the index; any other name is that of the index field or property itself"""
FEW_HOLD = 20
"""a word that this many documents hold by itself needs no compounds"""
MAX_CONCEPTS = 200
"""most of one query, pieces of joined words that stand nowhere in a row included; further ones are passed over"""
NOT_AS_WRITTEN = 0.001
"""weight of an occurrence in a document that holds only the pieces of a word, if others hold it as written"""


class Concept(Meant, frozen=True, eq=False):
    """One thing asked for."""

    node: Word | Phrase
    forms: tuple[tuple[str, ...], ...]
    """alternatives; each is a run of terms that must all occur (one term, except for joined words)"""
    surface: tuple[str, ...]
    """the forms exactly as typed, folded: the rest of `forms` are stem variants or completions"""
    fields: tuple[str, ...]
    function_word: bool = False
    width: int = 1
    """how many positions of the query it takes: the pieces of a joined word"""
    offset: int = 0
    """its first position in the query, function words counted"""
    completions: tuple[tuple[str, ...], ...] = ()
    """what an indexed word that may be half typed could become: they count little, and only where no form occurs"""
    own_forms: tuple[tuple[int, str], ...] = ()
    """(place in LANGUAGES, term): further forms that count only in documents of that language"""
    compounds: tuple[tuple[int, str], ...] = ()
    """the same for words composed of this one and others; they count as completions do"""
    month: int = 0
    """number of the month, from 1, if it names one: file names may tell it by its number; else 0"""
    is_beginning: bool = False
    """whether any word beginning with `surface` matches: `forms` are completions, or there are `completions`"""
    pieces: tuple[tuple[str, ...], ...] = ()
    """for a joined word: the terms that may stand at each of its adjacent positions; () for others"""
    name_pieces: tuple[tuple[str, ...], ...] = ()
    """the same for file names, where a number may be longer: IMG_2026 is the beginning of IMG_20260815"""
    written: str = ""
    """a word that is meant exactly as written, in lower case; "" for others"""
    spellings: tuple[tuple[str, ...], ...] = ()
    """other ways to write a day, a month or a long number, each as terms in a row"""

    @property
    def rows(self) -> tuple[tuple[tuple[str, ...], ...], ...]:
        """All ways to write a joined word in a row, each as the terms that may stand at each position."""
        return (self.pieces, *(tuple((term,) for term in way) for way in self.spellings))

    @property
    def key(self) -> str:
        """Names it in every index; a joined word in a row has another key than its pieces anywhere."""
        return f"{self.node.position}{'+' if self.pieces else ' '}{' '.join(self.surface)}"

    @property
    def word(self) -> str:
        """What was typed, folded; in scripts indexed by pairs the whole word, Korean in syllables."""
        name = self.surface[0]
        typed = (raw for raw in map(fold, raw_tokens(self.node.text)) if name in raw)
        whole = unicodedata.normalize("NFC", next(typed, name))
        return whole if is_ideographic(whole) else name

    @property
    def n_bytes(self) -> int:
        """Its approximate size in memory."""
        n_forms = len(self.forms) + len(self.completions) + len(self.own_forms) + len(self.compounds)
        n_forms += len(self.spellings)
        return 1_000 + len(self.node.text) + 120 * (n_forms + 2 * len(self.pieces))


Count = Annotated[int, Meta(ge=0, le=1 << 50)]


class Frequency(Struct, frozen=True):
    """How many documents hold a concept."""

    n_documents: Count = 0
    """in any field"""
    by_field: dict[str, Count] = {}
    written: bool = False
    """whether one of them holds it as written"""

    def plus(self, other: Frequency) -> Frequency:
        """The frequency in two collections together."""
        fields = self.by_field.keys() | other.by_field.keys()
        return Frequency(
            self.n_documents + other.n_documents,
            {field: self.by_field.get(field, 0) + other.by_field.get(field, 0) for field in fields},
            self.written or other.written,
        )


NOWHERE = Frequency()
ALONE: Mapping[str, Frequency] = {}
"""`Concept.key` -> its frequency in other collections, of which there are none"""


class ConceptLookup:
    """The concepts of the words and phrases of one query and their counts, each looked up once."""

    def __init__(
        self, snapshot: Snapshot, languages: tuple[str, ...], texts: adjacency.Texts = adjacency.nothing_written,
        own_languages: tuple[str, ...] = (), elsewhere: Mapping[str, Frequency] = ALONE,
    ) -> None:  # fmt: skip
        """Words are stemmed by `languages` everywhere, by `own_languages` in the documents of each.

        `elsewhere` gives the frequencies of these concepts in other collections, by `Concept.key`.
        """
        self.snapshot, self.languages, self._texts, self._elsewhere = snapshot, languages, texts, elsewhere
        self.own_languages = own_languages
        self._found: dict[tuple[Word | Phrase, int], list[Concept]] = {}
        self.word_forms = variants.WordForms(snapshot, languages, own_languages)
        self._room = MAX_CONCEPTS
        self.passed_over = False
        """whether the query asks for more than MAX_CONCEPTS"""

    def of(self, node: Word | Phrase) -> list[Concept]:
        """As `node_concepts`."""
        key = (node, node.position)  # equal words at two places are two nodes
        if key not in self._found:
            unfinished = isinstance(node, Word) and node.unfinished
            n_characters = len(node.text)  # it cannot have more pieces
            most = n_characters if isinstance(node, Phrase) else min(n_characters, self._room)
            question = ("concepts", *key, node.length, unfinished, self.languages, self.own_languages, most)
            found = self.keep(question, partial(node_concepts, self, node, most=most)) if most else []
            self._found[key] = found
            if isinstance(node, Word):
                self._room -= len(found)
                self.passed_over |= len(found) == most < len(sequence(node.text))
        return self._found[key]

    def keep(self, question: tuple[object, ...], look_up: Callable[[], Answer]) -> Answer:
        """The answer to a question about these texts, cached for later queries."""
        return self.snapshot.keep((self._texts is adjacency.nothing_written, *question), look_up)

    def counts(self, concept: Concept) -> adjacency.Counts:
        """The fields that hold the concept, each with its documents [n] (ascending) and the occurrences in them [n]."""
        return self.keep(("counts", concept), partial(self._count, concept))

    def _count(self, concept: Concept) -> adjacency.Counts:
        found = {field: field_counts(self.snapshot, concept, field) for field in concept.fields}
        found = {stored_field(field): own for field, own in found.items() if own[0].size}
        return self._as_written_first(concept, found) if _is_looked_up(concept, found) else found

    def elsewhere(self, concept: Concept) -> Frequency:
        """How many documents of other collections hold the concept."""
        return self._elsewhere.get(concept.key, NOWHERE)

    def frequency(self, concept: Concept) -> Frequency:
        """How many documents hold the concept here."""
        found = self.counts(concept)
        n_documents = adjacency.union([docs for docs, _ in found.values()]).size if found else 0
        written = _is_looked_up(concept, found) and self._written(concept, found).size > 0
        return Frequency(n_documents, {field: docs.size for field, (docs, _) in found.items()}, written)

    def _written(self, concept: Concept, found: adjacency.Counts, *others: str) -> Ints:
        """The documents that hold a concept as written, or in one of `others`; of a word of prose, in these pieces."""
        if not concept.written:
            fields = (field for field in concept.fields if stored_field(field) in found)
            return adjacency.union([_adjacent_counts(self.snapshot, concept.pieces, field)[0] for field in fields])
        ways, prefix = (concept.written, *others), concept.is_beginning
        return self.snapshot.keep(
            ("written", self._texts is adjacency.nothing_written, concept, others),
            lambda: adjacency.holders(self.snapshot, found, self._texts, *ways, prefix=prefix),
        )

    def _as_written_first(self, concept: Concept, found: adjacency.Counts) -> adjacency.Counts:
        others = adjacency.with_sign(concept.written)
        near = held = self._written(concept, found, *others)
        if others:
            held = self._written(concept, {field: adjacency.of(own, near) for field, own in found.items()})
        if not near.size and not self.elsewhere(concept).written:
            return found
        less = NOT_AS_WRITTEN if concept.written else COMPLETED
        return {
            field: (docs, tf * np.select([adjacency.among(docs, own) for own in (held, near)], [1, COMPLETED], less))
            for field, (docs, tf) in found.items()
        }


def _is_looked_up(concept: Concept, found: adjacency.Counts) -> bool:
    """Whether texts are read to see which documents hold a concept as written."""
    rare = bool(found) and (bool(concept.pieces) or sum(docs.size for docs, _ in found.values()) <= adjacency.RARE)
    return (bool(concept.written) and rare) or bool(found and concept.spellings)


def concepts_of(query: Query, lookup: ConceptLookup) -> tuple[Concept, ...]:
    """The concepts of a query, in its order; a phrase is one concept for each of its words."""
    found = [concept for node in positive_words(query) for concept in lookup.of(node)]
    ends = accumulate(concept.width for concept in found)
    starts = (end - concept.width for concept, end in zip(found, ends, strict=True))
    return tuple(replace(own, offset=start) if start else own for own, start in zip(found, starts, strict=True))


def node_concepts(lookup: ConceptLookup, node: Word | Phrase, *, most: int) -> list[Concept]:
    """The concepts of one word or phrase of the query; at most `most` pieces that are asked for one by one."""
    fields = QUERY_FIELDS.get(node.field, (node.field or "body",))
    if isinstance(node, Phrase):
        ways = variants.in_phrase(lookup.snapshot, node.text, fields, exact=node.exact)
        return [Concept(node, tuple((term,) for term in terms), terms[:1], fields) for terms in ways]
    raws = raw_tokens(node.text)
    if not node.exact:
        joined = _next_to_each_other(lookup.snapshot, node, raws, fields)
        if joined is not None and (lookup.counts(joined) or lookup.elsewhere(joined).n_documents):
            return [joined]
        if joined is not None and len(joined.pieces) > 1 and not node.prefix:
            begun = _next_to_each_other(lookup.snapshot, replace(node, prefix=True), raws, fields)
            if begun is not None and lookup.counts(begun):
                return [begun]
    concepts: list[Concept] = []
    for i, raw in enumerate(raws[:most]):
        last = i == len(raws) - 1
        found = _raw_concepts(lookup, node, raw, fields, prefix=node.prefix and last)
        concepts.extend(_with_own_forms(lookup, concept) for concept in found)
    if len(concepts) == 1 and not (node.exact or lookup.counts(concepts[0])):
        concepts = _of_unknown(lookup, node, concepts[0])
    return concepts[:most]


def _of_unknown(lookup: ConceptLookup, node: Word, concept: Concept) -> list[Concept]:
    """A word that is nowhere in the index as two words that stand in a row: light sheet for lightsheet; in languages
    that join words, also as the two words that compose it, if a document holds both."""
    word, fields, languages = concept.surface[0], concept.fields, {*lookup.languages, *lookup.own_languages}
    if lookup.elsewhere(concept).n_documents or not word.isalpha():
        return [concept]
    for parts in variants.splits(word, variants.LEAST_IN_ROW):
        if all(variants.is_known(lookup.snapshot, part, fields) for part in parts):
            in_row = replace(concept, forms=(parts,), surface=(word, *parts), pieces=tuple((part,) for part in parts))
            if lookup.counts(in_row):
                return [in_row]
    if variants.COMPOUNDING.isdisjoint(languages):
        return [concept]

    def n_holding(term: str) -> int:
        own = max(lookup.snapshot.document_frequency(field, term) for field in fields)
        return own or len(lookup.word_forms.of_stem(term, variants.COMPOUNDING))

    made_of = [
        _with_own_forms(lookup, _one_concept(lookup, node, part, part, fields, prefix=False))
        for part in variants.two_words(word, n_holding)
    ]
    held = [adjacency.union([docs for docs, _ in lookup.counts(own).values()]) for own in made_of if lookup.counts(own)]
    return made_of if len(held) == 2 and adjacency.among(*held).any() else [concept]


def _next_to_each_other(snapshot: Snapshot, node: Word, raws: list[str], fields: tuple[str, ...]) -> Concept | None:
    """A joined word as one concept, its pieces in a row; None for a word that is not joined."""
    mark = marked_name(raws[0]) if len(raws) == 1 else ""
    if mark and node.prefix and not node.unfinished:
        begun = variants.completions(snapshot, mark, fields)
        return Concept(node, tuple((term,) for term in begun), (mark,), fields, is_beginning=True)
    written = adjacency.as_written(node.text)
    parts = tuple(sequence(node.text))
    whole = whole_term(raws[0]) if len(raws) == 1 else ""
    other_ways = variants.spellings(snapshot, node.text, fields)
    if not parts or not (written or whole or other_ways):
        return None
    pieces: tuple[tuple[str, ...], ...] = tuple((part,) for part in parts)
    wholes: tuple[str, ...] = (whole,) if whole else ()
    is_beginning = node.prefix and not (node.unfinished and whole and variants.is_known(snapshot, whole, fields))
    if is_beginning:
        pieces = (*pieces[:-1], variants.completions(snapshot, parts[-1], fields))
        wholes = variants.completions(snapshot, whole, fields) if whole else ()
        ways = [tuple(sequence(term)) for term in wholes[1:]]
        other_ways += tuple(way for way in ways if len(way) > len(pieces) or way[-1] not in pieces[-1])
    name = whole or (parts[0] if len(parts) == 1 else written)
    forms = (*((term,) for term in wholes), parts)
    going_on = variants.numbers_going_on(snapshot, parts[-1]) if len(parts) > 1 and "name" in fields else ()
    names = (*pieces[:-1], tuple(dict.fromkeys((*pieces[-1], *going_on)))) if going_on else ()
    return Concept(
        node, forms, (name, *parts), fields, width=len(parts), pieces=pieces, name_pieces=names,
        written=written if "body" in fields else "", is_beginning=is_beginning, spellings=other_ways,
    )  # fmt: skip


def _raw_concepts(
    lookup: ConceptLookup, node: Word, raw: str, fields: tuple[str, ...], *, prefix: bool
) -> list[Concept]:
    terms, width = raw_terms(raw)
    if not terms:
        return [Concept(node, ((fold(raw),),), (fold(raw),), fields)]
    if width == 1:
        typed = fold(raw)
        whole = typed if any(term == typed for term, _ in terms) else terms[0][0]
        return [_one_concept(lookup, node, raw, whole, fields, prefix=prefix)]
    if len(words := variants.beside_apostrophes(raw)) == width and not node.exact:
        return _contracted(lookup, node, words, fields, prefix=prefix)
    return _joined_concepts(lookup, node, raw, fields, prefix=prefix)


def _one_concept(
    lookup: ConceptLookup, node: Word, raw: str, whole: str, fields: tuple[str, ...], *, prefix: bool
) -> Concept:
    """The concept of a raw token, or a part of one, that is the single term `whole`."""
    snapshot, typed = lookup.snapshot, fold(raw)
    known = prefix and node.unfinished and node.text.endswith(raw) and variants.is_known(snapshot, whole, fields)
    is_part = is_half(whole) and not node.exact
    if (prefix and not known) or is_part:
        found = variants.completions(snapshot, whole, fields) if prefix else ()
        found += variants.pairs(snapshot, whole, fields) if is_part else ()
        runs = tuple((term,) for term in dict.fromkeys(found))
        return Concept(node, runs, (whole,), fields, is_beginning=prefix)
    forms = [whole] if node.exact else [whole, *lookup.word_forms.of_stem(whole)]
    forms += [term for term in node.made if term not in forms]
    other_letters, unwritten = ((), ()) if node.exact else _in_other_letters(lookup, raw, whole, fields)
    unwritten += () if node.exact else variants.with_joint(snapshot, whole)
    is_one = variants.is_known(snapshot, whole, fields)
    forms += [term for term in (*other_letters, *(() if is_one else unwritten)) if term not in forms]
    function_word = not node.exact and node.field is None and is_function_word(whole, lookup.languages)
    code = typed if adjacency.is_code(raw) and not node.exact and "body" in fields else ""
    concept = Concept(node, tuple((f,) for f in forms), (whole,), fields, function_word, written=code)
    if known and (others := variants.other_endings(snapshot, whole, fields, forms)):
        return replace(concept, completions=others, is_beginning=True)
    return replace(concept, completions=tuple((term,) for term in unwritten)) if is_one and unwritten else concept


def _in_other_letters(
    lookup: ConceptLookup, raw: str, whole: str, fields: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Indexed words with ligatures and umlauts for two letters, or the reverse: those surely meant, and perhaps."""
    languages = (*lookup.languages, *lookup.own_languages)
    longer = (term for term in variants.in_two_letters(raw) if variants.is_known(lookup.snapshot, term, fields))
    return tuple(longer), variants.in_one_letter(lookup.snapshot, whole, fields, languages)


def _contracted(
    lookup: ConceptLookup, node: Word, words: list[tuple[str, bool]], fields: tuple[str, ...], *, prefix: bool
) -> list[Concept]:
    """The concepts of words joined by apostrophes; a remnant of a word (l', 'll) is a function word."""
    concepts: list[Concept] = []
    for i, (word, is_rest) in enumerate(words):
        found = _raw_concepts(lookup, node, word, fields, prefix=prefix and i == len(words) - 1)
        concepts += [replace(own, function_word=node.field is None) for own in found] if is_rest else found
    return concepts


def _joined_concepts(
    lookup: ConceptLookup, node: Word, raw: str, fields: tuple[str, ...], *, prefix: bool
) -> list[Concept]:
    snapshot, parts, whole = lookup.snapshot, tuple(sequence(raw)), whole_term(raw)
    if node.exact and whole:
        return [Concept(node, ((whole,),), (whole,), fields, width=len(parts))]
    if prefix and whole and not (node.unfinished and variants.is_known(snapshot, whole, fields)):
        completed = [(t,) for t in variants.completions(snapshot, whole, fields)]
        return [Concept(node, (*completed, parts), (whole,), fields, width=len(parts), is_beginning=True)]
    together = Concept(node, ((whole,), parts), (whole, *parts), fields, width=len(parts))
    are_words = all(len(p) > 1 and p.isalpha() and not is_function_word(p, lookup.languages) for p in parts)
    if whole and are_words and (lookup.counts(together) or lookup.elsewhere(together).n_documents):
        return [together]
    is_bare = node.field is None and not node.exact
    by_parts = [_one_concept(lookup, node, part, part, fields, prefix=False) for part in parts]
    return [replace(own, function_word=True) if is_bare and own.surface[0] in _PREFIXES else own for own in by_parts]


_PREFIXES = frozenset(["anti", "by", "co", "de", "ex", "inter", "mid", "multi", "non", "off", "out", "over", "post",
                       "pre", "re", "semi", "sub", "un", "under", "up"])  # fmt: skip
"""prefixes that say nothing by themselves: pre-war, off-centre, by-pass"""


def _with_own_forms(lookup: ConceptLookup, concept: Concept) -> Concept:
    """A concept of one word with its forms in the rarer languages, and the compounds that contain it."""
    snapshot, word, node = lookup.snapshot, concept.surface[0], concept.node
    is_word = isinstance(node, Word) and not (node.exact or node.field or concept.pieces or concept.width > 1)
    if month := getattr(node, "month", 0) or (MONTHS.get(word, 0) if is_word and word not in ABBREVIATED else 0):
        concept = replace(concept, month=month)
    if not is_word or len(word) < 3 or not word.isalpha() or (word,) not in concept.forms:
        return concept
    own = lookup.own_languages
    if own and (found := lookup.word_forms.in_own_languages(word, known=frozenset(run[0] for run in concept.forms))):
        concept = replace(concept, own_forms=found)
    joining = tuple(code for code in (*lookup.languages, *own) if code in variants.COMPOUNDING)
    if joining and len(word) >= variants.LEAST_PART and (n_holders := _n_holders(snapshot, concept)) < FEW_HOLD:
        made = snapshot.keep(("compounds", word, joining), partial(variants.compounds, snapshot, word, joining))
        concept = replace(concept, compounds=made) if n_holders else replace(concept, own_forms=made)
    return concept


def _n_holders(snapshot: Snapshot, concept: Concept) -> int:
    """An upper bound on how many documents hold one of the forms in title or text."""
    terms = [*(run[0] for run in concept.forms), *(term for _, term in concept.own_forms)]
    return sum(snapshot.document_frequency(field, term) for term in terms for field in variants.OWN_FIELDS)


def _adjacent_counts(snapshot: Snapshot, pieces: tuple[tuple[str, ...], ...], field: str) -> tuple[Ints, Floats]:
    docs = adjacency.adjacent(snapshot, field, pieces) >> PLACE_BITS
    firsts = np.flatnonzero(np.diff(docs, prepend=-1))
    return docs[firsts], np.diff(firsts, append=docs.size).astype(np.float64)


def field_counts(snapshot: Snapshot, concept: Concept, field: str) -> tuple[Ints, Floats]:
    """The documents [n] (ascending) that hold the concept in `field`, and its occurrences in each [n].

    An alternative of several terms occurs as often as the rarest of them; alternatives add up, except a joined
    word and its own pieces, of which the larger counts (the index holds the pieces of each whole). An occurrence
    of a completion counts `COMPLETED`. For a concept with `pieces` only these in a row count.
    """
    if concept.pieces:
        pieces = (field == "name" and concept.name_pieces) or concept.pieces
        found = [_adjacent_counts(snapshot, row, field) for row in (pieces, *concept.rows[1:])]
        return _summed(found) if len(found) > 1 else found[0]
    own = _any_counts(snapshot, field, concept.forms)
    if concept.own_forms and field in variants.WRITTEN_IN:
        own = _summed([own, *_counts_in_languages(snapshot, field, concept.own_forms)])
    own = _filled_in(own, _any_counts(snapshot, field, concept.completions)) if concept.completions else own
    if field in ("name", "path") and concept.width == 1:
        numbered = _in_numbers(snapshot, concept, field)
        own = _filled_in(own, _summed(numbered, most=True)) if numbered else own
    if concept.compounds and field in variants.WRITTEN_IN:
        own = _filled_in(own, _summed(_counts_in_languages(snapshot, field, concept.compounds)))
    return own


def _in_numbers(snapshot: Snapshot, concept: Concept, field: str) -> list[tuple[Ints, Floats]]:
    """The documents whose names or folders write a concept with a number: 7 as 07, 24 as 2024, a month as its number;
    in names also scan as scan0012 and 2024 as 20240315."""
    word, found = concept.surface[0], list[tuple[Ints, Floats]]()
    if concept.month:
        found.append(snapshot.keep(("month", field, concept.month), partial(_of_month, snapshot, field, concept.month)))
    if getattr(concept.node, "exact", True):
        return found
    if word.isdecimal() and len(word) < 4:
        others = {str(int(word)).zfill(n) for n in (1, 2, 3, 4)} - {word}
        others |= {f"20{word}"} if len(word) == 2 else set()
        found.append(_any_counts(snapshot, field, tuple((number,) for number in sorted(others))))
    words = (word, *getattr(concept.node, "made", ()))  # 24 beside a month is 2024, too
    year = next((own for own in words if len(own) == 4 and own.isdecimal() and int(own) in YEARS), "")
    begun = word if word.isalpha() and len(word) > 2 else year
    if field == "name" and begun and not concept.is_beginning:
        terms = snapshot.terms_with_prefix("name", begun, variants.MAX_NAMES, rest="09")
        numbered = tuple((term,) for term in terms if term[len(begun) :].isdecimal())
        found += [_any_counts(snapshot, "name", numbered)] if numbered else []
    return found


def _of_month(snapshot: Snapshot, field: str, month: int) -> tuple[Ints, Floats]:
    """The documents whose names or folders give a month beside a year, counted once: 2024-03, 20240315, Mrz 2024."""
    names, years = (f"{month:02}", *MONTH_NAMES[month]), [str(year) for year in YEARS]
    known = tuple(year for year in years if snapshot.document_frequency(field, year))
    begun = (snapshot.terms_with_prefix(field, year + names[0][0], variants.MAX_NAMES) for year in years)
    joined = {term for terms in begun for term in terms if term.isdecimal() and term[4:6] == names[0]}
    found = [_any_counts(snapshot, field, tuple((term,) for term in joined))]
    found += [_adjacent_counts(snapshot, pieces, field) for pieces in ((known, names), (names, known)) if known]
    docs = adjacency.union([docs for docs, _ in found])
    return docs, np.ones(docs.size)


ABBREVIATED = frozenset(("jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "oct", "nov", "dec"))
"""abbreviated months, which like English "may" also mean something else in some language: mar, set, dec"""
YEARS = range(1970, 2060)
"""years whose months are looked for in names"""


def _counts_in_languages(snapshot: Snapshot, field: str, terms: Sequence[tuple[int, str]]) -> list[tuple[Ints, Floats]]:
    """For each (place in LANGUAGES, term) its counts in the documents of its language."""
    found = []
    for language, term in terms:
        held, mask = snapshot.postings(field, term), variants.in_language(snapshot, field, term, language)
        found.append((held.docs[mask], held.tf[mask].astype(np.float64)))
    return found


def _summed(lists: Sequence[tuple[Ints, Floats]], *, most: bool = False) -> tuple[Ints, Floats]:
    """All documents of the lists with their occurrences added up or, with `most`, the largest of them."""
    docs = adjacency.union([own for own, _ in lists])
    total = np.zeros(docs.size)
    for own, tf in lists:
        rows = docs.searchsorted(own)
        total[rows] = np.maximum(total[rows], tf) if most else total[rows] + tf
    return docs, total


def _any_counts(snapshot: Snapshot, field: str, forms: tuple[tuple[str, ...], ...]) -> tuple[Ints, Floats]:
    runs = [_run_counts(snapshot, field, run) for run in forms]
    runs = [run for run in runs if run[0].size]
    if not runs:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    if len(runs) == 1:
        return runs[0]
    return _summed(runs, most=any(len(run) > 1 for run in forms))


def _filled_in(own: tuple[Ints, Floats], others: tuple[Ints, Floats]) -> tuple[Ints, Floats]:
    """The counts of a word and, in documents that do not hold it, `COMPLETED` times those of its completions."""
    new = ~adjacency.among(others[0], own[0])
    docs = np.concatenate([own[0], others[0][new]])
    tf = np.concatenate([own[1], COMPLETED * others[1][new]])
    order = np.argsort(docs)
    return docs[order], tf[order]


def _run_counts(snapshot: Snapshot, field: str, run: tuple[str, ...]) -> tuple[Ints, Floats]:
    first = snapshot.postings(field, run[0])
    docs, tf = first.docs, first.tf.astype(np.float64)
    for term in run[1:]:
        other = snapshot.postings(field, term)
        held = adjacency.among(docs, other.docs)
        docs = docs[held]
        tf = np.minimum(tf[held], other.tf[other.docs.searchsorted(docs)])
    return docs, tf
