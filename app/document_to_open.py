"""A document on its way to one of the user's programs: as its file, a mail of its own, an address, or its text.

A pager would show the bytes of a PDF or of a mailbox, and a machine without a desktop shows neither. There the
extracted text is handed over, in a file that only the user can read and that is deleted when the program ends.

A mail program should open the message, not its whole mailbox. A file that is named as a mail is opened where it lies.
Any other mail (a Maildir's file has no ending, a mailbox holds many) is copied into a folder that only the user can
read. The next opening, or the next scan, removes copies that are old, too many, or of deleted mail.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from app.data_folder import COPY_NAMES
from app.external_programs import How, Invocation, LooseMail, NoDisplayError, OpenError, address_of, is_plain, plan, run
from app.settings import Settings
from console.durable import what_failed
from console.printable import display_path

if TYPE_CHECKING:
    from app.search.results import Hit
    from indexer.storage.catalogue import DocumentRow


class Place(Struct, frozen=True):
    """Where in the document to go; 0 where unknown."""

    line: int = 0
    """of its text, from 1"""
    page: int = 0


class Prepared(Struct, frozen=True):
    """A program that is about to be started for a document."""

    command: Invocation
    temporary: str = ""
    """a file to delete afterwards"""

    def run(self, *, opened: Callable[[], object] = lambda: None) -> int:
        """As app.external_programs.run."""
        try:
            return run(self.command, opened=opened)
        finally:
            self.discard()

    def discard(self) -> None:
        """Delete what was made for it."""
        if self.temporary:
            Path(self.temporary).unlink(missing_ok=True)


def prepare(
    document: Hit | DocumentRow, how: How, *, place: Place, settings: Settings, data_dir: Path,
    text_of: Callable[[], str],
) -> Prepared:  # fmt: skip
    """Choose the program for a document, and prepare the file or address that it gets.

    `text_of` gives the extracted text. It is called if a pager shows it: when that was asked for, for a mail that no
    program opens, and without a display for parts of files and whatever has text. Raises OpenError.
    """
    plain = is_plain(document.type, document.part)
    if how == "pager" and not plain:
        return _as_text(document, place, settings, data_dir, text_of())
    mail = None
    try:
        mail = loose_mail(document, data_dir) if how == "system" else None
        address = address_of(document.type, document.properties)
        line = place.line if plain else 0
        command = plan(document.path, how, settings=settings, line=line, page=place.page, mail=mail, address=address)
        if not (document.part and how == "system" and mail is None and command.needs_terminal):
            return Prepared(command)
        text = text_of()
    except NoDisplayError:
        text = text_of()
        if not text.strip():
            raise
    except OpenError:
        if mail is None or settings.open.mail:
            raise
        text = text_of()
    return _as_text(document, place, settings, data_dir, text)


def _as_text(document: Hit | DocumentRow, place: Place, settings: Settings, data_dir: Path, text: str) -> Prepared:
    """The text in the pager, opened at the same line of it; a mail's head stands above."""
    from app.search.headings import headed  # loads numpy, which the screen does not need before
    from app.search.results import title_of

    shown = headed(document, text)
    line = place.line + shown.count("\n") - text.count("\n") if place.line else 0
    name = "".join(_NAMED.findall(title_of(document)))[:40].strip()  # a pager shows it
    path = _copied(shown.encode("utf-8", "replace"), data_dir / FOLDER / f"{name} - {os.urandom(4).hex()}.txt")
    try:
        return Prepared(plan(path, "pager", settings=settings, line=line), path)
    except OpenError:
        Path(path).unlink()
        raise


_NAMED = re.compile(r"[\w ,.-]")
FOLDER = "mail"
"""in the data folder"""
MAX_COPIES = 20
MAX_AGE = 86_400.0
"""seconds"""
STILL_READ = 3600.0
"""seconds that a copy stays for a mail program to read, though its mailbox has changed"""
MAX_BYTES = 64_000_000
"""of one message"""
_PART = re.compile(r"message (\d{1,9})")


