"""Archives: a list of the members' names, and each member whose kind is indexed as its own document.

ZIP is read by its directory, TAR once from front to back; a single packed file (.gz, .bz2, .xz, .zst) is read under the
name without the last extension. 7z and RAR are read by bsdtar, where it is installed.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import sys
import tarfile
import zipfile
import zlib
from functools import partial
from importlib import import_module
from types import ModuleType
from typing import IO, Literal

from msgspec.structs import replace

from indexer.confined.programs import output_of, program_path, seconds_left
from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.kinds import HEAD, PACKED, base_name, extension, holds_text, kind_of
from indexer.extract.source import Extractor, Gathered, Limits, Source, cut, shown_size
from indexer.extract.zipped import Zipped, open_zip


def extract_zip(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """The list and the members; a member that is damaged, too large or protected becomes a note.

    An office file under a wrong name is read as what it is. A backup of this program, with keys and queries, is not.
    """
    with open_zip(source, limits) as parts:
        if _is_own_backup(parts):
            raise ExtractionError("unreadable", "a backup of foltr-search, which is not read")
        if source.name.rpartition(".")[2] not in _OFFICE.values() and (kind := _office_kind(parts)):
            return member(replace(source, name=f"{source.name}.{kind}"), limits)
        gathered = Gathered(limits)
        gathered.add(member_list(parts.names, limits).alone())
        if "Index/Document.iwa" in parts:
            gathered.note("the text of Pages, Numbers and Keynote is not read: export it as PDF or to Office")
        n_bytes = 0

        def read(info: zipfile.ZipInfo) -> Extraction:
            nonlocal n_bytes
            data = parts.read(info)
            n_bytes += len(data)
            return member(Source(name=member_name(info.filename), data=data, depth=source.depth + 1), limits)

        wanted = (info for info in parts.infos() if not info.is_dir() and is_wanted(info.filename))
        for number, info in enumerate(wanted):
            if number >= limits.max_archive_members:
                gathered.note(f"only the first {limits.max_archive_members} files are read")
                break
            if n_bytes + info.file_size > limits.max_archive_bytes and info.file_size <= limits.max_member_bytes:
                gathered.note(f"only the first {shown_size(limits.max_archive_bytes)} unpacked are read")
                break
            gathered.read(member_name(info.filename), partial(read, info))
            if gathered.full:
                break
    return gathered.extraction()


_BACKUP = b'{"backup of":"foltr-search"'
"""how the first member of what `foltr-search backup` writes begins"""


def _is_own_backup(parts: Zipped) -> bool:
    first = next(iter(parts.infos()), None)
    if first is None or (first.filename, first.compress_type) != ("backup.json", zipfile.ZIP_STORED):
        return False
    with parts.open(first) as stream:
        return stream.read(len(_BACKUP)) == _BACKUP


_OFFICE = {"word/document.xml": "docx", "ppt/presentation.xml": "pptx", "xl/workbook.xml": "xlsx"}


def _office_kind(parts: Zipped) -> str:
    """What a ZIP file is that holds the main part of an office file; "" for an archive."""
    return next((kind for part, kind in _OFFICE.items() if part in parts and "[Content_Types].xml" in parts), "")


def is_wanted(name: str) -> bool:
    """Whether a member of this name is read: not hidden, not a kind without text, not the rubbish of a system."""
    last = base_name(name)
    return not last.startswith(".") and "__MACOSX/" not in name and holds_text(name)


def member_list(names: list[str], limits: Limits) -> ExtractedDocument:
    """A document of the archive itself, so that it is found by the names of what it holds."""
    text, truncated = cut("\n".join(map(member_name, names[: 5 * limits.max_archive_members])), limits.max_text_bytes)
    return ExtractedDocument(text=text, type="archive", truncated=truncated)


def member_name(name: str) -> str:
    """`name` as it may be shown and stored."""
    return clean(name.replace("\n", " "))[-500:].lstrip("/")


def extract_tar(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """The list of names and the members; a cut-off archive gives what comes before the cut, with a note."""
    with source.open() as stream:
        if stream.read(len(_ZSTD)) == _ZSTD:
            stream.seek(0)
            return _read_tar(_zstd().ZstdFile(stream), "r|", source.depth, limits, member)
        stream.seek(0)
        return _read_tar(stream, "r|*", source.depth, limits, member)


def extract_by_bsdtar(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """Read a 7z or RAR archive, which libarchive's program turns into a TAR.

    Nothing else is handed to it: a list of files in mtree's form would have it read any file of the user's.
    """
    program = program_path("bsdtar", "libarchive-tools")
    if not source.read(6).startswith(_BY_BSDTAR):
        raise ExtractionError("malformed", "neither a 7z nor a RAR archive")
    found = Extraction()
    try:
        command = (program, "-c", "-f", "-", "--format=pax", "@-")
        with output_of(command, seconds=seconds_left(limits), given=source) as stream:
            found = _read_tar(stream, "r|", source.depth, limits, member)
    except ExtractionError as error:
        if error.kind == "timeout" and not found.documents:
            raise
        if len(found.documents) < 2:
            raise ExtractionError("malformed", "the archive is damaged, or protected by a password") from error
        return Extraction(documents=found.documents, notes=(*found.notes, f"read in part: {error}"))
    return found


def _read_tar(
    stream: IO[bytes], mode: Literal["r|", "r|*"], depth: int, limits: Limits, member: Extractor
) -> Extraction:
    gathered = Gathered(limits)
    names: list[str] = []
    try:
        with tarfile.open(fileobj=stream, mode=mode) as archive:
            _add_members(archive, names, depth, limits, member, gathered)
    except (ExtractionError, MemoryError):
        raise
    except Exception as error:  # tarfile, zlib, bz2, lzma and zstd each raise errors of their own
        if not names:
            raise ExtractionError("malformed", f"the archive is damaged ({error})") from error
        gathered.note(f"the archive is damaged after {names[-1]} ({error})")
    found = gathered.extraction()
    return Extraction(documents=(member_list(names, limits), *found.documents), notes=found.notes)


def _add_members(
    archive: tarfile.TarFile, names: list[str], depth: int, limits: Limits, member: Extractor, gathered: Gathered
) -> None:
    n_bytes = n_read = 0
    for info in archive:
        n_bytes += info.size
        if n_bytes > limits.max_archive_bytes:
            gathered.note(f"only the first {shown_size(limits.max_archive_bytes)} unpacked are read")
            return
        name = member_name(info.name)
        names.append(name)
        archive.members = []  # type: ignore[attr-defined]  # tarfile keeps every header it has seen
        if not info.isreg() or not is_wanted(name):
            continue
        if n_read >= limits.max_archive_members:
            gathered.note(f"only the first {limits.max_archive_members} files are read")
            return
        n_read += 1
        if info.size > limits.max_member_bytes:
            gathered.note(f"{name}: {shown_size(info.size)}, more than {shown_size(limits.max_member_bytes)}")
            continue
        stream = archive.extractfile(info)
        if stream is None:
            continue
        gathered.read(name, partial(_read_member, member, name, stream, depth, limits))
        if gathered.full:
            return
    rest = archive.fileobj.read(512) if archive.fileobj is not None else b""
    if not rest or rest.strip(b"\0"):  # two empty blocks are the end, and tarfile takes whatever is no header for it
        gathered.note(f"the archive ends without its mark: it may be cut off after {names[-1] if names else 'nothing'}")


def _read_member(member: Extractor, name: str, stream: IO[bytes], depth: int, limits: Limits) -> Extraction:
    return member(Source(name=name, data=stream.read(), depth=depth + 1), limits)


_BY_BSDTAR = (b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07")

_PLAIN = frozenset({"", "text", "manual", "markdown", "rst", "org", "pod", "asciidoc", "source", "delimited", "json"})
"""Kinds of which the beginning is enough"""


def extract_packed(source: Source, limits: Limits, member: Extractor) -> Extraction:
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
    if head.startswith(_ZSTD):
        unpacked: IO[bytes] = _zstd().ZstdFile(stream)
        return unpacked
    if head.startswith((b"\xfd7zXZ\x00", b"\x5d\x00\x00")):
        return lzma.LZMAFile(stream)
    raise ExtractionError("malformed", "not a packed file, or packed in an unknown way")


_ZSTD = b"\x28\xb5\x2f\xfd"


def _zstd() -> ModuleType:
    """Python's own module since 3.14, and the same for those before."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


def _read(stream: IO[bytes], max_bytes: int) -> tuple[bytes, bool]:
    """(the next bytes, whether that was all)."""
    try:
        data = stream.read(max_bytes)
        return data, len(data) < max_bytes
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, OSError, _zstd().ZstdError) as error:
        raise ExtractionError("malformed", f"the packed file is damaged or cut off ({error})") from error
