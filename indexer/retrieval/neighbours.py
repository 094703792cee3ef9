"""Neighbours in a query that are one word elsewhere: a number typed in groups, words that make up another.

The index stays as it is: what neighbours make is looked up in it, and counts where it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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
LEAST_OF_CODE, MOST_OF_CODE = 5, 4
"""signs of a code that is typed in groups, and its groups: WTB 8823 K1907"""
_FIRST, _GROUP = re.compile(r"[A-Za-z]{0,4}\d+"), re.compile(r"\d+")


def with_neighbours(query: Query, snapshot: Snapshot, languages: Iterable[str]) -> Query:
    """A short query with what its neighbours are in one: a number in groups that stands somewhere as one word or in
    other groups; of words each with the one that they make, as database of data base and take2 of take 2, and in
    languages that join words mietvertrag of vertrag miet."""
    if not isinstance(query.root, And) or len(query.root.children) > MAX_JOINED:
        return query
    links = () if COMPOUNDING.isdisjoint(languages) else LINKS
    children = _numbers_joined(list(query.root.children), snapshot)
    made = [tuple[str, ...]()] * len(children)
    for n in range(2, MOST_OF_CODE + 1):
        for i in range(len(children) - n + 1):
            words = [own for own in children[i : i + n] if isinstance(own, Word) and own.is_plain]
            in_one = _in_one(snapshot, [fold(word.text) for word in words], links) if len(words) == n else ()
            made[i : i + n] = [own + in_one for own in made[i : i + n]]
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


def _in_one(snapshot: Snapshot, words: list[str], links: Iterable[str]) -> tuple[str, ...]:
    """The words of the index that neighbours make up: of two words, or of the groups of a code."""
    first, last, whole = words[0], words[-1], "".join(words)
    found = list[str]()
    if whole.isalpha() and len(words) == 2 and min(map(len, words)) >= LEAST_JOINED and len(whole) >= LEAST_BOTH:
        found = [whole, *(a + link + b for a, b in ((first, last), (last, first)) for link in links)]
    elif not whole.isalpha() and not whole.isdecimal() and whole.isalnum():
        is_numbered = len(words) == 2 and first.isalpha() and len(first) >= LEAST_JOINED and last.isdecimal()
        found = [whole] if is_numbered or len(whole) >= LEAST_OF_CODE else []
    return tuple(term for term in dict.fromkeys(found) if is_known(snapshot, term, WRITTEN_IN))
