"""The long lists of a JSON file one item after another, so that a large file is never held as a whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from indexer.errors import ExtractionError
from indexer.extract.source import MEGABYTE, shown_size

CHUNK = 1 << 20
"""bytes read at a time"""
MAX_ITEM = 16 * MEGABYTE
"""characters of one item"""
HEAD = 4_096
"""characters before a list in which the values beside it are looked for"""

_BESIDE = re.compile(r'"(\w+)"\s*:\s*("(?:[^"\\]|\\.)*")')
_DECODER = json.JSONDecoder()

About = dict[str, str]
"""the strings that stand before a list, the last of each name"""


def lists_under(name: str, stream: BinaryIO) -> Iterator[tuple[About, Iterator[Any]]]:
    """Each list that an object holds under `name`: (what stands before it, its items).

    The items of one list are to be read before the next list. Raises ExtractionError "malformed" at damage.
    """
    text = _Text(stream)
    begin = re.compile(rf'(?<!\\)"{re.escape(name)}"\s*:\s*\[')
    while True:
        while (found := begin.search(text.held)) is None:
            text.drop(max(len(text.held) - HEAD, 0))
            if not text.more():
                return
        before = text.held[max(found.start() - HEAD, 0) : found.start()]
        about = {match[1]: json.loads(match[2], strict=False) for match in _BESIDE.finditer(before)}
        text.drop(found.end())
        yield about, text.items()


class _Text:
    """The part of a stream that was read and not yet used."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._at = 0
        self._read = ""

    @property
    def held(self) -> str:
        """What is not used yet."""
        if self._at:
            self._read, self._at = self._read[self._at :], 0
        return self._read

    def drop(self, n_chars: int) -> None:
        self._at += n_chars

    def more(self) -> bool:
        """Read on; False at the end."""
        data = self._stream.read(CHUNK)
        self._read = self.held + self._decoder.decode(data, final=not data)
        return bool(data)

    def items(self) -> Iterator[Any]:
        """The items up to the end of the list that has begun."""
        while True:
            self._at = _NO_SIGN.match(self._read, self._at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if self._read.startswith("]", self._at):
                self._at += 1
                return
            try:
                item, end = _DECODER.raw_decode(self._read, self._at)
            except (ValueError, RecursionError) as error:
                if len(self.held) > MAX_ITEM or not self.more():
                    what = f"at most {shown_size(MAX_ITEM)} for one item" if len(self.held) > MAX_ITEM else "JSON"
                    raise ExtractionError("malformed", f"wanted {what}, got {self.held[:40]!r}") from error
                continue
            if end == len(self._read) and self.more():  # a number may go on
                continue
            yield item
            self._at = end


_NO_SIGN = re.compile(r"[\s,]*")
