"""Word 6 to 2003 (.doc): the text by its piece table, as [MS-DOC] 2.4.1 says.

The main text comes first, then footnotes, headers, comments, endnotes and text boxes; field codes are left out, and in
files of Word 97 and later what is hidden, or deleted with the change on record.
"""

from __future__ import annotations

import re
import struct
from bisect import bisect_right
from collections.abc import Iterator

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean, decode, decode_page
from indexer.extract.office.compound import Compound
from indexer.extract.source import Limits, Sink

_WORD_97, _WORD_6 = 0xA5EC, 0xA5DC
_COMPLEX, _ENCRYPTED, _TABLE_1 = 0x0004, 0x0100, 0x0200
"""flags of the file information block at its byte 10"""
_CLX_97, _CLX_6 = 0x01A2, 0x0160
"""where the block says the place and size of the piece table"""
_RUNS = 0x00FA
"""the same of the table of pages that hold the properties of characters, since Word 97"""
_FIRST_97 = 0x00C1
"""the lowest version (nFib) whose text may be Unicode"""

Piece = tuple[int, int, bool]
"""(first byte in the stream of the text, characters, whether two bytes make one)"""


def extract(compound: Compound, limits: Limits) -> Extraction:
    """One document; raises "encrypted" for a protected one, "malformed" when its pieces lie nowhere."""
    stream = compound.read("WordDocument")
    if len(stream) < 0x60:
        raise ExtractionError("malformed", "not a readable Word file (cut off)")
    magic, version, flags = struct.unpack_from("<HH6xH", stream)
    if magic not in (_WORD_97, _WORD_6):
        raise ExtractionError("unsupported", "Word 2 or older")
    if flags & _ENCRYPTED:
        raise ExtractionError("encrypted", "protected by a password")
    sink = Sink(limits)
    if version >= _FIRST_97:
        table = compound.read("1Table" if flags & _TABLE_1 else "0Table")
        pieces = list(_pieces(table, *_place(stream, _CLX_97), is_97=True)) or _plain(stream)
        pieces = list(_shown_pieces(pieces, sorted(_unseen(stream, table))))
    else:
        pieces = list(_pieces(stream, *_place(stream, _CLX_6), is_97=False)) if flags & _COMPLEX else _plain(stream)
    language = struct.unpack_from("<H", stream, 6)[0]
    fields = _Fields()
    for start, n_chars, is_wide in pieces:
        if sink.full:
            break
        data = stream[start : start + (2 * n_chars if is_wide else n_chars)]
        text = fields.without_codes(_decoded(data, language, is_wide, is_97=version >= _FIRST_97))
        sink.add(clean(text.translate(_SIGNS)))
    return sink.extraction("document", *compound.summary())


def _place(stream: bytes, at: int) -> tuple[int, int]:
    """(first byte, size) as two numbers of 32 bits say; (0, 0) where the block is too short for them."""
    return struct.unpack_from("<II", stream, at) if at + 8 <= len(stream) else (0, 0)


def _plain(stream: bytes) -> list[Piece]:
    """Text in one row, as Word 6 keeps it when a file was saved whole."""
    first, end = struct.unpack_from("<II", stream, 0x18)
    return [(first, min(end, len(stream)) - first, False)] if first < end else []


