"""The best documents for a query by BM25F, with the counts that features are made of.

BM25F (Robertson, Zaragoza and Taylor 2004): the occurrences of a word in each field are weighted and normalised
by the field's length, added, and then saturated once:

    score(d) = sum_t idf(t) (k1 + 1) w_t / (k1 + w_t),   w_t = sum_f weight_f tf_tf / (1 - b_f + b_f len_f / mean_f)
    idf(t) = ln(1 + (N - df + 1/2) / (df + 1/2))
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from indexer.codec.segments import Columns
from indexer.postings import Floats, Ints, Mask
from indexer.properties import DATE_FIELDS
from indexer.query.nodes import And, Filter, Node, Not, Or, Phrase, Query, Word, is_filter, positive_words
from indexer.retrieval.adjacency import Counts, adjacent, among, phrase_starts, union
from indexer.retrieval.concepts import MAX_CONCEPTS, Concept, ConceptLookup, Frequency, concepts_of
from indexer.schema import TAG_FIELD, TEXT_FIELDS
from indexer.storage.snapshot import PLACE_BITS, Snapshot
from indexer.text.analysis import fold, sequence

FolderIds = Callable[[str], set[int]]
"""absolute path of a folder -> the ids of the documents below it"""
NamedIds = Callable[[str, str], set[int]]
"""a named set -> its documents' ids: ("thread", the id of a message), ("links", the name of a note)"""


class Matcher:
    """Which documents a query admits: its tree evaluated over sets of documents of one snapshot."""

    def __init__(self, lookup: ConceptLookup, folder_ids: FolderIds, named_ids: NamedIds) -> None:
        self.lookup, self.snapshot = lookup, lookup.snapshot
        self._folder_ids, self._named_ids = folder_ids, named_ids
        self._holding: dict[Concept, Mask] = {}
        self._meeting: dict[Filter, Mask] = {}

    def admitted(self, node: Node | None) -> Mask:
        """The living documents for which the tree holds; all of them for an empty tree."""
        return self.snapshot.alive if node is None else self._mask(node) & self.snapshot.alive

    def relaxed(self, node: Node) -> Mask:
        """As `admitted`, but one of the bare words is enough, or none if a phrase, a field or `=` must hold anyway.

        Phrases, words of a field, words as written (`=`) and conditions hold as they do in `admitted`.
        """
        children = self._needed(node.children) if isinstance(node, And) else (node,)
        bare = [child for child in children if isinstance(child, Word) and child.field is None and not child.exact]
        musts = [child for child in children if child not in bare]
        mask = reduce(np.logical_and, [self._mask(child) for child in musts], self.snapshot.alive)
        asked = [concept for word in bare for concept in self.lookup.of(word)]
        enough = any(not is_filter(child) and not isinstance(child, Not) for child in musts)
        return mask & reduce(np.logical_or, map(self._held, asked)) if asked and not enough else mask

    def _mask(self, node: Node) -> Mask:
        match node:
            case Word():
                return self._word(node)
            case Phrase():
                return self._phrase(node)
            case Filter():
                if node not in self._meeting:
                    self._meeting[node] = self._filter(node)
                return self._meeting[node]
            case Not(child):
                return ~self._mask(child)
            case And(children):
                return reduce(np.logical_and, [self._mask(child) for child in self._needed(children)])
            case Or(children):
                return reduce(np.logical_or, [self._mask(child) for child in children])

    def _needed(self, children: tuple[Node, ...]) -> tuple[Node, ...]:
        """The nodes that must hold: function words need not if there are other words."""
        words = [c for c in children if isinstance(c, Word)]
        plain = [word for word in words if all(c.function_word for c in self.lookup.of(word))]
        others = tuple(c for c in children if c not in plain)
        return others if any(not is_filter(c) and not isinstance(c, Not) for c in others) else children

    def _word(self, word: Word) -> Mask:
        masks = [self._held(concept) for concept in self.lookup.of(word)]
        return reduce(np.logical_and, masks) if masks else ~self._none()

    def _held(self, concept: Concept) -> Mask:
        """Which documents hold a concept; the caller must not change it."""
        mask = self._holding.get(concept)
        if mask is None:
            mask = self._holding[concept] = self._none()
            for docs, _ in self.lookup.counts(concept).values():
                mask[docs] = True
        return mask

    def _phrase(self, phrase: Phrase) -> Mask:
        concepts = self.lookup.of(phrase)
        words, mask = [tuple(run[0] for run in concept.forms) for concept in concepts], self._none()
        for field in concepts[0].fields if words else ():
            mask[adjacent(self.snapshot, field, words) >> PLACE_BITS] = True
        return mask

    def _filter(self, condition: Filter) -> Mask:
        documents = self.snapshot.documents
        match condition.kind, condition.value:
            case "modified", (start, end):
                return _within(documents["modified"], start, end)
            case kind, (start, end) if kind in DATE_FIELDS:
                known: Mask = ~np.isnan(documents[kind])
                return known & _within(documents[kind], start, end)
            case "size", (smallest, largest):
                return _within(documents["size"], smallest, None if largest is None else largest + 1)
            case "dir", str(folder):
                return self._folder(folder)
            case ("thread" | "links") as kind, str(name):
                return self.snapshot.having(self._named_ids(kind, name))
            case kind, value:
                mask = self._none()
                mask[self.snapshot.postings(TAG_FIELD, f"{kind}={fold(str(value))}").docs] = True
                return mask

    def _none(self) -> Mask:
        return np.zeros(self.snapshot.alive.size, dtype=bool)

    def _folder(self, folder: str) -> Mask:
        if folder.startswith("~") or os.path.isabs(folder):
            return self.snapshot.having(self._folder_ids(folder))
        mask = self._none()
        if words := sequence(folder):
            mask[phrase_starts(self.snapshot, "path", words) >> PLACE_BITS] = True
        return mask


