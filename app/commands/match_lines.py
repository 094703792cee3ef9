"""Results as editors take them: one line for each match, `path:line:column:text`, as `rg --vimgrep` writes it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

from app.commands.printed import printed_path
from app.search.results import Hit, Preview
from app.search.snippets import column_of
from console.printable import safe_line

MATCHES = 50
"""lines of one document at most"""
BEFORE, LONGEST = 80, 300
"""characters of a longer line that are kept: before its match, and in all"""


def match_lines(hit: Hit, preview: Preview) -> Iterator[str]:
    """One line for each of the first matches; the first line of the text for what was found by its name alone.

    Line and column count from 1, columns in bytes. Where the format has pages the text begins with the page.
    """
    path, text = printed_path(hit.path), preview.text
    spans = preview.spans[:MATCHES] or ((0, 0),)
    line, counted = 1, 0
    for start, _ in spans:
        line += text.count("\n", counted, start)
        counted = start
        begin, end = text.rfind("\n", 0, start) + 1, text.find("\n", start)
        whole = text[begin : end if end >= 0 else len(text)]
        place = start - begin
        left = 0 if len(whole) <= LONGEST else max(place - BEFORE, 0)
        page = f"[page {max(1, bisect_right(preview.pages, start))}] " if preview.pages else ""
        yield f"{path}:{line}:{column_of(text, start)}:{page}{safe_line(whole[left : left + LONGEST])}"
