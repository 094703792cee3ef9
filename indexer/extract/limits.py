"""How much of one file is read, and how a text that is too long is cut."""

from __future__ import annotations

import msgspec

MEGABYTE = 1_000_000
"""bytes; decimal, as file managers count"""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The bounds of one extraction; every one is far above what ordinary files need."""

    max_text_bytes: int = 4 * MEGABYTE
    """UTF-8 bytes of text kept per document; more is cut and the document says so"""
    max_total_text_bytes: int = 32 * MEGABYTE
    """UTF-8 bytes of text kept over all documents of one file (mailbox, archive)"""
    max_member_bytes: int = 64 * MEGABYTE
    """declared unpacked size of one member of an archive or of an office file"""
    max_archive_bytes: int = 256 * MEGABYTE
    """unpacked bytes read from one archive in total"""
    max_archive_members: int = 2_000
    """members read from one archive"""
    max_messages: int = 20_000
    """messages read from one mailbox, events from one calendar"""
    max_depth: int = 2
    """how deep archives and attachments may sit in one another"""


def shown_size(n_bytes: int) -> str:
    """`n_bytes` for a person: 4000000 -> "4 MB", 1500 -> "1.5 kB"."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.1f}".removesuffix(".0") + f" {unit}"
    return f"{n_bytes} bytes"


def cut(text: str, max_bytes: int) -> tuple[str, str]:
    """The longest beginning of `text` within `max_bytes` of UTF-8, and "first 4 MB" when something was cut off."""
    if len(text) * 4 <= max_bytes or (text.isascii() and len(text) <= max_bytes):
        return text, ""
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text, ""
    return data[:max_bytes].decode("utf-8", "ignore"), f"first {shown_size(max_bytes)}"
