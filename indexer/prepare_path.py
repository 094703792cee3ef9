"""What a document's path adds to the index: the fields `name` and `path`, tags, and its row of numbers."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from indexer.analysis import Analyzer, fold
from indexer.documents import TYPES, FileEntry
from indexer.language import LANGUAGES
from indexer.postings import FieldPostings
from indexer.schema import TEXT_FIELDS

if TYPE_CHECKING:
    from indexer.prepare import PreparedDocument


@lru_cache(maxsize=1)
def _analyzer() -> Analyzer:
    return Analyzer()


def key64(data: bytes) -> int:
    """63 bits that name a folder or a content."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little") >> 1


@lru_cache(maxsize=10_000)
def folder_key(folder: str) -> int:
    """The column value of a folder."""
    return key64(os.fsencode(folder))


@lru_cache(maxsize=10_000)
def _folder_postings(folder: str) -> FieldPostings:
    return _analyzer().analyse(_printable(folder).replace(os.sep, " "))


def _printable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def extension(name: str) -> str:
    """The folded extension without its dot: "pdf"; "" where there is none."""
    stem, dot, ext = name.rpartition(".")
    return fold(ext) if dot and stem else ""


def path_fields(path: str, document: PreparedDocument) -> dict[str, FieldPostings]:
    """The fields that come from where a file lies."""
    folder, name = os.path.split(path)
    if document.part:
        name = f"{name} {document.part}"
    name = _printable(name)
    tags = {f"type={document.type}", f"ext={extension(name if not document.part else os.path.basename(path))}"}
    if document.part:
        tags.add(f"ext={extension(os.path.basename(document.part))}")
    if document.language:
        tags.add(f"lang={document.language}")
    return {"name": _analyzer().analyse(name), "path": _folder_postings(folder), "tag": _tags(tags)}


def _tags(tags: set[str]) -> FieldPostings:
    kept = sorted({tag.replace("\n", " ") for tag in tags if not tag.endswith("=")})
    n = len(kept)
    return FieldPostings("\n".join(kept), b"\1\0" * n, b"\0\0\0\0" * n, b"", n)


def document_row(
    doc_id: int, entry: FileEntry, document: PreparedDocument, fields: Mapping[str, FieldPostings]
) -> tuple[Any, ...]:
    """The document's row of `schema.DOCUMENT`."""
    folder = os.path.dirname(entry.path)
    modified = document.modified
    if modified is None or not math.isfinite(modified):
        modified = entry.modified_ns / 1e9
    lengths = (fields[name].length for name in TEXT_FIELDS)
    return (
        doc_id, modified, entry.size, folder_key(folder),
        int.from_bytes(document.content_hash[:8], "little") >> 1, TYPES.index(document.type),
        LANGUAGES.index(document.language), min(folder.count(os.sep), 65_535), *lengths,
    )  # fmt: skip
