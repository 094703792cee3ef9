"""The cache of parsed LETOR files: one binary for each content, found at once while the source is untouched.

A binary is named by the BLAKE2b hash of its source, so a moved or copied source finds it, and a changed one does not.
So that an untouched source is not even read, the cache remembers for each path its size, time, inode and hash. Whatever
is wrong with the cache, from a read-only folder to a damaged file, leads to parsing again and never to an error.
Nothing is ever removed; the folder may be deleted at any time.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Literal

import msgspec
import platformdirs

from simulation.errors import DataFileError, DatasetError
from simulation.letor import LetorText, parse_file
from simulation.letor_binary import VERSION, read_binary, write_binary
from simulation.normalisation import OneDocument, normalise_queries
from simulation.queries import QuerySet
from simulation.query_subsets import widened

NonContiguous = Literal["merge", "refuse"]

Cache = Path | Literal["default", "off"]
"""A folder; "default" for `cache_folder()`; "off" for none."""

_SETTLED = 2_000_000_000
"""ns: a source younger than this may change again without a new time on file systems with coarse clocks"""


def load_file(
    path: Path,
    *,
    non_contiguous: NonContiguous = "merge",
    normalise: str = "none",
    one_document: OneDocument = "zero",
    n_features: int = 0,
    cache: Cache = "default",
) -> QuerySet:
    """The queries of a LETOR text (see simulation.letor), features float32, mapped from the cache where it has them.

    non_contiguous  a query whose lines are interrupted by another's: "merge" puts them together, in the order of the
                    file, at the place of the first; "refuse" raises DataFileError with the line where it returns.
                    (ielab's loader of 2021 overwrites the earlier lines.)
    normalise, one_document  as in `normalise_queries`; what is kept is the result, so that processes share it
    n_features      at least so many: columns of 0 behind the last that the file mentions
    """
    if non_contiguous not in ("merge", "refuse"):
        raise DatasetError(f"non_contiguous must be 'merge' or 'refuse', not {non_contiguous!r}")

    def make() -> LetorText:
        text = parse_file(path)
        wide = widened(text.queries, n_features)
        return replace(text, queries=normalise_queries(wide, normalise, one_document=one_document))

    scale = "" if normalise == "none" else f"-{normalise}-{one_document}"
    text = _cached(path, f"{scale}-{n_features}" if n_features else scale, make, chosen_folder(cache))
    if non_contiguous == "refuse" and text.returning is not None:
        qid, line = text.returning
        raise DataFileError(path, f"a new query was expected, qid:{qid} came, which had ended before", line=line)
    return text.queries


def load_text(path: Path, *, cache: Cache = "default") -> LetorText:
    """All of a LETOR text as it is, comments too."""
    return _cached(path, "", lambda: parse_file(path), chosen_folder(cache))


def _cached(path: Path, variant: str, make: Callable[[], LetorText], folder: Path | None) -> LetorText:
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
    text = read_binary(binary, verify=known is None or not known.untouched(binary))
    if text is None:
        known, text = None, make()
        with contextlib.suppress(OSError):
            if _same(stat, path.stat()):  # else the hash may be that of other bytes
                folder.mkdir(parents=True, exist_ok=True)
                write_binary(binary, text)
                text = read_binary(binary, verify=False) or text
    if known is None and time.time_ns() - stat.st_mtime_ns > _SETTLED:
        _remember(_note(folder, path, variant), path, stat, content, binary)
    return text


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
    name = hashlib.blake2b(os.fsencode(path.resolve()), digest_size=20).hexdigest()
    return folder / f"{name}{variant}.json"


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
        handle, temporary = tempfile.mkstemp(dir=note.parent, suffix=".part")
        with os.fdopen(handle, "wb") as stream:
            stream.write(msgspec.json.encode(known))
        os.replace(temporary, note)
