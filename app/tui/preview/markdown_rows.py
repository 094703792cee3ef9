"""Markdown as it is meant: headings, lists, quotations, code, tables and rules, each piece with its place in the text.

Read line by line and not by the whole grammar, so that every character shown keeps its place and a match stays marked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.tui.preview.preview_rows import Piece, Rendered, Row, cells, wrap_pieces
from app.tui.preview.table_rows import table_rows
from indexer.text.markdown import FENCE, HASHES, UNDERLINE

LONGEST = 120_000
"""characters; what is longer is shown as written"""

_ITEM = re.compile(r"([ \t]*)([-*+]|\d{1,9}[.)])[ \t]+(\[[ xX]\][ \t]+)?")
_QUOTE = re.compile(r" {0,3}((?:>[ ]?)+)")
_INDENTED = re.compile(r"(?: {4}|\t)[ \t]*\S")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_TABLE = re.compile(r"[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*(?:\|[ \t]*)?$")
_INLINE = re.compile(
    r"(?P<tick>`+)(?P<code>.+?)(?P=tick)"
    r"|(?P<bold>\*\*|__)(?=\S)(?P<strong>.{1,500}?)(?<=\S)(?P=bold)"
    r"|(?<![\w*])(?P<mark>[*_])(?=[^\s*_])(?P<emphasis>[^*_\n]+?)(?<=\S)(?P=mark)(?!\w)"
    r"|!?\[(?P<link>[^\[\]\n]*)\]\([^)\n]{0,2000}\)"
    r"|\[\[(?P<wiki>[^\[\]\n]+)\]\]"
)
"""its parts are bounded: a line of 100,000 brackets would hold the whole screen up"""


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
    index, was_blank, in_list = 0, True, False
    while index < len(lines):
        line = lines[index][1]
        is_blank, is_indented = not line.strip(), _INDENTED.match(line) is not None
        if is_indented and was_blank and not in_list:
            end = _code_end(lines, index)
            yield from _code(lines[index:end], width)
        else:
            end = _block_end(lines, index)
            if not (is_blank and was_blank):  # several blank lines are as good as one, those at the beginning as none
                yield from _block(lines[index:end], text, width)
        in_list = _ITEM.match(line) is not None or (in_list and (is_blank or is_indented))
        index, was_blank = end, is_blank


def _code_end(lines: list[tuple[int, str]], index: int) -> int:
    """Behind the last line of a block of code that is one by being indented."""
    end = index + 1
    while end < len(lines) and (_INDENTED.match(lines[end][1]) or not lines[end][1].strip()):
        end += 1
    while not lines[end - 1][1].strip():
        end -= 1
    return end


def _block_end(lines: list[tuple[int, str]], index: int) -> int:
    """Behind the last line of the block that begins at `index`: a fence, a table, a paragraph, or one line."""
    start, line = lines[index]
    end = index + 1
    if fence := FENCE.match(line):
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
    if HASHES.match(line) or _RULE.match(line) or not line.strip():
        return end
    if end < len(lines) and UNDERLINE.match(lines[end][1]) and not _begins(line):
        return end + 1
    while end < len(lines) and not _begins(lines[end][1]):
        end += 1
    return end


def _begins(line: str) -> bool:
    """Whether a line begins something else than the paragraph before it goes on."""
    return not line.strip() or any(one.match(line) for one in (FENCE, HASHES, _ITEM, _QUOTE, _RULE))


def _block(lines: list[tuple[int, str]], text: str, width: int) -> Iterator[tuple[int, Row]]:
    start, line = lines[0]
    if FENCE.match(line) or (start == 0 and line.strip() == "---"):
        yield from _code(_within(lines), width, is_code=FENCE.match(line) is not None)
    elif len(lines) > 1 and _TABLE.match(lines[1][1]) and "|" in lines[1][1]:
        yield from _table(lines, width)
    elif heading := HASHES.match(line):
        yield from _heading(line.rstrip("\n# "), heading.end(), start, width, level=len(heading[1]))
    elif len(lines) == 2 and (under := UNDERLINE.match(lines[1][1])):
        yield from _heading(
            line.rstrip(), len(line) - len(line.lstrip()), start, width, level="=-".index(under[1][0]) + 1
        )
    elif _RULE.match(line):
        yield start, (Piece("─" * min(width, 40), "quiet"),)
    else:
        yield from _paragraph(lines, text, width)


def _within(lines: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """Without the lines that open and close a block; one that nothing closes goes on to the end of the text."""
    opened, last = lines[0][1].strip()[:3], lines[-1][1].strip()
    is_closed = len(lines) > 1 and (last.startswith(opened) or (opened == "---" and last == "..."))
    return lines[1:-1] if is_closed else lines[1:]


def _heading(line: str, position: int, start: int, width: int, *, level: int) -> Iterator[tuple[int, Row]]:
    """A line from `position` on as a heading, also where a rule below it made it one."""
    inline = (Piece(piece.text, "heading", piece.start) for piece in _inline(line, position, start))
    mark = (Piece("#" * level + " ", "quiet"),)
    for row in wrap_pieces(inline, width, first=mark, rest=mark):
        yield start, row


def _code(lines: list[tuple[int, str]], width: int, *, is_code: bool = True) -> Iterator[tuple[int, Row]]:
    """Lines as they are written: code, or the head of a note."""
    bar = (Piece("▏ ", "quiet"),) if is_code else ()
    for place, one in lines:
        piece = Piece(one.rstrip("\n"), "code" if is_code else "quiet", place)
        for row in wrap_pieces([piece], width, first=bar, rest=bar):
            yield place, row


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
