"""Tiny profiles of browsers, with the tables that the real ones have."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

VISIT = 1_714_558_530
"""seconds since the epoch: 2024-05-01 10:15:30 UTC"""


def make_places(path: Path, *, keep_log: bool = False) -> sqlite3.Connection:
    """A places.sqlite: one bookmark with a tag in a folder, one visited page, one that is no page."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = sqlite3.connect(path)
    file.execute("PRAGMA journal_mode = WAL")
    file.executescript(
        "CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT, title TEXT, hidden INTEGER DEFAULT 0,"
        " last_visit_date INTEGER, description TEXT);"
        "CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INTEGER, fk INTEGER, parent INTEGER, title TEXT,"
        " dateAdded INTEGER, guid TEXT);"
    )
    file.executemany("INSERT INTO moz_places VALUES (?, ?, ?, ?, ?, ?)", [
        (1, "https://birds.example/heron", "Heron page", 0, VISIT * 1_000_000, "All about herons"),
        (2, "https://soup.example/", "Soup", 0, None, None),
        (3, "place:sort=8", "Most visited", 0, VISIT * 1_000_000, None),
        (4, "https://frame.example/ad", "Frame", 1, VISIT * 1_000_000, None),
    ])  # fmt: skip
    file.executemany("INSERT INTO moz_bookmarks VALUES (?, ?, ?, ?, ?, ?, ?)", [
        (1, 2, None, None, "", 0, "root________"),
        (2, 2, None, 1, "tags", 0, "tags________"),
        (3, 2, None, 1, "Recipes", 0, "aaaaaaaaaaaa"),
        (4, 2, None, 2, "winter", 0, "bbbbbbbbbbbb"),
        (5, 1, 2, 3, "Leek soup", (VISIT - 60) * 1_000_000, "cccccccccccc"),
        (6, 1, 2, 4, None, 0, "dddddddddddd"),
    ])  # fmt: skip
    file.commit()
    if not keep_log:
        file.close()
    return file


def make_chromium(profile: Path) -> None:
    """A profile with the files Bookmarks and History."""
    profile.mkdir(parents=True, exist_ok=True)
    added = str((VISIT + 11_644_473_600) * 1_000_000)
    url = {"type": "url", "name": "Kingfisher", "url": "https://birds.example/kingfisher", "date_added": added}
    script = {"type": "url", "name": "Run", "url": "javascript:alert(1)", "date_added": added}
    folder = {"type": "folder", "name": "Birds", "children": [url, script]}
    bar = {"type": "folder", "name": "Bookmarks bar", "children": [folder]}
    (profile / "Bookmarks").write_text(json.dumps({"roots": {"bookmark_bar": bar}, "version": 1}))
    file = sqlite3.connect(profile / "History")
    file.execute("CREATE TABLE urls (id INTEGER, url TEXT, title TEXT, last_visit_time INTEGER, hidden INTEGER)")
    file.execute("INSERT INTO urls VALUES (1, 'https://sea.example/', 'The sea', ?, 0)", (int(added),))
    file.commit()
    file.close()
