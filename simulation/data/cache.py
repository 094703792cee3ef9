"""The cache of parsed LETOR files: one binary for each content, found at once while the source is untouched.

A binary is named by the BLAKE2b hash of its source, so a moved or copied source finds it, and a changed one does not.
So that an untouched source is not even read, the cache remembers for each path its size, time, inode and hash. Whatever
is wrong with the cache, from a read-only folder to a damaged file, the source is parsed again and no error raised.
Nothing is ever removed; the folder may be deleted at any time.

A binary is a header, then the features at a place that memory can be mapped to:

    magic (8 bytes) | header length, header checksum (two uint32) | header, MessagePack | features

The features begin at the next multiple of 64. Numbers are little-endian. A file that is not exactly this is not read,
so a half-written or damaged one does no harm.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import struct
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
import platformdirs

from console.durable import replace_durably
from foltr.errors import FoltrError
from simulation.data.letor import parse_file
from simulation.data.queries import OneDocument, QuerySet, normalise_queries, widen
from simulation.errors import DataFileError, DatasetError

VERSION = 4
"""Raised whenever the format changes, or what the parser or a normalisation makes of a text."""

_MAGIC = b"FOLTRQS\0"
_PREFIX = struct.Struct("<8sII")
_ALIGNED = 64


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All but the features."""

    version: int
    shape: tuple[int, int]
    """of the features"""
    checksum: int
    """CRC-32 of the features"""
    grades: bytes
    offsets: bytes
    qids: tuple[str, ...]
    docids: tuple[str, ...]


def write_binary(path: Path, queries: QuerySet) -> None:
    """Write queries so that `path` is there whole or not at all; OSError where the folder refuses."""
    features = np.ascontiguousarray(queries.features, dtype="<f4")
    header = msgspec.msgpack.encode(
        _Header(
            VERSION,
            (len(features), queries.n_features),
            zlib.crc32(features.data.cast("B")),
            np.ascontiguousarray(queries.grades).tobytes(),
            queries.offsets.astype("<i8").tobytes(),
            queries.qids,
            queries.docids,
        )
    )
    start = _PREFIX.pack(_MAGIC, len(header), zlib.crc32(header)) + header
    replace_durably(path, [start, bytes(-len(start) % _ALIGNED), features.data.cast("B")])  # type: ignore[list-item]


def read_binary(path: Path, *, verify: bool = True) -> QuerySet | None:
    """What `write_binary` wrote, features mapped from the file and read-only; None for anything else, or no file.

    verify  compare the checksum of the features too, which reads them all; that of the header always is compared
    """
    try:
        with path.open("rb") as stream:
            magic, length, checksum = _PREFIX.unpack(stream.read(_PREFIX.size))
            encoded = stream.read(length)
            size = stream.seek(0, os.SEEK_END)
        if magic != _MAGIC or zlib.crc32(encoded) != checksum:
            return None
        header = msgspec.msgpack.decode(encoded, type=_Header)
        place = _PREFIX.size + length + -(_PREFIX.size + length) % _ALIGNED
        if header.version != VERSION or size != place + 4 * header.shape[0] * header.shape[1]:
            return None
        features = np.memmap(path, dtype="<f4", mode="r", offset=place, shape=header.shape).view(np.ndarray)
        if verify and zlib.crc32(features.data.cast("B")) != header.checksum:
            return None
        grades, offsets = np.frombuffer(header.grades, dtype=np.int8), np.frombuffer(header.offsets, dtype="<i8")
        return QuerySet(features, grades, offsets, header.qids, header.docids)
    except (OSError, ValueError, struct.error, msgspec.MsgspecError, FoltrError):
        return None


def kept(binary: Path, queries: QuerySet) -> QuerySet:
    """The queries, mapped from a binary that is written now; as they are where the folder refuses."""
    with contextlib.suppress(OSError):
        binary.parent.mkdir(parents=True, exist_ok=True)
        write_binary(binary, queries)
        return read_binary(binary, verify=False) or queries
    return queries


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
        source = source_state(path)
        known = _remembered(folder, path, variant, source)
        content = known.content if known else content_hash(path)
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror or error}") from error
    binary = folder / f"{content}{variant}.v{VERSION}"
    queries = read_binary(binary, verify=known is None or not known.untouched(binary))
    if queries is None:
        known, queries = None, make()
        with contextlib.suppress(OSError):
            if source == source_state(path):  # else the hash may be that of other bytes
                queries = kept(binary, queries)
    if known is None and time.time_ns() - source.mtime_ns > _SETTLED:
        _remember(_note(folder, path, variant), source, content, binary)
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
        source = source_state(path)
        variants = [note.stem[len(_name(path)) :] for note in folder.glob(f"{_name(path)}*.json")] if folder else []
        known = (_remembered(folder, path, variant, source) for variant in variants) if folder else ()
        return next((one.content for one in known if one), None) or content_hash(path)
    except OSError as error:
        raise DataFileError(path, f"cannot be read: {error.strerror or error}") from error


class SourceState(NamedTuple):
    """A file as it stands; it differs once anybody has written to the file, moved it, or put another in its place."""

    path: str
    size: int
    mtime_ns: int
    inode: int


def source_state(path: Path) -> SourceState:
    """What the system says of a file; OSError where there is none."""
    stat = path.stat()
    return SourceState(str(path.resolve()), stat.st_size, stat.st_mtime_ns, stat.st_ino)


class _Known(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a source was when it was read last, and its binary when that was whole."""

    source: SourceState
    content: str
    binary: SourceState

    def untouched(self, binary: Path) -> bool:
        """Whether nobody wrote to the binary since."""
        try:
            return source_state(binary) == self.binary
        except OSError:
            return False


def _note(folder: Path, path: Path, variant: str) -> Path:
    """Where the cache remembers a source."""
    return folder / f"{_name(path)}{variant}.json"


def _name(path: Path) -> str:
    """What the notes of a source are called."""
    return hashlib.blake2b(os.fsencode(path.resolve()), digest_size=20).hexdigest()


def _remembered(folder: Path, path: Path, variant: str, source: SourceState) -> _Known | None:
    """What is known of a source, None when it changed since or was never read."""
    try:
        known = msgspec.json.decode(_note(folder, path, variant).read_bytes(), type=_Known)
    except (OSError, msgspec.MsgspecError, ValueError):
        return None
    return known if known.source == source else None


def _remember(note: Path, source: SourceState, content: str, binary: Path) -> None:
    """Note the source and its binary; nothing where the binary is not there."""
    with contextlib.suppress(OSError):
        replace_durably(note, msgspec.json.encode(_Known(source, content, source_state(binary))))
