"""Folders worth suggesting to someone who has not chosen any yet."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from indexer.documents import FileEntry
from indexer.files.crawl import Crawl, CrawlRules

USUAL_NAMES = (
    "Documents", "Notes", "notes", "Desktop", "Downloads", "Projects", "projects", "Code", "code", "src", "repos",
    "workspace", "Mail", "mail", "Maildir", "Papers", "Books", "Library/Mobile Documents", "Dropbox", "Nextcloud",
    "OneDrive", "Sync", "org", "wiki", "Obsidian", "Zettelkasten", "Pictures", "Music", "Videos", "Movies",
)  # fmt: skip
"""below the home folder"""

MAX_COUNTED = 10_000
COUNT_SECONDS = 0.5
"""for one folder"""


@dataclass(frozen=True, slots=True)
class RootSuggestion:
    """A folder that exists, with a quick count of what would be indexed of it."""

    path: str
    n_files: int
    exact: bool
    """False: there are more, counting was ended early"""

    @property
    def shown_count(self) -> str:
        """ "4,210", or "10,000+"."""
        return f"{self.n_files:,}" + ("" if self.exact else "+")


def suggest_roots(home: Path | None = None) -> list[RootSuggestion]:
    """The usual folders of `home` (the user's own) that exist and hold files, with XDG's own names for them."""
    home = home or Path.home()
    names = [*_xdg_folders(home), *(home / name for name in USUAL_NAMES)]
    found: dict[tuple[int, int], RootSuggestion] = {}
    for folder in names:
        try:
            status = folder.stat()
        except OSError:
            continue
        if folder == home or not folder.is_dir() or (status.st_dev, status.st_ino) in found:
            continue
        suggestion = count_files(str(folder))
        if suggestion.n_files:
            found[status.st_dev, status.st_ino] = suggestion
    return list(found.values())


def count_files(folder: str) -> RootSuggestion:
    """How many files of `folder` would be indexed; bounded in number and time."""
    end, n_files = time.monotonic() + COUNT_SECONDS, 0
    for item in Crawl([folder], CrawlRules()):
        n_files += isinstance(item, FileEntry)
        if n_files >= MAX_COUNTED or time.monotonic() > end:
            return RootSuggestion(folder, n_files, exact=False)
    return RootSuggestion(folder, n_files, exact=True)


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
