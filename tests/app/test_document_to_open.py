"""One mail as a separate file: from a mailbox, a Maildir, Apple Mail; private, bounded, and what is no mail."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from app.document_to_open import FOLDER, MAX_COPIES, Place, loose_mail, prepare
from app.external_programs import How, NoDisplayError, OpenError, plan
from app.search.results import Hit
from app.settings import OpenSettings, Settings

MAIL = "From: a@b\nSubject: s\n\nFrom here on\n"
BOX = "From a@b Mon Jan  1 00:00:00 2024\nSubject: one\n\nx\n\nFrom c@d Mon Jan  1 00:00:00 2024\n" + MAIL.replace(
    "From here", ">From here"
)


def hit(path: Path, text: str, part: str = "") -> Hit:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return Hit(
        1, 1, str(path), part, "s", "mail", "a@b", 0.0, 1, "", 1.0, 1, properties=(("message-id", "1+x@b"),)
    )  # fmt: skip


def test_a_message_of_a_mailbox_is_opened_alone(tmp_path: Path) -> None:
    """Its bytes as they were sent, in a file that only its owner can read; opened twice it is one file."""
    box = hit(tmp_path / "Inbox", BOX, "message 2")
    mail = loose_mail(box, tmp_path)
    assert mail is not None
    assert Path(mail.path).read_text() == MAIL
    assert (mail.mailbox, mail.message_id, Path(mail.path).suffix) == (box.path, "1+x@b", ".eml")
    assert stat.S_IMODE(os.stat(mail.path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / FOLDER).st_mode) == 0o700
    assert loose_mail(box, tmp_path) == mail
    with pytest.raises(OpenError, match="no message 3"):
        loose_mail(replace(box, part="message 3"), tmp_path)
    with pytest.raises(OpenError, match="gone"):
        loose_mail(replace(box, path=str(tmp_path / "gone")), tmp_path) or pytest.fail("gone")


def test_files_with_one_mail(tmp_path: Path) -> None:
    """An .eml is opened in place; a Maildir's gets an extension, its mailbox is the Maildir; Apple's is unwrapped."""
    eml = hit(tmp_path / "a.eml", MAIL)
    found = loose_mail(eml, tmp_path)
    assert found is not None
    assert found.path == eml.path
    maildir = loose_mail(hit(tmp_path / "Mail/cur/1.M1.host:2,S", MAIL), tmp_path)
    assert maildir is not None
    assert (Path(maildir.path).read_text(), maildir.mailbox) == (MAIL, str(tmp_path / "Mail"))
    apple = loose_mail(hit(tmp_path / "1.emlx", f"{len(MAIL)}\n{MAIL}<plist></plist>"), tmp_path)
    assert apple is not None
    assert Path(apple.path).read_text() == MAIL


@pytest.mark.parametrize(
    ("title", "begins"),
    [("Re: roof / tiles\x1b[2J", "Re roof  tiles2J - "), ("", "a - "), ("ä" * 90, "ä" * 40 + " - ")],
)
def test_a_pager_says_the_subject(tmp_path: Path, title: str, begins: str) -> None:
    """In the name of the file that it shows, of which nothing but words remain; it goes when the pager has ended.

    Where both were killed, the next one takes it away a day later.
    """
    mail = replace(hit(tmp_path / "a", MAIL), title=title)
    settings = Settings(open=OpenSettings(pager="true {path}"))
    killed, ready = (
        prepare(mail, "pager", place=Place(), settings=settings, data_dir=tmp_path, text_of=lambda: "tiles")
        for _ in range(2)
    )
    assert Path(ready.temporary).name.startswith(begins)
    os.utime(killed.temporary, (time.time() - 90_000, time.time() - 90_000))
    prepare(mail, "pager", place=Place(), settings=settings, data_dir=tmp_path, text_of=lambda: "tiles").discard()
    assert not Path(killed.temporary).exists()
    assert ready.run() == 0
    assert not Path(ready.temporary).exists()


def test_what_is_no_mail_of_its_own(tmp_path: Path) -> None:
    """Other documents, Outlook's files, and mail inside an archive are opened as any file."""
    one = hit(tmp_path / "a", MAIL)
    assert loose_mail(replace(one, type="text"), tmp_path) is None
    assert loose_mail(replace(one, path="/a.msg"), tmp_path) is None
    assert loose_mail(replace(one, path="/a.zip", part="x.eml"), tmp_path) is None


