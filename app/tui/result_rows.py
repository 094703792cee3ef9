"""How one result reads: a line that says what it is and where, a passage of it, and a blank line that ends it.

Matches are coloured only in the passage. The sign in front shows the kind of document; every font has it, in one cell.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from msgspec import Struct, field
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from app.search.results import Hit, Snippet, title_of
from console.printable import safe_line
from console.wording import also_as, columns, day, fit, fit_path, in_thread, minute_of, short_path, size

HEIGHT = 3
"""lines of one result"""
LEAST_TITLE = 24
"""least cells of a title if the document's place is shown beside it"""
LEAST_PLACE = 12
"""least cells of a place"""
TYPED_FROM = 72
"""least cells of a row that also names the type"""
NO_TEXT = "no text inside"
TOLD = frozenset(
    {"artist", "album", "genre", "year", "duration", "camera", "place", "taken", "subject", "pixels", "url"}
)
"""properties that a row without a text of its own shows"""
SIGNS: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("mail", "chat"), ("@", "mail")),
    "calendar": ("+", "mail"),
    **dict.fromkeys(("source", "notebook"), ("λ", "source")),
    **dict.fromkeys(("spreadsheet", "data"), ("#", "table")),
    **dict.fromkeys(("pdf", "document", "presentation", "ebook"), ("§", "paper")),
    "markdown": ("¶", "note"),
    **dict.fromkeys(("html", "site"), ("¤", "note")),
    "image": ("◊", "media"),
    **dict.fromkeys(("audio", "video"), ("»", "media")),
    "archive": ("÷", "paper"),
}
"""the sign of a type, and its colour"""
PLAIN_SIGN = ("≡", "text")
KINDS = tuple(dict.fromkeys(kind for _, kind in (*SIGNS.values(), PLAIN_SIGN)))


class RowStyles(Struct, frozen=True):
    """The styles of one row, each complete."""

    base: Style
    bar: Style
    title: Style
    snippet: Style
    match: Style
    dim: Style
    mark: Style
    warning: Style
    kinds: Mapping[str, Style] = field(default_factory=dict)
    """by the names of KINDS"""


def author_of(hit: Hit) -> str:
    """The author's name: "Ann Lee" for "Ann Lee <ann@example.org>"; "" where nobody is named."""
    name, _, address = safe_line(hit.author).partition("<")
    return name.strip(" \"'") or address.rstrip("> ")


def known_of(hit: Hit) -> str:
    """What describes a document that has no text, as "Nina Simone · Pastel Blues"; "" where nothing does."""
    named = [minute_of(value) if name == "taken" else value for name, value in hit.properties if name in TOLD]
    return safe_line(" · ".join(dict.fromkeys(named)))


def marks_of(hit: Hit, why: str) -> str:
    """What is special about a result: where it lies, why it stands there, its thread, copies, other formats."""
    copies = f"+{len(hit.copies)}" if hit.copies else ""
    where = "file is gone" if hit.missing else hit.machine and f"on {hit.machine}"
    marks = (where, why, in_thread(hit.n_in_thread), copies, also_as(hit.twins))
    return " · ".join(mark for mark in marks if mark)


def row_lines(
    hit: Hit, *, snippet: Snippet | None, why: str, width: int, styles: RowStyles, now: float, chosen: bool,
    sized: bool = False, marked: bool = False,
) -> tuple[Strip, Strip]:  # fmt: skip
    """The two lines of one result, each exactly `width` cells wide. `sized`: with the size of the file."""
    bar = (("▌" if chosen else " ") + ("●" if marked else " "), styles.bar)
    sign, kind = SIGNS.get(hit.type, PLAIN_SIGN)
    told = (size(hit.size) if sized else "", hit.type if width >= TYPED_FROM else "", day(hit.modified, now))
    right = " · ".join(one for one in told if one)
    room = max(0, width - 7 - columns(right))
    if room < min(LEAST_TITLE, columns(title_of(hit))):
        right, room = "", max(0, width - 7)
    title, beside = title_of(hit), room - LEAST_PLACE - 2
    title = fit(title, room if columns(title) <= room or beside < LEAST_TITLE else beside)
    place = place_of(hit, snippet.heading if snippet else "", room - columns(title) - 2)
    title_style = styles.title + Style(strike=True, bold=False) if hit.missing else styles.title
    first = [bar, (f"{sign} ", styles.kinds.get(kind, styles.dim)), (title, title_style), (f"  {place}", styles.dim)]
    return (
        _line(first, [(right, styles.dim)], width, styles.base),
        _second_line(hit, snippet, marks_of(hit, why), bar=bar, width=width, styles=styles),
    )


