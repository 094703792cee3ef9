"""DOCX: text, tables, notes, comments, headers and footers of a Word document."""

from __future__ import annotations

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.html import read_html
from indexer.extract.limits import Limits
from indexer.extract.mht import web_page
from indexer.extract.office import add_paragraphs, main_part, properties, relations
from indexer.extract.sink import Sink
from indexer.extract.source import Source
from indexer.extract.zipped import Zipped, open_zip

_BESIDE = ("footnotes", "endnotes", "comments", "header", "footer", "diagramData", "chart")
"""Relations of the main part whose text belongs to the document, in reading order."""


def extract(source: Source, limits: Limits) -> Extraction:
    """One document; a damaged note or header becomes a note, a damaged main part a failure."""
    with open_zip(source, limits) as parts:
        title, author = properties(parts)
        main = main_part(parts, "word/document.xml")
        sink = Sink(limits)
        add_paragraphs(parts, main, sink)
        notes = _add_beside(parts, main, sink)
    document = ExtractedDocument(text=sink.text, type="document", title=title, author=author, truncated=sink.truncated)
    return Extraction(documents=(document,), notes=tuple(notes))


def _add_beside(parts: Zipped, main: str, sink: Sink) -> list[str]:
    notes: list[str] = []
    found = [entry for entry in relations(parts, main).values() if entry[1] in parts]
    for wanted in (*_BESIDE, "aFChunk"):
        for name in sorted({name for kind, name in found if kind == wanted}):
            if sink.full:
                return notes
            try:
                if wanted == "aFChunk":
                    _add_chunk(parts, name, sink)
                else:
                    add_paragraphs(parts, name, sink)
            except ExtractionError as error:
                notes.append(f"{name}: {error}")
    return notes


def _add_chunk(parts: Zipped, name: str, sink: Sink) -> None:
    """A piece of HTML that Word keeps whole."""
    if name.lower().endswith((".html", ".htm", ".xhtml", ".mht")):
        data = parts.read(name)
        if name.lower().endswith(".mht"):
            data = web_page(data)
        text, _, _ = read_html(data)
        sink.add(text + "\n")
