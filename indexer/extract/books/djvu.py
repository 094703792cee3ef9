"""DjVu, by the program djvutxt where it is installed: the text that recognition has left in the file, by pages."""

from __future__ import annotations

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.decode import clean
from indexer.extract.source import Limits, Sink, Source
from indexer.extract.workers.programs import needed, output_of, seconds_left


def extract(source: Source, limits: Limits) -> Extraction:
    """One document; a file of pictures alone has no text."""
    program = needed("djvutxt", "djvulibre-bin")
    sink = Sink(limits)
    with output_of([program, "-"], seconds=seconds_left(limits), given=source) as out:
        text = out.read(limits.max_text_bytes + 1)
    for page in text.decode("utf-8", "replace").rstrip("\f\n").split("\f"):
        sink.begin_page()
        sink.add(clean(page.strip()) + "\n")
    document = ExtractedDocument(text=sink.text, type="ebook", pages=tuple(sink.pages), truncated=sink.truncated)
    return Extraction(documents=(document,))
