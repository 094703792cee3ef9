"""Jupyter notebooks: the cells in order, with their text output."""

from __future__ import annotations

from typing import Any

import msgspec

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean, decode
from indexer.extract.markup.texts import markdown_title, without_data
from indexer.extract.source import Limits, Sink, Source

MAX_OUTPUT = 10_000
"""characters kept of one output; logs in notebooks are long and tell little"""


def extract(source: Source, limits: Limits) -> Extraction:
    """One document titled by its first heading; pictures and data in outputs are left out."""
    data = source.read_whole(limits.max_member_bytes, "notebook")
    try:
        notebook = msgspec.json.decode(decode(data))
    except msgspec.DecodeError as error:
        raise ExtractionError("malformed", f"not a notebook: {error}") from error
    if not isinstance(notebook, dict):
        raise ExtractionError("malformed", "not a notebook: no object at its top")
    sink = Sink(limits)
    title = ""
    for cell in _cells(notebook):
        text = without_data(_joined(cell.get("source") or cell.get("input")))
        if not title and cell.get("cell_type") in ("markdown", "heading"):
            title = markdown_title(text) or (text.strip() if cell.get("cell_type") == "heading" else "")
        sink.add(clean(text) + "\n\n")
        for output in _dicts(cell.get("outputs")):
            sink.add(clean(_output(output)[:MAX_OUTPUT]) + "\n")
    return sink.extraction("notebook", clean(title)[:300])


def _cells(notebook: dict[str, Any]) -> list[dict[str, Any]]:
    """Cells of format 4, or of all worksheets of format 3."""
    cells = _dicts(notebook.get("cells"))
    for sheet in _dicts(notebook.get("worksheets")):
        cells += _dicts(sheet.get("cells"))
    return cells


def _output(output: dict[str, Any]) -> str:
    data = output.get("data")
    plain = data.get("text/plain") if isinstance(data, dict) else None
    parts = [_joined(output.get("text")), _joined(plain), _joined(output.get("ename")), _joined(output.get("evalue"))]
    return " ".join(part for part in parts if part)


def _joined(value: object) -> str:
    """A text that notebooks keep as one string or a list of lines."""
    if isinstance(value, str):
        return value
    return "".join(part for part in value if isinstance(part, str)) if isinstance(value, list) else ""


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
