"""The container of Office before 2007 (an "OLE file", [MS-CFB]), opened by olefile.

A file of Word, Excel, PowerPoint or Outlook is a folder of streams in it.
"""

from __future__ import annotations

from contextlib import closing
from typing import Any

from msgspec import structs

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean, decode_page
from indexer.extract.kinds import load
from indexer.extract.markup.html import one_line
from indexer.extract.office.metadata import real_title
from indexer.extract.source import Extractor, Limits, Source, shown_size

TITLE, AUTHOR = 2, 4
"""numbers of properties in a summary ([MS-OLEPS] 3.1.1)"""
_CODE_PAGE = 1


class Compound:
    """The streams of one open file; names are matched without regard to case."""

    def __init__(self, ole: Any, limits: Limits, depth: int, member: Extractor) -> None:
        """`depth` is that of the file, `member` reads what is attached to it."""
        self._ole, self._limits, self.depth, self.member = ole, limits, depth, member
        self.names: list[str] = ["/".join(path) for path in ole.listdir()]

    def __contains__(self, name: str) -> bool:
        return bool(self._ole.exists(name))

    def read(self, name: str) -> bytes:
        """The stream `name`, b"" when there is none; ExtractionError "too-large" for what cannot be."""
        if name not in self:
            return b""
        size = self._ole.get_size(name)
        if size > self._limits.max_member_bytes:
            raise ExtractionError("too-large", f"{clean(name)} has {shown_size(size)}")
        data: bytes = self._ole.openstream(name).read()
        return data

    def summary(self) -> tuple[str, str]:
        """(title, author) as the program kept them; "" for what is missing, junk or damaged."""
        try:
            found = self._ole.getproperties("\x05SummaryInformation")
        except Exception:  # the properties are a gift; olefile raises whatever the damage makes it
            return "", ""
        page = found.get(_CODE_PAGE, 1252)
        title, author = (_text(found.get(number, b""), page) for number in (TITLE, AUTHOR))
        return real_title(title), one_line(author)


def _text(value: object, page: object) -> str:
    """A property in the code page of its set; the code page is a signed number of 16 bits."""
    if isinstance(value, str):
        return clean(value.partition("\0")[0])
    if not isinstance(value, bytes):
        return ""
    number = int(page) & 0xFFFF if isinstance(page, int) else 1252
    return clean(decode_page(value, number).partition("\0")[0])


_READERS = {
    "WordDocument": "office.doc:extract",
    "PowerPoint Document": "office.ppt:extract",
    "Workbook": "office.xls:extract_compound",
    "Book": "office.xls:extract_compound",
    "__properties_version1.0": "mail.msg:extract",
}
"""Who reads a file with such a stream, the first that is there; below indexer.extract"""


def extract(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """What the reader that the streams ask for finds, whatever the name ends in.

    Raises "malformed", "encrypted", and "unsupported" where there is no reader.
    """
    import olefile

    with source.open() as stream:
        try:
            ole = olefile.OleFileIO(stream)
        except (OSError, ValueError, IndexError, RecursionError) as error:
            reason = " ".join(str(error).split())
            raise ExtractionError("malformed", f"not a readable Office file ({reason})") from error
        with closing(ole):
            compound = Compound(ole, limits, source.depth, member)
            if "EncryptedPackage" in compound or "EncryptedSummary" in compound:
                raise ExtractionError("encrypted", "protected by a password")
            for name, reader in _READERS.items():
                if name in compound:
                    found: Extraction = load(reader)(compound, limits)
                    cut = ("damaged or cut off: some of it may be missing",) if ole.parsing_issues else ()
                    return structs.replace(found, notes=(*found.notes, *cut))
            if ole.parsing_issues:
                raise ExtractionError("malformed", "damaged or cut off: nothing readable is left")
    raise ExtractionError("unsupported", "an Office file of a kind that is not read")
