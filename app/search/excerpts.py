"""Whole lines of a document around its best place, for a reader who pays by the token."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from app.search.snippets import passage

BYTES_PER_TOKEN = 3
"""bytes of UTF-8; the usual tokenisers take more of prose and of code to a token, so that no budget is overrun"""
LEAD = 4
"""of the lines beside the matches one part in so many stands before them, if there are as many"""


class Excerpt(Struct, frozen=True):
    """Lines of a text, whole but where one alone is too long."""

    text: str
    line: int
    """of its first line, from 1"""
    end: int
    """offset in the document behind it"""


def n_tokens(text: str) -> int:
    """How many tokens a text is counted as."""
    return -(-_size(text) // BYTES_PER_TOKEN)


def best_excerpt(text: str, words: Sequence[str], *, tokens: int) -> Excerpt:
    """At most so many tokens (1 or more) around the place with most different words, as `snippets.matches` takes them.

    Without a match it is the beginning of the text. A text is searched for matches only so far as for a snippet.
    """
    room = tokens * BYTES_PER_TOKEN
    spans = passage(text, words, width=room)
    start = text.rfind("\n", 0, spans[0][0]) + 1 if spans else 0
    end = _line_end(text, spans[-1][1]) if spans else 0
    if _size(text[start:end]) > room:
        return from_offset(text, start, tokens=tokens)
    lead = (room - _size(text[start:end])) // LEAD
    while start and (size := _size(text[(above := text.rfind("\n", 0, start - 1) + 1) : start])) <= lead:
        start, lead = above, lead - size
    return from_offset(text, start, tokens=tokens)


def from_offset(text: str, start: int, *, tokens: int) -> Excerpt:
    """Lines of `text` from `start` on, as many as take so many tokens; of a first line that is longer its beginning."""
    room = tokens * BYTES_PER_TOKEN
    end = start
    while end < len(text):
        following = _line_end(text, end)
        size = _size(text[end:following])
        if size > room:
            break
        end, room = following, room - size
    if end == start:
        end += len(text[start : start + room].encode("utf-8", "surrogatepass")[:room].decode("utf-8", "ignore"))
    return Excerpt(text[start:end], text.count("\n", 0, start) + 1, end)


def _line_end(text: str, at: int) -> int:
    """Behind the line in which `at` lies."""
    found = text.find("\n", at)
    return len(text) if found < 0 else found + 1


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
