"""ZIP archives: a list of the members' names, and each member whose kind is indexed as its own document."""

from __future__ import annotations

import zipfile

from indexer.documents import ExtractedDocument, Extraction
from indexer.errors import ExtractionError
from indexer.extract.decode import clean
from indexer.extract.gathered import Gathered
from indexer.extract.kinds import base_name, kind_of
from indexer.extract.limits import Limits, cut, shown_size
from indexer.extract.source import Extractor, Source
from indexer.extract.zipped import Zipped, open_zip


def extract(source: Source, limits: Limits, member: Extractor) -> Extraction:
    """The list and the members; a member that is damaged, too large or protected becomes a note.

    An office file under a wrong name is read as what it is.
    """
    with open_zip(source, limits) as parts:
        gathered = Gathered(limits)
        gathered.add(Extraction(documents=(listing(parts.names, limits),)))
        n_bytes = 0
        for number, info in enumerate(_readable(parts)):
            if number >= limits.max_archive_members:
                gathered.note(f"only the first {limits.max_archive_members} files are read")
                break
            if n_bytes + info.file_size > limits.max_archive_bytes and info.file_size <= limits.max_member_bytes:
                gathered.note(f"only the first {shown_size(limits.max_archive_bytes)} unpacked are read")
                break
            n_bytes += _add(parts, info, source.depth, limits, member, gathered)
            if gathered.full:
                break
    return gathered.extraction()


def _add(
    parts: Zipped, info: zipfile.ZipInfo, depth: int, limits: Limits, member: Extractor, gathered: Gathered
) -> int:
    """Read one member into `gathered`; returns how many bytes were unpacked."""
    name = member_name(info.filename)
    data = b""
    try:
        data = parts.read(info)
        gathered.add(member(Source(name=name, data=data, depth=depth + 1), limits), name)
    except ExtractionError as error:
        gathered.fail(name, error)
    return len(data)


def _readable(parts: Zipped) -> list[zipfile.ZipInfo]:
    return [info for info in parts.infos() if not info.is_dir() and is_wanted(info.filename)]


def is_wanted(name: str) -> bool:
    """Whether a member of this name is read: not hidden, not a kind without text, not the rubbish of a system."""
    last = base_name(name)
    return not last.startswith(".") and "__MACOSX/" not in name and kind_of(name) is not None


def listing(names: list[str], limits: Limits) -> ExtractedDocument:
    """A document of the archive itself, so that it is found by the names of what it holds."""
    text, truncated = cut("\n".join(map(member_name, names[: 5 * limits.max_archive_members])), limits.max_text_bytes)
    return ExtractedDocument(text=text, type="archive", truncated=truncated)


def member_name(name: str) -> str:
    """`name` as it may be shown and stored."""
    return clean(name.replace("\n", " "))[-500:].lstrip("/")
