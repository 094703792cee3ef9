"""Markdown as it is meant: headings, lists, quotations, code, tables and rules, each piece with its place in the text.

Read line by line and not by the whole grammar, so that every character shown keeps its place and a match stays marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.tui.preview_rows import Piece, Rendered, Row, cells, wrap_pieces
from app.tui.table_rows import table_rows

LONGEST = 120_000
"""characters; what is longer is shown as written"""

_FENCE = re.compile(r" {0,3}(```+|~~~+)\s*(\w*)")
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+")
_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(\[[ xX]\][ \t]+)?")
_QUOTE = re.compile(r" {0,3}((?:>[ ]?)+)")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_TABLE = re.compile(r"\s*\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_INLINE = re.compile(
    r"(?P<tick>`+)(?P<code>.+?)(?P=tick)"
    r"|(?P<bold>\*\*|__)(?=\S)(?P<strong>.+?)(?<=\S)(?P=bold)"
    r"|(?<![\w*])(?P<mark>[*_])(?=[^\s*_])(?P<emphasis>[^*_\n]+?)(?<=\S)(?P=mark)(?!\w)"
    r"|!?\[(?P<link>[^\]\n]*)\]\([^)\n]*\)"
    r"|\[\[(?P<wiki>[^\]\n]+)\]\]"
)


def markdown_rows(text: str, width: int) -> Rendered:
    """The rows of a Markdown text at a width in cells."""
    rows: list[Row] = []
    starts: list[int] = []
    for start, row in _rows(text, max(4, width)):
        rows.append(row)
        starts.append(max(start, starts[-1] if starts else 0))
    return Rendered(width, tuple(rows), tuple(starts))


def _rows(text: str, width: int) -> Iterator[tuple[int, Row]]:
    """(place in the text, row) of each row."""
    lines = [(found.start(), found[0]) for found in re.finditer(r"[^\n]*\n|[^\n]+$", text)]
    index, was_blank = 0, True
    while index < len(lines):
        end = _block_end(lines, index)
        is_blank = not lines[index][1].strip()
        if not (is_blank and was_blank):  # several blank lines are as good as one, and those at the beginning as none
            yield from _block(lines[index:end], text, width)
        index, was_blank = end, is_blank


def _block_end(lines: list[tuple[int, str]], index: int) -> int:
    """Behind the last line of the block that begins at `index`: a fence, a table, a paragraph, or one line."""
    start, line = lines[index]
    end = index + 1
    if fence := _FENCE.match(line):
        while end < len(lines) and not lines[end][1].strip().startswith(fence[1]):
            end += 1
        return min(end + 1, len(lines))
    if start == 0 and line.strip() == "---":
        while end < len(lines) and lines[end][1].strip() not in ("---", "..."):
            end += 1
        return min(end + 1, len(lines))
    if "|" in line and end < len(lines) and "|" in lines[end][1] and _TABLE.match(lines[end][1]):
        while end < len(lines) and "|" in lines[end][1]:
            end += 1
        return end
    if _HEADING.match(line) or _RULE.match(line) or not line.strip():
        return end
    while end < len(lines) and not _begins(lines[end][1]):
        end += 1
    return end


def _begins(line: str) -> bool:
    """Whether a line begins something else than the paragraph before it goes on."""
    return not line.strip() or any(one.match(line) for one in (_FENCE, _HEADING, _ITEM, _QUOTE, _RULE))


def _block(lines: list[tuple[int, str]], text: str, width: int) -> Iterator[tuple[int, Row]]:
    start, line = lines[0]
    if _FENCE.match(line) or (start == 0 and line.strip() == "---"):
        is_code = _FENCE.match(line) is not None
        inner = lines[1:-1] if len(lines) > 1 else []
        for place, one in inner:
            bar = (Piece("▏ ", "quiet"),) if is_code else ()
            piece = Piece(one.rstrip("\n"), "code" if is_code else "quiet", place)
            for row in wrap_pieces([piece], width, first=bar, rest=bar):
                yield place, row
    elif len(lines) > 1 and _TABLE.match(lines[1][1]) and "|" in lines[1][1]:
        yield from _table(lines, width)
    elif heading := _HEADING.match(line):
        inline = (Piece(p.text, "heading", p.start) for p in _inline(line.rstrip("\n# "), heading.end(), start))
        mark = (Piece("#" * len(heading[1]) + " ", "quiet"),)
        for row in wrap_pieces(inline, width, first=mark, rest=mark):
            yield start, row
    elif _RULE.match(line):
        yield start, (Piece("─" * min(width, 40), "quiet"),)
    else:
        yield from _paragraph(lines, text, width)


def _paragraph(lines: list[tuple[int, str]], text: str, width: int) -> Iterator[tuple[int, Row]]:
    """A paragraph, which may be an item of a list or a quotation."""
    start, line = lines[0]
    first: Row = ()
    rest: Row = ()
    if quote := _QUOTE.match(line):
        first, skip = (Piece("▎ " * quote[1].count(">"), "quiet"),), quote.end()
        rest = first
    elif item := _ITEM.match(line):
        done = {"": "", "[ ]": "☐ ", "[x]": "☑ ", "[X]": "☑ "}[(item[3] or "").strip()]
        bullet = item[2] + " " if item[2][0].isdigit() else done or "• "
        indent = " " * min(len(item[1].expandtabs(4)), width // 3)
        first, skip = (Piece(indent + bullet, "quiet"),), item.end()
        rest = (Piece(" " * cells(first)),)
    else:
        skip = len(line) - len(line.lstrip())
    pieces: list[Piece] = []
    for place, one in lines:
        quoted = _QUOTE.match(one)
        at = skip if place == start else quoted.end() if quoted and first else len(one) - len(one.lstrip())
        pieces += _inline(one.rstrip("\n"), min(at, len(one)), place)
        pieces.append(Piece(" ", "", place + len(one.rstrip("\n"))))
    for row in wrap_pieces(pieces[:-1], width, first=first, rest=rest):
        yield next((piece.start for piece in row if piece.start >= 0), start), row


def _inline(line: str, position: int, start: int) -> Iterator[Piece]:
    """The pieces of a line from `position` on, without the marks of emphasis, code and links."""
    for found in _INLINE.finditer(line, position):
        yield Piece(line[position : found.start()], "", start + position)
        position = found.end()
        for name in ("code", "strong", "emphasis", "link", "wiki"):
            if found[name]:
                yield Piece(found[name], "link" if name == "wiki" else name, start + found.start(name))
    yield Piece(line[position:], "", start + position)


def _table(lines: list[tuple[int, str]], width: int) -> Iterator[tuple[int, Row]]:
    """A table with pipes, as wide as it may be."""
    table = []
    for number, (start, line) in enumerate(lines):
        if number != 1:
            table.append(
                [
                    Piece(found[0].strip(), "", start + found.start() + len(found[0]) - len(found[0].lstrip()))
                    for found in re.finditer(r"(?:\\\||[^|\n])+", line)
                    if found[0].strip() or 0 < found.start() < len(line.rstrip()) - 1
                ]
            )
    made = table_rows(table, widest=max(8, width // 2))
    for (start, _), row in zip([lines[0], *lines[2:]], made, strict=True):
        yield start, row
