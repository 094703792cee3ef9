"""`index --source`: data of other programs, as a user runs it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tests.indexer.extract.sources.browser_profiles import make_places

if TYPE_CHECKING:
    from tests.app.conftest import Device

CHAT = "[13/05/2024, 09:05:01] Anna: the zeppelin lands\n[14/05/2024, 09:05:01] Ben: what zeppelin\n"
MAIL = "From: anna@example.org\nTo: ben@example.org\nDate: Wed, 01 May 2024 10:00:00 +0000\nSubject: %s\n\n%s\n"


def found(device: Device, query: str) -> list[str]:
    return sorted(device.run("search", query, "--format", "{title}").stdout.splitlines())


def test_a_browser_is_read_once_it_is_named_and_not_before(device: Device) -> None:
    """Its file is in an indexed folder, but its pages are found only while the source is named."""
    make_places(device.notes / "places.sqlite")
    make_places(device.home / ".mozilla/firefox/x.default/places.sqlite")
    device.index()
    assert found(device, "leek") == []
    assert "the source 'firefox' is named" in device.run("why", str(device.notes / "places.sqlite")).stdout
    assert device.run("index", "--source", "firefox").returncode == 0
    assert found(device, "leek") == ["Leek soup"]  # two profiles hold the same page: copies
    assert found(device, "url:birds type:site") == ["Heron page"]
    assert found(device, "tag:winter") == ["Leek soup"]
    assert device.run("index", "--forget", "firefox").returncode == 0
    assert found(device, "leek") == []


def test_opening_a_page_hands_its_address_to_the_browser(device: Device) -> None:
    """xdg-open gets the address, not the file of the profile."""
    make_places(device.home / ".mozilla/firefox/x.default/places.sqlite")
    tools, seen = device.home / "tools", device.home / "seen"
    tools.mkdir()
    (tools / "xdg-open").write_text(f'#!/bin/sh\nprintf %s "$1" > "{seen}"\n')
    (tools / "xdg-open").chmod(0o755)
    env = {"DISPLAY": ":0", "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    device.run("index", "--source", "firefox")
    device.run("search", "leek")
    assert device.run("open", "1", "--print").stdout == "https://soup.example/\n"
    done = device.run("open", "1", env=env)
    assert (done.returncode, seen.read_text()) == (0, "https://soup.example/"), done.stderr


def test_a_chat_is_a_text_until_its_source_is_named(device: Device) -> None:
    """Naming it reads the same file anew, as one document a day; forgetting it undoes that."""
    (device.notes / "WhatsApp Chat with Anna.txt").write_text(CHAT)
    device.index()
    assert found(device, "zeppelin type:text") != []
    assert found(device, "zeppelin type:chat") == []
    device.run("index", "--source", "whatsapp")
    assert found(device, "zeppelin type:chat") == ["Anna, 2024-05-13", "Anna, 2024-05-14"]
    assert found(device, "zeppelin type:text") == []
    device.run("index", "--forget", "whatsapp")
    assert found(device, "zeppelin type:chat") == []


def test_mail_of_thunderbird_and_of_a_maildir(device: Device) -> None:
    """A mailbox without an ending, a folder of a Maildir whose name begins with a dot; nothing else of the profile."""
    profile = device.home / ".thunderbird/x.default"
    folder = profile / "ImapMail/imap.example.org"
    folder.mkdir(parents=True)
    (folder / "Archives").write_text("From - Wed May 01 10:00:00 2024\n" + MAIL % ("Quince", "quince jelly") + "\n")
    (folder / "Archives.msf").write_text("quince")
    (profile / "logins.json").write_text('{"password": "quince"}')
    sent = device.home / "Maildir/.Sent"
    for name in ("Maildir/cur", "Maildir/new", "Maildir/.Sent/cur", "Maildir/.Sent/new"):
        (device.home / name).mkdir(parents=True)
    (sent / "cur/1714557600.M1.host:2,S").write_text(MAIL % ("Medlar", "medlar jelly"))
    device.run("index", "--source", "thunderbird", "--source", "maildir")
    assert found(device, "jelly") == ["Medlar", "Quince"]
    assert found(device, "quince") == ["Quince"]


def test_a_source_that_is_nowhere_is_told(device: Device) -> None:
    """The line names the places; the update continues, and chats, which have no usual place, print nothing."""
    asked = device.run("index", "--source", "maildir", "--source", "whatsapp")
    assert asked.returncode == 0
    said = [line for line in asked.stderr.splitlines() if "usual places" in line]
    assert [line.split(": ")[1] for line in said] == ["maildir"]
    assert "~/Maildir, ~/.maildir" in said[0]


def test_an_unknown_source_is_one_line(device: Device) -> None:
    """The line names the known ones; the setting says the same."""
    refused = device.run("index", "--source", "netscape")
    assert refused.returncode == 2
    assert "firefox, chromium, thunderbird" in refused.stderr
    refused = device.run("index", env={"FOLTR_INDEX__SOURCES": '["netscape"]'})
    assert refused.returncode == 2
    assert "netscape" in refused.stderr


def test_what_could_be_indexed_is_listed_and_not_read(device: Device) -> None:
    """Each with the word that chooses it; if nothing is chosen yet, `index` mentions the list."""
    (device.home / "Documents").mkdir()
    (device.home / "Documents/a.txt").write_text("x")
    make_places(device.home / ".mozilla/firefox/x.default/places.sqlite")
    done = device.run("index", "--suggest")
    assert f"{device.home / 'Documents'}\t1 file" in done.stdout.splitlines()
    assert "firefox\t1 profile\tbookmarks and visited pages of Firefox and LibreWolf" in done.stdout.splitlines()
    assert "index --suggest" in device.run("index").stderr
    assert not device.data_dir.exists() or not (device.data_dir / "index").exists()
