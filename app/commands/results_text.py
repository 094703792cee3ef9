"""Results for people: wrapped and coloured on a terminal, or as lines in a format of the user's choice or an editor's.

For editors one line for each match, `path:line:column:text`, as `rg --vimgrep` writes it.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from app.commands.command import printed_path
from app.search.results import Explanation, Hit, Preview, Snippet, title_of
from app.search.snippets import column_of, pieces
from console.printable import display_path, safe_line
from console.wording import also_as, columns, fit, fit_left, in_thread, iso_day, wrap
from indexer.documents import page_name
from indexer.properties import PROPERTIES, shown

PLAIN = "{path}\\t{title}\\t{part}\\t{snippet}"
"""the format of lines where there is no terminal"""

FIELDS = (
    "rank", "path", "title", "snippet", "part", "type", "modified", "size", "score", "folder", "name", "author", "line",
    "column", "page", "thread", "to", *PROPERTIES,
)  # fmt: skip
OF_SNIPPET = frozenset({"snippet", "line", "column", "page"})
"""fields for which the text is looked into"""

_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\0": "\0", "\\\\": "\\"}
_TOKEN = re.compile(r"\\[tn0\\]|\{(\w*)\}")

SNIPPET_LINES = 2
MATCH: dict[str, Any] = {"fg": "red", "bold": True}
"""the style of a match"""


def fields_of(template: str) -> frozenset[str]:
    """The fields that a format names; UsageError for one that there is not."""
    named = frozenset(match[1] for match in _TOKEN.finditer(template) if match[1] is not None)
    unknown = sorted(named - set(FIELDS))
    if unknown:
        raise click.UsageError(f"--format has no field {{{unknown[0]}}}; there are {', '.join(FIELDS)}")
    return named


def formatted(template: str, hit: Hit, snippet: Snippet | None) -> str:
    """One result in the user's format; no text in it breaks the line or sends control codes; paths: `printed_path`."""
    values = _values(hit, snippet)
    return _TOKEN.sub(lambda match: values[match[1]] if match[1] is not None else _ESCAPES[match[0]], template)


def terminal_lines(
    hit: Hit, snippet: Snippet | None, *, width: int, words: tuple[str, ...] = (), why: str = "", home: str = ""
) -> Iterator[str]:
    """One result for a terminal of `width` columns, with styles; where there is no colour click takes them out.

    `words` are marked in the title and the path too.
    """
    number = f"{hit.rank:>3}  "
    indent = " " * len(number)
    room = max(width - len(number), 20)
    right = f"  {hit.type}  {iso_day(hit.modified)}"
    right = right if columns(right) <= room // 2 else ""  # in a narrow terminal the name tells more
    title = fit(title_of(hit), room - columns(right))
    gap = " " * (room - columns(title) - columns(right))
    yield number + _marked(title, words, bold=True, strikethrough=hit.missing) + gap + click.style(right, dim=True)
    path = display_path(hit.path.removeprefix(f"{hit.machine}:") if hit.machine else hit.path)
    if home and path.startswith(home + os.sep):
        path = "~" + path.removeprefix(home)
    notes = _notes(hit, why) + (f"  › {safe_line(snippet.heading)}" if snippet and snippet.heading else "")
    notes = fit(notes, room - min(columns(path), room // 2))
    shown = fit_left(path, room - columns(notes))
    yield indent + _marked(shown, words, fg="green", strikethrough=hit.missing) + click.style(notes, dim=True)
    if snippet is not None and snippet.text:
        for line in _snippet_lines(snippet, room):
            yield indent + line


def explanation_lines(explanation: Explanation, *, width: int) -> Iterator[str]:
    """Why a result ranks where it does: one sentence, then what sets it apart from its neighbour, in points."""
    room = max(width - 5, 20)
    summary = explanation.summary + (f" Ranked as {explanation.ranked_as}." if explanation.ranked_as else "")
    for start, end in wrap(summary, room):
        yield "     " + summary[start:end]
    if explanation.contrast is None:
        return
    other, parts, ahead = explanation.contrast.other, explanation.contrast.parts, explanation.contrast.ahead
    if abs(ahead) < 0.0005:
        hit = explanation.hit
        as_words = hit.bm25_rank != other.bm25_rank and (hit.bm25_rank < other.bm25_rank) == (hit.rank < other.rank)
        yield "     " + fit(f"level with result {other.rank}{', in the order of their words' * as_words}", room)
        return
    yield "     " + fit(f"{ahead:+8.3f}  against result {other.rank}, of which", room)
    for part in parts:
        if abs(part.ahead) >= 0.0005:
            yield "     " + fit(f"{part.ahead:+8.3f}  {part.description}", room)


def _values(hit: Hit, snippet: Snippet | None) -> Mapping[str, str]:
    path, described = Path(hit.path), shown(hit.properties)
    return {
        "rank": str(hit.rank),
        "path": printed_path(hit.path),
        "title": safe_line(hit.title),
        "snippet": safe_line(snippet.text) if snippet else "",
        "part": safe_line(hit.part),
        "type": hit.type,
        "modified": iso_day(hit.modified),
        "size": str(hit.size),
        "score": f"{hit.score:.4f}",
        "folder": printed_path(str(path.parent)),
        "name": printed_path(path.name),
        "author": safe_line(hit.author),
        "line": str(snippet.line if snippet else 0),
        "column": str(snippet.column if snippet else 0),
        "page": str(snippet.page or "") if snippet else "",
        "thread": hit.thread,
        **{name: safe_line("; ".join(described.get(name, ()))) for name in ("to", *PROPERTIES)},
    }


def _marked(text: str, words: tuple[str, ...], **style: Any) -> str:
    """A text in one style, its matches in that of a match."""
    return "".join(click.style(piece, **(MATCH if is_match else style)) for piece, is_match in pieces(text, words))


def _notes(hit: Hit, why: str) -> str:
    notes = [hit.machine and f"on {hit.machine}", why, safe_line(hit.part), hit.truncated]
    notes.append("gone" if hit.missing else "")
    notes.append(f"{len(hit.copies)} more with the same content" if hit.copies else "")
    notes += [also_as(hit.twins), in_thread(hit.n_in_thread)]
    return "".join(f"  ({note})" for note in notes if note)


def _snippet_lines(snippet: Snippet, width: int) -> Iterator[str]:
    text = safe_line(snippet.text)
    for start, end in wrap(text, width)[:SNIPPET_LINES]:
        line, position = "", start
        for first, last in snippet.spans:
            a, b = max(first, start), min(last, end)
            if a < b and a >= position:
                line += text[position:a] + click.style(text[a:b], **MATCH)
                position = b
        yield line + text[position:end]


MATCHES = 50
"""lines of one document at most"""
BEFORE, LONGEST = 80, 300
"""characters of a longer line that are kept: before its match, and in all"""


def match_lines(hit: Hit, preview: Preview) -> Iterator[str]:
    """One line for each of the first matches; the first line of the text for what was found by its name alone.

    Line and column count from 1, columns in bytes. Where the format has pages the text begins with the page, that of a
    recording with the moment.
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
        page = page_name(hit.type, max(1, bisect_right(preview.pages, start)))
        page = f"[{page}] " if preview.pages else ""
        yield f"{path}:{line}:{column_of(text, start)}:{page}{safe_line(whole[left : left + LONGEST])}"
