"""Gathers the documents of a container (archive, mailbox) within what one file may give in total."""

from __future__ import annotations

import msgspec

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.limits import Limits, shown_size

MAX_NOTES = 20
"""notes kept per container; the rest are counted"""


class Gathered:
    """Documents and notes of a container; `full` says when to stop."""

    def __init__(self, limits: Limits) -> None:
        self._max_bytes = limits.max_total_text_bytes
        self._documents: list[ExtractedDocument] = []
        self._notes: list[str] = []
        self._n_more_notes = 0
        self._n_bytes = 0
        self.full = False

    def add(self, found: Extraction, part: str = "") -> None:
        """Take the documents of one member, their parts prefixed with `part`."""
        for document in found.documents:
            size = len(document.text.encode("utf-8", "replace"))
            if self._n_bytes + size > self._max_bytes:
                self.full = True
                self.note(f"only the first {shown_size(self._max_bytes)} of text are kept")
                return
            self._n_bytes += size
            where = "/".join(name for name in (part, document.part) if name)
            self._documents.append(msgspec.structs.replace(document, part=where) if part else document)
        for note in found.notes:
            self.note(f"{part}: {note}" if part else note)

    def note(self, note: str) -> None:
        """Say that something could not be read."""
        if len(self._notes) < MAX_NOTES:
            self._notes.append(" ".join(note.split())[:300])
        else:
            self._n_more_notes += 1

    def fail(self, part: str, error: ExtractionError) -> None:
        """One member could not be read; a member that is no text at all is not worth a word."""
        if error.kind != "unsupported":
            self.note(f"{part}: {error}")

    def extraction(self) -> Extraction:
        """All that was gathered."""
        more = (f"and {self._n_more_notes} more",) if self._n_more_notes else ()
        return Extraction(documents=tuple(self._documents), notes=(*self._notes, *more))