def place_of(hit: Hit, heading: str, room: int) -> str:
    """Who wrote it, where it lies, and the heading over the passage, as far as there is room; "" if there is none.

    The file name is left out if it is the title. If little fits, a mail shows its sender, others their folder.
    """
    if room < LEAST_PLACE:
        return ""
    folder, name = os.path.split(hit.path)
    place = short_path(mailbox_of(hit) if hit.part or safe_line(name) != title_of(hit) else folder)
    part = safe_line(hit.part) if hit.type != "mail" and not hit.part.endswith(title_of(hit)) else ""
    author, inside = author_of(hit), "".join(f" › {one}" for one in (part, safe_line(heading)) if one)
    written = f"{author} · {place}" if author else place
    least = fit(author, room) if hit.type == "mail" and author else fit_path(place, room)
    return next((one for one in (written + inside, place + inside, written) if columns(one) <= room), least)


def mailbox_of(hit: Hit) -> str:
    """The path; for a mail in a Maildir that folder, as the name of its file says nothing."""
    folder = os.path.dirname(hit.path)
    in_maildir = hit.type == "mail" and not hit.part and os.path.basename(folder) in ("cur", "new")
    return os.path.dirname(folder) if in_maildir else hit.path


def _second_line(
    hit: Hit, snippet: Snippet | None, marks: str, *, bar: tuple[str, Style], width: int, styles: RowStyles
) -> Strip:
    """The passage (without text: known properties), and at the right what is special about the result."""
    marks = fit(marks, max(0, width // 2))
    room = max(0, width - 5 - (columns(marks) + 2 if marks else 0))
    if snippet is None or snippet.text.strip() or hit.type == "mail":
        passage = _passage(snippet, room, styles)
    else:
        known = known_of(hit)
        passage = [(fit(known or NO_TEXT, room), styles.snippet if known else styles.dim)]
    mark = styles.warning if hit.missing else styles.mark
    return _line([bar, ("  ", styles.base), *passage], [(marks, mark)], width, styles.base)


def _passage(snippet: Snippet | None, room: int, styles: RowStyles) -> list[tuple[str, Style]]:
    """A snippet cut to `room` cells, its matches coloured."""
    text = Text(safe_line(snippet.text) if snippet else "", style=styles.snippet)
    for start, end in snippet.spans if snippet else ():
        text.stylize(styles.match, start, end)
    text.truncate(room, overflow="ellipsis")
    return list(_pieces(text))


def _pieces(text: Text) -> Iterator[tuple[str, Style]]:
    """The styled parts of a text that is already cut to its room, without the wrapping of a console."""
    base = text.style if isinstance(text.style, Style) else Style.null()
    cuts = sorted({0, len(text.plain), *(edge for span in text.spans for edge in (span.start, span.end))})
    for start, end in pairwise(cuts):
        over = (span.style for span in text.spans if span.start <= start and end <= span.end)
        yield text.plain[start:end], Style.combine([base, *(one for one in over if isinstance(one, Style))])


def _line(left: Iterable[tuple[str, Style]], right: Iterable[tuple[str, Style]], width: int, base: Style) -> Strip:
    """`left` from the left edge and `right` up to one cell before the right edge."""
    lefts = [(text, style) for text, style in left if text]
    rights = [(text, style) for text, style in right if text]
    used = sum(cell_len(text) for text, _ in (*lefts, *rights))
    gap = (" " * max(1, width - 1 - used), base)
    strip = Strip([Segment(text, style) for text, style in (*lefts, gap, *rights, (" ", base))], used + len(gap[0]) + 1)
    return strip.adjust_cell_length(width, base)