def loose_mail(mail: Hit | DocumentRow, data_dir: Path) -> LooseMail | None:
    """The mail as a file of its own; None for what is not a mail, or lies in an archive. OpenError if it is gone."""
    number = _PART.fullmatch(mail.part)
    if mail.type != "mail" or (mail.part and number is None) or mail.path.lower().endswith(".msg"):
        return None
    message_id = next((value for name, value in mail.properties if name == "message-id"), "")
    if mail.path.lower().endswith(".eml"):
        return LooseMail(mail.path, os.path.dirname(mail.path), message_id)
    try:
        data = _message(mail.path, int(number[1]) if number else 0)
    except OSError as error:
        raise OpenError(f"{display_path(mail.path)}: {error.strerror}") from error
    message = hashlib.blake2b(mail.part.encode() + data, digest_size=12).hexdigest()
    folder, above = data_dir / FOLDER, os.path.dirname(mail.path)
    is_maildir = os.path.basename(above) in ("cur", "new")
    path = _copied(data, folder / f"{_name_of(mail.path)}-{message}.eml")
    return LooseMail(path, os.path.dirname(above) if is_maildir else mail.path, message_id)


def _message(path: str, number: int) -> bytes:
    """Message `number` of a mailbox, from 1; 0 for a file that is one mail."""
    from indexer.extract.mail.mail import messages, without_envelope
    from indexer.extract.source import Limits, Source

    source, limits = Source(name=path, path=path), Limits(max_member_bytes=MAX_BYTES)
    if not number:
        return without_envelope(source.read(MAX_BYTES))
    for i, (data, _) in enumerate(messages(source, limits), start=1):
        if i == number:
            return data
    raise OpenError(f"{display_path(path)}: there is no message {number} any more; it is indexed again soon")


def _copied(data: bytes, path: Path) -> str:
    """Write `data` to `path`, readable by its owner only; removes old copies beside it. OpenError if that fails."""
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        remove_old_mails(path.parent.parent, keep=path)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with open(handle, "wb") as file:
            file.write(data)
        os.replace(unfinished, path)
    except OSError as error:
        raise OpenError(what_failed(error)) from error
    return str(path)


def copied_from(path: str, data: bytes, data_dir: Path) -> str:
    """A copy of a file of another machine, whose name begins `path`; read-only, as no change would get back."""
    message = hashlib.blake2b(os.fsencode(path) + data, digest_size=12).hexdigest()
    ending = re.search(r"\.[A-Za-z0-9]{1,16}$", path)
    copy = _copied(data, data_dir / FOLDER / f"far-{message}{ending[0] if ending else ''}")
    os.chmod(copy, 0o400)
    return copy


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except OSError:
        return 0.0


def _name_of(mailbox: str) -> str:
    """The beginning of the name of every copy from that file."""
    return hashlib.blake2b(os.fsencode(mailbox), digest_size=8).hexdigest()


def mail_copies(data_dir: Path) -> list[Path]:
    """The copies that are there, the youngest first."""
    return sorted((path for path in (data_dir / FOLDER).glob("*") if re.fullmatch(COPY_NAMES, path.name)), key=_age)


def remove_old_mails(data_dir: Path, *, keep: Path | None = None) -> None:
    """Delete copies older than a day, and the oldest beyond MAX_COPIES."""
    for i, copy in enumerate(mail_copies(data_dir)):
        if copy != keep and (i >= MAX_COPIES - bool(keep) or _age(copy) > MAX_AGE):
            copy.unlink(missing_ok=True)


def remove_gone_mails(data_dir: Path, read_at: Mapping[str, float]) -> None:
    """Delete the copies of mails whose file is no longer indexed, or was read again since the copy was made.

    `read_at` says when each indexed file was read, in seconds since the epoch.
    """
    names = {_name_of(path): when for path, when in read_at.items()}
    for copy in (copy for copy in mail_copies(data_dir) if not copy.name.startswith("far-")):
        age, when = _age(copy), names.get(copy.name.partition("-")[0])
        is_gone = when is None and copy.suffix not in (".part", ".txt")
        if is_gone or (age > STILL_READ and (when is None or when > time.time() - age)):
            copy.unlink(missing_ok=True)
