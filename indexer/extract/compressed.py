"""A single packed file (.gz, .bz2, .xz): what is inside is read under the name without the last extension."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from typing import IO

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.kinds import PACKED, base_name, extension, kind_of
from indexer.extract.limits import Limits, shown_size
from indexer.extract.sniff import HEAD
from indexer.extract.source import Extractor, Source
from indexer.extract.tar_archive import extract as extract_tar

_PLAIN = frozenset({"", "text", "manual", "markdown", "rst", "org", "pod", "asciidoc", "source", "delimited", "json"})
"""Kinds of which the beginning is enough"""


def extract(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """The document inside, unpacked only as far as it is read; a bomb is "too-large", a TAR inside is one."""
    name = base_name(source.name)
    inner = name[: -len(extension(name)) - 1] if extension(name) in PACKED else name
    with source.open() as stream, _unpack(stream) as unpacked:
        data, is_whole = _read(unpacked, limits.max_member_bytes if kind_of(inner) not in _PLAIN else HEAD)
        if data[257:262] == b"ustar":
            return extract_tar(source, limits, member)
        if not is_whole and kind_of(inner) in _PLAIN:
            more, is_whole = _read(unpacked, 2 * limits.max_text_bytes + HEAD)
            data, is_whole = data + more, is_whole or kind_of(inner) in _PLAIN
    if not is_whole:
        raise ExtractionError("too-large", f"unpacks to more than {shown_size(limits.max_member_bytes)}")
    return member(Source(name=inner, data=data, depth=source.depth + 1), limits)


def _unpack(stream: IO[bytes]) -> IO[bytes]:
    head = stream.read(6)
    stream.seek(0)
    if head.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=stream)  # type: ignore[return-value]
    if head.startswith(b"BZh"):
        return bz2.BZ2File(stream)
    if head.startswith((b"\xfd7zXZ\x00", b"\x5d\x00\x00")):
        return lzma.LZMAFile(stream)
    raise ExtractionError("malformed", "not a packed file, or in a way that is not known")


def _read(stream: IO[bytes], max_bytes: int) -> tuple[bytes, bool]:
    """(the next bytes, whether that was all)."""
    try:
        data = stream.read(max_bytes)
        return data, len(data) < max_bytes
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, OSError) as error:
        raise ExtractionError("malformed", f"the packed file is damaged or cut off ({error})") from error
