"""Word and PowerPoint: text, tables, notes, comments, headers and footers; a slide is a page.

What the Office Open XML formats share stands first: core properties, relations between parts, paragraphs of text.
"""

from __future__ import annotations

import posixpath

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.mail.mail import web_page
from indexer.extract.markup.html import read_html
from indexer.extract.markup.xml import attribute, parse
from indexer.extract.office.metadata import Facts, elements, facts, first
from indexer.extract.source import Limits, Sink, Source
from indexer.extract.zipped import Zipped, open_zip

_HIDDEN = frozenset({"del", "moveFrom", "Fallback", "rPh", "rt", "numCache"})
"""Elements whose text is not shown: deleted text, doubles for old readers, furigana, a chart's numbers."""


def office_facts(parts: Zipped) -> Facts:
    """What docProps/core.xml and app.xml say of the file."""
    core = elements(
        parts, "docProps/core.xml", ("title", "creator", "subject", "keywords", "created", "lastModifiedBy")
    )
    app = elements(parts, "docProps/app.xml", ("Company", "Application"))
    return facts(
        first(core, "title"), first(core, "creator"), subject=first(core, "subject"), keywords=core.get("keywords", ()),
        created=first(core, "created").strip(), editor=first(core, "lastModifiedBy"), company=first(app, "Company"),
        producers=app.get("Application", ()),
    )  # fmt: skip


def relations(parts: Zipped, part: str) -> dict[str, tuple[str, str]]:
    """relation id -> (type without its namespace, name of the part) for `part`; empty when there are none."""
    folder, _, name = part.rpartition("/")
    path = posixpath.join(folder, "_rels", name + ".rels")
    found: dict[str, tuple[str, str]] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes.get("Target", "")
            where = target.lstrip("/") if target.startswith("/") else posixpath.normpath(posixpath.join(folder, target))
            found[attributes.get("Id", "")] = (attributes.get("Type", "").rpartition("/")[2], where)

    if path in parts:
        parts.parse(path, start)
    return found


def main_part(parts: Zipped, usual: str) -> str:
    """The name of the main part as the package says, else `usual`."""
    for kind, name in relations(parts, "").values():
        if kind == "officeDocument" and name in parts:
            return name
    return usual


def add_paragraphs(parts: Zipped, name: str, sink: Sink) -> None:
    """Add the shown text of the part `name` to `sink`, one line per paragraph, cells of a table set off by tabs."""
    state = _Paragraphs(sink)
    parts.parse(name, state.start, state.end, state.text, is_done=lambda: sink.full)


class _Paragraphs:
    """Handlers for the text runs of WordprocessingML and DrawingML."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._line: list[str] = []
        self._hidden = 0
        self._in_text = False
        self._vanished = False
        """whether the run is formatted as hidden: Word shows it on demand only, and .doc leaves it out too"""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._hidden or name in _HIDDEN:
            self._hidden += 1
        elif name == "r":
            self._vanished = False
        elif name == "vanish":
            self._vanished = attribute(attributes, "val") not in ("0", "false", "off")
        elif self._vanished:
            pass
        elif name in ("t", "text", "v"):
            self._in_text = True
        elif name in ("tab", "ptab"):
            self._line.append("\t")
        elif name in ("br", "cr"):
            self._line.append("\n")
        elif name in ("noBreakHyphen", "softHyphen"):
            self._line.append("-" if name == "noBreakHyphen" else "")
        elif name in ("docPr", "cNvPr") and (shown := f" {attribute(attributes, 'descr')} ") not in ("  ", *self._line):
            self._line.append(shown)

    def end(self, name: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif name in ("t", "v"):
            self._in_text = False
        elif name == "r":
            self._vanished = False
        elif name == "pt":
            self._line.append(" ")
        elif name in ("p", "comment", "text", "strCache", "cSld", "wsDr"):
            self._in_text = False
            self._flush("\n")
        elif name == "tc":
            self._flush("\t")

    def text(self, characters: str) -> None:
        if self._in_text and not self._hidden:
            self._line.append(characters)

    def _flush(self, mark: str) -> None:
        line = "".join(self._line).strip(" ")
        self._line.clear()
        if line.strip():
            self._sink.add(clean(line) + mark)


_BESIDE_DOCUMENT = ("footnotes", "endnotes", "comments", "header", "footer", "diagramData", "chart")
"""Relations of the main part whose text belongs to the document, in reading order."""


def extract_docx(source: Source, limits: Limits) -> Extraction:
    """One document; a damaged note or header becomes a note, a damaged main part a failure."""
    with open_zip(source, limits) as parts:
        about = office_facts(parts)
        main = main_part(parts, "word/document.xml")
        sink = Sink(limits)
        add_paragraphs(parts, main, sink)
        notes = _add_beside(parts, main, sink)
    return sink.extraction("document", about.title, about.author, about.properties, notes=notes)


def extract_wordml(source: Source, limits: Limits) -> Extraction:
    """Word in one XML file: its paragraphs, without the pictures that stand among them as base64."""
    sink = Sink(limits)
    state = _Paragraphs(sink)
    with source.open() as stream:
        parse(stream, state.start, state.end, state.text, is_done=lambda: sink.full)
    return sink.extraction("document")


def _add_beside(parts: Zipped, main: str, sink: Sink) -> list[str]:
    notes: list[str] = []
    found = [entry for entry in relations(parts, main).values() if entry[1] in parts]
    for wanted in (*_BESIDE_DOCUMENT, "aFChunk"):
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
        sink.add(read_html(data).text + "\n")


_BESIDE_SLIDE = frozenset({"notesSlide", "comments", "diagramData", "chart"})


def extract_pptx(source: Source, limits: Limits) -> Extraction:
    """One document with the slides in the order of the presentation; a damaged slide becomes a note."""
    notes: list[str] = []
    with open_zip(source, limits) as parts:
        about = office_facts(parts)
        sink = Sink(limits)
        slides = _slides(parts)
        for slide in slides:
            sink.begin_page()
            related = relations(parts, slide).values()
            beside = [name for kind, name in related if kind in _BESIDE_SLIDE and name in parts]
            for name in (slide, *beside):
                try:
                    add_paragraphs(parts, name, sink)
                except ExtractionError as error:
                    notes.append(f"{name}: {error}")
            if sink.full:
                break
    if slides and len(notes) >= len(slides) and not sink.text:
        raise ExtractionError("malformed", notes[0])
    return sink.extraction("presentation", about.title, about.author, about.properties, notes=notes)


def _slides(parts: Zipped) -> list[str]:
    """Names of the slides in the order of the presentation, else in that of their numbers."""
    main = main_part(parts, "ppt/presentation.xml")
    ids: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "sldId":
            ids.append(attributes.get("r:id", "") or attribute(attributes, "id"))

    if main in parts:
        parts.parse(main, start)
    related = relations(parts, main)
    found = [related[one][1] for one in ids if one in related and related[one][1] in parts]
    return found or parts.matching("ppt/slides/slide")
