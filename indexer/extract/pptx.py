"""PPTX: the text of each slide with its notes; a slide is a page."""

from __future__ import annotations

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.limits import Limits
from indexer.extract.office import add_paragraphs, main_part, properties, relations
from indexer.extract.sink import Sink
from indexer.extract.source import Source
from indexer.extract.xml_stream import attribute, parse
from indexer.extract.zipped import Zipped, open_zip

_BESIDE = frozenset({"notesSlide", "comments", "diagramData", "chart"})


def extract(source: Source, limits: Limits) -> Extraction:
    """One document with the slides in the order of the presentation; a damaged slide becomes a note."""
    notes: list[str] = []
    with open_zip(source, limits) as parts:
        title, author = properties(parts)
        sink = Sink(limits)
        slides = _slides(parts)
        for slide in slides:
            sink.begin_page()
            beside = [name for kind, name in relations(parts, slide).values() if kind in _BESIDE and name in parts]
            for name in (slide, *beside):
                try:
                    add_paragraphs(parts, name, sink)
                except ExtractionError as error:
                    notes.append(f"{name}: {error}")
            if sink.full:
                break
    if slides and len(notes) >= len(slides) and not sink.text:
        raise ExtractionError("malformed", notes[0])
    document = ExtractedDocument(
        text=sink.text,
        type="presentation",
        title=title,
        author=author,
        pages=tuple(sink.pages),
        truncated=sink.truncated,
    )
    return Extraction(documents=(document,), notes=tuple(notes))


def _slides(parts: Zipped) -> list[str]:
    """Names of the slides in the order of the presentation, else in that of their numbers."""
    main = main_part(parts, "ppt/presentation.xml")
    ids: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "sldId":
            ids.append(attributes.get("r:id", "") or attribute(attributes, "id"))

    if main in parts:
        with parts.open(main) as stream:
            parse(stream, start, lambda _: None, lambda _: None, is_done=lambda: False)
    related = relations(parts, main)
    found = [related[one][1] for one in ids if one in related and related[one][1] in parts]
    return found or parts.matching("ppt/slides/slide")
