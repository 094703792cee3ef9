"""Folders and data that a person could search, offered by name and with counts before anything is chosen.

Folders are listed and files counted by their names; nothing of any content is read before it is chosen.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from msgspec import Struct

from console.wording import count, size
from indexer.documents import FileEntry
from indexer.extract.sources.known import SOURCES, is_mail_folder, places, source_of
from indexer.files.crawl import Crawl, CrawlRules, root_of
from indexer.files.ignore_rules import GENERATED_FOLDERS

USUAL_NAMES = (
    "Documents", "Notes", "notes", "Desktop", "Downloads", "Projects", "projects", "Code", "code", "src", "repos",
    "workspace", "Mail", "mail", "Maildir", "Papers", "Books", "org", "wiki", "Zettelkasten", "Pictures", "Music",
    "Videos", "Movies",
)  # fmt: skip
"""usual names of folders below the home folder"""
NO_DOCUMENTS = {
    *GENERATED_FOLDERS, "AppData", "Applications", "Library", "Public", "Templates", "anaconda3", "bin", "go",
    "miniconda3", "miniforge3", "snap",
}  # fmt: skip
"""folders below the home folder that programs fill"""
CLOUDS = {
    "Dropbox": "Dropbox", "Nextcloud": "Nextcloud", "ownCloud": "ownCloud", "OneDrive*": "OneDrive",
    "Google Drive": "Google Drive", "GoogleDrive": "Google Drive", "Insync": "Google Drive", "MEGA": "MEGA",
    "pCloudDrive": "pCloud", "Seafile": "Seafile", "Sync": "Syncthing", "Library/Mobile Documents": "iCloud",
    "Library/CloudStorage/*": "cloud folder",
}  # fmt: skip
"""pattern below the home folder -> the service whose folders are named so"""
VAULTS = {
    ".obsidian": "Obsidian notes", "logseq/config.edn": "Logseq notes", ".zk": "zk notes", ".foam": "Foam notes",
    "notebook.zim": "Zim notes", "dendron.yml": "Dendron notes",
}  # fmt: skip
"""file or folder at the top of a collection of notes -> what such a collection is called"""
VAULT_DEPTH = 3
"""folders below the home folder in which collections of notes are looked for"""

MAX_COUNTED = 10_000
COUNT_SECONDS = 0.5
"""for one folder, and for the search for collections of notes"""
MOST_OTHERS = 16
"""most folders of other names that are counted"""


class RootSuggestion(Struct, frozen=True):
    """Something that exists and could be searched."""

    choice: str
    """the path of a folder, or the name of a source (indexer.extract.sources.known)"""
    counted: str = ""
    """how much it is: "4,210 files", "740 messages in 4 folders", "10,000+ files" if counting was cut short"""
    name: str = ""
    """what it is, if the path does not say so: "Obsidian notes", "mail that Thunderbird keeps here" """


def suggest_roots(home: Path | None = None, *, searched: Sequence[str] = ()) -> list[RootSuggestion]:
    """The usual folders of `home` (the user's own) that hold files, by XDG's names; vaults and clouds by their names;
    the other folders at its top; then the data of other programs. Nothing that is `searched` already.
    """
    home = home or Path(os.path.expanduser("~"))
    if not os.path.isdir(home):  # nor where it cannot be reached, where a glob would raise
        return []
    exports: Counter[str] = Counter()
    stores = [Path(path) for path in places(["maildir"], home)]
    seen = {_number(path) for path in (home, *stores)}
    found: list[RootSuggestion] = []
    for folder, name in _named_folders(home):
        if (number := _number(folder)) is None or number in seen:
            continue
        seen.add(number)
        suggestion = count_files(str(folder), name, exports)
        if not suggestion.counted.startswith("0 "):
            found.append(suggestion)
    found = [one for one in found if root_of(os.path.realpath(one.choice), searched) is None]
    return found + [one for one in _sources(home, stores, exports) if one.choice not in searched]


def count_files(folder: str, name: str = "", exports: Counter[str] | None = None) -> RootSuggestion:
    """How many files of `folder` would be indexed; bounded in number and time. Exports of chats go into `exports`."""
    end, n_files, more = time.monotonic() + COUNT_SECONDS, 0, ""
    for item in Crawl([folder], CrawlRules()):
        n_files += isinstance(item, FileEntry)
        if exports is not None and isinstance(item, FileEntry) and (source := source_of(item.path)) is not None:
            exports[source.name] += not source.is_own
        if n_files >= MAX_COUNTED or time.monotonic() > end:
            more = "+"
            break
    return RootSuggestion(folder, f"{n_files:,}{more} {'file' if n_files == 1 and not more else 'files'}", name)


def _number(folder: Path) -> tuple[int, int] | None:
    """Identifies a folder (device, inode), by whatever path it is reached; None where there is no folder."""
    try:
        status = folder.stat()
    except OSError:
        return None
    return (status.st_dev, status.st_ino) if folder.is_dir() else None


def _named_folders(home: Path) -> Iterator[tuple[Path, str]]:
    """Candidate folders with their names: vaults and clouds before usual folders, which may be the same ones."""
    vaults = dict(_vaults(home))
    yield from ((folder, vaults.get(folder, "")) for folder in (*_xdg_folders(home), home / "Documents"))
    yield from ((folder, name) for pattern, name in CLOUDS.items() for folder in sorted(home.glob(pattern)))
    yield from vaults.items()
    yield from ((home / name, "") for name in USUAL_NAMES)
    others = (name for name, is_folder in sorted(_names(home).items()) if is_folder and name[0] != ".")
    known = {*USUAL_NAMES, *NO_DOCUMENTS}
    yield from ((home / name, "") for name in islice((name for name in others if name not in known), MOST_OTHERS))


def _vaults(home: Path) -> Iterator[tuple[Path, str]]:
    end = time.monotonic() + COUNT_SECONDS
    level = [home]
    for _ in range(VAULT_DEPTH + 1):
        below: list[Path] = []
        for folder in level:
            names = _names(folder) if time.monotonic() < end else {}
            marks = [mark for mark in VAULTS if mark.partition("/")[0] in names and os.path.exists(folder / mark)]
            if marks and folder != home:
                yield folder, VAULTS[marks[0]]
                continue
            inner = (name for name, is_folder in names.items() if is_folder and name[0] != ".")
            below += [folder / name for name in inner if name not in GENERATED_FOLDERS]
        level = below


def _names(folder: Path) -> dict[str, bool]:
    """What lies in a folder, and whether it is one; nothing where it cannot be listed."""
    try:
        with os.scandir(folder) as listing:
            return {entry.name: entry.is_dir(follow_symlinks=False) for entry in listing}
    except OSError:
        return {}


def _sources(home: Path, stores: Sequence[Path], exports: Counter[str]) -> Iterator[RootSuggestion]:
    """Data of other programs, with its size as far as that is known without reading it."""
    mails = list(_mail_folders(stores))
    counts = {
        "maildir": f"{count(sum(n for _, n in mails), 'message')} in {count(len(mails), 'folder')}" if mails else "",
        **{name: count(n, "export") for name, n in exports.items() if n},
    }
    for name, noun in (("thunderbird", "mailbox"), ("firefox", "profile"), ("chromium", "profile"), ("imessage", "")):
        found = [Path(path) for path in places([name], home)]
        if name == "thunderbird":
            counts[name] = _mailboxes(found)
        elif found:
            counts[name] = count(len({path.parent for path in found}), noun or "store")
    yield from (RootSuggestion(name, counts[name], SOURCES[name].meaning) for name in SOURCES if counts.get(name))


def _mail_folders(stores: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    """Each Maildir in these folders, also those beginning with a dot, and how many messages it holds."""
    for store in stores:
        for folder, names, _ in os.walk(store):
            if is_mail_folder(folder):
                yield Path(folder), sum(len(_names(Path(folder, name))) for name in ("cur", "new"))
            names[:] = [name for name in names if name not in ("cur", "new", "tmp")]


def _mailboxes(folders: Sequence[Path]) -> str:
    """Number and size of Thunderbird's mailboxes: its files without an ending; "" where there is none."""
    sizes: list[int] = []
    for folder, _, names in (found for store in folders for found in os.walk(store)):
        for name in names:
            if "." not in name or name.endswith(".mbox"):
                with suppress(OSError):
                    sizes.append(os.path.getsize(os.path.join(folder, name)))
    n_boxes = sum(map(bool, sizes))
    return f"{n_boxes:,} {'mailbox' if n_boxes == 1 else 'mailboxes'}, {size(sum(sizes))}" if n_boxes else ""


def _xdg_folders(home: Path) -> list[Path]:
    """The folders that the desktop's user-dirs.dirs names: documents, desktop, downloads, pictures, music, videos."""
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "user-dirs.dirs"
    try:
        lines = config.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    values = dict(line.strip().split("=", 1) for line in lines if line.startswith("XDG_") and "=" in line)
    kinds = ("DOCUMENTS", "DESKTOP", "DOWNLOAD", "PICTURES", "MUSIC", "VIDEOS")
    wanted = (f"XDG_{kind}_DIR" for kind in kinds)
    return [Path(values[name].strip('"').replace("$HOME", str(home))) for name in wanted if name in values]