def _pieces(table: bytes, start: int, size: int, *, is_97: bool) -> Iterator[Piece]:
    """The pieces in the order of the text ([MS-DOC] 2.9.38 Clx, 2.8.35 PlcPcd, 2.9.177 Pcd)."""
    at, end = start, min(start + size, len(table))
    while at + 3 <= end and table[at] == 1:  # properties of paragraphs come first
        at += 3 + struct.unpack_from("<H", table, at + 1)[0]
    if at + 5 > end or table[at] != 2:
        return
    size = min(struct.unpack_from("<I", table, at + 1)[0], end - at - 5)
    n_pieces = (size - 4) // 12
    if n_pieces < 1:
        return
    at += 5
    bounds = struct.unpack_from(f"<{n_pieces + 1}I", table, at)
    at += 4 * (n_pieces + 1)
    for number in range(n_pieces):
        (where,) = struct.unpack_from("<I", table, at + 8 * number + 2)
        n_chars = bounds[number + 1] - bounds[number]
        if n_chars <= 0:
            continue
        is_wide = is_97 and not where & 0x4000_0000
        where &= 0x3FFF_FFFF
        yield (where if is_wide or not is_97 else where // 2), n_chars, is_wide


_PAGE = 512
_DELETED, _HIDDEN = 0x0800, 0x083C
"""properties of characters: sprmCFRMarkDel, sprmCFVanish"""
_OPERAND_BYTES = (1, 1, 2, 4, 2, 2, 0, 3)
"""of a property, by the highest three bits of its number; 0: the first byte says it"""


def _unseen(stream: bytes, table: bytes) -> Iterator[tuple[int, int]]:
    """(first byte, end) in `stream` of each hidden or deleted run ([MS-DOC] 2.8.5 PlcBteChpx, 2.9.33 ChpxFkp)."""
    start, size = _place(stream, _RUNS)
    n_pages = (min(size, len(table) - start) - 4) // 8
    for number in range(max(n_pages, 0)):
        at = (struct.unpack_from("<I", table, start + 4 * (n_pages + 1 + number))[0] & 0x3F_FFFF) * _PAGE
        page = stream[at : at + _PAGE]
        if len(page) < _PAGE or 5 * page[-1] + 4 >= _PAGE:
            continue
        bounds = struct.unpack_from(f"<{page[-1] + 1}I", page)
        for run in range(page[-1]):
            place = 2 * page[4 * len(bounds) + run]
            if place and _is_unseen(page[place + 1 : place + 1 + page[place]]):
                yield bounds[run], bounds[run + 1]


def _is_unseen(properties: bytes) -> bool:
    at = 0
    while at + 3 <= len(properties):
        number, value = struct.unpack_from("<HB", properties, at)
        if number in (_DELETED, _HIDDEN) and value == 1:
            return True
        at += 2 + (_OPERAND_BYTES[number >> 13] or 1 + value)
    return False


def _shown_pieces(pieces: list[Piece], unseen: list[tuple[int, int]]) -> Iterator[Piece]:
    """`pieces` without the bytes of `unseen`, which are in order and apart."""
    ends = [last for _, last in unseen]
    for start, n_chars, is_wide in pieces:
        width = 2 if is_wide else 1
        at, end = start, start + n_chars * width
        number = bisect_right(ends, at)
        while number < len(unseen) and unseen[number][0] < end:
            first, last = unseen[number]
            if at < first:
                yield at, (first - at) // width, is_wide
            at, number = max(last, at), number + 1
        if at < end:
            yield at, (end - at) // width, is_wide


_EAST_ASIAN = {0x0411: 932, 0x0804: 936, 0x0412: 949, 0x0404: 950}
_OTHER_PAGES = {
    0x0405: 1250, 0x040E: 1250, 0x0415: 1250, 0x0418: 1250, 0x041A: 1250, 0x041B: 1250, 0x0424: 1250, 0x0402: 1251,
    0x0419: 1251, 0x0422: 1251, 0x0423: 1251, 0x0408: 1253, 0x041F: 1254, 0x040D: 1255, 0x0401: 1256, 0x0425: 1257,
    0x0426: 1257, 0x0427: 1257,
}  # fmt: skip
"""Code page by language ([MS-LCID]), where it is not 1252."""


def _decoded(data: bytes, language: int, is_wide: bool, *, is_97: bool) -> str:
    if is_wide:
        return data.decode("utf-16-le", "replace")
    if is_97:  # the low halves of characters, and Windows' signs in the gap
        return data.decode("cp1252", "replace")
    page = (_EAST_ASIAN | _OTHER_PAGES).get(language, 1252)
    return decode_page(data, page) if page != 1252 or data.isascii() else decode(data, declared="cp1252")


class _Fields:
    """Leaves out the codes of fields, which may begin in one piece and end in another; the result is shown."""

    def __init__(self) -> None:
        self._codes: list[bool] = []
        """for each open field whether its code is being read, not its result"""

    def without_codes(self, text: str) -> str:
        if not self._codes and "\x13" not in text:
            return text
        kept: list[str] = []
        for part in _FIELD_MARKS.split(text):
            if part == "\x13":
                self._codes.append(True)
            elif part == "\x14" and self._codes:
                self._codes[-1] = False
            elif part == "\x15" and self._codes:
                self._codes.pop()
            elif not any(self._codes):
                kept.append(part)
            elif self._codes == [True] and part.lstrip().startswith("EQ "):  # text set above text is in its code
                kept.append(_SWITCHES.sub(" ", part.lstrip()[3:]))
        return "".join(kept)


_SWITCHES = re.compile(r'\\\*\s*(?:"[^"]*"|\w+)|\\\w+(?:\s\d+)?|[(),]')
_FIELD_MARKS = re.compile("([\x13\x14\x15])")
_SIGNS = {
    0x07: "\t", 0x0B: "\n", 0x0C: "\n", 0x0D: "\n", 0x0E: "\n", 0x1E: "-", 0x1F: "", 0x01: "", 0x02: "", 0x03: "",
    0x04: "", 0x05: "", 0x08: "", 0xA0: " ",
}  # fmt: skip
"""Marks of cells, lines, pages and columns; hyphens; anchors of pictures, notes and comments."""
