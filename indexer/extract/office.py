"""What the three Office Open XML formats share: core properties, relations between parts, paragraphs of text."""

from __future__ import annotations

import posixpath

from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.html import one_line
from indexer.extract.pdf import real_title
from indexer.extract.sink import Sink
from indexer.extract.xml_stream import attribute, parse
from indexer.extract.zipped import Zipped

_HIDDEN = frozenset({"del", "moveFrom", "Fallback", "instrText", "delText", "rPh", "delInstrText", "fldData"})
"""Elements whose text is not shown: deleted text, doubles for old readers, field codes, furigana."""


def properties(parts: Zipped) -> tuple[str, str]:
    """(title, author) from docProps/core.xml; "" for what is missing, junk or damaged."""
    found = {"title": "", "creator": ""}
    current: list[str] = []

    def text(characters: str) -> None:
        if current and current[-1] in found:
            found[current[-1]] += characters

    try:
        with parts.open("docProps/core.xml") as stream:
            parse(stream, lambda name, _: current.append(name), lambda _: _pop(current), text, is_done=lambda: False)
    except (ExtractionError, KeyError):
        pass  # the properties are a gift; the text is what counts, and its own reader reports what is wrong
    return real_title(clean(found["title"])), one_line(found["creator"])


def _pop(names: list[str]) -> None:
    names.pop()


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
        with parts.open(path) as stream:
            parse(stream, start, lambda _: None, lambda _: None, is_done=lambda: False)
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
    with parts.open(name) as stream:
        parse(stream, state.start, state.end, state.text, is_done=lambda: sink.full)


class _Paragraphs:
    """Handlers for the text runs of WordprocessingML and DrawingML."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._line: list[str] = []
        self._hidden = 0
        self._in_text = False

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self._hidden or name in _HIDDEN:
            self._hidden += 1
        elif name == "t":
            self._in_text = True
        elif name in ("tab", "ptab"):
            self._line.append("\t")
        elif name in ("br", "cr"):
            self._line.append("\n")
        elif name in ("noBreakHyphen", "softHyphen"):
            self._line.append("-" if name == "noBreakHyphen" else "")
        elif name == "docPr" and (shown := attribute(attributes, "descr")):
            self._line.append(f" {shown} ")

    def end(self, name: str) -> None:
        if self._hidden:
            self._hidden -= 1
        elif name == "t":
            self._in_text = False
        elif name in ("p", "comment", "text"):
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
