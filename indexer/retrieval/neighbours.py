"""Neighbours in a query that are one word elsewhere: a number typed in groups, words that make up another.

The index stays as it is: what neighbours make is looked up in it, and counts where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from msgspec.structs import replace

from indexer.query.nodes import And, Node, Query, Word
from indexer.retrieval.adjacency import in_groups
from indexer.retrieval.concepts import COMPOUNDING, LINKS, LONG_NUMBER, WRITTEN_IN, is_known
from indexer.storage.snapshot import Snapshot
from indexer.text.analysis import fold

MAX_JOINED = 8
"""words of a query whose neighbours are joined; a longer one is a sentence"""
LEAST_JOINED, LEAST_BOTH = 3, 7
"""letters of a word that makes one with its neighbour, and of both: kick off"""
_FIRST, _GROUP = re.compile(r"[A-Za-z]{0,4}\d+"), re.compile(r"\d+")


def with_neighbours(query: Query, snapshot: Snapshot, languages: Iterable[str]) -> Query:
    """A short query with what its neighbours are in one: a number in groups that stands somewhere as one word or in
    other groups; of two words each with the word that both make, as database of data base and take2 of take 2, and in
    languages that join words mietvertrag of vertrag miet."""
    if not isinstance(query.root, And) or len(query.root.children) > MAX_JOINED:
        return query
    links = () if COMPOUNDING.isdisjoint(languages) else LINKS
    children = _numbers_joined(list(query.root.children), snapshot)
    made = [tuple[str, ...]()] * len(children)
    for i, (one, other) in enumerate(pairwise(children)):
        if isinstance(one, Word) and isinstance(other, Word):
            both = _in_one(snapshot, one, other, links)
            made[i], made[i + 1] = made[i] + both, both
    children = [replace(own, made=words) if isinstance(own, Word) and words else own
                for own, words in zip(children, made, strict=True)]  # fmt: skip
    root = replace(query.root, children=tuple(children)) if len(children) > 1 else children[0]
    return replace(query, root=root)


def _numbers_joined(children: list[Node], snapshot: Snapshot) -> list[Node]:
    start = 0
    while start < len(children):
        words = list[Word]()
        for own in children[start:]:
            if not (isinstance(own, Word) and own.is_plain and (_GROUP if words else _FIRST).fullmatch(own.text)):
                break
            words.append(own)
        for n in range(len(words), 1, -1):
            groups, end = tuple(fold(word.text) for word in words[:n]), words[n - 1].position + words[n - 1].length
            number = "".join(groups)
            if LONG_NUMBER.fullmatch(number) and _is_written_otherwise(snapshot, number, groups):
                position = words[0].position
                children = [*children[:start], Word(number, position=position, length=end - position),
                            *children[start + n :]]  # fmt: skip
                break
        start += 1
    return children


def _is_written_otherwise(snapshot: Snapshot, number: str, groups: tuple[str, ...]) -> bool:
    """Whether the index holds a number in one, or in groups and not in those that were typed."""
    if is_known(snapshot, number, WRITTEN_IN):
        return True
    ways = [way for field in WRITTEN_IN for way in in_groups(snapshot, field, number)]
    return bool(ways) and groups not in ways


def _in_one(snapshot: Snapshot, one: Word, other: Word, links: Iterable[str]) -> tuple[str, ...]:
    """The words of the index that two neighbours make up."""
    first, last = fold(one.text), fold(other.text)
    if not (one.is_plain and other.is_plain and first.isalpha() and len(first) >= LEAST_JOINED):
        return ()
    if last.isdecimal():
        found = [first + last]
    elif last.isalpha() and len(last) >= LEAST_JOINED and len(first) + len(last) >= LEAST_BOTH:
        found = [first + last, *(a + link + b for a, b in ((first, last), (last, first)) for link in links)]
    else:
        found = []
    return tuple(term for term in dict.fromkeys(found) if is_known(snapshot, term, WRITTEN_IN))
