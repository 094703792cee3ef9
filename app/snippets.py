"""The line or two of a document that show why it was found."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from app.highlights import Span, find, folded, matches
from app.results import Snippet

__all__ = ["matches", "snippet"]

CHUNK = 200_000
"""characters searched at a time: a long text is searched only until a good place was found"""
MATCHES_PER_CHUNK = 400
STEM = 4
"""letters by which forms of one word are taken as the same: house, houses, housing"""

_BLANKS = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ud800-\udfff]+")
"""white space, and whatever could disturb a terminal"""


def snippet(text: str, words: Sequence[str], *, width: int = 160, pages: Sequence[int] = ()) -> Snippet:
    """At most `width` characters (20 or more) of `text` around the place with most different `words`.

    `words` are as `matches` takes them. `line` and `page` are those of the first match shown; without a match it is
    the beginning of the text, and both are 0.
    """
    width = max(width, 20)
    spans = _best_window(text, tuple(words), width * 2 // 3)
    if not spans:
        line = _squeezed(text[: 8 * width]).strip()
        cut = line if len(line) <= width and len(text) <= 8 * width else _cut(line, width - 1) + "…"
        return Snippet(cut, (), 0, 0)
    first = spans[0][0]
    shown, marks = _compose(text, spans, width)
    return Snippet(shown, marks, text.count("\n", 0, first) + 1, max(1, bisect_right(pages, first)) if pages else 0)


def _best_window(text: str, words: tuple[str, ...], width: int) -> list[Span]:
    """The matches of the best place: those within `width` characters with most different words."""
    wanted = {_stem(word) for word in words}
    best: list[Span] = []
    highest, n_searched = 0.0, 0
    for start, chunk in _chunks(text):
        spans = list(islice(find(chunk, words), MATCHES_PER_CHUNK))
        score, first, last = _densest(chunk, spans, width)
        if score > highest:
            highest, best = score, [(start + a, start + b) for a, b in spans[first:last]]
        n_searched += bool(best)
        if highest >= len(wanted) or n_searched == 3:
            break
    return best


def _chunks(text: str) -> Iterator[tuple[int, str]]:
    """Pieces of `text` that end at white space where there is some, and where each begins."""
    start = 0
    while start < len(text):
        end = start + CHUNK
        blank = re.compile(r"\s").search(text, end, end + 1000) if end < len(text) else None
        end = blank.end() if blank else end
        yield start, text[start:end]
        start = end


def _densest(text: str, spans: Sequence[Span], width: int) -> tuple[float, int, int]:
    """The score of the best run of matches within `width` characters, and the run spans[first:last]."""
    stems = [_stem(folded(text[start:end]).casefold()) for start, end in spans]
    best = (0.0, 0, 0)
    within: dict[str, int] = {}
    last = 0
    for first, (start, _) in enumerate(spans):
        while last < len(spans) and (spans[last][1] - start <= width or last == first):
            within[stems[last]] = within.get(stems[last], 0) + 1
            last += 1
        score = sum(1 + 1.5 * (" " in stem) for stem in within) + 0.01 * min(last - first, 9)
        if score > best[0]:
            best = (score, first, last)
        within[stems[first]] -= 1
        if not within[stems[first]]:
            del within[stems[first]]
    return best


def _stem(word: str) -> str:
    """A key by which forms of a word are the same; a phrase keeps its blanks."""
    parts = re.split(r"[\W_]+", word.rstrip("*"))
    return " ".join(part[:STEM] for part in parts) if len(parts) > 1 and " " in _squeezed(word) else word[:STEM]


def _compose(text: str, spans: Sequence[Span], width: int) -> tuple[str, tuple[Span, ...]]:
    """One line of at most `width` characters that shows `spans`, and where they are in it."""
    begin, end = max(0, spans[0][0] - 2 * width), min(len(text), spans[-1][1] + 3 * width)
    line, marks, position = "", [], begin
    for start, stop in spans:
        line += _squeezed(text[position:start])
        match = _squeezed(text[start:stop])
        marks.append((len(line), len(line) + len(match)))
        line += match
        position = stop
    line += _squeezed(text[position:end])
    room = max(0, width - 2 - (marks[-1][1] - marks[0][0]))
    left = max(0, min(marks[0][0] - room // 3, len(line) - (width - 2)))
    left = _word_start(line, left, marks[0][0]) if left or begin else 0
    if not left and not begin:
        left = len(line) - len(line.lstrip())
    right = left + width - 2
    before = "…" if left or begin else ""
    if not line[:left].strip() and not begin:
        before = ""
    body = _cut(line[left:], right - left, least=marks[-1][1] - left).rstrip()
    after = "…" if left + len(body) < len(line.rstrip()) or end < len(text) else ""
    shift = len(before) - left
    limit = len(before) + len(body)
    kept = tuple((a + shift, min(b + shift, limit)) for a, b in marks if a + shift < limit)
    return before + body + after, kept


def _word_start(line: str, left: int, latest: int) -> int:
    """The beginning of a word at or after `left`, not after `latest`."""
    if left and line[left - 1] == " ":
        return left
    blank = line.find(" ", left, latest)
    return blank + 1 if 0 <= blank <= left + 20 else left


def _cut(line: str, width: int, *, least: int = 0) -> str:
    """The first `width` characters, back to the end of a word when that is near and beyond `least`."""
    if len(line) <= width:
        return line
    blank = line.rfind(" ", max(least, width - 20, 1), width + 1)
    return line[:width] if blank < 0 else line[:blank]


def _squeezed(text: str) -> str:
    return _BLANKS.sub(" ", text)
