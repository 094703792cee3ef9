"""From a file to its extractor: by name, then by content where the name misleads."""

from __future__ import annotations

import msgspec

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract import (
    asciidoc,
    calendar,
    compressed,
    delimited,
    docx,
    epub,
    html,
    json_text,
    latex,
    mail,
    manual,
    markdown,
    mbox,
    mht,
    notebook,
    ole,
    opendocument,
    org,
    pdf,
    plain,
    pod,
    pptx,
    rst,
    rtf,
    source_code,
    tar_archive,
    xlsx,
    xml,
    zip_archive,
)  # fmt: skip
from indexer.extract.kinds import kind_of
from indexer.extract.limits import Limits
from indexer.extract.sniff import HEAD, kind_by_content
from indexer.extract.source import Extractor, NestedExtractor, Source

EXTRACTORS: dict[str, Extractor] = {
    "text": plain.extract,
    "manual": manual.extract,
    "markdown": markdown.extract,
    "rst": rst.extract,
    "org": org.extract,
    "latex": latex.extract,
    "pod": pod.extract,
    "asciidoc": asciidoc.extract,
    "source": source_code.extract,
    "html": html.extract,
    "mht": mht.extract,
    "pdf": pdf.extract,
    "xml": xml.extract,
    "docx": docx.extract,
    "pptx": pptx.extract,
    "xlsx": xlsx.extract,
    "odt": opendocument.extractor("document"),
    "ods": opendocument.extractor("spreadsheet"),
    "odp": opendocument.extractor("presentation"),
    "rtf": rtf.extract,
    "epub": epub.extract,
    "delimited": delimited.extract,
    "json": json_text.extract,
    "notebook": notebook.extract,
    "calendar": calendar.extract,
    "ole": ole.extract,
}
"""Kinds that hold one document, or several without files inside."""

NESTED: dict[str, NestedExtractor] = {
    "eml": mail.extract,
    "mbox": mbox.extract,
    "zip": zip_archive.extract,
    "tar": tar_archive.extract,
    "compressed": compressed.extract,
}
"""Kinds that hold files, which are read through this registry in turn."""


def extract_source(source: Source, limits: Limits) -> Extraction:
    """What `source` holds; raises ExtractionError and nothing else but MemoryError."""
    try:
        kind = kind_by_content(kind_of(source.name), source.read(HEAD))
        if kind in NESTED and source.depth >= limits.max_depth:
            raise ExtractionError("too-large", f"packed more than {limits.max_depth} times over")
        if kind in NESTED:
            found = NESTED[kind](source, limits, extract_source)
        elif kind in EXTRACTORS:
            found = EXTRACTORS[kind](source, limits)
        else:
            found = plain.extract(source, limits)
    except (ExtractionError, MemoryError):
        raise
    except OSError as error:
        raise ExtractionError("unreadable", error.strerror or _brief(error)) from error
    except Exception as error:  # whatever a parser raises on damaged data is that file's failure
        raise ExtractionError("malformed", _brief(error)) from error
    return Extraction(documents=tuple(_storable(document) for document in found.documents), notes=found.notes)


def extract_file(path: str, limits: Limits) -> Extraction:
    """What the file at `path` holds; raises ExtractionError with a line for a person, or MemoryError."""
    return extract_source(Source(name=path, path=path), limits)


def _storable(document: ExtractedDocument) -> ExtractedDocument:
    """`document` with texts that UTF-8 can hold, whatever an extractor let through."""
    wrong = [
        name for name in ("text", "part", "title", "author", "recipients") if not _is_storable(getattr(document, name))
    ]
    if not wrong:
        return document
    return msgspec.structs.replace(
        document, **{name: getattr(document, name).encode("utf-8", "replace").decode("utf-8") for name in wrong}
    )


def _is_storable(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _brief(error: Exception) -> str:
    """The first line of what a library says, with its class when it says little."""
    message = " ".join(str(error).split())[:150]
    return f"damaged or not what its name says ({type(error).__name__}{': ' if message else ''}{message})"
