"""RTF through striprtf, with the title and author from its information group."""

from __future__ import annotations

import re
import struct

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.markup.html import one_line
from indexer.extract.office.metadata import real_title
from indexer.extract.source import Limits, Source, cut

_PICTURE = re.compile(r"[0-9a-fA-F]{128,}+|(?:[0-9a-fA-F]{32,127}+\s++){4,}+")
_BESIDE = re.compile(r"\{(?:\\\*)?\\(?:(?:header|footer)[lrf]?|(footnote|annotation))\b")
_INFO = re.compile(r"\{\\info\b(.{0,20000})", re.S)


def extract(source: Source, limits: Limits) -> Extraction:
    """One document; pictures, which are hexadecimal digits, are dropped, headers, footers, notes and comments kept."""
    data = source.read_whole(limits.max_member_bytes, "RTF")
    if not data.lstrip().startswith(b"{\\rtf"):
        raise ExtractionError("malformed", "no RTF: it does not begin with {\\rtf")
    text, truncated = cut(read_rtf(data), limits.max_text_bytes)
    source_text = data[:200_000].decode("latin-1")
    info = found[1] if (found := _INFO.search(source_text)) else ""
    title, author = (_property(info, name, source_text) for name in ("title", "author"))
    return ExtractedDocument(
        text=text, type="document", title=real_title(title), author=one_line(author), truncated=truncated
    ).alone()


def read_rtf(data: bytes) -> str:
    """The text of RTF, its pictures left out; "" when there is none."""
    source_text = _BESIDE.sub(lambda own: "{ " if own[1] else "{", _PICTURE.sub("", data.decode("latin-1")))
    text = clean(_plain(source_text))
    return text if text.strip() else clean(_scanned(data.decode("latin-1")))


def _plain(source_text: str) -> str:
    from striprtf.striprtf import rtf_to_text

    text: str = rtf_to_text(source_text, encoding="cp1252", errors="replace")  # type: ignore[no-untyped-call]
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\ufeff", "")


_TOKEN = re.compile(r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\(.)|([{}])|([^\\{}\r\n]+)", re.S)
_BREAKS = {"par": "\n", "line": "\n", "sect": "\n", "page": "\n", "row": "\n", "tab": "\t", "cell": "\t"}
_NOT_SHOWN = frozenset({
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "fldinst", "listtable", "listoverridetable", "generator",
    "objdata", "themedata", "rsidtbl",
})  # fmt: skip


def _scanned(source_text: str) -> str:
    """All characters outside of groups that are never shown: for files in which striprtf finds nothing.

    A mark to ignore counts at the beginning of a group alone, and bytes of pictures are passed over by their number.
    """
    parts: list[str] = []
    hidden, skip, at, begins = [False], 0, 0, False
    while found := _TOKEN.search(source_text, at):
        at = found.end()
        word, number, code, sign, brace, text = found.groups()
        if brace == "{":
            hidden.append(hidden[-1])
        elif brace and len(hidden) > 1:
            hidden.pop()
        elif (word in _NOT_SHOWN or sign == "*") and begins:
            hidden[-1] = True
        elif word == "bin":
            at += max(int(number or 0), 0)
        elif word == "u" and number and not hidden[-1]:
            parts.append(chr(int(number) % 65_536))
            skip = 1
        elif not hidden[-1]:
            shown = bytes.fromhex(code).decode("cp1252", "replace") if code else text or _BREAKS.get(word or "", "")
            if sign in ("\\", "{", "}", "~"):
                shown = " " if sign == "~" else str(sign)
            if skip and (code or text):
                shown, skip = shown[1:], 0
            parts.append(shown)
        begins = brace == "{"
    return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _property(info: str, name: str, source_text: str) -> str:
    """The value of one property, read in the code page of the document; where it is there in Unicode too, that."""
    found = re.findall(rf"\{{\\{name}\s([^{{}}]{{1,1000}})\}}", info)
    if not found:
        return ""
    page = re.search(r"\\ansicpg\d+", source_text[:2000])
    return _plain(f"{{\\rtf1\\ansi{page[0] if page else ''} {found[-1]}}}").strip()


_COMPRESSED, _UNCOMPRESSED = b"LZFu", b"MELA"
_DICTIONARY = (
    b"{\\rtf1\\ansi\\mac\\deff0\\deftab720{\\fonttbl;}{\\f0\\fnil \\froman \\fswiss \\fmodern \\fscript \\fdecor "
    b"MS Sans SerifSymbolArialTimes New RomanCourier{\\colortbl\\red0\\green0\\blue0\r\n\\par \\pard\\plain\\f0\\fs20"
    b"\\b\\i\\u\\tab\\tx"
)
"""with which the window of 4,096 bytes begins ([MS-OXRTFCP] 2.1.2.1)"""


def unpacked(data: bytes, max_bytes: int) -> bytes:
    """RTF from its packed form ([MS-OXRTFCP] 2.2): runs refer to what came before; at most `max_bytes`."""
    if data[8:12] == _UNCOMPRESSED:
        return data[16:]
    if data[8:12] != _COMPRESSED:
        return b""
    found, at = bytearray(_DICTIONARY), 16
    limit = min(struct.unpack_from("<I", data, 4)[0], max_bytes) + len(_DICTIONARY)
    while at < len(data) and len(found) < limit:
        flags, at = data[at], at + 1
        for bit in range(8):
            if not flags >> bit & 1:
                found += data[at : at + 1]
                at += 1
                continue
            if at + 2 > len(data):
                return bytes(found[len(_DICTIONARY) :])
            run = int.from_bytes(data[at : at + 2], "big")
            at += 2
            # The window is a ring; a run that begins where the next byte is written ends the text.
            back = (len(found) - (run >> 4)) % 4096
            if back == 0:
                return bytes(found[len(_DICTIONARY) :])
            for _ in range((run & 0xF) + 2):
                found.append(found[-back] if back <= len(found) else 0)
    return bytes(found[len(_DICTIONARY) :])