def _within(values: npt.NDArray[Any], start: float | None, end: float | None) -> Mask:
    mask = np.ones(values.size, dtype=bool)
    if start is not None:
        mask &= values >= start
    if end is not None:
        mask &= values < end
    return mask


K1 = 2.0
WEIGHTS = {"title": 2.5, "body": 1.0, "name": 1.5, "path": 0.4, "author": 0.8, "recipients": 0.4, "properties": 0.8}
"""how much an occurrence counts in each field"""
B = {"title": 0.5, "body": 0.8, "name": 0.4, "path": 0.2, "author": 0.3, "recipients": 0.3, "properties": 0.3}
"""how far each field's occurrences are divided by its length"""
NEAR = 0.75
"""a document with this share of the best score counts as about as good"""
MAX_TITLES = 20
"""most candidates added because their title holds the query as a phrase, and as many because their file name does"""
COVERAGE_POWER = 1.0
"""a score is multiplied by (share of the words that occur) to this power divided by the number of words

so that one of two words missing costs much, and one of twenty next to nothing"""
NOTHING_NAMED: Mapping[int, int] = {}
_LATEST = (
    "latest newest last letzte letzter letztes letzten neueste neuester neuestes neuesten aktuelle aktueller aktuelles"
    " aktuellste aktuellster aktuellstes dernier derniere derniers dernieres ultimo ultima ultimos ultimas nieuwste"
    " laatste senaste nyeste"
)
LATEST = frozenset(_LATEST.split())
"""words at the beginning of a query that ask for the newest of what the other words find"""
FEW = 5
"""if fewer documents hold all the words, a page shows mostly documents that hold some of them"""


class Candidates(Struct, frozen=True, eq=False):
    """The admitted documents, the best `n` of them with their counts."""

    docs: Ints
    """[n] document numbers, best BM25F first"""
    bm25f: Floats
    """[n] scores"""
    concepts: tuple[Concept, ...]
    """[n_concepts] what was asked for, without function words if there are others"""
    words: tuple[str, ...]
    """the positive words of the query in order, one for each position, folded"""
    tf: dict[str, Floats]
    """field -> [n, n_concepts] occurrences; only fields in which anything occurs"""
    df: dict[str, Floats]
    """field -> [n_concepts] documents of the whole index that hold the concept in the field"""
    any_df: Floats
    """[n_concepts] documents that hold the concept in any field"""
    admitted: Mask
    n_matches: int
    """admitted documents"""
    n_all_words: int
    """those of them that hold all the words of a plain query; n_matches for any other"""
    named: Ints
    """[n] how surely the query names the document (indexer.retrieval.named), 0 for not at all"""
    as_typed: Mask
    """[n] for a query of one word, whether it holds the word in the form typed; True for any other query"""
    n_best: int
    """this many are candidates by their scores, those after them for another reason"""
    passed_over: bool = False
    """whether the query asks for more than is looked up one by one (`MAX_CONCEPTS`)"""

    @property
    def held(self) -> Mask:
        """[n, n_concepts] whether a document holds a concept in any field; all False where nothing occurs anywhere."""
        held = np.zeros((self.docs.size, len(self.concepts)), dtype=bool)
        for tf in self.tf.values():
            held |= tf > 0
        return held

    @property
    def relaxed(self) -> bool:
        """Whether so few documents hold all words that most of the page holds only some of them."""
        return self.n_all_words < min(FEW, self.n_matches)

    @property
    def missing_words(self) -> list[tuple[str, ...]]:
        """[n] the words of a plain query that each document lacks, as typed, folded."""
        missing: list[tuple[str, ...]] = [()] * self.docs.size
        if self.n_all_words < self.n_matches:
            held = self.held
            words = [concept.word for concept in self.concepts]
            lacking: dict[bytes, tuple[str, ...]] = {}
            for row in np.flatnonzero(~held.all(axis=1)).tolist():
                key = held[row].tobytes()
                if key not in lacking:
                    lacking[key] = tuple(dict.fromkeys(word for word, has in zip(words, key, strict=True) if not has))
                missing[row] = lacking[key]
        return missing


