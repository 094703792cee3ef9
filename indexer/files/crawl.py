"""Walk the folders of a user and say for each path: index it, or why not. Nothing of any content is read.

Folders are pruned as early as possible, and only regular files reach the caller: no FIFO, socket or device is opened.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

import msgspec

from console.wording import count
from indexer.documents import MAX_FILE_BYTES, FileEntry, Listing, Skipped, storable
from indexer.extract.kinds import (
    KIND_OF_EXTENSION,
    KIND_OF_NAME,
    PASSED_OVER,
    TYPE_BY_NAME,
    TYPE_OF_KIND,
    added_kind,
    document_type,
    extension,
    take_readers,
    type_by_name,
)
from indexer.extract.source import shown_size
from indexer.extract.sources.known import is_mail_folder, not_named, source_of
from indexer.files.ignore_rules import (
    GENERATED_ENDINGS,
    GENERATED_FILES,
    SECRETS,
    IgnoreRules,
    Scope,
    pattern_of,
    why_unread,
)

if TYPE_CHECKING:
    from indexer.storage.unchanged import SettledFolders


def normal_roots(roots: Iterable[str]) -> tuple[str, ...]:
    """`roots` as absolute paths without `..`, each once, in the given order; symbolic links stay as they are."""
    return tuple(dict.fromkeys(os.path.abspath(os.path.expanduser(root)) for root in roots))


def is_below(path: str, folder: str) -> bool:
    """Whether `path` is `folder` or lies in it."""
    return path == folder or path.startswith(folder if folder.endswith(os.sep) else folder + os.sep)


def root_of(path: str, roots: Sequence[str]) -> str | None:
    """The innermost root that holds `path`; None outside all of them."""
    return max((root for root in roots if is_below(path, root)), key=len, default=None)


_LEAST, _MOST = -(1 << 63), (1 << 63) - 1
"""what SQLite and the columns of the index can hold"""


def storable_number(number: int) -> int:
    """A size, or a time in nanoseconds, as it is kept: the nearest that can be (for times 1677-09-21 to 2262-04-11)."""
    return number if _LEAST <= number <= _MOST else min(max(number, _LEAST), _MOST)


def storable_identity(number: int) -> int:
    """The number of a file or a file system as it is kept: its last 63 bits, for some systems have 64."""
    return number & _MOST


class CrawlRules(msgspec.Struct, frozen=True):
    """What of the roots is indexed."""

    ignore: IgnoreRules = msgspec.field(default_factory=IgnoreRules)
    follow_symlinks: bool = False
    cross_mounts: bool = False
    max_bytes: Mapping[str, int] = msgspec.field(default_factory=lambda: dict(MAX_FILE_BYTES))
    """size cap by document type; a type that is missing has no cap"""
    archives: bool = True
    names: bool = True
    """files that are not read are found by their names"""
    secrets: tuple[str, ...] = SECRETS
    """patterns of files that are found by their names alone (indexer.files.ignore_rules)"""
    sources: frozenset[str] = frozenset()
    """names of `indexer.extract.sources.known` that are read"""
    never: frozenset[str] = frozenset()
    """folders that belong to this program itself"""

    def identity(self) -> bytes:
        """What tells these rules, and what the program knows of names, from others."""
        take_readers()
        ignore, sized = self.ignore, sorted(self.max_bytes.items())
        chosen = (ignore.exclude, ignore.hidden, ignore.ignore_files, self.follow_symlinks, sized, self.archives)
        others = (self.names, self.secrets, sorted(self.sources), sorted(self.never))
        known = (GENERATED_FILES, GENERATED_ENDINGS, KIND_OF_EXTENSION, KIND_OF_NAME, TYPE_OF_KIND, TYPE_BY_NAME)
        told = repr((chosen, others, known, sorted(PASSED_OVER)))
        return hashlib.blake2b(told.encode("utf-8", "surrogateescape"), digest_size=16).digest()


class PathEntry(msgspec.Struct, frozen=True):
    """One path outside a folder listing, asked like an `os.DirEntry`."""

    path: str

    @property
    def name(self) -> str:
        return os.path.basename(self.path)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        return os.stat(self.path, follow_symlinks=follow_symlinks)

    def _mode(self, follow_symlinks: bool) -> int:
        try:
            return self.stat(follow_symlinks=follow_symlinks).st_mode
        except OSError:
            return 0

    def is_symlink(self) -> bool:
        return stat.S_ISLNK(self._mode(False))

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISDIR(self._mode(follow_symlinks))

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return stat.S_ISREG(self._mode(follow_symlinks))


Entry = os.DirEntry[str] | PathEntry
"""what the rules ask of one path"""


class Folder(msgspec.Struct, frozen=True):
    """A folder to be walked, with the ignore lists in force in it."""

    path: str
    scope: Scope
    device: int
    inode: int


def reason(error: Exception) -> str:
    """What the system said, without the path; of any other error its class as well."""
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return f"it cannot be looked at ({type(error).__name__}: {error})"[:300]


class Crawl:
    """One walk; iterate it once. Roots may overlap: every folder is seen once, in its innermost root."""

    def __init__(self, roots: Sequence[str], rules: CrawlRules, *, settled: SettledFolders | None = None) -> None:
        """Of folders that are `settled` no file is given, but the folder's listing instead."""
        take_readers()
        self.roots = normal_roots(roots)
        self.rules = rules
        self._settled = settled
        self.listings: list[Listing] = []
        """of those folders that may be settled now: there is nothing in them that another listing would not show"""
        self.folders: dict[str, tuple[int, int]] = {}
        """folders that were listed, each with its device and inode"""
        self.unread: list[str] = []
        """roots and folders that could not be listed, and files that could not be asked: nobody knows what they hold"""
        self.bare: dict[str, int] = {}
        """folders in which nothing is seen and the device they are on: empty ones (perhaps a mount point with nothing
        mounted), and mounts that are not entered (perhaps over files that are still there)"""
        self.by_rule: Counter[str] = Counter()
        """passed over, by rule; a folder counts as one"""
        self._seen: dict[tuple[int, int] | str, str] = {}
        self._links: list[Folder] = []
        self._lone: set[str] = set()
        """roots that are single files, which may lie in another root as well"""

    def __iter__(self) -> Iterator[FileEntry | Skipped | Listing]:
        """Every file of every root, and every path that was passed over (types are counted per folder)."""
        for root in sorted(self.roots, key=len, reverse=True):
            yield from self._noted(self._start(root))
        yield from self._linked()

    def below(self, path: str) -> Iterator[FileEntry | Skipped | Listing]:
        """The same for `path` and what lies in it; nothing when it is gone or outside the roots."""
        found = self.locate(path)
        if isinstance(found, Folder):
            yield from self._noted(self._walk(found))
            yield from self._linked()
        elif found is not None:
            yield found

    def _linked(self) -> Iterator[FileEntry | Skipped | Listing]:
        while self._links:  # linked folders come last, so that a real path wins over a link to it
            yield from self._noted(self._walk(self._links.pop(0)))

    def locate(self, path: str) -> FileEntry | Folder | Skipped | None:
        """What the rules say of one path, asked of each folder above it from the root down.

        None: it does not exist or lies outside the roots. A `Skipped` may name a folder above `path`.
        """
        root = root_of(path, self.roots)
        if root is None:
            return None
        here = self._open_root(root)
        if here is None:
            self.unread.append(root)
        for name in path[len(root) :].split(os.sep):
            if not name:
                continue
            if not isinstance(here, Folder):
                return here if isinstance(here, Skipped) else None
            try:
                inner = self._visit(here, PathEntry(os.path.join(here.path, name)))
            except (FileNotFoundError, NotADirectoryError):
                self._note_if_empty(here)
                return None
            except Exception as error:
                self.unread.append(path)
                return Skipped(path, "unreadable", reason(error))
            here = inner
        return here

    def _note_if_empty(self, folder: Folder) -> None:
        """What was in it may be out of sight, not gone."""
        with contextlib.suppress(OSError), os.scandir(folder.path) as listing:
            if next(listing, None) is None:
                self.bare[folder.path] = folder.device

    def _noted(self, found: Iterable[FileEntry | Skipped | Listing]) -> Iterator[FileEntry | Skipped | Listing]:
        for item in found:
            if isinstance(item, Skipped) and item.rule != "type":
                self.by_rule[item.rule] += 1
            yield item

    def _start(self, root: str) -> Iterator[FileEntry | Skipped | Listing]:
        found = self._open_root(root)
        if isinstance(found, Folder):
            yield from self._walk(found)
        elif found is not None:
            self._lone.add(root)
            yield found
        else:
            self.unread.append(root)
            yield Skipped(root, "unreadable", "the folder is not there; what was indexed of it is kept")

    def _open_root(self, root: str) -> FileEntry | Folder | Skipped | None:
        """A root itself is never ignored, and may be a link or a single file."""
        try:
            status = os.stat(root)
        except OSError:
            return None
        scope = self.rules.ignore.root_scope(os.path.dirname(root) if stat.S_ISREG(status.st_mode) else root)
        if stat.S_ISDIR(status.st_mode):
            scope = self.rules.ignore.scope_of(root, scope)
            return Folder(root, scope, storable_identity(status.st_dev), status.st_ino)
        if stat.S_ISREG(status.st_mode):
            return self._file(PathEntry(root), status)
        return Skipped(root, "special", "not a regular file or a folder")

    def _walk(self, top: Folder) -> Iterator[FileEntry | Skipped | Listing]:
        """Everything below `top`, files in the order of their paths' bytes."""
        open_ones = [self._listed(top)]
        while open_ones:
            for found in open_ones[-1]:
                if isinstance(found, Folder):
                    open_ones.append(self._listed(found))
                    break
                yield found
            else:
                open_ones.pop()

    def _listed(self, folder: Folder) -> Iterator[FileEntry | Folder | Skipped | Listing]:
        own = (folder.device, folder.inode) if folder.inode else folder.path  # some systems number nothing
        first = self._seen.get(own)
        if first is not None:
            if first != folder.path and folder.path not in self.roots:
                yield Skipped(folder.path, "loop", f"the same folder as {first}")
            return
        self._seen[own] = folder.path
        try:
            with os.scandir(folder.path) as listing:
                entries = list(listing)
        except OSError as error:
            self.unread.append(folder.path)
            yield Skipped(folder.path, "unreadable", reason(error))
            return
        self.folders[folder.path] = (folder.device, folder.inode)
        if not entries:
            self.bare[folder.path] = folder.device
        folders = list(filter(_is_folder, entries))
        files = [entry for entry in entries if not _is_folder(entry)] if folders else entries
        is_whole = self._settled is not None and folder.path not in map(os.path.dirname, self._lone)
        digest = self._digest(folder, files) if is_whole else b""
        known = self._settled.find(folder.path) if self._settled is not None and digest else None
        if known is not None and known.digest == digest:
            yield known
            yield from self._told(folder, known.skipped)
            yield from self._entries(folder, sorted(folders, key=_in_paths))
        else:
            yield from self._entries(folder, sorted(entries, key=_in_paths), digest)

    def _digest(self, folder: Folder, files: Sequence[os.DirEntry[str]]) -> bytes:
        """What decides about the `files` of a folder, in the system's order; b"" where something else may."""
        try:
            statuses = [entry.stat(follow_symlinks=False) for entry in files]
            numbers = msgspec.msgpack.encode(list(map(_numbers, statuses)))
        except Exception:  # numbers of more than 64 bits, a file that cannot be asked: it is told when asked alone
            return b""
        if self.rules.follow_symlinks and any(stat.S_ISLNK(status.st_mode) for status in statuses):
            return b""
        patterns = [(one.folder, one.source, one.lines) for one in (*folder.scope.user, *folder.scope.files)]
        names = os.fsencode("\0".join((repr(patterns), *map(_name, files))))
        assert self._settled is not None
        return hashlib.blake2b(b"\0\0".join((self._settled.rules, names, numbers)), digest_size=16).digest()

    def _entries(
        self, folder: Folder, entries: Sequence[Entry], digest: bytes = b""
    ) -> Iterator[FileEntry | Folder | Skipped]:
        """What the rules say of `entries`; with a `digest` of them it becomes a listing of the folder."""
        skipped: list[Skipped] = []
        n_files = 0
        for entry in entries:
            if entry.path in self._lone:
                continue
            try:
                found = self._visit(folder, entry)
            except Exception as error:  # whatever is odd about one entry, its neighbours go on
                found, digest = Skipped(entry.path, "unreadable", storable(reason(error))), b""
                if not isinstance(error, FileNotFoundError):
                    self.unread.append(entry.path)
            n_files += isinstance(found, FileEntry)
            if isinstance(found, Folder) and self.rules.follow_symlinks and entry.is_symlink():
                self._links.append(found)
            elif isinstance(found, Skipped) and not _is_folder(entry):
                skipped.append(found)
            else:
                yield found
        yield from self._told(folder, skipped)
        if digest:
            self.listings.append(Listing(folder.path, digest, n_files, tuple(skipped)))

    def _told(self, folder: Folder, skipped: Sequence[Skipped]) -> Iterator[Skipped]:
        """The files of a folder that are passed over, those of types that are not read in one line."""
        types = Counter("." + extension(one.path) for one in skipped if one.rule == "type")
        yield from (one for one in skipped if one.rule != "type")
        if types:
            self.by_rule["type"] += types.total()
            shown = ", ".join(f"{ending} ({n})" for ending, n in types.most_common(8))
            files = count(types.total(), "file")
            yield Skipped(folder.path, "type", f"{files} of types that are not indexed: {shown}")

    def _visit(self, folder: Folder, entry: Entry) -> FileEntry | Folder | Skipped:
        """What the rules say of one entry of `folder`; raises OSError when it cannot be asked."""
        path, name, linked = entry.path, entry.name, entry.is_symlink()
        is_folder = entry.is_dir(follow_symlinks=linked)
        verdict = self.rules.ignore.judge(folder.scope, path, name, is_folder=is_folder)
        is_mail = is_folder and "maildir" in self.rules.sources
        if verdict is not None and not (verdict.rule == "hidden" and is_mail and is_mail_folder(path)):
            return Skipped(path, verdict.rule, verdict.reason)
        if linked and not self.rules.follow_symlinks:
            return Skipped(path, "symlink", "a symbolic link, and index.follow_symlinks is off")
        if is_folder:
            return self._folder(folder, entry, linked)
        if not entry.is_file(follow_symlinks=linked):
            status = entry.stat(follow_symlinks=linked)  # a link to nowhere raises what the system says
            kinds = {"FIFO": stat.S_ISFIFO, "socket": stat.S_ISSOCK, "device": stat.S_ISBLK, "terminal": stat.S_ISCHR}
            kind = next((name for name, is_one in kinds.items() if is_one(status.st_mode)), "special file")
            return Skipped(path, "special", f"a {kind}, which is never opened")
        return self._file(entry, entry.stat(follow_symlinks=linked))

    def _folder(self, outer: Folder, entry: Entry, linked: bool) -> Folder | Skipped:
        status = entry.stat(follow_symlinks=linked)
        if entry.path in self.rules.never:
            return Skipped(entry.path, "default-ignore", "what this program keeps for itself")
        device = storable_identity(status.st_dev)
        if device != outer.device and not linked and not self.rules.cross_mounts:
            self.bare[entry.path] = device
            return Skipped(entry.path, "mount", "another file system, and index.cross_mounts is off")
        scope = self.rules.ignore.scope_of(entry.path, outer.scope)
        return Folder(entry.path, scope, device, status.st_ino)

    def _file(self, entry: Entry, status: os.stat_result) -> FileEntry | Skipped:
        """One file: to be read, to be found by its name alone, or passed over."""
        kind, size, unread, failure = document_type(entry.name), status.st_size, "", ""
        source = source_of(entry.path)
        is_named = source is not None and source.name in self.rules.sources
        if source is not None and (is_named or source.is_own):
            kind = source.type
        cap = self.rules.max_bytes.get(kind or "")
        if secret := pattern_of(entry.path, self.rules.secrets):
            unread = why_unread(secret)
        elif source is not None and source.is_own and not is_named:
            unread = not_named(source)
        elif kind is None:
            unread = f"files that end in .{extension(entry.name)} are not read"
        elif kind == "archive" and not self.rules.archives:
            unread = "index.archives is off"
        elif cap is not None and size > cap:
            failure = "too-large"
            unread = f"{shown_size(size)}, and the limit for the type {kind!r} is {shown_size(cap)} (index.max_file_mb)"
        if unread and not (self.rules.names and type_by_name(entry.name)):
            return Skipped(entry.path, failure or "type", unread)
        return FileEntry(
            entry.path,
            max(storable_number(size), 0),
            storable_number(status.st_mtime_ns),
            storable_identity(status.st_dev),
            storable_identity(status.st_ino),
            storable_number(status.st_ctime_ns) if _KEEPS_CHANGES else 0,
            storable(unread),
            failure,
            source.name if source is not None and is_named else added_kind(entry.name),
        )


_name: Callable[[os.DirEntry[str]], str] = attrgetter("name")
_numbers: Callable[[os.stat_result], tuple[int, ...]] = attrgetter("st_size", "st_mtime_ns", "st_ino", "st_ctime_ns")


def _is_folder(entry: Entry) -> bool:
    """Whether it is a folder itself; False where the system does not say, which `Crawl` then reports."""
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _in_paths(entry: Entry) -> str:
    """The name as it stands in the paths of what is listed: they are to come in their order."""
    return entry.name + os.sep if _is_folder(entry) else entry.name


_KEEPS_CHANGES = os.name != "nt"
"""On Windows st_ctime is when a file was made."""
