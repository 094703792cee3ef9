"""Data of other programs that the user may add: browsers, mail stores, chats.

A source says where its files lie below a home, and which files its own reader reads. What a program keeps for itself
(`is_own`) is opened only when its source is named; until then what a user exported is an ordinary file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from itertools import product
from pathlib import Path

from msgspec import Struct


class DataSource(Struct, frozen=True):
    """One program, or one kind of store."""

    name: str
    """as in `index.sources`"""
    meaning: str
    """what is read, in a few words for a person"""
    places: tuple[str, ...] = ()
    """glob patterns below the home folder: files and folders that are indexed with it"""
    files: str = ""
    """a regular expression of the paths that its own reader reads; "" where ordinary readers do"""
    ends: tuple[str, ...] = ()
    """how those paths end: asked first, because every file is asked"""
    type: str = ""
    """of the documents of those files"""
    is_own: bool = False
    """a program's own store: it is not opened unless the source is named"""
    parts: tuple[str, ...] = ()
    """what those paths hold, where they end as many files do"""
    reader: str = ""
    """of those files: module and name below indexer.extract; None from it says that the file is an ordinary one"""


_FIREFOX = (
    ".mozilla/firefox", ".config/mozilla/firefox", ".librewolf", "snap/firefox/common/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/.mozilla/firefox", ".var/app/org.mozilla.firefox/config/mozilla/firefox",
    ".var/app/io.gitlab.librewolf-community/.librewolf", "Library/Application Support/Firefox/Profiles",
    "AppData/Roaming/Mozilla/Firefox/Profiles",
)  # fmt: skip
_CHROMIUM = (
    ".config/google-chrome", ".config/google-chrome-beta", ".config/chromium", ".config/BraveSoftware/Brave-Browser",
    ".config/microsoft-edge", ".config/vivaldi", "snap/chromium/common/chromium",
    ".var/app/com.google.Chrome/config/google-chrome", ".var/app/org.chromium.Chromium/config/chromium",
    ".var/app/com.brave.Browser/config/BraveSoftware/Brave-Browser",
    ".var/app/com.microsoft.Edge/config/microsoft-edge",
    "Library/Application Support/Google/Chrome", "Library/Application Support/Chromium",
    "Library/Application Support/BraveSoftware/Brave-Browser", "Library/Application Support/Microsoft Edge",
    "AppData/Local/Google/Chrome/User Data", "AppData/Local/Chromium/User Data",
    "AppData/Local/BraveSoftware/Brave-Browser/User Data", "AppData/Local/Microsoft/Edge/User Data",
)  # fmt: skip
_THUNDERBIRD = (
    ".thunderbird", "snap/thunderbird/common/.thunderbird", ".var/app/org.mozilla.Thunderbird/.thunderbird",
    ".var/app/net.thunderbird.Thunderbird/.thunderbird", "Library/Thunderbird/Profiles",
    "AppData/Roaming/Thunderbird/Profiles",
)  # fmt: skip
_MAILDIRS = ("Maildir", ".maildir", "Mail", "mail", ".mail", ".local/share/mail")


def _below(folders: tuple[str, ...], *ends: tuple[str, ...]) -> tuple[str, ...]:
    return tuple("/".join(parts) for parts in product(folders, *ends))


