"""From a file to its extractor: by name, then by content where the name misleads."""

from __future__ import annotations

from functools import cache
from pkgutil import resolve_name
from typing import Any

import msgspec

from indexer.documents import Extraction, storable
from indexer.errors import ExtractionError
from indexer.extract.kinds import HEAD, KINDS, kind_by_content, kind_of, take_readers
from indexer.extract.source import Limits, Source, some_of
from indexer.extract.sources.known import not_named, source_of
from indexer.files.ignore import pattern_of, why_unread

OF_SOURCES: dict[str, str] = {
    "firefox": "sources.browser:read_firefox",
    "chromium": "sources.browser:read_chromium",
    "imessage": "sources.chats:read_imessage",
    "whatsapp": "sources.chats:read_whatsapp",
    "telegram": "sources.chats:read_telegram",
    "slack": "sources.chats:read_slack",
    "discord": "sources.chats:read_discord",
}
"""Readers of what a user names; None from one says that the file is an ordinary one."""


@cache
def load(extractor: str, where: str = "indexer.extract.") -> Any:
    """The function of that name, its module loaded for the first file that wants it: most are never wanted.

    ExtractionError where that fails, as in a process that lives through an upgrade: no damage of the file.
    """
    try:
        return resolve_name(where + extractor)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise ExtractionError("crashed", f"its reader could not be loaded: {error}") from error


def _of_named_source(source: Source, limits: Limits) -> Extraction | None:
    """What the reader of a named source finds; None for an ordinary file, "unsupported" for one of another source."""
    found = source_of(source.name)
    if found is None:
        return None
    if found.name in limits.sources:
        named: Extraction | None = load(OF_SOURCES[found.name])(source, limits)
        return named
    if found.is_own:
        raise ExtractionError("unsupported", not_named(found))
    return None


def extract_source(source: Source, limits: Limits) -> Extraction:
    """What `source` holds; raises ExtractionError and nothing else but MemoryError."""
    try:
        if source.depth and (secret := pattern_of(source.name, limits.secrets)):
            raise ExtractionError("unsupported", why_unread(secret))
        if (named := _of_named_source(source, limits)) is not None:
            return _storable(named, some_of(named.notes))
        kind = kind_by_content(kind_of(source.name), source.read(HEAD))
        known = KINDS.get(kind, KINDS["text"])
        if known.holds_files and kind != "ole" and source.depth >= limits.max_depth:  # mails aside, "ole" holds none
            raise ExtractionError("too-large", f"packed more than {limits.max_depth} times over")
        members = (extract_source,) if known.holds_files else ()
        reader = load(known.reader, "") if known.is_added else load(known.reader)
        found: Extraction = reader(source, limits, *members)
    except (ExtractionError, MemoryError):
        raise
    except OSError as error:
        raise ExtractionError("unreadable", error.strerror or _brief(error)) from error
    except Exception as error:  # whatever a parser raises on damaged data is that file's failure
        raise ExtractionError("malformed", _brief(error)) from error
    notes = some_of(found.notes)
    silent = (one.type in _WITH_TEXT and not one.text.strip() for one in found.documents)
    if not notes and found.documents and all(silent):
        notes = (NO_TEXT,)
    return _storable(found, notes)


NO_TEXT = "no text was found in it"
"""what is said of a file that should have text and has none; its name is found all the same"""
_WITH_TEXT = frozenset({"document", "presentation", "ebook", "pdf", "spreadsheet"})
"""Types of which an empty one is worth a word; an empty text file is what it is."""


def extract_file(path: str, limits: Limits) -> Extraction:
    """What the file at `path` holds; raises ExtractionError with a line for a person, or MemoryError."""
    take_readers()
    return extract_source(Source(name=path, path=path), limits)


def _storable(found: Extraction, notes: tuple[str, ...]) -> Extraction:
    """The documents with texts that UTF-8 can hold, whatever an extractor let through."""
    documents = []
    for one in found.documents:
        texts = {name: storable(getattr(one, name)) for name in ("text", "part", "title", "author", "recipients")}
        pairs = tuple((storable(name), storable(value)) for name, value in one.properties)
        documents.append(msgspec.structs.replace(one, properties=pairs, **texts))
    return Extraction(documents=tuple(documents), notes=notes)


def _brief(error: Exception) -> str:
    """The first line of what a library says, with its class when it says little."""
    message = " ".join(str(error).split())[:150]
    return f"damaged or not what its name says ({type(error).__name__}{': ' if message else ''}{message})"
