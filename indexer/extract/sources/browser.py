"""Bookmarks and visited pages of browsers: a document for each address.

Firefox keeps both in places.sqlite (times in microseconds since 1970), Chromium and its kin in the JSON file Bookmarks
and the SQLite file History (microseconds since 1601). Nothing of the pages themselves is read.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct, field

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.markup.html import one_line
from indexer.extract.source import TIME_IS_UP, Limits, Source
from indexer.extract.sources.sqlite_file import MAGIC, opened

MAX_ADDRESS = 900
"""characters of an address; longer ones are data, not places"""
BOOKMARK = "bookmark"
"""the tag of what was bookmarked"""
_SINCE_1601 = 11_644_473_600
"""seconds from 1601 to 1970"""


class VisitedPage(Struct):
    """What a browser knows of one address."""

    address: str
    title: str = ""
    about: str = ""
    """what the page said of itself"""
    folders: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    when: float = 0.0
    """last visited or bookmarked, seconds since the epoch; 0 where unknown"""


def read_firefox(source: Source, limits: Limits) -> Extraction:
    """A document for each bookmark and visited page of a places.sqlite, bookmarks first, each the newest first."""
    with opened(source) as file:
        pages = {page.address: page for page in _visited_by_firefox(file, limits)}
        for address, title, named, added, folder, above in file.execute(
            "SELECT p.url, p.title, b.title, b.dateAdded, f.title, t.guid FROM moz_bookmarks b"
            " JOIN moz_places p ON p.id = b.fk LEFT JOIN moz_bookmarks f ON f.id = b.parent"
            " LEFT JOIN moz_bookmarks t ON t.id = f.parent WHERE b.type = 1"
        ):
            page = pages.setdefault(str(address), VisitedPage(str(address), _text(title)))
            if above == "tags________":
                page.tags.append(_text(folder))
                continue
            _bookmark(page, _text(named), _text(folder), _seconds(added))
    return _documents(pages.values(), limits)


def _visited_by_firefox(file: sqlite3.Connection, limits: Limits) -> Iterator[VisitedPage]:
    has_about = any(row[1] == "description" for row in file.execute("PRAGMA table_info(moz_places)"))
    about = "description" if has_about else "''"
    for address, title, said, when in file.execute(
        f"SELECT url, title, {about}, last_visit_date FROM moz_places"
        " WHERE last_visit_date IS NOT NULL AND hidden = 0 ORDER BY last_visit_date DESC LIMIT ?",
        (limits.max_messages,),
    ):
        yield VisitedPage(str(address), _text(title), _text(said), when=_seconds(when))


def read_chromium(source: Source, limits: Limits) -> Extraction:
    """A document for each bookmark (Bookmarks) or visited page (History)."""
    if source.read(len(MAGIC)) != MAGIC:
        return _documents(_chromium_bookmarks(source, limits).values(), limits)
    with opened(source) as file:
        rows = file.execute(
            "SELECT url, title, last_visit_time FROM urls WHERE hidden = 0 ORDER BY last_visit_time DESC LIMIT ?",
            (limits.max_messages,),
        )
        pages = [
            VisitedPage(str(address), _text(title), when=_seconds(when, _SINCE_1601)) for address, title, when in rows
        ]
    return _documents(pages, limits)


def _chromium_bookmarks(source: Source, limits: Limits) -> dict[str, VisitedPage]:
    try:
        roots = json.loads(source.read(limits.max_member_bytes))["roots"]
        waiting = [(node, "") for node in roots.values() if isinstance(node, dict)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ExtractionError("malformed", "wanted the bookmarks of Chromium as JSON") from error
    pages: dict[str, VisitedPage] = {}
    while waiting:
        node, folder = waiting.pop()
        if node.get("type") == "url":
            address = str(node.get("url", ""))
            page = pages.setdefault(address, VisitedPage(address))
            _bookmark(page, _text(node.get("name")), folder, _seconds(node.get("date_added"), _SINCE_1601))
        else:
            inner = node.get("children", ())
            waiting += [(child, _text(node.get("name"))) for child in inner if isinstance(child, dict)]
    return pages


def _bookmark(page: VisitedPage, title: str, folder: str, added: float) -> None:
    page.title = title or page.title
    page.when = max(page.when, added)
    page.folders += [folder] if folder and folder not in page.folders else []
    page.tags += [BOOKMARK] if BOOKMARK not in page.tags else []


def _text(value: Any) -> str:
    return clean(value) if isinstance(value, str) else ""


def _seconds(microseconds: Any, before: int = 0) -> float:
    try:
        return max(int(microseconds) / 1e6 - before, 0.0)
    except (TypeError, ValueError, OverflowError):
        return 0.0


def _documents(pages: Iterable[VisitedPage], limits: Limits) -> Extraction:
    """Those with an address of the web; addresses of programs, files and data are no pages."""
    found: list[ExtractedDocument] = []
    notes: tuple[str, ...] = ()
    for page in sorted(pages, key=lambda page: (BOOKMARK not in page.tags, -page.when)):
        if not page.address.startswith(("http://", "https://")) or len(page.address) > MAX_ADDRESS:
            continue
        if len(found) >= limits.max_messages or (len(found) % 256 == 255 and limits.is_late):
            late = f": {TIME_IS_UP}" if limits.is_late else ""
            notes = (f"only the newest {len(found):,} pages, bookmarks first{late}",)
            break
        found.append(_document(page))
    return Extraction(documents=tuple(found), notes=notes)


def _document(page: VisitedPage) -> ExtractedDocument:
    address = clean(page.address)
    lines = [page.about, *(f"Folder: {folder}" for folder in page.folders)]
    return ExtractedDocument(
        text="\n".join(line for line in lines if line),
        type="site",
        part=address,
        title=one_line(page.title) or address,
        properties=(("url", address), *(("tag", tag) for tag in page.tags if tag)),
        modified=page.when or None,
    )
