"""Members of a ZIP file, read only when their declared size is within limits."""

from __future__ import annotations

import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO

from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.markup.xml import End, Start, parse
from indexer.extract.source import Limits, Source, shown_size


class Zipped:
    """An open ZIP file; every read checks the declared size and the password flag first."""

    def __init__(self, archive: zipfile.ZipFile, limits: Limits) -> None:
        self._archive = archive
        self._limits = limits
        self.names = [info.filename for info in archive.infolist()]
        self._infos = {info.filename: info for info in archive.infolist()}

    def __contains__(self, name: str) -> bool:
        return name in self._infos

    def infos(self) -> list[zipfile.ZipInfo]:
        """The members in the order of the directory of the file."""
        return self._archive.infolist()

    def matching(self, prefix: str, suffix: str = ".xml") -> list[str]:
        """Names that begin and end so, numbered ones in the order of their numbers."""
        found = [name for name in self.names if name.startswith(prefix) and name.endswith(suffix)]
        return sorted(found, key=lambda name: (len(name), name))

    @contextmanager
    def open(self, name: str | zipfile.ZipInfo) -> Iterator[_Member]:
        """A stream over one member; ExtractionError "too-large", "encrypted" or "malformed" instead of reading it."""
        info = self._infos.get(name) if isinstance(name, str) else name
        if info is None:
            raise ExtractionError("malformed", f"the part {name} is missing")
        if info.flag_bits & 1:
            raise ExtractionError("encrypted", "protected by a password")
        if info.file_size > self._limits.max_member_bytes:
            raise ExtractionError(
                "too-large",
                f"{clean(info.filename[-100:])} unpacks to {shown_size(info.file_size)},"
                f" more than {shown_size(self._limits.max_member_bytes)}",
            )
        with _damage(info.filename):
            stream = self._archive.open(info)
        with stream:
            yield _Member(stream, info.filename)

    def read(self, name: str | zipfile.ZipInfo) -> bytes:
        with self.open(name) as stream:
            return stream.read(self._limits.max_member_bytes + 1)

    def parse(self, name: str, start: Start, *handlers: End, **options: Any) -> None:
        """One member as XML, see `indexer.extract.markup.xml.parse`."""
        with self.open(name) as stream:
            parse(stream, start, *handlers, **options)


class _Member:
    """A stream over one member; damage in it is an ExtractionError, whichever way it was packed."""

    def __init__(self, stream: IO[bytes], name: str) -> None:
        self._stream, self._name = stream, name

    def read(self, max_bytes: int) -> bytes:
        with _damage(self._name):
            return self._stream.read(max_bytes)


@contextmanager
def _damage(name: str) -> Iterator[None]:
    """Turn what the unpackers raise into one kind of error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, OSError, ValueError, RuntimeError) as error:
        raise ExtractionError("malformed", f"{clean(name[-100:])} cannot be unpacked ({error})") from error


def _archive(stream: BinaryIO) -> zipfile.ZipFile:
    """With names as programs write them that do not say it, in UTF-8, else as DOS did."""
    try:
        return zipfile.ZipFile(stream, metadata_encoding="utf-8")
    except UnicodeDecodeError:
        return zipfile.ZipFile(stream)


@contextmanager
def open_zip(source: Source, limits: Limits) -> Iterator[Zipped]:
    """Open `source` as a ZIP file; ExtractionError "malformed" when it is none or cut off."""
    with source.open() as stream:
        try:
            archive = _archive(stream)
        except (zipfile.BadZipFile, NotImplementedError, ValueError, OverflowError) as error:
            raise ExtractionError("malformed", "the ZIP container is damaged or cut off") from error
        with archive:
            yield Zipped(archive, limits)