_ALL = (
    DataSource(
        "firefox", "bookmarks and visited pages of Firefox and LibreWolf",
        _below(_FIREFOX, ("*/places.sqlite",)), r"(?:^|[/\\])places\.sqlite$", ("places.sqlite",), "site", is_own=True,
        reader="sources.browser:read_firefox",
    ),
    DataSource(
        "chromium", "bookmarks and visited pages of Chromium, Chrome, Brave, Edge and Vivaldi",
        _below(_CHROMIUM, ("Default", "Profile *"), ("Bookmarks", "History")),
        r"(?:^|[/\\])(?:Default|Profile \d+)[/\\](?:Bookmarks|History)$", ("Bookmarks", "History"), "site", is_own=True,
        reader="sources.browser:read_chromium",
    ),
    DataSource("thunderbird", "mail that Thunderbird keeps here", _below(_THUNDERBIRD, ("*",), ("Mail", "ImapMail"))),
    DataSource("maildir", "mail in Maildir folders, also those whose names begin with a dot", _MAILDIRS),
    DataSource(
        "imessage", "messages of macOS", ("Library/Messages/chat.db",),
        r"(?:^|[/\\])Messages[/\\]chat\.db$", ("chat.db",), "chat", is_own=True, reader="sources.chats:read_imessage",
    ),
    DataSource(
        "whatsapp", "chats exported from WhatsApp (_chat.txt, WhatsApp Chat with ....txt, also in other languages)",
        files=r"(?:^|[/\\])(?:_chat|[^/\\]*WhatsApp[^/\\]*)\.txt$", ends=("_chat.txt",),
        type="chat", parts=("WhatsApp",), reader="sources.chats:read_whatsapp",
    ),
    DataSource(
        "telegram", "chats exported from Telegram Desktop (result.json)", files=r"(?:^|[/\\])result\.json$",
        ends=("result.json",), type="chat", reader="sources.chats:read_telegram",
    ),
    DataSource(
        "slack", "exports of Slack (... Slack export ....zip)", files=r"Slack export[^/\\]*\.zip$",
        type="chat", parts=("Slack export",), reader="sources.chats:read_slack",
    ),
    DataSource(
        "discord", "the messages of Discord's data package, unpacked or not",
        files=r"(?:^|[/\\])[Mm]essages[/\\]c?\d+[/\\]messages\.(?:json|csv)$", ends=("messages.json", "messages.csv"),
        type="chat", reader="sources.chats:read_discord",
    ),
)  # fmt: skip

SOURCES: dict[str, DataSource] = {source.name: source for source in _ALL}
"""By name."""

_ENDS = tuple(end for source in _ALL for end in source.ends)
_PARTS = tuple(part for source in _ALL for part in source.parts)
_ANY = re.compile("|".join(f"(?P<{source.name}>{source.files})" for source in _ALL if source.files))


def source_of(path: str) -> DataSource | None:
    """The source whose own reader reads the file at `path`; None for an ordinary file."""
    if not path.endswith(_ENDS):
        for part in _PARTS:
            if part in path:
                break
        else:
            return None
    found = _ANY.search(path)
    return SOURCES[found.lastgroup] if found is not None and found.lastgroup else None


DATABASES = (".sqlite", ".sqlite3", ".db")
"""how files of SQLite end that a package's reader may read"""


def files_of(path: str) -> tuple[str, ...]:
    """The files needed to read the one at `path`: itself, and those that its source's reader looks into as well."""
    source = source_of(path)
    if source is None:
        return (path, log_of(path)) if path.endswith(DATABASES) else (path,)
    return (path, channel_of(path)) if source.name == "discord" else (path, log_of(path))


def log_of(path: str) -> str:
    """Where SQLite keeps what has not reached the file at `path`."""
    return path + "-wal"


def channel_of(path: str) -> str:
    """Where Discord says what the channel is called whose messages are at `path`."""
    return os.path.join(os.path.dirname(path), "channel.json")


def not_named(source: DataSource) -> str:
    """Why a program's own store is not read."""
    return f"read only where the source {source.name!r} is named (index.sources)"


def places(names: Collection[str], home: Path) -> Iterator[str]:
    """The files and folders below `home` that the sources of these names have, in order."""
    for name in names:
        for pattern in SOURCES[name].places:
            for path in sorted(home.glob(pattern)):
                if name != "maildir" or any(any(path.glob(f"{above}cur")) for above in ("", "*/", "*/*/")):
                    yield str(path)


def is_mail_folder(path: str) -> bool:
    """Whether the folder at `path` is a Maildir."""
    return all(os.path.isdir(os.path.join(path, name)) for name in ("cur", "new"))
