"""Text recognised in pictures: made once for each content, kept beside the index, and found again by a rebuilt one.

    ocr.sqlite: texts(digest, engine, pages as JSON, reason)

`digest` is that of the file (indexer.files.fingerprint). A row is durable before anything is made of it; a kill costs
the file that was being read.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from indexer.documents import ExtractedDocument
from indexer.extract.source import Limits, cut
from indexer.storage.unwritable import connect_to_read

FILE = "ocr.sqlite"
TYPES_WITH_PICTURES = ("pdf", "image")
NOTE = "text recognised in a picture"


def remember(path: Path, digest: bytes, *, engine: str, pages: list[str], reason: str = "") -> None:
    """Keep what `engine` found; `reason` says why it found nothing where that was a failure."""
    with closing(_opened(path)) as store, store:
        row = (digest, engine, json.dumps(pages), reason)
        store.execute("INSERT OR REPLACE INTO texts VALUES (?, ?, ?, ?)", row)


def _opened(path: Path) -> sqlite3.Connection:
    store = sqlite3.connect(path, timeout=30)
    path.chmod(0o600)
    store.execute(
        "CREATE TABLE IF NOT EXISTS texts (digest BLOB PRIMARY KEY, engine TEXT, pages TEXT, reason TEXT) WITHOUT ROWID"
    )
    return store


def recalled(path: Path, digest: bytes) -> tuple[str, list[str]] | None:
    """(engine, text of each page) of a file with this content; None where nobody has tried."""
    rows = _rows(path, "SELECT engine, pages FROM texts WHERE digest = ?", digest) if digest else []
    return (rows[0][0], json.loads(rows[0][1])) if rows else None


def tried(path: Path) -> dict[bytes, bool]:
    """The digest of each content that was tried, and whether a text was found in it."""
    return {bytes(digest): any(json.loads(pages)) for digest, pages in _rows(path, "SELECT digest, pages FROM texts")}


def _rows(path: Path, query: str, *values: bytes) -> list[tuple[Any, ...]]:
    if not path.exists():
        return []
    try:
        with closing(connect_to_read(path, sqlite3.Connection)) as store:
            return store.execute(query, values).fetchall()
    except sqlite3.Error:
        return []


def with_recognised(document: ExtractedDocument, digest: bytes, limits: Limits) -> ExtractedDocument:
    """`document` with the text that was recognised in it, when it has none of its own."""
    if not limits.recognised or document.type not in TYPES_WITH_PICTURES or document.text.strip() or document.part:
        return document
    found = recalled(Path(limits.recognised), digest)
    if found is None or not any(found[1]):
        return document
    engine, pages = found
    text, truncated = cut("\f".join(pages), limits.max_text_bytes)
    starts = [0]
    for page in pages[:-1]:
        starts.append(starts[-1] + len(page) + 1)
    return msgspec.structs.replace(
        document,
        text=text,
        pages=tuple(start for start in starts if start <= len(text)) if document.type == "pdf" else (),
        truncated=truncated or document.truncated,
        properties=(*document.properties, ("recognised", f"{NOTE} by {engine}")),
    )
