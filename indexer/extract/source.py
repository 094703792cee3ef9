"""An extractor's input and output: a source, its limits, and a sink that keeps within them.

A source is a file on disk or bytes that sat inside another file. `Sink` gathers the text of one document piece by
piece, `Gathered` the documents of a container (archive, mailbox); `fingerprint` tells whether content has changed.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from indexer.confined.given_files import open_file, open_unbuffered
from indexer.documents import MEGABYTE, ExtractedDocument, Extraction
from indexer.errors import ExtractionError

if TYPE_CHECKING:
    from indexer.properties import Properties  # loads numpy


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
    sources: frozenset[str] = frozenset()
    """names of `indexer.extract.sources.known` whose readers are to be used"""
    secrets: tuple[str, ...] = ()
    """patterns of members of archives and mails that are not read (indexer.files.ignore_rules)"""
    recognised: str = ""
    """path of the texts recognised in pictures (indexer.extract.media.recognised); "" for none"""
    cpu_ends: float = math.inf
    """the `time.process_time()` at which a reader stops and gives what it has"""

    @property
    def is_late(self) -> bool:
        """Whether the processor time is used up."""
        return time.process_time() > self.cpu_ends

    def for_analysis(self, began: float) -> Limits:
        """Those of the words of what was read since `began`: a reader may have used up its time, and they get more."""
        return msgspec.structs.replace(self, cpu_ends=self.cpu_ends + ANALYSIS_SHARE * (self.cpu_ends - began))


ANALYSIS_SHARE = 0.75
"""of the processor time to read a file that its words may take after it"""
NO_TEXT_IN_PAGES = "no text in its pages, perhaps scanned pictures"
TIME_IS_UP = "the processor time for one file was used up (index.seconds_per_file)"
"""why a reader stopped before the end"""


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


class Source(msgspec.Struct, frozen=True):
    """One stream of bytes with the name that its extension is taken from."""

    name: str
    """file or member name; only its extension and stem mean anything"""
    path: str = ""
    """path on disk; unused when `data` is given"""
    data: bytes | None = None
    depth: int = 0
    """0 for a file on disk, 1 for a member or attachment of it, and so on"""

    def open(self) -> BinaryIO:
        """A seekable binary stream at its beginning; OSError when the file cannot be opened."""
        return io.BytesIO(self.data) if self.data is not None else open_file(self.path)

    def read(self, max_bytes: int) -> bytes:
        """The first `max_bytes` bytes, fewer when there are fewer."""
        if self.data is not None:
            return self.data[:max_bytes]
        with open_unbuffered(self.path) as stream:
            parts, step = [], read_step(os.fstat(stream.fileno()).st_size, 1 << 22)
            while max_bytes > 0 and (part := stream.read(min(max_bytes, step))):
                parts.append(part)
                max_bytes -= len(part)
        return b"".join(parts)

    def read_whole(self, max_bytes: int, what: str) -> bytes:
        """All of it; ExtractionError "too-large" for more than `max_bytes`, which says `what` it is."""
        data = self.read(max_bytes + 1)
        if len(data) > max_bytes:
            raise ExtractionError("too-large", f"{what} of more than {shown_size(max_bytes)}")
        return data


def read_step(size: int, at_most: int) -> int:
    """Bytes to ask for at once of a file of `size`, for room is made for all: not few, as some that say 0 hold more."""
    return min(max(size, 1 << 16) + 1, at_most)


Extractor = Callable[[Source, Limits], Extraction]
"""Reads one kind of file; raises ExtractionError, or anything its library raises on malformed data."""

_LOOKS = 64
"""parts added to a sink between two looks at the clock"""


class Sink:
    """Text parts up to `max_text_bytes` of UTF-8 and within the time; `full` says when to stop reading."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._parts: list[str] = []
        self._n_bytes = 0
        self._n_chars = 0
        self._is_cut = self._is_late = False
        self.pages: list[int] = []

    @property
    def full(self) -> bool:
        """Whether what comes is left out, for want of room or of time."""
        self._is_late = self._is_late or self._limits.is_late
        return self._is_cut or self._is_late

    def add(self, text: str) -> None:
        """Append `text`, as much of it as there is room for."""
        if self._is_cut or self._is_late or not text or (len(self._parts) % _LOOKS == _LOOKS - 1 and self.full):
            return
        size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        room = self._limits.max_text_bytes - self._n_bytes
        if size > room:
            text, self._is_cut = text.encode("utf-8", "replace")[:room].decode("utf-8", "ignore"), True
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
        if self._is_cut:
            return f"first {shown_size(self._limits.max_text_bytes)}"
        return f"first {shown_size(self._n_bytes)}, then the time was up" if self._is_late else ""

    def extraction(
        self, type_: str, title: str = "", author: str = "", properties: Properties = (), *, notes: Iterable[str] = ()
    ) -> Extraction:
        """One document of all that was kept."""
        return ExtractedDocument(
            text=self.text, type=type_, title=title, author=author, properties=properties, pages=tuple(self.pages),
            truncated=self.truncated,
        ).alone(notes)  # fmt: skip