def find(
    matcher: Matcher, query: Query, *, limit: int, narrow: Mask | None = None, by_date: bool = False,
    by_name: bool = False, near: Ints | None = None, named: Mapping[int, int] = NOTHING_NAMED,
) -> Candidates:  # fmt: skip
    """The best `limit` documents for `query`; with `by_date`, or for a query without words, the newest.

    A plain query admits documents with some of its words; how many they hold shows in their scores. An order by date or
    name ignores scores, so `by_date` and `by_name` admit only documents with all the words, if there are any. `narrow`
    [n_numbers] restricts the answer, not the statistics of words. The documents `near`, close to the query in meaning,
    are candidates whatever words they hold, but count as matches only if they match. Those that the text as a whole
    names, `named` (number -> how surely), match whatever operators it seems to hold.
    """
    lookup, snapshot = matcher.lookup, matcher.snapshot
    admitted, all_words = _admitted(matcher, query, narrow, all_if_any=by_date or by_name)
    if named:
        admitted, all_words = admitted.copy(), all_words.copy()  # not to be changed
        admitted[list(named)] = all_words[list(named)] = True
    concepts = asked_for(query, lookup)
    found = [lookup.counts(concept) for concept in concepts]
    others = [lookup.elsewhere(concept) for concept in concepts]
    shares = [
        lookup.keep(("share", concept), partial(share_of, snapshot, fields, n_elsewhere=other.n_documents))
        for concept, fields, other in zip(concepts, found, others, strict=True)
    ]
    scores, any_df = added_up(snapshot, shares)
    any_df += [other.n_documents for other in others]
    by_date = by_date or not concepts
    words = tuple(word for node in positive_words(query) for word in sequence(node.text))
    documents = snapshot.documents
    docs = best(documents["modified"] if by_date else scores, admitted, limit, documents)
    n_best = docs.size
    if not by_date:
        docs = _with_newest(documents, docs, scores, admitted, limit)
        docs = _with_titles(snapshot, docs, scores, admitted, list(words))
        docs = _with_names(documents, found, docs, scores, admitted, n_asking(concepts))
        docs = docs if near is None else _added(docs, near, scores)
        surest = np.array(sorted(named, key=lambda number: -named[number])[:limit], dtype=np.int64)
        docs = _added(docs, surest, scores) if named else docs
        docs = _with_typed(snapshot, docs, concepts, scores, admitted, limit)
    typed = _typed_alone(snapshot, concepts)
    return Candidates(
        docs, scores[docs], concepts, words, *_counts(found, docs, others), any_df, admitted,
        n_matches=int(np.count_nonzero(admitted)), n_all_words=int(np.count_nonzero(all_words)),
        named=np.array([named.get(number, 0) for number in docs.tolist()], dtype=np.int64),
        as_typed=np.ones(docs.size, dtype=bool) if typed is None else among(docs, typed), n_best=n_best,
        passed_over=lookup.passed_over,
    )  # fmt: skip


def _admitted(matcher: Matcher, query: Query, narrow: Mask | None, *, all_if_any: bool) -> tuple[Mask, Mask]:
    """The documents that a query admits, and those with all its words; `all_if_any`: only the latter, if any."""
    all_words = matcher.admitted(query.root)
    admitted = matcher.relaxed(query.root) if query.root is not None and query.plain else all_words
    if narrow is not None:
        all_words, admitted = all_words & narrow, admitted & narrow
    return all_words if all_if_any and all_words.any() else admitted, all_words


