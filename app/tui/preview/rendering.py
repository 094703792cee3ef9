"""How each kind of document is shown in the preview; runs in a worker, and is bounded by what the formats bound.

A document is what describes it (who, when, what its properties say), then its text: source (around the place that is
shown first) and other notes in colours, Markdown and tables as they are meant, everything else as written.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from app.search.headings import head_of
from app.search.results import Hit, Preview
from app.tui.preview.markdown_rows import LONGEST as LONGEST_MARKDOWN
from app.tui.preview.markdown_rows import markdown_rows
from app.tui.preview.picture_preview import Picture
from app.tui.preview.preview_rows import Headed, Layout, PagePictures, Piece, Rendered, Row, Rows, lay_out, wrap_pieces
from app.tui.preview.table_rows import LONGEST as LONGEST_TABLE
from app.tui.preview.table_rows import SEPARATORS, delimited_rows
from console.printable import safe_line
from indexer.documents import HEARD, SPAN, page_name
from indexer.extract.kinds import kind_of

OTHER_NOTES = ("org", "rst", "asciidoc", "pod")
"""kinds of notes in which Markdown's signs mean something else: shown as written, in colours where they are known"""
TABLE_ENDINGS = (".csv", ".tsv", ".tab")
MOST_ABOVE = 10
"""rows above the text at most"""

Form = Layout | Rendered
"""of a text"""
Show = Callable[[int], Picture]
"""gives the picture that a file is, or one of its pages, counted from 0"""


def render(
    hit: Hit,
    preview: Preview,
    width: int,
    *,
    as_written: bool = False,
    turned: bool = False,
    show: Show = lambda page: Picture(()),
) -> Rows:
    """The rows of a document at a width in cells; `as_written`: its text without any form.

    A PDF is shown by its text, or by its pages where it has none; `turned`: the other way round.
    """
    number = _pictured(hit, preview, turned=turned)
    picture = Picture(()) if number is None else show(number)
    if number is not None and picture.n_pages and hit.type == "pdf":
        return PagePictures(width, len(picture.rows) + 1, picture.n_pages, preview.pages, {number: picture.rows})
    form: Form = lay_out(preview.text, width, **_paged(hit, preview)) if as_written else _text(hit, preview, width)
    text = Headed((*picture.rows, ()), form) if picture.rows else form
    above = tuple(_above(hit, width))[:MOST_ABOVE]
    return Headed((*above, ()), text) if above else text


def _pictured(hit: Hit, preview: Preview, *, turned: bool) -> int | None:
    """The page to be shown as a picture, that of the passage; None for what is shown by its text."""
    is_pdf = hit.type == "pdf" and turned == bool(preview.text.strip())
    if hit.part or hit.missing or not (is_pdf or hit.type == "image"):
        return None
    place = preview.spans[preview.best][0] if preview.spans else 0
    return max(0, bisect_right(preview.pages, place) - 1)


def _paged(hit: Hit, preview: Preview) -> dict[str, Any]:
    """The pages as `lay_out` takes them; of a recording the minutes."""
    if hit.type not in HEARD:
        return {"pages": preview.pages}
    step = 60 // SPAN
    return {"pages": preview.pages[::step], "named": lambda number: page_name(hit.type, (number - 1) * step + 1)}


def _text(hit: Hit, preview: Preview, width: int) -> Form:
    text = preview.text
    name = hit.part or hit.path
    if hit.type == "markdown" and len(text) <= LONGEST_MARKDOWN and kind_of(name) not in OTHER_NOTES:
        return markdown_rows(text, width)
    separators = "\t" if hit.type == "spreadsheet" else SEPARATORS
    table = delimited_rows(text, width, separators=separators) if _is_table(hit, preview) else None
    if table is not None:
        return table
    layout = lay_out(text, width, is_letter=hit.type == "mail", **_paged(hit, preview))
    if hit.type in ("source", "markdown"):
        place = preview.spans[preview.best][0] if preview.spans else 0
        return replace(layout, spans=source_colours(name, text, place))
    return layout


def _is_table(hit: Hit, preview: Preview) -> bool:
    if not preview.text or len(preview.text) > LONGEST_TABLE:
        return False
    return hit.type == "spreadsheet" or (hit.part or hit.path).lower().endswith(TABLE_ENDINGS)


def _above(hit: Hit, width: int) -> Iterator[Row]:
    """What describes a document, a line for each thing that is known; its title stands above the preview already."""
    known = [(label, value) for label, value in head_of(hit) if value and label != "Subject"]
    room = max((len(name) for name, _ in known), default=0) + 2
    for name, value in known:
        label = (Piece(name.ljust(room), "label"),)
        yield from wrap_pieces([Piece(safe_line(value))], width, first=label, rest=(Piece(" " * room),))[:2]


BEFORE = 8_000
"""characters in front of the place that are read too: a string or a comment may begin there"""
BEHIND = 24_000
"""characters behind the place"""


def source_colours(path: str, text: str, place: int) -> list[tuple[int, int, str]]:
    """(start, end, style) of what is coloured in `text` around `place`, ascending; [] for an unknown language."""
    from pygments.lexers import get_lexer_for_filename
    from pygments.token import Comment, Generic, Keyword, Name, Number, String
    from pygments.util import ClassNotFound

    styles = (
        (Comment, "comment"), (String, "string"), (Number, "number"), (Keyword, "keyword"),
        (Name.Function, "name"), (Name.Class, "name"), (Name.Decorator, "name"), (Name.Tag, "keyword"),
        (Name.Attribute, "name"), (Generic.Heading, "heading"), (Generic.Subheading, "heading"),
    )  # fmt: skip
    try:
        lexer = get_lexer_for_filename(path.rsplit("/", 1)[-1], stripnl=False, ensurenl=False)
    except ClassNotFound:
        return []
    begin = text.rfind("\n", 0, max(0, place - BEFORE)) + 1

    def spans() -> Iterator[tuple[int, int, str]]:
        for start, token, value in lexer.get_tokens_unprocessed(text[begin : place + BEHIND]):
            style = next((name for kind, name in styles if token in kind), "")
            if style:
                yield begin + start, begin + start + len(value), style

    ascending: list[tuple[int, int, str]] = []
    for span in spans():
        if not ascending or span[0] >= ascending[-1][1]:
            ascending.append(span)
    return ascending
