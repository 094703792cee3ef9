"""Headings above a text and above a line of it: the head of a mail, properties, the heading over a place.

Headings are looked for only when shown: in notes by their marks, in HTML at the offsets that its reader noted. Notes
are Markdown, org, reStructuredText and AsciiDoc; a line in a block of code is no heading.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from app.search.results import Hit
from console.wording import iso_minute, minute_of
from indexer.text.analysis import fold
from indexer.text.markdown import FENCED, HASHED, without_marks

if TYPE_CHECKING:
    from indexer.storage.catalogue import DocumentRow


_UNDERLINE = r"(?P<under>\S[^\n]{0,200})\n(?P<rule>[=\-~^\"'*+#.:])(?P=rule){2,}[ \t]*"
_BLOCKS = {
    "markdown": (FENCED, rf"{HASHED}|(?P<under>\S[^\n]{{0,200}})\n(?:={{3,}}|-{{3,}})[ \t]*"),
    "org": (
        r"[ \t]*\#\+begin_(?P<fence>\w+)(?s:.*?)(?:^[ \t]*\#\+end_(?P=fence)|\Z)",
        r"\*+[ \t]+(?:(?:TODO|DONE|NEXT|WAITING)[ \t]+)?"
        r"(?P<hashed>(?=\S)[^ \t\n]+(?:[ \t]+[^ \t\n]+)*?)(?:[ \t]+:[\w@\#%:]+:)?[ \t]*",
    ),
    "rst": (r"(?P<fence>(?!))", _UNDERLINE),
    "asciidoc": (
        r"(?P<fence>----+)\n(?s:.*?)(?:^(?P=fence)|\Z)",
        r"={1,6}[ \t]+(?P<hashed>\S(?:[^\n]*[^ \t\n=])?)[ \t=]*",
    ),
}
_ENDINGS = {"org": "org", "rst": "rst", "rest": "rst", "adoc": "asciidoc", "asciidoc": "asciidoc"}


@cache
def _pattern(kind: str) -> re.Pattern[str]:
    """Finds blocks and headings."""
    block, heading = _BLOCKS[kind]
    return re.compile(rf"^(?:{block}|{heading})$" if kind != "org" else rf"^(?:{block}|(?:{heading}))$", re.M | re.I)


LONGEST = 1_000
"""characters of a heading that are looked at; a line may have millions"""
_LINK = re.compile(r"(?:\s*[¶§🔗]|\s+#|(?<!\b[A-Z])#)\s*$")
"""the sign at the end of a heading that links to it; C# is none"""
_SITE = re.compile(r"\s*[-–—|·»:]")
"""what stands between the title of a page and the name of its site"""


def heading_over(text: str, line: int, path: str, *, title: str = "") -> str:
    """The nearest heading at or above a line (from 1) of a note at `path`; "" for none, and for its own title."""
    pattern = _pattern(_ENDINGS.get(path.rpartition(".")[2].lower(), "markdown"))
    end = len(text) - len(text.split("\n", line)[-1]) if text.count("\n") >= line else len(text)
    found = ""
    for match in pattern.finditer(text):
        if match.start() >= end:
            break
        heading = match.groupdict().get("hashed") or match.groupdict().get("under")
        found = heading or found
    return _shown(without_marks(found[:LONGEST]), title)


def heading_among(text: str, line: int, starts: Sequence[int], *, title: str = "") -> str:
    """The nearest heading at or above a line, of the lines that begin at `starts` (ascending); "" for none.

    "" too where the title is the heading and a site's name, and for a first heading "NAME Manual Page" of title "NAME".
    """
    at = len(text) - len(text.split("\n", line - 1)[-1])
    place = bisect_right(starts, at) - 1
    heading = text[starts[place] : starts[place] + LONGEST].partition("\n")[0] if place >= 0 else ""
    heading = _LINK.sub("", heading)
    own, whole = (" ".join(fold(one).split()) for one in (heading, title))
    short, long = sorted((own, whole), key=len)
    is_title = (place == 0 and f" {short} " in f" {long} ") or (whole.startswith(own) and _SITE.match(whole, len(own)))
    return "" if short and is_title else _shown(heading, title)


def _shown(heading: str, title: str) -> str:
    shown = " ".join(heading.split())
    return "" if fold(shown) == fold(title) else shown[:100]


_LABELS = (("to", "To"), ("cc", "Cc"), ("bcc", "Bcc"))
_BEHIND = (("attachment", "Attached"), ("tag", "Tags"), ("is", "State"))
_UNSAID = frozenset({"message-id", "id"})
"""properties that only programs read"""


def head_of(hit: Hit | DocumentRow) -> Iterator[tuple[str, str]]:
    """(label, value) pairs, several values of one name in one line."""
    from indexer.properties import DATE_FIELDS  # the screen loads no numpy before its first frame

    known: dict[str, str] = {}
    for name, value in hit.properties:
        value = minute_of(value) if name in DATE_FIELDS else value
        if name not in _UNSAID:
            known[name] = f"{known[name]}, {value}" if name in known else value
    if hit.type == "mail":
        yield "From", hit.author
        yield from ((label, known.pop(name)) for name, label in _LABELS if name in known)
        yield "Date", iso_minute(hit.modified)
        yield "Subject", hit.title
        yield from ((label, known.pop(name)) for name, label in _BEHIND if name in known)
    elif hit.author:
        yield "Author", hit.author
        known.pop("author", None)
    yield from ((name[:1].upper() + name[1:], value) for name, value in known.items())


def headed(hit: Hit | DocumentRow, text: str) -> str:
    """A mail's text below its head, as a pager shows it; other texts as they are."""
    if hit.type != "mail":
        return text
    lines = [f"{label}: {value}" for label, value in head_of(hit) if value]
    return "\n".join((*lines, "", text))
