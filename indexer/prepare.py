"""One file becomes documents ready for the index; runs in a worker process."""

from __future__ import annotations

import hashlib
import zlib
from functools import lru_cache

import msgspec

from indexer.analysis import Analyzer
from indexer.documents import ExtractedDocument
from indexer.extract import Limits, extract_file
from indexer.language import detect
from indexer.postings import FieldPostings


class PreparedDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A document with its text compressed and its fields analysed."""

    part: str
    title: str
    type: str
    author: str
    recipients: str
    modified: float | None
    language: str
    truncated: str
    n_words: int
    pages: tuple[int, ...]
    content_hash: bytes
    """16 bytes over type, title and text: equal for copies"""
    text_z: bytes
    """zlib of the text in UTF-8"""
    fields: dict[str, FieldPostings]
    """title, body, author, recipients"""


class PreparedFile(msgspec.Struct, frozen=True, kw_only=True):
    """What one file gave."""

    documents: tuple[PreparedDocument, ...]
    notes: tuple[str, ...]
    """one line for each part that could not be read"""


@lru_cache(maxsize=1)
def _analyzer() -> Analyzer:
    return Analyzer()


def prepare_file(path: str, limits: Limits) -> PreparedFile:
    """Read, extract, analyse and compress one file; raises ExtractionError."""
    extraction = extract_file(path, limits)
    documents = tuple(prepare_document(document) for document in extraction.documents)
    return PreparedFile(documents=documents, notes=extraction.notes)


def prepare_document(document: ExtractedDocument) -> PreparedDocument:
    """Analyse and compress one extracted document."""
    analyse = _analyzer().analyse
    title = " ".join(document.title.split())[:1_000]
    raw = document.text.encode("utf-8", "replace")
    body = analyse(document.text)
    return PreparedDocument(
        part=document.part,
        title=title,
        type=document.type,
        author=document.author,
        recipients=document.recipients,
        modified=document.modified,
        language=detect(document.text),
        truncated=document.truncated,
        n_words=body.length,
        pages=document.pages,
        content_hash=hashlib.blake2b(
            b"\0".join((document.type.encode(), title.encode("utf-8", "replace"), raw)), digest_size=16
        ).digest(),
        text_z=zlib.compress(raw, 4),
        fields={
            "title": analyse(title),
            "body": body,
            "author": analyse(document.author),
            "recipients": analyse(document.recipients),
        },
    )