MOST_EMPTY = 64
"""empty cells in front of a cell that keep their place"""


def row_line(cells: Sequence[str]) -> str:
    """A row of a table with a tab between cells, so that each stays in its column; "" for an empty row."""
    line = "\t".join(cells).rstrip()
    blank = len(line) - len(line.lstrip("\t"))
    return line[:blank] + line[blank:].strip()


MAX_NOTES = 20
"""notes kept per container; the rest are counted"""


def some_of(notes: tuple[str, ...]) -> tuple[str, ...]:
    """The first `MAX_NOTES` of `notes`, and how many more there are."""
    n_more = len(notes) - MAX_NOTES
    return notes if n_more < 2 else (*notes[:MAX_NOTES], f"and {n_more} more")


class Gathered:
    """Documents and notes of a container; `full` says when to stop."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._documents: list[ExtractedDocument] = []
        self._notes: list[str] = []
        self._n_more_notes = 0
        self._n_bytes = 0
        self.full = False

    def read(self, part: str, reader: Callable[[], Extraction]) -> None:
        """Take what `reader` gives of the member `part`; a failure is a note, and so is the end of time or memory."""
        try:
            self.add(reader(), part)
        except ExtractionError as error:
            if error.kind != "unsupported":  # a member that is no text at all is not worth a word
                self.note(f"{part}: {error}")
        except MemoryError:
            if not self._documents:
                raise
            self.note(f"{part}: too little memory for it and what comes after it")
            self.full = True
        except Exception as error:  # whatever a parser raises on one member costs no other
            self.note(f"{part}: damaged ({type(error).__name__}: {error})")
        if self._limits.is_late and not self.full:
            self.note(f"read up to {part}: {TIME_IS_UP}")
            self.full = True

    def add(self, found: Extraction, part: str = "") -> None:
        """Take the documents of one member, their parts prefixed with `part`."""
        for document in found.documents:
            size = len(document.text.encode("utf-8", "replace"))
            if self._n_bytes + size > self._limits.max_total_text_bytes:
                self.full = True
                self.note(f"only the first {shown_size(self._limits.max_total_text_bytes)} of text are kept")
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

    def extraction(self) -> Extraction:
        more = (f"and {self._n_more_notes} more",) if self._n_more_notes else ()
        return Extraction(documents=tuple(self._documents), notes=(*self._notes, *more))


HEAD_BYTES, TAIL_BYTES = 32_000_000, 1_000_000
"""of a larger file only its beginning and its end count"""


def fingerprint(path: str) -> bytes:
    """16 bytes over the size and the content of the file at `path`; b"" when it cannot be read, or is none."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        with open_unbuffered(path) as stream:
            status = os.fstat(stream.fileno())
            if not stat.S_ISREG(status.st_mode):
                return b""
            left = HEAD_BYTES
            step = read_step(status.st_size, 1 << 20)
            while left > 0 and (block := stream.read(min(left, step))):
                digest.update(block)
                left -= len(block)
            size = stream.seek(0, 2)
            if size > HEAD_BYTES:
                stream.seek(max(HEAD_BYTES, size - TAIL_BYTES))
                digest.update(stream.read(TAIL_BYTES))
    except OSError:
        return b""
    digest.update(size.to_bytes(8, "little"))
    return digest.digest()
