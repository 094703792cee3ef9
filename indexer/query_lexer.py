"""Cuts a query into tokens; never fails, and says where brackets and quotes do not close."""

from __future__ import annotations

import re
from dataclasses import dataclass

from indexer.query_nodes import Problem

MAX_DEPTH = 20
"""Deeper brackets are passed over, so that whatever walks the tree may recurse."""

TEXT_NAMES = {
    "title": "title", "subject": "title", "name": "name", "filename": "name", "file": "name", "path": "path",
    "body": "body", "content": "body", "from": "from", "author": "from", "sender": "from",
}  # fmt: skip
"""What may stand before a colon, and the field it ties a word to."""

FILTER_NAMES = {
    "ext": "ext", "extension": "ext", "filetype": "ext", "type": "type", "kind": "type",
    "dir": "dir", "folder": "dir", "in": "dir", "lang": "lang", "language": "lang",
    "modified": "modified", "date": "modified", "after": "modified", "before": "modified", "since": "modified",
    "until": "modified", "size": "size",
}  # fmt: skip
"""What may stand before a colon, and the kind of filter it makes."""

COMPARISONS = {"after": ">", "before": "<", "since": ">=", "until": "<="}
"""Names that bring their comparison along: `after:2024` is `modified:>2024`."""

_BLANK = re.compile(r"[\s\0]+")
_FIELD = re.compile(r"([A-Za-z]+)[:：](?!:|//)")
_CLOSING = {'"': '"', "“": "”“", "”": "”", "„": "“”", "«": "»", "»": "«"}
_WORD = re.compile(r'[^\s\0"“”„«»()（）]+')
_OPERATORS = {"AND": "and", "OR": "or", "NOT": "not"}


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    """word, quoted, field, open, close, and, or, not"""
    text: str
    """the word, the text between the quotes, the field's name in lower case"""
    start: int
    end: int
    """offsets of the whole token in the query, quotes and `=` included"""
    exact: bool = False
    inner: int = 0
    """where `text` begins"""
    closed: bool = True
    """a quote that was opened was closed too"""


def tokens(text: str, *, as_you_type: bool) -> tuple[list[Token], list[Problem]]:
    """The tokens of `text`, brackets balanced, and what was wrong with it."""
    found: list[Token] = []
    problems: list[Problem] = []
    position = 0
    while position < len(text):
        if (blank := _BLANK.match(text, position)) is not None:
            position = blank.end()
            continue
        token = _token(text, position, found[-1] if found else None)
        found.append(token)
        position = token.end
        if not (token.closed or as_you_type):
            problems.append(Problem(token.inner - 1, 1, "this quote is not closed; the rest is the phrase"))
    return _balanced(found, problems, as_you_type=as_you_type), problems


def _token(text: str, position: int, before: Token | None) -> Token:
    """The token at `position`, which is not blank."""
    first = text[position]
    if first in "(（":
        return Token("open", first, position, position + 1)
    if first in ")）":
        return Token("close", first, position, position + 1)
    tied = before is not None and before.end == position and before.kind in ("field", "not")
    after_field = tied and before is not None and before.kind == "field"
    if first == "-" and not after_field and _negates(text, position):
        return Token("not", first, position, position + 1)
    field = None if after_field else _FIELD.match(text, position)
    if field is not None and (name := field[1].lower()) in TEXT_NAMES | FILTER_NAMES:
        return Token("field", name, position, field.end())
    start = position + (first == "=" and re.match(r"[^\s\0()（）]", text[position + 1 : position + 2]) is not None)
    if text[start] in _CLOSING:
        return _quoted(text, position, start)
    match = _WORD.match(text, start)
    assert match is not None, "neither blank, bracket nor quote"
    word = match[0]
    if start == position and word in _OPERATORS:
        if not tied:
            return Token(_OPERATORS[word], word, position, match.end())
        word = word if after_field else word.lower()
    return Token("word", word, position, match.end(), start > position, start)


def _negates(text: str, position: int) -> bool:
    """Whether the dash there excludes what follows: not one that stands alone, nor the first of `--option`."""
    following = text[position + 1 : position + 2]
    return bool(following) and following not in "-)）\0" and not following.isspace()


def _quoted(text: str, position: int, opening: int) -> Token:
    closings = _CLOSING[text[opening]] + '"'
    inner = opening + 1
    match = re.compile(f"[{closings}]").search(text, inner)
    end = match.start() if match else len(text)
    after = end if match is None else match.end()
    return Token("quoted", text[inner:end], position, after, opening > position, inner, match is not None)


def _balanced(found: list[Token], problems: list[Problem], *, as_you_type: bool) -> list[Token]:
    """Without brackets that close nothing or lie too deep; those left open are closed by the end."""
    kept: list[Token] = []
    open_at: list[Token] = []
    too_deep: Token | None = None
    for token in found:
        if token.kind == "open":
            open_at.append(token)
            too_deep = too_deep or (token if len(open_at) > MAX_DEPTH else None)
            keep = len(open_at) <= MAX_DEPTH
        elif token.kind == "close":
            keep = 0 < len(open_at) <= MAX_DEPTH
            if open_at:
                open_at.pop()
            else:
                problems.append(Problem(token.start, 1, "nothing is open that this bracket could close"))
        else:
            keep = True
        if keep:
            kept.append(token)
    if too_deep is not None:
        problems.append(Problem(too_deep.start, 1, f"brackets deeper than {MAX_DEPTH} are passed over"))
    if open_at and not as_you_type:
        problems.append(Problem(open_at[-1].start, 1, "this bracket is not closed"))
    return kept
