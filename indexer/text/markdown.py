"""The syntax of a line of Markdown, defined once for titling, indexing, quoting and showing notes.

Found by patterns and not by the whole grammar: the blocks of markdown-it-py alone take two thirds of the time in which
a note is read, analysed and compressed (docs/decisions/012-markdown-by-patterns.md). So a fence may be indented as far
as one likes, as in a list, and one that nothing closes goes on to the end of the text.
"""

from __future__ import annotations

import re

FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\n(.*?)(?<=\n)(---|\.\.\.|\+\+\+)[ \t]*(?:\n|\Z)", re.S)
"""front matter between lines of --- (YAML) or +++ (TOML): its delimiter and its content"""

FENCE_SIGN = r"[ \t]*(?P<fence>```++|~~~++)"
"""opens a block of code at the start of a line, and closes it at the start of a later one"""
FENCE = re.compile(rf"{FENCE_SIGN}[ \t]*(\w*)")
"""the line that opens a block of code: its sign and the language"""
HASHES = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+")
"""the hashes of a heading at the beginning of its line"""
UNDERLINE = re.compile(r"[ ]{0,3}(={3,}|-{3,})[ \t]*$")
"""an underline, which makes the line above it a heading"""

FENCED = rf"{FENCE_SIGN}[^\n]*\n(?s:.*?)(?:^[ \t]*(?P=fence)[^\n]*$|\Z)"
"""a whole block of code; a multi-line pattern (re.M), to be put after ^"""
HASHED = r"[ ]{0,3}\#{1,6}[ \t]+(?P<hashed>\S(?:[^\n]*[^ \t\n\#])?)[ \t\#]*$"
"""a heading after hashes, likewise"""
CODE = re.compile(rf"^{FENCED}|(?<!`)(?P<span>`++)[^\n]{{0,5000}}?(?<!`)(?P=span)(?!`)", re.M)
"""all code: blocks, and spans between backquotes"""

_MARKS = re.compile(
    r"!?\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|!?\[([^\]]*)\]\([^)]*\)|[*`]{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|<[^>]*>|\{#[^}]*\}"
)


def without_marks(heading: str) -> str:
    """A heading, of a long one its beginning, without the markup of links, emphasis, code, tags and anchors."""
    return _MARKS.sub(lambda found: found[1] or found[2] or "", heading[:1_000]).strip()
