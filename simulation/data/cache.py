"""The cache of parsed LETOR files: one binary for each content, found at once while the source is untouched.

A binary is named by the BLAKE2b hash of its source, so a moved or copied source finds it, and a changed one does not.
So that an untouched source is not even read, the cache remembers for each path its size, time, inode and hash. Whatever
is wrong with the cache, from a read-only folder to a damaged file, leads to parsing again and never to an error.
Nothing is ever removed; the folder may be deleted at any time.

A binary is a header, then arrays at places that memory can be mapped to:

    magic (8 bytes) | header length, header checksum (two uint32) | header, JSON | sections

The header says how many bytes each section has and their CRC-32; sections begin at multiples of 64. Numbers are
little-endian. A file that is not exactly this is not read, so a half-written or damaged one does no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import tempfile
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, Literal

import msgspec
import numpy as np
import numpy.typing as npt
import platformdirs

from console.durable import replace_durably
from foltr.errors import FoltrError
from simulation.data.letor import parse_file
from simulation.data.queries import OneDocument, QuerySet, normalise_queries, widen
from simulation.errors import DataFileError, DatasetError

VERSION = 3
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
    sections: tuple[_Section, _Section, _Section, _Section, _Section]
    """features, grades, offsets, qids, docids; each begins at the next multiple of 64"""


def write_binary(path: Path, queries: QuerySet) -> None:
    """Write queries so that `path` is there whole or not at all; OSError where the folder refuses."""
    parts: list[bytes | memoryview] = [
        np.ascontiguousarray(queries.features, dtype="<f4").data.cast("B"),
        np.ascontiguousarray(queries.grades).data.cast("B"),
        np.ascontiguousarray(queries.offsets, dtype="<i8").data.cast("B"),
        *("\n".join(words).encode() for words in (queries.qids, queries.docids)),
    ]
    counts = (len(queries.grades), queries.n_features, queries.n_queries, len(queries.docids))
    one, two, three, four, five = (_Section(len(part), zlib.crc32(part)) for part in parts)
    header = msgspec.json.encode(_Header(VERSION, *counts, (one, two, three, four, five)))
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


def read_binary(path: Path, *, verify: bool = True) -> QuerySet | None:
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
        return _queries(header, features, parts)
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


def _queries(header: _Header, features: npt.NDArray[np.float32], parts: list[bytes]) -> QuerySet:
    """The parts as queries; an error when they do not fit one another."""
    grades, offsets, *words = parts
    counts = (header.n_queries, header.n_docids)
    qids, docids = (_words(part, count) for part, count in zip(words, counts, strict=True))
    return QuerySet(features, np.frombuffer(grades, dtype=np.int8), np.frombuffer(offsets, dtype="<i8"), qids, docids)


def _words(content: bytes, count: int) -> tuple[str, ...]:
    """The lines of a section of words; ValueError when there are not `count`."""
    words = tuple(content.decode().split("\n")) if count else ()
    if len(words) != count:
        raise ValueError("damaged")
    return words


Cache = Path | Literal["default", "off"]
"""A folder; "default" for `cache_folder()`; "off" for none."""

_SETTLED = 2_000_000_000
"""ns: a source younger than this may change again without a new time on file systems with coarse clocks"""


def load_file(
    path: Path,
    *,
    normalise: str = "none",
    one_document: OneDocument = "zero",
    n_features: int = 0,
    queries: tuple[str, ...] = (),
    cache: Cache = "default",
) -> QuerySet:
    """The queries of a LETOR text (simulation.data.letor), features float32, mapped from the cache where it has them.

    normalise, one_document  as in `normalise_queries`; what is kept is the result, so that processes share it
    n_features      at least so many: columns of 0 behind the last that the file mentions
    queries         the ids of those to keep; (): all
    """

    def make() -> QuerySet:
        wide = widen(parse_file(path, queries=queries), n_features)
        return normalise_queries(wide, normalise, one_document=one_document)

    scale = "" if normalise == "none" else f"-{normalise}-{one_document}"
    part = f"-{hashlib.blake2b(' '.join(queries).encode(), digest_size=8).hexdigest()}" if queries else ""
    wide = f"-{n_features}" if n_features else ""
    return _cached(path, f"{scale}{wide}{part}", make, chosen_folder(cache))


def _cached(path: Path, variant: str, make: Callable[[], QuerySet], folder: Path | None) -> QuerySet:
    """What `make` gives for a source, from the folder where it has it; kept there where it allows."""
    if folder is None:
        return make()
    try:
        stat = path.stat()
        known = _remembered(folder, path, variant, stat)
        content = known.content if known else content_hash(path)
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror or error}") from error
    binary = folder / f"{content}{variant}.v{VERSION}"
    queries = read_binary(binary, verify=known is None or not known.untouched(binary))
    if queries is None:
        known, queries = None, make()
        with contextlib.suppress(OSError):
            if _same(stat, path.stat()):  # else the hash may be that of other bytes
                folder.mkdir(parents=True, exist_ok=True)
                write_binary(binary, queries)
                queries = read_binary(binary, verify=False) or queries
    if known is None and time.time_ns() - stat.st_mtime_ns > _SETTLED:
        _remember(_note(folder, path, variant), path, stat, content, binary)
    return queries


def cache_folder() -> Path:
    """The folder `letor` in FOLTR_CACHE where that is set, else in the user's cache folder of foltr-search."""
    named = os.environ.get("FOLTR_CACHE", "")
    return (Path(named) if named else platformdirs.user_cache_path("foltr-search")) / "letor"


