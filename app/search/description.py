"""What a person is told of a document before its text: of a mail its head, of others what their properties say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from app.search.results import Hit
from console.wording import iso_minute, minute_of

if TYPE_CHECKING:
    from indexer.storage.catalogue import DocumentRow

_LABELS = (("to", "To"), ("cc", "Cc"), ("bcc", "Bcc"))
_BEHIND = (("attachment", "Attached"), ("tag", "Tags"), ("is", "State"))
_UNSAID = frozenset({"message-id", "id"})
"""properties for programs"""


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
