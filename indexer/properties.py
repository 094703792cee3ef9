"""Properties that describe a document besides its text: named values, and how a query asks for each.

A document's properties are (name, value) pairs; a name with several values comes several times: ("artist", "Nina
Simone"), ("taken", "2026-05-01T10:00:00"), ("tag", "cooking"). The query language, its help and its page are made from
`PROPERTIES`. A property not listed there is kept with the document, and only plain words find it.
"""

from __future__ import annotations

import math
from datetime import datetime
from typing import Literal

from msgspec import Struct

from indexer.text.analysis import fold

Properties = tuple[tuple[str, str], ...]
"""(name, value) pairs, in order"""

MAX_PROPERTIES = 500
"""of one document; the rest is ignored"""
MAX_VALUE = 1_000
"""characters of one value"""


class Property(Struct, frozen=True):
    """One property: its name, and what its values are."""

    name: str
    kind: Literal["text", "date", "mark"]
    """text: its words are searched; date: a moment; mark: a value that matches only as a whole"""
    meaning: str
    """a few words for a person"""
    example: str
    aliases: tuple[str, ...] = ()
    plain: bool = True
    """whether words without a name find it too; False for what a program writes into all of its files"""


_ALL = (
    Property("artist", "text", "who made a recording", "artist:nina", ("performer", "composer")),
    Property("album", "text", "the album", 'album:"pastel blues"'),
    Property("genre", "text", "the kind of music", "genre:jazz"),
    Property("year", "text", "the year of a recording", "year:1965"),
    Property("camera", "text", "make and model of the camera", "camera:canon"),
    Property("place", "text", "where a picture was taken, as its file says", "place:lisbon", ("location",)),
    Property("subject", "text", "the subject of a mail or document", "subject:invoice"),
    Property("cc", "text", "who got a copy of a mail", "cc:robin"),
    Property("bcc", "text", "who got a blind copy of a mail", "bcc:robin"),
    Property("attachment", "text", "the name of an attached file", "attachment:plan", ("attachments",)),
    Property("company", "text", "the company in a document's properties", "company:acme", ("organization",)),
    Property("editor", "text", "who last saved a document", "editor:anna"),
    Property("producer", "text", "the program that made it", "producer:latex", ("creator",), plain=False),
    Property("link", "text", "words in the targets of a note's links", "link:okapi", plain=False),
    Property("url", "text", "the address of a bookmark or a visited page", "url:wikipedia", ("address",)),
    Property("pixels", "text", "width and height of a picture", "pixels:4000x3000", ("dimensions",), plain=False),
    Property("duration", "text", "the length of a recording", "duration:4:05", plain=False),
    Property("taken", "date", "when a picture was taken", "taken:2026-05", ("shot",)),
    Property("created", "date", "when a document was created, as it says", "created:2024"),
    Property("tag", "mark", "a tag or keyword, whole", "tag:cooking", ("tags", "keyword", "keywords", "label")),
    Property("is", "mark", "the state of a mail", "is:unread"),
    Property("has", "mark", "documents that have this property", "has:attachment"),
)
UNSEARCHED: frozenset[str] = frozenset({"to", "message-id", "id"})
"""kept with a document and shown, but not searched here: `to` is searched in the field of recipients"""

PROPERTIES: dict[str, Property] = {one.name: one for one in _ALL}
"""By name."""

NAMES: dict[str, str] = {alias: one.name for one in _ALL for alias in (one.name, *one.aliases)}
"""Name or alias, as it may stand before a colon -> name of the property."""

DATE_FIELDS: tuple[str, ...] = tuple(one.name for one in _ALL if one.kind == "date")
"""Each has a column of its own in the index: seconds since the epoch, NaN where nothing is known."""

STATES: dict[str, str] = {
    "unread": "unread", "new": "unread", "unseen": "unread", "read": "read", "seen": "read", "flagged": "flagged",
    "starred": "flagged", "important": "flagged", "answered": "answered", "replied": "answered", "draft": "draft",
}  # fmt: skip
"""What may stand after `is:` -> the state it means."""


def mark(name: str, value: str) -> str | None:
    """The value of a mark in the form that is compared; None if invalid: `is:` and `has:` have fixed values."""
    word = fold(" ".join(value.split()))
    if name == "is":
        return STATES.get(word)
    if name == "has":
        return NAMES.get(word)
    return word.strip("#/") or None


def marks(properties: Properties) -> set[str]:
    """The terms for the index's field `tag` made from properties: "tag=cooking", "is=unread", "has=place".

    A tag with slashes also counts as its parents: "food/soup" is also "food".
    """
    found: set[str] = set()
    for name, value in properties[:MAX_PROPERTIES]:
        known = PROPERTIES.get(name)
        if known is None:
            continue
        if name not in ("is", "has"):
            found.add(f"has={name}")
        word = mark(name, value[:MAX_VALUE]) if known.kind == "mark" else None
        if word is not None:
            parts = word.split("/") if name == "tag" else [word]
            found.update(f"{name}={'/'.join(parts[: i + 1])}" for i in range(len(parts)))
        elif name == "link" and (key := note_key(value[:MAX_VALUE])):
            found.add(f"link={key}")
    return found


NOTE_ENDINGS = (".md", ".markdown", ".org", ".txt", ".rst", ".adoc")


def note_key(name: str) -> str:
    """The key by which a link finds a note: the file name without folder and ending, or the title, folded.

    "notes/Okapi BM25.md#Formula" is "okapi bm25".
    """
    file = " ".join(name.partition("#")[0].replace("\\", "/").rpartition("/")[2].split())
    ending = next((ending for ending in NOTE_ENDINGS if file.lower().endswith(ending)), "")
    return fold(file.removesuffix(file[len(file) - len(ending) :]) if ending else file)


def note_names(path: str, title: str, properties: Properties) -> set[str]:
    """All keys (see `note_key`) by which others link to a note: of its file name, title, aliases and ids."""
    named = (value for name, value in properties if name in ("alias", "id"))
    return {key for key in (note_key(path), fold(" ".join(title.split())), *map(note_key, named)) if key}


def moments(properties: Properties) -> tuple[float, ...]:
    """The first date of each of `DATE_FIELDS`, in seconds since the epoch, NaN where there is none."""
    first = {name: value for name, value in reversed(properties) if name in DATE_FIELDS}
    return tuple(moment(first[name]) if name in first else math.nan for name in DATE_FIELDS)


def moment(text: str) -> float:
    """Seconds since the epoch of an ISO 8601 date, local time where it names no zone; NaN when it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return math.nan


def shown(properties: Properties) -> dict[str, list[str]]:
    """The values by name, in order."""
    found: dict[str, list[str]] = {}
    for name, value in properties:
        found.setdefault(name, []).append(value)
    return found