def test_copies_go(tmp_path: Path) -> None:
    """Only a limited number of copies is kept, and none longer than a day; other files beside them stay."""
    for i in range(MAX_COPIES + 5):
        loose_mail(
            hit(tmp_path / "Inbox", f"From a@b Mon Jan  1 00:00:00 2024\nSubject: {i}\n\nx\n", "message 1"), tmp_path
        )
    (tmp_path / FOLDER / "mine.txt").write_text("x")
    assert len(list((tmp_path / FOLDER).glob("*.eml"))) == MAX_COPIES
    for path in (tmp_path / FOLDER).iterdir():
        os.utime(path, (time.time() - 90_000, time.time() - 90_000))
    last = loose_mail(hit(tmp_path / "Inbox", BOX, "message 1"), tmp_path)
    assert last is not None
    assert {path.name for path in (tmp_path / FOLDER).iterdir()} == {"mine.txt", Path(last.path).name}


def test_the_program_that_opens_it(tmp_path: Path) -> None:
    """The user's mail program gets what it needs; else the system's opener gets the message; without a display none."""
    box = hit(tmp_path / "Inbox", BOX, "message 2")
    mail = loose_mail(box, tmp_path)
    assert mail is not None

    def argv(template: str) -> tuple[tuple[str, ...], bool]:
        settings = Settings(open=OpenSettings(mail=template))
        planned = plan(box.path, "system", settings=settings, mail=mail, env={})
        return planned.argv, planned.needs_terminal

    assert argv("thunderbird") == (("thunderbird", mail.path), False)
    assert argv("neomutt -f {mailbox}") == (("neomutt", "-f", box.path), True)
    assert argv("xdg-open mid:{message_id}") == (("xdg-open", "mid:1%2Bx@b"), False)
    with pytest.raises(OpenError, match=r"wanted \{path\}, \{mailbox\} or \{message_id\}, got \{line\}"):
        argv("x {line}")
    with pytest.raises(NoDisplayError):
        argv("")
    opener = Settings(open=OpenSettings(opener="show {path}"))
    assert plan(box.path, "system", settings=opener, mail=mail, env={}).argv == ("show", mail.path)
    assert plan(box.path, "folder", settings=opener, mail=mail, env={}).argv == ("show", str(tmp_path))


def test_of_a_part_of_a_file_a_terminal_shows_the_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one note of many; a whole file is opened in place, and an editor gets the file in both cases."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    note = replace(hit(tmp_path / "notes.enex", "<note>raw</note>", "note 2"), type="markdown")
    settings = Settings(open=OpenSettings(pager="cat {path}", editor="true {path}"))

    def shown(one: Hit, how: How = "system") -> str:
        place = Place()
        ready = prepare(one, how, place=place, settings=settings, data_dir=tmp_path, text_of=lambda: "Boiler")
        return Path(ready.command.argv[-1]).read_text()

    assert "Boiler" in shown(note)
    assert shown(replace(note, part="")) == shown(note, "editor") == "<note>raw</note>"


@pytest.mark.parametrize("how", ["pager", "system"])
def test_what_cannot_be_read_or_copied_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: How) -> None:
    """If the copy cannot be made or read, the error is one sentence, and no front end crashes."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / FOLDER).write_text("in the way")
    (tmp_path / "a.txt").mkdir()
    note = replace(hit(tmp_path / "b.txt", "x"), path=str(tmp_path / "a.txt"), type="pdf" if how == "pager" else "text")
    with pytest.raises(OpenError, match=r"^(File exists|Is a directory): /"):
        prepare(note, how, place=Place(), settings=Settings(), data_dir=tmp_path, text_of=lambda: "x")
