"""The colours of source code, for the part of a text around the place that is shown first."""

from __future__ import annotations

from collections.abc import Iterator

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
