"""Which documents a query admits: its tree evaluated over sets of documents."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import numpy.typing as npt

from indexer.postings import Mask
from indexer.properties import DATE_FIELDS
from indexer.query.nodes import And, Filter, Node, Not, Or, Phrase, Word, is_filter
from indexer.retrieval.adjacency import phrase_starts
from indexer.retrieval.concepts import Concept, ConceptLookup
from indexer.schema import TAG_FIELD
from indexer.storage.snapshot import PLACE_BITS
from indexer.text.analysis import fold, sequence

FolderIds = Callable[[str], set[int]]
"""the ids of the documents below a folder that is given by its absolute path"""
NamedIds = Callable[[str, str], set[int]]
"""the ids of the documents that a name stands for: ("thread", the id of a message), ("links", the name of a note)"""


def nothing_named(kind: str, name: str) -> set[int]:
    """For an index without mails and notes."""
    return set()


class Matcher:
    """Evaluates the tree of one query over one snapshot."""

    def __init__(self, lookup: ConceptLookup, folder_ids: FolderIds, named_ids: NamedIds = nothing_named) -> None:
        self.lookup, self.snapshot = lookup, lookup.snapshot
        self._folder_ids, self._named_ids = folder_ids, named_ids
        self._holding: dict[Concept, Mask] = {}
        self._meeting: dict[Filter, Mask] = {}

    def admitted(self, node: Node | None) -> Mask:
        """The living documents for which the tree holds; all of them for an empty tree."""
        return self.snapshot.alive if node is None else self._mask(node) & self.snapshot.alive

    def relaxed(self, node: Node) -> Mask:
        """As `admitted`, but one of the bare words is enough, or none where a phrase, a field or `=` is a must.

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
        """Function words are not asked for where other words are."""
        words = [c for c in children if isinstance(c, Word)]
        plain = [word for word in words if all(c.function_word for c in self.lookup.of(word))]
        others = tuple(c for c in children if c not in plain)
        return others if any(not is_filter(c) and not isinstance(c, Not) for c in others) else children

    def _word(self, word: Word) -> Mask:
        masks = [self._held(concept) for concept in self.lookup.of(word)]
        return reduce(np.logical_and, masks) if masks else ~self._none()

    def _held(self, concept: Concept) -> Mask:
        """Which documents hold a concept; not to be changed."""
        mask = self._holding.get(concept)
        if mask is None:
            mask = self._holding[concept] = self._none()
            for docs, _ in self.lookup.counts(concept).values():
                mask[docs] = True
        return mask

    def _phrase(self, phrase: Phrase) -> Mask:
        words = sequence(phrase.text)
        mask = self._none()
        for field in self.lookup.of(phrase)[0].fields if words else ():
            mask[phrase_starts(self.snapshot, field, words) >> PLACE_BITS] = True
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
