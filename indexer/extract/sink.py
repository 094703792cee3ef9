"""Gathers the text of one document piece by piece, within its limit."""

from __future__ import annotations

from indexer.extract.limits import Limits, shown_size


class Sink:
    """Text parts up to `max_text_bytes` of UTF-8; `full` says when to stop reading."""

    def __init__(self, limits: Limits) -> None:
        self._max_bytes = limits.max_text_bytes
        self._parts: list[str] = []
        self._n_bytes = 0
        self._n_chars = 0
        self.pages: list[int] = []
        self.full = False

    def add(self, text: str) -> None:
        """Append `text`, as much of it as there is room for."""
        if self.full or not text:
            return
        size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        if self._n_bytes + size > self._max_bytes:
            data = text.encode("utf-8", "replace")[: self._max_bytes - self._n_bytes]
            text, self.full = data.decode("utf-8", "ignore"), True
        self._n_bytes += size
        self._n_chars += len(text)
        self._parts.append(text)

    def begin_page(self) -> None:
        """The next text begins a page (slide, sheet, chapter)."""
        self.pages.append(self._n_chars)

    @property
    def text(self) -> str:
        """All that was kept; page offsets count its characters."""
        return "".join(self._parts)

    @property
    def truncated(self) -> str:
        """What was kept, as "first 4 MB"; "" when nothing was cut."""
        return f"first {shown_size(self._max_bytes)}" if self.full else ""
