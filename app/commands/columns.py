"""Text in terminal columns: how wide it is, cutting it, and wrapping it."""

from __future__ import annotations

import unicodedata


def columns(text: str) -> int:
    """The columns that `text` takes: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    return sum(_columns_of(c) for c in text)


def fit(text: str, width: int) -> str:
    """`text` cut to `width` columns, with an ellipsis where something was cut."""
    if columns(text) <= width:
        return text
    taken, room = 0, max(width - 1, 0)
    for position, character in enumerate(text):
        taken += _columns_of(character)
        if taken > room:
            return text[:position] + "…" * (width > 0)
    return text


def fit_left(text: str, width: int) -> str:
    """`text` cut to `width` columns at its beginning: the end of a path tells more."""
    if columns(text) <= width:
        return text
    while text and columns(text) > width - 1:
        text = text[1:]
    return "…" + text if width > 0 else ""


def wrap(text: str, width: int) -> list[tuple[int, int]]:
    """Where each line of `text` begins and ends when it is broken at blanks into lines of `width` columns.

    A word that is wider than a line is broken inside.
    """
    lines: list[tuple[int, int]] = []
    start = blank = taken = 0
    for position, character in enumerate(text):
        taken += _columns_of(character)
        if character == " ":
            blank = position
        elif taken > width and position > start:
            end, following = (blank, blank + 1) if blank > start else (position, position)
            lines.append((start, end))
            start = blank = following
            taken = columns(text[start : position + 1])
    lines.append((start, len(text)))
    trimmed = ((start, start + len(text[start:end].rstrip(" "))) for start, end in lines)
    return [line for line in trimmed if line[0] < line[1]]


def counted(n: int, noun: str) -> str:
    """ "1 pick", "2,000 picks"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