def chosen_folder(cache: Cache) -> Path | None:
    """The folder that the argument means, None for no cache."""
    if isinstance(cache, Path):
        return cache
    if cache not in ("default", "off"):
        raise DatasetError(f"cache must be a Path, 'default' or 'off', not {cache!r}")
    return cache_folder() if cache == "default" else None


def content_hash(path: Path) -> str:
    """BLAKE2b of the bytes of a file, 20 bytes, read piece by piece."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=20)).hexdigest()


def source_hash(path: Path, *, cache: Cache = "default") -> str:
    """`content_hash` of a source, from the cache where it remembers the untouched file."""
    folder = chosen_folder(cache)
    try:
        stat = path.stat()
        variants = [note.stem[len(_name(path)) :] for note in folder.glob(f"{_name(path)}*.json")] if folder else []
        known = (_remembered(folder, path, variant, stat) for variant in variants) if folder else ()
        return next((one.content for one in known if one), None) or content_hash(path)
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror or error}") from error


class _Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a source was when it was read last, and its binary when that was whole."""

    path: str
    size: int
    mtime_ns: int
    inode: int
    content: str
    binary_size: int
    binary_mtime_ns: int

    def untouched(self, binary: Path) -> bool:
        """Whether nobody wrote to the binary since."""
        try:
            stat = binary.stat()
        except OSError:
            return False
        return (stat.st_size, stat.st_mtime_ns) == (self.binary_size, self.binary_mtime_ns)


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_size, one.st_mtime_ns, one.st_ino) == (other.st_size, other.st_mtime_ns, other.st_ino)


def _note(folder: Path, path: Path, variant: str) -> Path:
    """Where the cache remembers a source."""
    return folder / f"{_name(path)}{variant}.json"


def _name(path: Path) -> str:
    """What the notes of a source are called."""
    return hashlib.blake2b(os.fsencode(path.resolve()), digest_size=20).hexdigest()


def _remembered(folder: Path, path: Path, variant: str, stat: os.stat_result) -> _Known | None:
    """What is known of a source, None when it changed since or was never read."""
    try:
        known = msgspec.json.decode(_note(folder, path, variant).read_bytes(), type=_Known)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None
    now = (str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ino)
    return known if (known.path, known.size, known.mtime_ns, known.inode) == now else None


def _remember(note: Path, path: Path, stat: os.stat_result, content: str, binary: Path) -> None:
    """Note the source and its binary; nothing where the binary is not there."""
    with contextlib.suppress(OSError):
        made = binary.stat()
        source = (str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ino)
        known = _Known(*source, content, made.st_size, made.st_mtime_ns)
        replace_durably(note, msgspec.json.encode(known))
