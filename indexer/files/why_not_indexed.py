"""Why searches find a path, or do not: the rules are replayed along this one path; nothing else is walked."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from console.printable import display_path
from console.wording import count
from indexer.documents import FileEntry, Skipped
from indexer.extract.sources.known import SOURCES, is_mail_folder, places
from indexer.files.absent_disks import OutOfSight
from indexer.files.crawl import Crawl, CrawlRules, Folder, is_below, root_of
from indexer.storage.catalogue import AWAY, Catalogue, Failure, FileRow

Status = Literal["indexed", "named", "changed", "failed", "new", "skipped", "folder", "missing", "outside"]


class Why(Struct, frozen=True):
    """The answer for one path."""

    path: str
    status: Status
    """`indexed`, `named`, `changed` and some `folder`s can be found; `failed` where its name is indexed"""
    lines: tuple[str, ...]
    """for a person, the most important first"""
    findable: bool = False


COUNT_SECONDS = 0.5
"""for all folders that are left out"""
_REMEDIES = {
    "hidden": "the setting index.hidden, or `!NAME` in index.exclude, includes it",
    "ignored": "`!NAME` in index.exclude includes it",
    "default-ignore": "`!NAME` in index.exclude includes it",
    "symlink": "the setting index.follow_symlinks includes it",
    "mount": "the setting index.cross_mounts includes it",
}


class LeftOut(Struct, frozen=True):
    """A file or folder that the last scan passed over."""

    path: str
    rule: str
    n_files: int
    """that it holds, with its folders"""
    exact: bool
    """False: there may be more, counting was ended"""
    remedy: str
    """how to have it indexed, as one line; "" where no setting stands in the way"""


def left_out(catalogue: Catalogue) -> list[LeftOut]:
    """What the last scan passed over, with how many files lie there now: the folders of most files first."""
    end = time.monotonic() + COUNT_SECONDS
    skipped = [one for one in catalogue.skipped() if one.kind not in ("loop", "unreadable", AWAY)]
    return sorted((_counted(one, end) for one in skipped), key=lambda one: -one.n_files)


def _counted(one: Failure, end: float) -> LeftOut:
    n_files, exact = 0 if os.path.isdir(one.path) else 1, True
    if one.kind == "type" and one.reason[:1].isdecimal():  # of a folder
        n_files = int(one.reason.partition(" ")[0].replace(",", ""))
    elif not os.path.islink(one.path):
        for _, _, names in os.walk(one.path):
            n_files += len(names)
            if time.monotonic() > end:
                exact = False
                break
    return LeftOut(one.path, one.kind, n_files, exact, remedy(one.path, one.kind))


def remedy(path: str, rule: str) -> str:
    """How to have indexed what a rule passes over; "" where no setting does it."""
    if rule == "hidden" and is_mail_folder(path):
        return "`foltr-search index --source maildir` includes it"
    if rule == "hidden" and (names := [name for name, at in _stores(os.path.expanduser("~")) if is_below(at, path)]):
        return f"`foltr-search index --source {names[0]}` includes what is read of it"
    return _REMEDIES.get(rule, "")


@lru_cache(maxsize=1)
def _stores(home: str) -> tuple[tuple[str, str], ...]:
    """Each source, and where its files lie."""
    return tuple((name, place) for name in SOURCES for place in places([name], Path(home)))


def why(path: str, *, roots: Sequence[str], rules: CrawlRules, catalogue: Catalogue) -> Why:
    """Which rule, limit or error keeps `path` out of the index, or when it was indexed."""
    crawl = Crawl(roots, rules)
    row = catalogue.file(path)
    if root_of(path, crawl.roots) is None:
        shown = ", ".join(display_path(root) for root in crawl.roots) or "none yet"
        lines = [f"it lies outside the folders that are indexed: {shown}", "`foltr-search index FOLDER` adds one"]
        return Why(path, "outside", (*lines, *_leftover(row)))
    found = crawl.locate(path)
    away = OutOfSight(crawl.unread, crawl.bare, catalogue)
    if isinstance(found, Skipped):
        return Why(path, "skipped", (*_skipped(path, found), *_leftover(row, away)))
    if isinstance(found, Folder):
        return Why(path, "folder", _folder(path, catalogue))
    if found is None:
        lines = ["its root folder cannot be read now"] if crawl.unread else ["there is no such file"]
        return Why(path, "missing", (*lines, *_leftover(row, away)))
    return _file(found, row)


def _file(entry: FileEntry, row: FileRow | None) -> Why:
    if row is None or row.known.state == "pending":
        return Why(entry.path, "new", ("no rule keeps it out, but it was not read yet: the next scan reads it",))
    known, when = row.known, f"{datetime.fromtimestamp(row.indexed_at):%Y-%m-%d %H:%M}"
    same = (known.size, known.modified_ns, known.inode) == (entry.size, entry.modified_ns, entry.inode)
    later = () if same else ("it has changed since, and the next scan will read it again",)
    if known.state == "failed":
        found = ("it is found by its name, folder, date and size",) if row.n_documents else ()
        retry = () if entry.unread else ("`foltr-search index --retry-failures` tries again",)
        said = f"it could not be read on {when} ({known.failure}): {row.reason}"
        return Why(entry.path, "failed", (said, *found, *later, *retry), bool(found))
    if known.state == "named":
        said = f"found by its name, folder, date and size since {when}; no text of it is read: {row.reason}"
        return Why(entry.path, "named", (said, *later), findable=True)
    noun = "document" if row.n_documents == 1 else "documents"
    lines = [f"indexed on {when}: {row.n_documents:,} {noun}"]
    if row.truncated:
        lines.append(f"only a part of its text is indexed: {row.truncated}")
    lines += [f"a part of it could not be read: {note}" for note in row.reason.splitlines()]
    return Why(entry.path, "indexed" if same else "changed", (*lines, *later), findable=True)


def _skipped(path: str, skipped: Skipped) -> list[str]:
    helps = remedy(skipped.path, skipped.rule)
    above = "" if skipped.path == path else f" above it, {display_path(skipped.path)},"
    subject = f"the folder{above}" if above else "it"
    line = f"{subject} is skipped ({skipped.rule}): {display_path(skipped.reason)}"
    return [line, helps] if helps else [line]


def _folder(path: str, catalogue: Catalogue) -> tuple[str, ...]:
    known = catalogue.known(path)
    n_failed, n_named = (sum(file.state == state for file in known.values()) for state in ("failed", "named"))
    lines = [f"a folder that is indexed: {count(len(known) - n_failed, 'file')} in it can be found"]
    if n_named:
        lines.append(f"{n_named:,} of them by their names alone: no text of them is read")
    if n_failed:
        lines.append(f"{n_failed:,} of its files could not be read")
    prefix = path.removesuffix(os.sep) + os.sep
    skipped = [one for one in catalogue.skipped() if one.path == path or one.path.startswith(prefix)]
    lines += [f"skipped: {display_path(one.path)} ({one.kind}): {display_path(one.reason)}" for one in skipped[:20]]
    if others := skipped[20:]:
        lines.append(f"and {len(others):,} more")
    return tuple(lines)


def _leftover(row: FileRow | None, away: OutOfSight | None = None) -> tuple[str, ...]:
    if row is None:
        return ()
    if away is not None and (found := away.above(row.path, row.known)) is not None:
        folder, why_away = found
        return (f"what was indexed of it is kept: {display_path(folder)} {why_away}",)
    return ("it is still in the index; the next scan removes it",)
