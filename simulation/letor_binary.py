"""One file of judged queries in binary: a header, then arrays at places that memory can be mapped to.

    magic (8 bytes) | header length, header checksum (two uint32) | header, JSON | sections

The header says how many bytes each section has and their CRC-32; sections begin at multiples of 64. Numbers are
little-endian. A file that is not exactly this is not read, so a half-written or damaged one does no harm.
"""

from __future__ import annotations

import os
import struct
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np
import numpy.typing as npt

from foltr.errors import FoltrError
from simulation.letor import LetorText
from simulation.queries import QuerySet

VERSION = 1
"""Grows whenever the format changes, or what the parser or a normalisation makes of a text."""

_MAGIC = b"FOLTRQS\0"
_PREFIX = struct.Struct("<8sII")
_ALIGNED = 64


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    size: int
    checksum: int


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    n_docs: int
    n_features: int
    n_queries: int
    n_docids: int
    n_comments: int
    returning: tuple[str, int] | None
    sections: tuple[_Section, _Section, _Section, _Section, _Section, _Section]
    """features, grades, offsets, qids, docids, comments; each begins at the next multiple of 64"""


def write_binary(path: Path, text: LetorText) -> None:
    """Write `text` so that `path` is there whole or not at all; OSError where the folder refuses."""
    queries = text.queries
    parts: list[bytes | memoryview] = [
        np.ascontiguousarray(queries.features, dtype="<f4").data.cast("B"),
        np.ascontiguousarray(queries.grades).data.cast("B"),
        np.ascontiguousarray(queries.offsets, dtype="<i8").data.cast("B"),
        *("\n".join(words).encode() for words in (queries.qids, queries.docids, text.comments)),
    ]
    counts = (len(queries.grades), queries.n_features, queries.n_queries, len(queries.docids), len(text.comments))
    one, two, three, four, five, six = (_Section(len(part), zlib.crc32(part)) for part in parts)
    header = msgspec.json.encode(_Header(VERSION, *counts, text.returning, (one, two, three, four, five, six)))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.stem, suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(_PREFIX.pack(_MAGIC, len(header), zlib.crc32(header)) + header)
            for part in parts:
                stream.write(bytes(-stream.tell() % _ALIGNED))
                stream.write(part)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_binary(path: Path, *, verify: bool = True) -> LetorText | None:
    """What `write_binary` wrote, features mapped from the file and read-only; None for anything else, or no file.

    verify  compare the checksum of the features too, which reads them all; that of all other parts always is compared
    """
    try:
        with path.open("rb") as stream:
            magic, length, checksum = _PREFIX.unpack(stream.read(_PREFIX.size))
            encoded = stream.read(length)
            if magic != _MAGIC or zlib.crc32(encoded) != checksum:
                return None
            header = msgspec.json.decode(encoded, type=_Header)
            if header.version != VERSION:
                return None
            places = _places(_PREFIX.size + length, header.sections)
            if stream.seek(0, os.SEEK_END) != places[-1] + header.sections[-1].size:
                return None
            parts = [_part(stream, *found) for found in list(zip(places, header.sections, strict=True))[1:]]
        shape = (header.n_docs, header.n_features)
        features = np.memmap(path, dtype="<f4", mode="r", offset=places[0], shape=shape).view(np.ndarray)
        if verify and zlib.crc32(features.data.cast("B")) != header.sections[0].checksum:
            return None
        return _text(header, features, parts)
    except (OSError, ValueError, struct.error, msgspec.MsgspecError, FoltrError):
        return None


def _places(begin: int, sections: Sequence[_Section]) -> list[int]:
    """Where sections begin behind a header that ends at `begin`."""
    places = []
    for section in sections:
        begin += -begin % _ALIGNED
        places.append(begin)
        begin += section.size
    return places


def _part(stream: BinaryIO, place: int, section: _Section) -> bytes:
    """The bytes of one section; ValueError when they are not those that were written."""
    stream.seek(place)
    content = stream.read(section.size)
    if len(content) != section.size or zlib.crc32(content) != section.checksum:
        raise ValueError("damaged")
    return content


def _text(header: _Header, features: npt.NDArray[np.float32], parts: list[bytes]) -> LetorText:
    """The parts as queries; an error when they do not fit one another."""
    grades, offsets, *words = parts
    counts = (header.n_queries, header.n_docids, header.n_comments)
    qids, docids, comments = (_words(part, count) for part, count in zip(words, counts, strict=True))
    queries = QuerySet(
        features, np.frombuffer(grades, dtype=np.int8), np.frombuffer(offsets, dtype="<i8"), qids, docids
    )
    return LetorText(queries, comments, header.returning)


def _words(content: bytes, count: int) -> tuple[str, ...]:
    """The lines of a section of words; ValueError when there are not `count`."""
    words = tuple(content.decode().split("\n")) if count else ()
    if len(words) != count:
        raise ValueError("damaged")
    return words
