"""One file becomes documents ready for the index; runs in a worker process.

Its path adds the fields `name` and `path`, tags, and a row of numbers.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
import zlib
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from indexer.confined.given_files import is_other_than_file
from indexer.documents import TYPES, Described, ExtractedDocument, FileEntry
from indexer.errors import ExtractionError
from indexer.extract.kinds import type_by_name
from indexer.extract.media.recognised import with_recognised
from indexer.extract.source import NO_TEXT_IN_PAGES, TIME_IS_UP, Limits, fingerprint
from indexer.postings import EMPTY, FieldPostings, few_postings
from indexer.properties import MAX_PROPERTIES, MAX_VALUE, PROPERTIES, UNSEARCHED, Properties, marks, moments, note_names
from indexer.schema import DOCUMENT_STRUCT, PROPERTY_FIELD, TEXT_FIELDS, folder_key, scoped_term
from indexer.text.analysis import Analyzer, fold, raw_terms, raw_tokens
from indexer.text.language import LANGUAGES, detect


class PreparedDocument(Described, frozen=True, kw_only=True):
    """A document with its text compressed and its fields analysed."""

    language: str
    n_words: int
    starts: tuple[int, ...]
    """offsets in the text: of pages, or, for HTML, which has none, of headings"""
    content_hash: bytes
    """16-byte hash of type, title and text, for an archive of the file: equal for copies"""
    text_z: bytes
    """zlib of the text in UTF-8; empty for no text"""
    sketch: bytes
    """of the text, see indexer.text.analysis"""
    fields: dict[str, FieldPostings]
    """title, body, author, recipients, properties"""


class PreparedFile(msgspec.Struct, frozen=True, kw_only=True):
    documents: tuple[PreparedDocument, ...]
    notes: tuple[str, ...]
    """one line for each part that could not be read"""
    digest: bytes = b""
    """of the file's content, taken before it was read; see indexer.extract.source"""


@lru_cache(maxsize=1)
def _analyzer() -> Analyzer:
    return Analyzer()


def prepare_file(path: str, limits: Limits) -> PreparedFile:
    """Read, extract, analyse and compress one file; raises ExtractionError.

    The extractors are loaded at the first call, so that a process that only crawls stays small.
    """
    from indexer.extract.kinds import extract_file

    began = time.process_time()
    digest = fingerprint(path)
    if not digest and is_other_than_file(path):
        raise ExtractionError("unreadable", "it is no longer a file")  # reading a pipe would block
    extraction = extract_file(path, limits)
    limits = limits.for_analysis(began)
    documents: list[PreparedDocument] = []
    notes = extraction.notes
    for document in extraction.documents:
        if documents and limits.is_late:
            notes = (*notes, f"only {len(documents)} of {len(extraction.documents)} parts are kept: {TIME_IS_UP}")
            break
        if limits.recognised and (read := with_recognised(document, digest, limits)) is not document:
            document, notes = read, tuple(note for note in notes if note != NO_TEXT_IN_PAGES)
        prepared = prepare_document(document)
        if document.type == "archive" and not document.part:  # its text is a list of names
            prepared = msgspec.structs.replace(prepared, content_hash=digest)
        documents.append(prepared)
    return PreparedFile(documents=tuple(documents), notes=notes, digest=digest)


def prepare_document(document: ExtractedDocument) -> PreparedDocument:
    analyse = _analyzer().analyse
    title = " ".join(document.title.split())[:1_000]
    raw = document.text.encode("utf-8", "replace")
    body, body_sketch = _analyzer().analyse_body(document.text)
    about = {name: getattr(document, name) for name in Described.__struct_fields__} | {"title": title}
    return PreparedDocument(
        **about,
        language=detect(document.text),
        n_words=body.length,
        starts=document.pages or document.headings,
        content_hash=hashlib.blake2b(
            b"\0".join((document.type.encode(), title.encode("utf-8", "replace"), raw)), digest_size=16
        ).digest(),
        text_z=zlib.compress(raw, 4) if raw else b"",
        sketch=body_sketch,
        fields={
            "title": analyse(title),
            "body": body,
            "author": analyse(document.author),
            "recipients": analyse(document.recipients),
            PROPERTY_FIELD: property_postings(document.properties),
        },
    )


def prepare_name(path: str) -> PreparedDocument:
    """The document of a file whose content is not read: it is found by its name, folder, type, date and size."""
    content_hash = hashlib.blake2b(os.fsencode(path), digest_size=16).digest()
    return msgspec.structs.replace(_nothing_of(type_by_name(path) or "other"), content_hash=content_hash)


@lru_cache
def _nothing_of(type_: str) -> PreparedDocument:
    return prepare_document(ExtractedDocument(text="", type=type_))


def property_postings(properties: Properties) -> FieldPostings:
    """The postings of the field `properties`: each word once plain and once under its property's name.

    There is an empty position between values, so that no phrase reaches from one into the next.
    """
    if not properties:
        return EMPTY
    places: dict[str, list[int]] = {}
    at = n_words = 0
    for name, value in properties[:MAX_PROPERTIES]:
        known = PROPERTIES.get(name)
        if name in UNSEARCHED or (known is not None and (known.kind == "date" or name in ("is", "has"))):
            continue
        for raw in raw_tokens(value[:MAX_VALUE]):
            found, width = raw_terms(raw)
            for term, offset in found:
                is_plain, is_text = known is None or known.plain, known is not None and known.kind == "text"
                for one in (*([term] if is_plain else ()), *([scoped_term(name, term)] if is_text else ())):
                    places.setdefault(one, []).append(at + offset)
            at += width
            n_words += width
        at += 1
    return few_postings(places, n_words)


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
    """The fields made from a file's name and folders, and its tags."""
    folder, name = os.path.split(path)
    if document.part:
        name = f"{name} {document.part}"
    name = _printable(name)
    tags = marks(document.properties)
    if document.type == "markdown":
        tags.update(f"called={one}" for one in note_names(path, document.title, document.properties))
    tags |= {f"type={document.type}", f"ext={extension(name if not document.part else os.path.basename(path))}"}
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
) -> bytes:
    """The document's row of `schema.DOCUMENT`; raises struct.error where a column cannot hold its number."""
    folder = os.path.dirname(entry.path)
    modified = document.modified
    if modified is None or not math.isfinite(modified):
        modified = entry.modified_ns / 1e9
    lengths = (fields[name].length for name in TEXT_FIELDS)
    return DOCUMENT_STRUCT.pack(
        doc_id, modified, entry.size, folder_key(folder),
        int.from_bytes(document.content_hash[:8], "little") >> 1, TYPES.index(document.type),
        LANGUAGES.index(document.language), min(folder.count(os.sep), 65_535), *lengths,
        *moments(document.properties), document.sketch,
    )  # fmt: skip
