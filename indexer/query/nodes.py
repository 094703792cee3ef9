"""The tree that a query is parsed into.

Nodes are frozen and hashable. `position` and `length` say where in the query text a node stands; they do not
take part in comparison, so that two spellings of the same question are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

from msgspec import Struct

from indexer.properties import DATE_FIELDS


class Problem(Struct, frozen=True):
    """Something in the query that was not understood; the rest of the query still holds."""

    position: int
    """offset in the query text of the first character concerned"""
    length: int
    message: str
    """one line for a person"""


UNCOMPARED = frozenset({"unfinished", "op", "position", "length", "offset"})
"""attributes that say how and where something was typed"""


@cache
def _compared(kind: type[Struct]) -> attrgetter[Any]:
    return attrgetter(*(name for name in kind.__struct_fields__ if name not in UNCOMPARED))


class Meant(Struct, frozen=True, eq=False):
    """Nodes are equal when they mean the same, however and wherever they were typed."""

    def __eq__(self, other: object) -> bool:
        compared = _compared(type(self))
        return type(other) is type(self) and bool(compared(self) == compared(other))

    def __hash__(self) -> int:
        return hash(_compared(type(self))(self))


class Word(Meant, frozen=True, eq=False):
    """One word as typed: `text[position:position + length]` of the query, case kept.

    It may hold punctuation ("foo_bar", "3.2.20", "http://x"): the index's own analysis splits it.
    """

    text: str
    field: str | None = None
    """title, body, name, path, from, to or a property whose values are text; None for all"""
    prefix: bool = False
    """matches any word that begins with it: `trans*`"""
    exact: bool = False
    """matches only this form, unstemmed: `=house`"""
    unfinished: bool = False
    """a prefix because it is still being typed, not because of a star"""
    position: int = 0
    length: int = 0
    made: tuple[str, ...] = ()
    """indexed words it also matches: those it forms with a neighbour; by a month or year, other ways to write it"""
    month: int = 0
    """its number, from 1, if it is a month next to a year"""

    @property
    def is_plain(self) -> bool:
        """Whether it has no field, no star and no exact form."""
        return not (self.field or self.exact or (self.prefix and not self.unfinished))


class Phrase(Meant, frozen=True, eq=False):
    """Words next to each other in this order; `text` is the raw text between the quotes."""

    text: str
    field: str | None = None
    exact: bool = False
    """matches only these forms, unstemmed: `="new houses"`"""
    position: int = 0
    """of the text between the quotes"""
    length: int = 0


Range = tuple[int | None, int | None]

FilterValue = str | Range


class Filter(Meant, frozen=True, eq=False):
    """A condition on a document that does not touch its score."""

    kind: str
    """what it looks at: ext, type, dir, lang, modified, size, thread, links, or a property that is a date or a mark"""
    op: str
    """as typed: "", ">", ">=", "<", "<=", ".."; `value` already holds its meaning, so it is not compared"""
    value: FilterValue
    """ext: lower case, no dot; type: one of indexer.documents.TYPES; dir: a folder's name or path as typed;
    lang: a code such as "en"; thread: the id of a message; links: the name of a note; a mark: its value;
    a date: (start, end) seconds since the epoch, half-open [start, end); size: (smallest, largest) bytes, both
    included; None is an open end"""
    position: int = 0
    """of the value"""
    length: int = 0


class And(Meant, frozen=True, eq=False):
    """All children must match; at least two, none of them an And."""

    children: tuple[Node, ...]
    position: int = 0
    length: int = 0


class Or(Meant, frozen=True, eq=False):
    """At least one child must match; at least two children, none of them an Or."""

    children: tuple[Node, ...]
    position: int = 0
    length: int = 0


class Not(Meant, frozen=True, eq=False):
    """All documents except those that match `child`, which is never a Not."""

    child: Node
    position: int = 0
    length: int = 0


Node = Word | Phrase | Filter | And | Or | Not


class Query(Struct, frozen=True):
    """A parsed query; `root` is None when there is nothing to search for."""

    text: str
    root: Node | None
    problems: tuple[Problem, ...] = ()
    plain: bool = True
    """only words and phrases joined by blanks, beside conditions for which `is_filter` holds: when too few
    documents hold all the words, those that hold some of them may be added (the conditions always stay)"""
    operators: tuple[Problem, ...] = ()
    """how each operator and pair of quotes was read: not a problem, but shown where little is found"""


def leaves(node: Node | None, *, negated: bool = True) -> Iterator[Word | Phrase | Filter]:
    """The words, phrases and filters of a tree, in query order; those under a NOT only with `negated`."""
    match node:
        case Word() | Phrase() | Filter():
            yield node
        case Not(child) if negated:
            yield from leaves(child)
        case And(children) | Or(children):
            for child in children:
                yield from leaves(child, negated=negated)


def is_filter(node: Node) -> bool:
    """Whether `node` consists of filters only, like `-ext:pdf` or `(type:mail OR type:pdf)`: it has no score."""
    return all(isinstance(leaf, Filter) for leaf in leaves(node))


def asks_for_threads(query: Query) -> bool:
    """Whether a condition names a thread: its mails are then wanted one by one."""
    return any(isinstance(leaf, Filter) and leaf.kind == "thread" for leaf in leaves(query.root))


def positive_words(query: Query) -> tuple[Word | Phrase, ...]:
    """The words and phrases that a document may be found by (not those under a NOT), in query order."""
    return tuple(leaf for leaf in leaves(query.root, negated=False) if not isinstance(leaf, Filter))


def asks_for_people(query: Query) -> bool:
    """Whether the query asks only for who wrote something or received it."""
    fields = {word.field for word in positive_words(query)}
    return bool(fields) and fields <= {"from", "to", "cc"}


OPERATORS = {"AND": "and", "OR": "or", "NOT": "not"}


def is_shouted(text: str) -> bool:
    """Whether a text is all capitals, apart from apparent operators: then it is a heading, and they are words."""
    others = " ".join(word for word in text.split() if word not in OPERATORS)
    return others.upper() == others != others.lower()


class Signs(NamedTuple):
    """How operators are written."""

    conjunction: str
    or_: str
    not_: str


def render(query: Query) -> str:
    """The canonical text of a query: `parse(render(query))` gives the same tree, and is as plain."""
    if query.root is None:
        return ""
    text = _render(query.root, Signs(" " if query.plain else " AND ", " OR ", "NOT "))
    return _render(query.root, Signs(" " if query.plain else " && ", " || ", "-")) if is_shouted(text) else text


def _render(node: Node, signs: Signs) -> str:
    match node:
        case Word():
            text = "=" * node.exact + node.text + "*" * node.prefix
            bare = not node.field or not text.startswith((":", "：", "//"))  # title::x would be read as one word
            return (f"{node.field}:" if node.field else "") + (text if bare else f"({text})")
        case Phrase():
            return (f"{node.field}:" if node.field else "") + "=" * node.exact + f'"{node.text}"'
        case Filter():
            return f"{node.kind}:{_filter_value(node)}"
        case Not(child):
            # NOT NOT is taken for a slip and cancels out; -WORD alone is taken for a word
            bracketed = isinstance(child, Not) or signs.not_ == "-"
            return f"{signs.not_}({_render(child, signs)})" if bracketed else f"{signs.not_}{_inner(child, signs)}"
        case Or(children):
            return signs.or_.join(_inner(child, signs) for child in children)
        case And(children):
            return signs.conjunction.join(_inner(child, signs) for child in children)


def _inner(node: Node, signs: Signs) -> str:
    text = _render(node, signs)
    return f"({text})" if isinstance(node, And | Or) else text


def _filter_value(node: Filter) -> str:
    if isinstance(node.value, str):
        return f'"{node.value}"'
    low, high = (
        "" if end is None else f"@{end}" if node.kind == "modified" or node.kind in DATE_FIELDS else f"{end}b"
        for end in node.value
    )
    return f"{low}..{high}"
