"""What a user names: which files, and where they lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.errors import ExtractionError
from indexer.extract.kinds import extract_file
from indexer.extract.source import Limits
from indexer.extract.sources.known import SOURCES, places, source_of
from tests.indexer.extract.sources.browser_profiles import make_chromium, make_places


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/a/.mozilla/firefox/x.default/places.sqlite", "firefox"),
        ("/home/a/.config/chromium/Profile 2/History", "chromium"),
        ("/home/a/project/History", ""),
        ("/home/a/Library/Messages/chat.db", "imessage"),
        ("_chat.txt", "whatsapp"),
        ("/x/WhatsApp Chat with Anna.txt", "whatsapp"),
        ("/x/WhatsApp-Chat mit Oma.txt", "whatsapp"),
        ("/x/Chat de WhatsApp con Ana.txt", "whatsapp"),
        ("/x/ChatExport/result.json", "telegram"),
        ("/x/my_result.json", ""),
        ("/x/Club Slack export Jan 1 2024.zip", "slack"),
        ("package/messages/c123/messages.json", "discord"),
        ("/x/notes.txt", ""),
    ],
)
def test_files_belong_to_sources_by_their_names(path: str, name: str) -> None:
    found = source_of(path)
    assert (found.name if found else "") == name


def test_each_source_with_files_has_a_reader() -> None:
    assert all(bool(source.reader) == bool(source.files) for source in SOURCES.values())
    found = (bool(source.ends or source.parts) == bool(source.files) for source in SOURCES.values())
    assert all(found), "else none of them is found"


def test_a_programs_own_store_is_not_read_unless_it_is_named(tmp_path: Path) -> None:
    """Asked by its path; with another source named, too."""
    path = tmp_path / "places.sqlite"
    make_places(path)
    for names in ((), ("chromium",)):
        with pytest.raises(ExtractionError, match="read only where the source 'firefox' is named"):
            extract_file(str(path), Limits(sources=frozenset(names)))
    assert len(extract_file(str(path), Limits(sources=frozenset({"firefox"}))).documents) == 2


def test_places_below_a_home(tmp_path: Path) -> None:
    """Each profile, also of a flatpak; a folder called Mail only where it holds a Maildir."""
    make_places(tmp_path / ".mozilla/firefox/a.default/places.sqlite")
    make_places(tmp_path / ".var/app/org.mozilla.firefox/.mozilla/firefox/b/places.sqlite")
    make_chromium(tmp_path / ".config/chromium/Default")
    (tmp_path / ".thunderbird/c.default/ImapMail").mkdir(parents=True)
    (tmp_path / "Mail").mkdir()
    (tmp_path / "Maildir/cur").mkdir(parents=True)
    found = [str(Path(path).relative_to(tmp_path)) for path in places(SOURCES, tmp_path)]
    assert found == [
        ".mozilla/firefox/a.default/places.sqlite",
        ".var/app/org.mozilla.firefox/.mozilla/firefox/b/places.sqlite",
        ".config/chromium/Default/Bookmarks", ".config/chromium/Default/History",
        ".thunderbird/c.default/ImapMail", "Maildir",
    ]  # fmt: skip
    assert list(places((), tmp_path)) == []