def asked_for(query: Query, lookup: ConceptLookup) -> tuple[Concept, ...]:
    """The first MAX_CONCEPTS concepts of a query, without function words if there are others."""
    concepts = concepts_of(query, lookup)
    asked = tuple(c for c in concepts if not c.function_word) or concepts
    lookup.passed_over |= len(asked) > MAX_CONCEPTS
    return asked[:MAX_CONCEPTS]


def n_asking(concepts: tuple[Concept, ...]) -> int:
    """How many leading concepts only ask for the newest: 1 in "latest invoice", 2 in "most recent report"."""
    words = [c.surface[0] if isinstance(c.node, Word) and not (c.node.field or c.node.exact) else "" for c in concepts]
    n_words = 2 if words[:2] == ["most", "recent"] else int(not LATEST.isdisjoint(words[:1]))
    return n_words if n_words < len(words) else 0


Occurrences = Sequence[Counts]
"""[n_concepts] the counts of each concept by field; fields without it are left out"""


def bm25f(
    snapshot: Snapshot, found: Occurrences, *, k1: float = K1, weights: Mapping[str, float] = WEIGHTS,
    b: Mapping[str, float] = B, coverage_power: float = COVERAGE_POWER,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The scores of all documents [n_numbers], and how many documents hold each concept [n_concepts]."""
    shares = [share_of(snapshot, fields, k1=k1, weights=weights, b=b) for fields in found]
    return added_up(snapshot, shares, coverage_power=coverage_power)


Share = tuple[Ints, Floats]
"""the documents that hold a concept [n], ascending, and what it adds to the score of each [n]"""


def share_of(
    snapshot: Snapshot, fields: Counts, *, k1: float = K1, weights: Mapping[str, float] = WEIGHTS,
    b: Mapping[str, float] = B, n_elsewhere: int = 0,
) -> Share:  # fmt: skip
    """What one concept adds to the scores, given its occurrences in `fields`."""
    weight = np.zeros(snapshot.alive.size)
    for field, (docs, tf) in fields.items():
        weight[docs] += weights[field] * tf / _length_norms(snapshot, field, b[field])[docs]
    holders = weight.nonzero()[0]
    own = weight[holders]
    return holders, idf(snapshot.n_documents, holders.size + n_elsewhere) * (k1 + 1) * own / (k1 + own)


def added_up(
    snapshot: Snapshot, shares: Sequence[Share], *, coverage_power: float = COVERAGE_POWER
) -> tuple[Floats, Floats]:
    """As `bm25f`, from the shares of the concepts [n_concepts]."""
    scores, covered = np.zeros((2, snapshot.alive.size))
    for holders, points in shares:
        scores[holders] += points
        covered[holders] += 1
    if len(shares) > 1:
        part = np.maximum(np.arange(len(shares) + 1), 1) / len(shares)
        scores *= np.power(part, coverage_power / len(shares))[covered.astype(np.int64)]
    return scores, np.array([float(holders.size) for holders, _ in shares])


def _length_norms(snapshot: Snapshot, field: str, b: float) -> Floats:
    """[n_numbers] what the occurrences in a field are divided by."""

    def compute() -> Floats:
        lengths = snapshot.documents[f"n_{field}"] / snapshot.average_length[field]
        return np.asarray(1 - b + b * lengths)

    return snapshot.remember(("length norms", field, b), compute)


def idf(n_documents: float, df: Floats | float) -> Floats:
    """ln(1 + (N - df + 1/2) / (df + 1/2)), never negative."""
    df = np.minimum(df, n_documents)
    return np.asarray(np.log1p((n_documents - df + 0.5) / (np.asarray(df) + 0.5)))


def best(scores: Floats, admitted: Mask, limit: int, documents: Columns) -> Ints:
    """The `limit` admitted numbers of highest score.

    Ties: the newest first, then by folder and content, so that the order of indexing does not matter.
    """
    numbers = np.flatnonzero(admitted)
    own = scores[numbers]
    if numbers.size > limit:
        threshold = np.partition(own, numbers.size - limit)[numbers.size - limit]
        kept = own >= threshold
        numbers, own = numbers[kept], own[kept]
    keys = (documents[name][numbers] for name in ("folder", "content"))
    return numbers[np.lexsort((numbers, *keys, -documents["modified"][numbers], -own))][:limit]


def _with_newest(documents: Columns, docs: Ints, scores: Floats, admitted: Mask, limit: int) -> Ints:
    """If more documents than `limit` score about as well as the best, also the newest of the others: a third more.

    Among hundreds of daily notes with one title chance decides which are the best; the newest should be candidates.
    """
    n_more = limit // 3
    if not n_more or docs.size < limit or scores[docs[-1]] < NEAR * scores[docs[0]]:
        return docs
    near = admitted & (scores >= NEAR * scores[docs[0]])
    near[docs] = False
    return _added(docs, best(documents["modified"], near, n_more, documents), scores)


def _with_titles(snapshot: Snapshot, docs: Ints, scores: Floats, admitted: Mask, words: list[str]) -> Ints:
    """Also the documents of the shortest titles that hold all words in a row, wherever BM25F puts them."""
    holders = snapshot.postings("title", words[0]).docs if words else docs
    holders = holders[admitted[holders] & ~among(holders, np.sort(docs))]  # mostly none: then no places are read
    titled = phrase_starts(snapshot, "title", words, holders) >> PLACE_BITS if holders.size else holders
    return _with_first(snapshot.documents, "n_title", docs, titled, scores)


def _with_names(
    documents: Columns, found: Occurrences, docs: Ints, scores: Floats, admitted: Mask, n_passed_over: int
) -> Ints:  # fmt: skip
    """Also those of the shortest file names that hold all concepts, wherever BM25F puts them; the newest instead, if
    `n_passed_over` leading concepts, which ask for the latest, are left out."""
    found = found[n_passed_over:]
    if not all("name" in fields for fields in found):
        return docs
    holders = found[0]["name"][0]
    for fields in found[1:]:
        holders = holders[among(holders, fields["name"][0])]
    others = holders[admitted[holders] & ~among(holders, np.sort(docs))]
    return _with_first(documents, "modified" if n_passed_over else "n_name", docs, others, scores)


def _with_first(documents: Columns, column: str, docs: Ints, others: Ints, scores: Floats) -> Ints:
    """Also the newest of `others`, or those whose field is shortest, as `column` says."""
    if not others.size:
        return docs
    chosen = np.zeros(scores.size, dtype=bool)
    chosen[others] = True
    worth = documents[column] * (1.0 if column == "modified" else -1.0)
    return _added(docs, best(worth, chosen, MAX_TITLES, documents), scores)


def _typed_alone(snapshot: Snapshot, concepts: tuple[Concept, ...]) -> Ints | None:
    """The documents with the only word of a query in the form typed; None for longer queries, and for prefixes."""
    if len(concepts) != 1 or concepts[0].pieces or (concepts[0].is_beginning and not concepts[0].completions):
        return None
    word = concepts[0].surface[0]
    return union([snapshot.postings(field, word).docs for field in concepts[0].fields])


def _with_typed(
    snapshot: Snapshot, docs: Ints, concepts: tuple[Concept, ...], scores: Floats, admitted: Mask, limit: int
) -> Ints:
    """Also the best of those that hold the only word of a query in the form typed."""
    typed = _typed_alone(snapshot, concepts) if docs.size >= limit else None
    if typed is None or not typed.size:
        return docs
    holds = np.zeros(admitted.size, dtype=bool)
    holds[typed] = True
    return _added(docs, best(scores, admitted & holds, limit, snapshot.documents), scores)


def _added(docs: Ints, others: Ints, scores: Floats) -> Ints:
    """`docs`, followed by those of `others` that are not among them, best score first."""
    extra = np.sort(others)
    extra = extra[~among(extra, np.sort(docs))]
    return np.concatenate((docs, extra[np.argsort(-scores[extra], kind="stable")]))


def _counts(found: Occurrences, docs: Ints, others: Sequence[Frequency]) -> tuple[dict[str, Floats], dict[str, Floats]]:
    tf: dict[str, Floats] = {}
    df: dict[str, Floats] = {}
    n_concepts = len(others)
    for field in TEXT_FIELDS:
        if not any(field in own for own in found):
            continue
        tf[field] = np.zeros((docs.size, n_concepts))
        df[field] = np.zeros(n_concepts)
        for i, own in enumerate(found):
            if field in own:
                holders, counts = own[field]
                rows = np.minimum(np.searchsorted(holders, docs), holders.size - 1)
                tf[field][:, i] = np.where(holders[rows] == docs, counts[rows], 0.0)
                df[field][i] = holders.size + others[i].by_field.get(field, 0)
    return tf, df
