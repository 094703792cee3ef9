"""TAR archives, packed or not: read once from front to back, each member whose kind is indexed its own document."""

from __future__ import annotations

import tarfile

from indexer.documents import Extraction
from indexer.errors import ExtractionError
from indexer.extract.gathered import Gathered
from indexer.extract.limits import Limits, shown_size
from indexer.extract.source import Extractor, Source
from indexer.extract.zip_archive import is_wanted, listing, member_name


def extract(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """The list of names and the members; a cut-off archive gives what comes before the cut, with a note."""
    gathered = Gathered(limits)
    names: list[str] = []
    try:
        with source.open() as stream, tarfile.open(fileobj=stream, mode="r|*") as archive:
            _add_members(archive, names, source.depth, limits, member, gathered)
    except (ExtractionError, MemoryError):
        raise
    except Exception as error:  # tarfile, zlib, bz2 and lzma each raise errors of their own
        if not names:
            raise ExtractionError("malformed", f"the archive is damaged ({error})") from error
        gathered.note(f"the archive is damaged after {names[-1]} ({error})")
    found = gathered.extraction()
    return Extraction(documents=(listing(names, limits), *found.documents), notes=found.notes)


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
        try:
            gathered.add(member(Source(name=name, data=stream.read(), depth=depth + 1), limits), name)
        except ExtractionError as error:
            gathered.fail(name, error)
        if gathered.full:
            return
