"""Text recognised in pictures and recordings: made once for each content, kept beside the index.

    ocr.sqlite: recognised(digest, engine, pages as JSON, reason, seconds, made)

`digest` is that of the file (indexer.extract.source), `engine` what read it and in which languages, `reason` what
went wrong or was left out, `seconds` the processor time that it took on the day when it was `made`. A row is durable
before anything is made of it. A kill costs the file that was being read, of a long recording its last minutes.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from indexer.confined.given_files import is_confined, recall_text
from indexer.documents import HEARD, ExtractedDocument, storable
from indexer.errors import IndexerError
from indexer.extract.source import Limits, cut
from indexer.storage.sqlite_files import cause, connect, connect_to_read

FILE = "ocr.sqlite"
BEGUN = "so far "
"""how the reason of a content begins of which more is still to be read"""


class Medium(NamedTuple):
    """What holds text that is no text yet."""

    what: str
    types: tuple[str, ...]


PICTURES = Medium("text in pictures", ("pdf", "image"))
RECORDINGS = Medium("speech in recordings", HEARD)


class Attempt(NamedTuple):
    """What is kept of a content that was tried."""

    engine: str
    has_text: bool
    reason: str

    @property
    def is_begun(self) -> bool:
        """Whether more of it is to be read."""
        return self.reason.startswith(BEGUN)


def remember(
    path: Path, digest: bytes, *, engine: str, pages: list[str], reason: str = "", seconds: float = 0.0
) -> None:
    """Keep what `engine` found; `reason` says why it found nothing, where that was a failure, or what it left out.

    A store that is no database any more, of which nothing can be read, is begun anew. Raises IndexerError.
    """
    row = (digest, engine, json.dumps(pages), storable(reason), seconds, time.time())
    try:
        _keep(path, row)
    except IndexerError as error:
        if "not a database" not in str(error):
            raise
        path.unlink()
        _keep(path, row)


def _keep(path: Path, row: tuple[bytes | str | float, ...]) -> None:
    with _writing(path) as store:
        store.execute(
            "INSERT INTO recognised VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO UPDATE SET engine ="
            " excluded.engine, pages = excluded.pages, reason = excluded.reason, seconds = excluded.seconds + "
            "seconds * (date(made, 'unixepoch', 'localtime') = date('now', 'localtime')), made = excluded.made", row
        )  # fmt: skip


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """The store, made where there is none; IndexerError where the disk is full or it is damaged."""
    try:
        with closing(connect(path, seconds=30)) as store:
            store.execute("PRAGMA secure_delete = ON")
            store.execute(
                "CREATE TABLE IF NOT EXISTS recognised (digest BLOB PRIMARY KEY, engine TEXT, pages TEXT, reason TEXT,"
                " seconds REAL, made REAL) WITHOUT ROWID"
            )
            yield store
    except (sqlite3.Error, OSError) as error:
        raise IndexerError(f"{path} cannot be written ({cause(error, path)})") from error


def forget_gone(path: Path, catalogue: sqlite3.Connection) -> None:
    """Remove what was recognised in contents that no file of the catalogue has any more; all, from a damaged store."""
    tries = tried(path)
    if not tries:
        return
    gone = tries.keys() - {bytes(digest) for (digest,) in catalogue.execute("SELECT digest FROM files")}
    try:
        with _writing(path) as store:
            store.executemany("DELETE FROM recognised WHERE digest = ?", ((digest,) for digest in gone))
    except IndexerError as error:
        if "malformed" not in str(error):
            raise
        path.unlink()


def recall_pages(path: Path, digest: bytes) -> tuple[str, list[str], str] | None:
    """(engine, text of each page, what was left out) of a file with this content; None where nobody has tried."""
    if is_confined():
        return msgspec.json.decode(recall_text(digest), type=tuple[str, list[str], str] | None)
    query = "SELECT engine, pages, reason FROM recognised WHERE digest = ?"
    rows = _rows(path, query, digest) if digest else []
    return (rows[0][0], json.loads(rows[0][1]), rows[0][2]) if rows else None


def tried(path: Path) -> dict[bytes, Attempt]:
    """The digest of each content that was tried, and what came of it."""
    has_text = "EXISTS (SELECT 1 FROM json_each(pages) WHERE value <> '')"  # so that no text has to be brought here
    rows = _rows(path, f"SELECT digest, engine, {has_text}, reason FROM recognised")
    return {bytes(digest): Attempt(engine, bool(held), reason) for digest, engine, held, reason in rows}


def seconds_since(path: Path, moment: float, engine: str) -> float:
    """Processor seconds that `engine` spent since `moment` (seconds since the epoch); none that are still to come."""
    wanted = "SELECT total(seconds) FROM recognised WHERE made BETWEEN ? AND ? AND engine = ?"
    rows = _rows(path, wanted, moment, time.time(), engine)
    return float(rows[0][0]) if rows else 0.0


class Unrecognised(NamedTuple):
    """A file in which the index has no text."""

    path: str
    digest: bytes


def without_text(catalogue: sqlite3.Connection, medium: Medium, max_bytes: int) -> list[Unrecognised]:
    """Files of such types without text, the newest first; those of more than `max_bytes` are left out."""
    rows = catalogue.execute(
        "SELECT f.path, f.digest FROM documents d JOIN files f USING (file_id)"
        " WHERE d.n_words = 0 AND d.part = '' AND d.type IN (?, ?) AND f.state = 'indexed' AND f.digest != x''"
        " AND f.size <= ? ORDER BY f.modified_ns DESC",
        (*medium.types, max_bytes),
    ).fetchall()
    return [Unrecognised(os.fsdecode(path), bytes(digest)) for path, digest in rows]


class Coverage(NamedTuple):
    """How far recognition is, in different contents."""

    n_recognised: int
    """with a text"""
    n_waiting: int
    """not tried yet, or not to the end"""
    n_empty: int
    """tried, and without text"""
    n_failed: int
    """tried, and could not be read"""


def coverage(catalogue: sqlite3.Connection, path: Path, medium: Medium, max_bytes: int) -> Coverage:
    """How far it is with the store at `path`."""
    query = "SELECT f.digest FROM documents d JOIN files f USING (file_id) WHERE d.part = '' AND d.type IN (?, ?)"
    held = {bytes(digest) for (digest,) in catalogue.execute(query, medium.types)}
    attempts = {digest: one for digest, one in tried(path).items() if digest in held and not one.is_begun}
    n_failed = sum(1 for one in attempts.values() if not one.has_text and one.reason)
    n_recognised = sum(1 for one in attempts.values() if one.has_text)
    waiting = {one.digest for one in without_text(catalogue, medium, max_bytes)} - attempts.keys()
    return Coverage(n_recognised, len(waiting), len(attempts) - n_recognised - n_failed, n_failed)


def _rows(path: Path, query: str, *values: bytes | float | str) -> list[tuple[Any, ...]]:
    if not path.exists():
        return []
    try:
        with closing(connect_to_read(path)) as store:
            return store.execute(query, values).fetchall()
    except sqlite3.Error:
        return []


def with_recognised(document: ExtractedDocument, digest: bytes, limits: Limits) -> ExtractedDocument:
    """`document` with the text that is in the store `limits.recognised`, when it has none of its own."""
    is_heard = document.type in HEARD
    if not (is_heard or document.type in PICTURES.types) or document.text.strip() or document.part:
        return document
    found = recall_pages(Path(limits.recognised), digest)
    if found is None or not any(found[1]) or found[2].startswith(BEGUN):
        return document
    engine, pages, left_out = found
    between = "" if is_heard else "\f"
    text, truncated = cut(between.join(pages), limits.max_text_bytes)
    starts = accumulate((len(page) + len(between) for page in pages[:-1]), initial=0)
    return msgspec.structs.replace(
        document,
        text=text,
        pages=tuple(start for start in starts if start <= len(text)) if document.type != "image" else (),
        truncated=truncated or left_out or document.truncated,
        properties=(
            *document.properties,
            ("recognised", f"{'speech recognised' if is_heard else 'text recognised in a picture'} by {engine}"),
        ),
    )
