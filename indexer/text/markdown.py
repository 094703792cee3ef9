"""The syntax of a line of Markdown, defined once for titling, indexing, quoting and showing notes.

Found by patterns and not by the whole grammar: the blocks of markdown-it-py alone take two thirds of the time in which
a note is read, analysed and compressed (docs/decisions/012-markdown-by-patterns.md). So a fence may be indented as far
as one likes, as in a list, and one that nothing closes goes on to the end of the text.
"""

from __future__ import annotations

import re

FRONT_MATTER = re.compile(r"\A\ufeff?(---|\+\+\+)[ \t]*\n(.*?)\n?(---|\.\.\.|\+\+\+)[ \t]*(?:\n|\Z)", re.S)
"""a head between lines of --- (YAML) or +++ (TOML): its sign and what it says"""

FENCE_SIGN = r"[ \t]*(?P<fence>```++|~~~++)"
"""opens a block of code at the beginning of a line, and closes it at that of a later one"""
FENCE = re.compile(rf"{FENCE_SIGN}[ \t]*(\w*)")
"""the line that opens a block of code: its sign and the language"""
HASHES = re.compile(r"[ ]{0,3}(#{1,6})[ \t]+")
"""the signs of a heading at the beginning of its line"""
UNDERLINE = re.compile(r"[ ]{0,3}(={3,}|-{3,})[ \t]*$")
"""the line that makes a heading of the line above it"""

FENCED = rf"{FENCE_SIGN}[^\n]*\n(?s:.*?)(?:^[ \t]*(?P=fence)[^\n]*$|\Z)"
"""a whole block of code; a pattern for many lines (re.M), to be put behind ^"""
HASHED = r"[ ]{0,3}\#{1,6}[ \t]+(?P<hashed>\S[^\n]*?)[ \t\#]*$"
"""a heading behind hashes, likewise"""
CODE = re.compile(rf"^{FENCED}|(?<!`)(?P<span>`++)[^\n]{{0,5000}}?(?<!`)(?P=span)(?!`)", re.M)
"""all code: blocks, and what stands in a line between backquotes"""

_MARKS = re.compile(
    r"!?\[\[(?:[^\]|]*\|)?([^\]]*)\]\]|!?\[([^\]]*)\]\([^)]*\)|[*`]{1,3}|(?<!\w)_{1,3}|_{1,3}(?!\w)|<[^>]*>|\{#[^}]*\}"
)


def without_marks(heading: str) -> str:
    """A heading without the signs of links, emphasis, code, tags and names of places."""
    return _MARKS.sub(lambda found: found[1] or found[2] or "", heading).strip()
