"""Suggestions for the first start: what exists, by name, with bounded counts."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from app.chosen_folders import remember_choices, remembered_roots, remembered_sources
from app.paths import Paths
from app.suggested_folders import MOST_OTHERS, count_files, suggest_roots

Make = Callable[..., None]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def made(*names: str) -> None:
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("x")

    return made


def test_only_folders_with_something_to_index_are_suggested(tmp_path: Path, make: Make) -> None:
    """Empty and missing folders are not; counts leave out ignored files and include those found by name."""
    make("Documents/a.txt", "Documents/node_modules/x.js", "Documents/b/c.md", "Downloads/photo.jpg", "src/a.py")
    (tmp_path / "Desktop").mkdir()
    found = {Path(one.choice).name: one.counted for one in suggest_roots(tmp_path)}
    assert found == {"Documents": "2 files", "Downloads": "1 file", "src": "1 file"}


def test_other_folders_at_the_top_are_offered_behind_the_usual_ones(tmp_path: Path, make: Make) -> None:
    """Even without a Documents folder; hidden ones and those that programs fill are left out; their number is
    limited."""
    make("Kanzlei/Akten/a.txt", "Uni/b.txt", ".cache/c.txt", "snap/d.txt", "node_modules/e.js", "Notes/f.md", "top.txt")
    assert [Path(one.choice).name for one in suggest_roots(tmp_path)] == ["Notes", "Kanzlei", "Uni"]
    make(*(f"z{n:02}/a.txt" for n in range(20)))
    assert len(suggest_roots(tmp_path)) == 1 + MOST_OTHERS


def test_what_is_searched_already_is_not_suggested(tmp_path: Path, make: Make) -> None:
    """A folder, one reached by a link, one below another, and a source; their neighbours still are."""
    make("disk/a.txt", "Downloads/b.txt", "src/a.py", ".mozilla/firefox/x.default/places.sqlite", "Mail/cur/1:2,S")
    (tmp_path / "Mail" / "new").mkdir()
    (tmp_path / "Documents").symlink_to("disk")
    searched = (str(tmp_path / "disk"), str(tmp_path / "src"), "firefox")
    found = [one.choice for one in suggest_roots(tmp_path, searched=searched)]
    assert found == [str(tmp_path / "Downloads"), "maildir"]
    assert suggest_roots(tmp_path, searched=(str(tmp_path), "firefox", "maildir")) == []


def test_the_desktops_own_names_are_known(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the documents folder has another name, user-dirs.dirs says so; each folder comes once."""
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    make("Dokumente/a.txt")
    (tmp_path / ".config").mkdir()
    (tmp_path / "Documents").symlink_to("Dokumente")
    lines = ['XDG_DOCUMENTS_DIR="$HOME/Dokumente"', "# comment", 'XDG_DESKTOP_DIR="$HOME/"']
    (tmp_path / ".config" / "user-dirs.dirs").write_text("\n".join(lines))
    assert [one.choice for one in suggest_roots(tmp_path)] == [str(tmp_path / "Dokumente")]


def test_what_a_person_has_is_offered_by_its_name(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mail with its dotted folders, mailboxes, a browser, notes, a cloud, an exported chat; none is opened."""
    for n in range(3):
        make(f"Mail/cur/{n}.host:2,S")
    make("Mail/.Archive/cur/1.host:2,S", "Mail/.Archive/cur/2.host:2,S")
    for folder in ("Mail/new", "Mail/.Archive/new"):
        (tmp_path / folder).mkdir()
    make(".thunderbird/x.default/ImapMail/a.org/INBOX", ".thunderbird/x.default/ImapMail/a.org/INBOX.msf")
    make(".mozilla/firefox/x.default/places.sqlite", ".config/chromium/Default/History")
    make("work/vault/.obsidian/app.json", "work/vault/a.md", "Nextcloud/b.odt", "Downloads/WhatsApp Chat with Anna.txt")
    opened: list[str] = []
    really = io.open

    def noted(file: Any, *rest: Any, **named: Any) -> Any:
        opened.append(str(file))
        return really(file, *rest, **named)

    monkeypatch.setattr("io.open", noted)
    monkeypatch.setattr("builtins.open", noted)
    found = {one.choice.removeprefix(f"{tmp_path}/"): (one.counted, one.name) for one in suggest_roots(tmp_path)}
    assert [path for path in opened if Path(path).is_file()] == []
    assert found["maildir"][0] == "5 messages in 2 folders"
    assert found["thunderbird"] == ("1 mailbox, 1 byte", "mail that Thunderbird keeps here")
    assert (found["firefox"][0], found["chromium"][0], found["whatsapp"][0]) == ("1 profile", "1 profile", "1 export")
    assert found["work/vault"] == ("1 file", "Obsidian notes")
    assert found["Nextcloud"] == ("1 file", "Nextcloud")
    assert "Mail" not in found


def test_counting_is_bounded(tmp_path: Path, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the bound the count says that there are more."""
    monkeypatch.setattr("app.suggested_folders.MAX_COUNTED", 5)
    make(*(f"{i}.txt" for i in range(8)))
    assert count_files(str(tmp_path)).counted == "5+ files"


def test_choices_are_remembered_once(tmp_path: Path, make: Make) -> None:
    """Sources by name; a folder inside one that was chosen, now or before, is not added."""
    make("a/b/x", "c/d/x", "long-e/x")
    paths = Paths(tmp_path / "config", tmp_path / "data")
    folder = {name: str(tmp_path / name) for name in ("a", "a/b", "c", "c/d", "long-e")}
    chosen = [folder["long-e"], folder["a/b"], "maildir", folder["a"], folder["c/d"]]
    remember_choices(paths, chosen, covered=[folder["c"]])
    assert remembered_roots(paths) == (folder["long-e"], folder["a"])
    assert remembered_sources(paths) == ("maildir",)


def test_a_home_that_cannot_be_reached_has_nothing_to_suggest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As where another user's home is in the environment: no error, for a folder can still be named."""
    home, real = tmp_path / "locked" / "home", os.stat

    def locked(path: Any, *args: Any, **named: Any) -> os.stat_result:
        if str(path).startswith(str(home)):
            raise PermissionError(13, "Permission denied", path)
        return real(path, *args, **named)

    monkeypatch.setattr(os, "stat", locked)
    assert suggest_roots(home) == []
