"""The records that pass between crawling, extraction and the index.

A path is a `str` as `os.fsdecode` gives it (surrogateescape), so a name that is not UTF-8 survives the
round trip; `display_path` makes it printable.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

TYPES = (
    "text", "markdown", "source", "html", "pdf", "document", "presentation", "spreadsheet",
    "mail", "ebook", "data", "notebook", "calendar", "archive", "image", "audio", "video", "other",
    "site", "chat",
)  # fmt: skip
"""What a document is, as in `type:mail`; the column value is the position in this tuple."""

MEGABYTE = 1_000_000
"""bytes; decimal, as file managers count"""
MAX_FILE_BYTES: dict[str, int] = {
    "text": 4_000 * MEGABYTE,
    "markdown": 4_000 * MEGABYTE,
    "source": 4_000 * MEGABYTE,
    "data": 4_000 * MEGABYTE,
    "html": 64 * MEGABYTE,
    "pdf": 256 * MEGABYTE,
    "document": 128 * MEGABYTE,
    "presentation": 512 * MEGABYTE,
    "spreadsheet": 128 * MEGABYTE,
    "mail": 4_000 * MEGABYTE,
    "ebook": 256 * MEGABYTE,
    "notebook": 64 * MEGABYTE,
    "calendar": 64 * MEGABYTE,
    "archive": 512 * MEGABYTE,
    "image": 1_000 * MEGABYTE,
    "audio": 4_000 * MEGABYTE,
    "video": 100_000 * MEGABYTE,
    "other": 4_000 * MEGABYTE,
    "site": 256 * MEGABYTE,
    "chat": 512 * MEGABYTE,
}
"""Size cap per type. Of text only the first megabytes are read, so its cap only keeps out disk images and the like."""

HEARD = ("audio", "video")
"""types whose pages are spans of time"""
SPAN = 5
"""seconds that such a page lasts"""


def page_name(type_: str, page: int) -> str:
    """ "page 7" for what is read; for what is heard, the time at which the page begins: "12:40", "1:02:30"."""
    if type_ not in HEARD:
        return f"page {page}"
    minutes, seconds = divmod((page - 1) * SPAN, 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}" if minutes >= 60 else f"{minutes}:{seconds:02}"


class FileEntry(msgspec.Struct, frozen=True, gc=False):
    """One regular file as the crawl saw it; nothing of its content was read."""

    path: str
    size: int
    """bytes"""
    modified_ns: int
    """nanoseconds since the epoch, UTC"""
    device: int
    inode: int
    changed_ns: int = 0
    """when content, name or permissions last changed (ctime); 0 where the system does not keep that"""
    unread: str = ""
    """why only its name is indexed, as one line for a person; "" for a file that is read"""
    failure: str = ""
    """the kind, as in ExtractionError, if a limit is why it is unread; "" where there is nothing to read"""
    source: str = ""
    """the source (indexer.extract.sources.known) whose reader reads it, or the kind that a package added; else \"\""""


class Skipped(msgspec.Struct, frozen=True):
    """One path that the crawl passed over, and why."""

    path: str
    rule: str
    """a fixed word: ignored, default-ignore, hidden, too-large, symlink, loop, unreadable, special, mount, type"""
    reason: str
    """one line for a person: the pattern and its file, the limit and the size, the error"""


class Listing(msgspec.Struct, frozen=True):
    """One folder all of whose files were looked at, not counting subfolders."""

    folder: str
    digest: bytes
    """of what the rules see of its files, see indexer.storage.unchanged"""
    n_files: int
    """those with a `FileEntry`"""
    skipped: tuple[Skipped, ...]


class Described(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one document beside its text; a mailbox or an archive gives several."""

    type: str
    """one of TYPES"""
    part: str = ""
    """where in the file: "" for the whole file, "message 3" in a mailbox, "docs/a.txt" in an archive"""
    title: str = ""
    author: str = ""
    """author, or sender of a mail"""
    recipients: str = ""
    properties: tuple[tuple[str, str], ...] = ()
    """what describes it beside its text: (name, value) pairs, see indexer.properties"""
    message_ids: tuple[str, ...] = ()
    """of a mail: its own Message-ID ("" for none), then those of the mails it answers; they link mails into threads"""
    modified: float | None = None
    """seconds since the epoch where the document itself carries a date (mail, calendar); else the file's"""
    truncated: str = ""
    """what was kept when a limit cut the text, as "first 2 MB"; "" when nothing was cut"""


class ExtractedDocument(Described, frozen=True, kw_only=True):
    text: str
    pages: tuple[int, ...] = ()
    """offset in `text` where each page begins, if the format has pages; a page of a recording is `SPAN` seconds"""
    headings: tuple[int, ...] = ()
    """offsets in `text` of heading lines, for HTML only: those of notes are recognised when a note is shown"""

    def alone(self, notes: Iterable[str] = ()) -> Extraction:
        """An Extraction with this document alone."""
        return Extraction(documents=(self,), notes=tuple(notes))


class Extraction(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome for one file: its documents, and one line for each part that could not be read."""

    documents: tuple[ExtractedDocument, ...] = ()
    notes: tuple[str, ...] = ()


def storable(text: str) -> str:
    """`text` as UTF-8 can hold it: a lone surrogate becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
