"""What a file is by its first bytes, for names that say nothing or mislead."""

from __future__ import annotations

import re

from indexer.errors import ExtractionError

HEAD = 4_096
"""bytes that are looked at"""

_PREFIXES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", "pdf"),
    (b"{\\rtf", "rtf"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),
    (b"\x1f\x8b\x08", "compressed"),
    (b"BZh", "compressed"),
    (b"\xfd7zXZ\x00", "compressed"),
)
_ZIPPED = frozenset({"docx", "odt", "pptx", "odp", "xlsx", "ods", "epub", "zip"})
_PACKED = frozenset({"tar", "compressed"})
_BINARY_KINDS = _ZIPPED | _PACKED | {"pdf", "rtf", "ole"}
_MEDIA_TYPES: dict[bytes, str] = {
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
    b"application/vnd.oasis.opendocument.graphics": "odp",
    b"application/epub+zip": "epub",
}
_MAIL_HEADER = re.compile(rb"(?:^|\n)(?:Message-ID|Received|MIME-Version|Return-Path|Subject):", re.IGNORECASE)
_MAILBOX = re.compile(rb"^From \S[^\n]{0,500}\d\d:\d\d[^\n]*\n(?:>?[A-Za-z-]+:|>From )")


def kind_by_content(kind: str | None, head: bytes) -> str:
    """The kind of a file that begins with `head` and whose name says `kind`: "" nothing, None not indexed.

    Raises ExtractionError "unsupported" for kinds that are not indexed.
    """
    if kind is None:
        raise ExtractionError("unsupported", "a kind of file without text that could be read")
    found = next((wanted for prefix, wanted in _PREFIXES if head.startswith(prefix)), "")
    if not found and b"%PDF-" in head[:1024] and kind in ("pdf", ""):
        found = "pdf"
    if found == "zip":
        return kind if kind in _ZIPPED else _zipped_kind(head)
    if found == "compressed":
        return kind if kind in _PACKED else "compressed"
    if found:
        return found
    if kind == "":
        return _unnamed(head)
    if kind in ("rtf", "ole", "docx", "xlsx"):
        return "html" if _looks_like_html(head) else ("text" if kind == "ole" else kind)
    return kind


def _unnamed(head: bytes) -> str:
    """The kind of a file whose name says nothing."""
    if _looks_like_html(head):
        return "html"
    if _MAILBOX.match(head):
        return "mbox"
    if head[257:262] == b"ustar":
        return "tar"
    if head.startswith(b"#!"):
        return "source"
    if head.lstrip().startswith(b"<?xml"):
        return "xml"
    if (
        head.startswith((b"Return-Path:", b"Received:", b"Delivered-To:", b"From:"))
        and len(_MAIL_HEADER.findall(head)) > 1
    ):
        return "eml"
    return "calendar" if head.startswith(b"BEGIN:VCALENDAR") else "text"


def _looks_like_html(head: bytes) -> bool:
    start = head[:512].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype html", b"<html"))


def _zipped_kind(head: bytes) -> str:
    """The kind of a ZIP file by its first member: office formats and EPUB say what they are there."""
    name_length = int.from_bytes(head[26:28], "little")
    name = head[30 : 30 + name_length]
    content = head[30 + name_length + int.from_bytes(head[28:30], "little") :]
    if name == b"mimetype":
        for media_type in sorted(_MEDIA_TYPES, key=len, reverse=True):
            if content.startswith(media_type):
                return _MEDIA_TYPES[media_type]
    if name in (b"[Content_Types].xml", b"_rels/.rels"):
        for part, kind in ((b"word/", "docx"), (b"xl/", "xlsx"), (b"ppt/", "pptx")):
            if part in head:
                return kind
    return "zip"
