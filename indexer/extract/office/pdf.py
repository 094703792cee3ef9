"""PDF through PDFium: the text of each page and the title and author of the file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from ctypes import c_ushort
from typing import Any

from indexer.confined.given_files import mapped
from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.office.metadata import Facts, facts, pdf_date
from indexer.extract.source import NO_TEXT_IN_PAGES, Limits, Source, cut, shown_size

ACRO_FORM = 1
"""PDFium's number for a fillable form; its values become text of the page"""


def extract(source: Source, limits: Limits) -> Extraction:
    """One document with the offset of each page; raises "encrypted" when it needs a password."""
    import pypdfium2

    data = source.data
    try:
        pdf = pypdfium2.PdfDocument(mapped(source.path) if data is None else data)
    except pypdfium2.PdfiumError as error:
        raise _reason(str(error)) from error
    try:
        if pdf.get_formtype() == ACRO_FORM:
            pdf.init_forms()
        text, pages, truncated, notes = _read_pages(pdf, limits)
        about = _facts(pdf.get_metadata_dict(skip_empty=True))
    finally:
        pdf.close()
    if notes and not text.strip("\f"):
        raise ExtractionError("malformed", notes[0])
    if not text.strip():
        notes = (NO_TEXT_IN_PAGES,)
    return ExtractedDocument(
        text=text, type="pdf", title=about.title, author=about.author, properties=about.properties, pages=pages,
        truncated=truncated,
    ).alone(notes)  # fmt: skip


def _facts(info: dict[str, str]) -> Facts:
    return facts(
        info.get("Title", ""), info.get("Author", ""), subject=info.get("Subject", ""),
        keywords=(info.get("Keywords", ""),), created=pdf_date(info.get("CreationDate", "")),
        producers=(info.get("Creator", ""), info.get("Producer", "")),
    )  # fmt: skip


def _read_pages(pdf: Any, limits: Limits) -> tuple[str, tuple[int, ...], str, tuple[str, ...]]:
    """(text, offset of each page, what was kept, a note when pages could not be read)."""
    parts: list[str] = []
    offsets: list[int] = []
    n_chars, n_bytes, kept, broken = 0, 0, "", []
    for number in range(len(pdf)):
        try:
            text = _page_text(pdf, number)
        except (RuntimeError, UnicodeError) as error:
            broken.append(f"page {number + 1}: {error}")
            text = ""
        except MemoryError:
            if number == 0:
                raise
            kept = f"{_first_pages(number, pdf)}, then memory ran out"
            break
        text, truncated = cut(text, limits.max_text_bytes - n_bytes)
        offsets.append(n_chars)
        parts.append(text)
        n_chars += len(text) + 1
        n_bytes += len(text.encode()) + 1
        if truncated or (n_bytes >= limits.max_text_bytes and number + 1 < len(pdf)):
            kept = f"first {shown_size(limits.max_text_bytes)} ({number + 1} of {len(pdf)} pages)"
            break
        if number + 1 < len(pdf) and limits.is_late:
            kept = f"{_first_pages(number + 1, pdf)}, then the time was up"
            break
    return "\f".join(parts), tuple(offsets), kept, _notes(broken)


def _first_pages(n_pages: int, pdf: Any) -> str:
    return f"first {n_pages} of {len(pdf)} pages"


def _notes(broken: list[str]) -> tuple[str, ...]:
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    return (f"{broken[0]}{more}",) if broken else ()


def _page_text(pdf: Any, number: int) -> str:
    notes: list[str] = []
    if pdf.formenv is not None:  # values become text of the page when it is loaded again, and so does what is noted
        with closing(pdf[number]) as page:
            notes = list(_notes_on(page))
            page.flatten()
    with closing(pdf[number]) as page, closing(page.get_textpage()) as text_page:
        # PDFium leaves U+FFFE where a word was broken at a line end
        text = clean(text_page.get_text_range(errors="replace").replace("\ufffe", ""))
        notes = [note for note in dict.fromkeys(notes or _notes_on(page)) if note not in text]
    return "\n".join((text, *notes)) if text.strip() else text  # what has no text of its own is recognised


_NOTES = frozenset({1, 3, *range(9, 16)})
"""PDFium's numbers for notes, text on the page, marked text, stamps and drawings; not for links, forms and windows"""


def _notes_on(page: Any) -> Iterator[str]:
    """What people wrote on a page: comments, text beside it, words to what they marked."""
    from pypdfium2 import raw

    for number in range(raw.FPDFPage_GetAnnotCount(page)):
        note = raw.FPDFPage_GetAnnot(page, number)
        if raw.FPDFAnnot_GetSubtype(note) in _NOTES:
            size = raw.FPDFAnnot_GetStringValue(note, b"Contents", None, 0)
            value = (c_ushort * (size // 2))()
            raw.FPDFAnnot_GetStringValue(note, b"Contents", value, size)
            yield clean(bytes(value).decode("utf-16-le", "replace").rstrip("\0")).strip()
        raw.FPDFPage_CloseAnnot(note)


def _reason(message: str) -> ExtractionError:
    if "assword" in message or "ecurity" in message:
        return ExtractionError("encrypted", "the PDF needs a password")
    return ExtractionError("malformed", "not a readable PDF (damaged or cut off)")
