"""The head of a mail as properties: who got it, what is attached, its state, and the ids that tie it to its thread.

Every reader of mail fills a `MailHeaders` and takes its properties from it, so all mail is described alike. States come
from a Maildir's file name, from headers that mail programs write into mailboxes, and from the flags of Apple Mail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from indexer.documents import ExtractedDocument, Extraction
from indexer.extract.kinds import base_name, is_in_maildir
from indexer.extract.markup.html import one_line
from indexer.extract.source import Sink
from indexer.properties import Properties

MAX_PEOPLE = 100
"""people of one header that are kept one by one"""
MAX_IDS = 30
"""of the mails that a mail answers: the oldest and the newest are kept"""


class MailHeaders(Struct, frozen=True, kw_only=True):
    """What stands over the text of a mail, beside sender, subject and date."""

    to: tuple[str, ...] = ()
    """"Anna Berg <anna@example.org>", as in `cc` and `bcc`"""
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    """file names; pictures in the text and signatures are none"""
    states: tuple[str, ...] = ()
    """of `indexer.properties.STATES`; neither read nor unread where nothing is known"""
    tags: tuple[str, ...] = ()
    message_id: str = ""
    """without angle brackets"""
    answered_ids: tuple[str, ...] = ()
    """ids of the mails that it answers, the oldest first"""

    @property
    def recipients(self) -> str:
        """All who got it, for the field of that name."""
        return "; ".join((*self.to, *self.cc, *self.bcc))[:2_000]

    @property
    def message_ids(self) -> tuple[str, ...]:
        """Its own id, "" for none, and those that it answers."""
        answered = tuple(dict.fromkeys(one for one in self.answered_ids if one != self.message_id))
        kept = answered if len(answered) <= MAX_IDS else (answered[0], *answered[1 - MAX_IDS :])
        return (self.message_id, *kept) if self.message_id or kept else ()

    def over(self, text: Sink, notes: Iterable[str], *, title: str, author: str, sent: float | None) -> Extraction:
        """The mail with this head and a text; `sent` in seconds since the epoch."""
        return ExtractedDocument(
            text=text.text, type="mail", title=title, author=author, recipients=self.recipients, modified=sent,
            truncated=text.truncated, properties=self.properties, message_ids=self.message_ids,
        ).alone(notes)  # fmt: skip

    @property
    def properties(self) -> Properties:
        """As indexer.properties names them."""
        named = (
            ("to", self.to[:MAX_PEOPLE]), ("cc", self.cc[:MAX_PEOPLE]), ("bcc", self.bcc[:MAX_PEOPLE]),
            ("attachment", self.attachments), ("tag", self.tags), ("is", self.states),
            ("message-id", (self.message_id,)),
        )  # fmt: skip
        lines = dict.fromkeys((name, " ".join(value.split())) for name, values in named for value in values)
        return tuple((name, value) for name, value in lines if value)


_ID = re.compile(r"<([^<>\s]{1,250})>")


def ids_in(header: str) -> tuple[str, ...]:
    """The message ids in a header such as References, without their brackets."""
    return tuple(_ID.findall(header))


NO_ATTACHMENT = frozenset({
    "application/pkcs7-signature", "application/x-pkcs7-signature", "application/pgp-signature",
    "application/pgp-encrypted", "text/x-amp-html",
})  # fmt: skip
"""media types of signatures, and of what a mail program adds by itself"""


def file_name(text: str) -> str:
    """The name of an attachment as a file may be called so, from what a header or a property says."""
    return one_line(text.partition("\0")[0])[-200:].replace("/", "_")


def is_attachment(*, name: str, media_type: str, disposition: str, content_id: str) -> bool:
    """Whether a named part of a mail is something that a person attached.

    A picture with an id that is not said to be an attachment is shown in the text.
    """
    if not name or media_type in NO_ATTACHMENT or name.lower() in ("smime.p7s", "signature.asc"):
        return False
    return disposition == "attachment" or not (content_id and media_type.startswith("image/"))


_MAILDIR_INFO = re.compile(r"[:;!]2,([A-Za-z]*)$")
_MAILDIR_LETTERS = {"S": "read", "F": "flagged", "R": "answered", "D": "draft"}


def maildir_states(path: str) -> tuple[str, ...]:
    """States from a Maildir's name ("1789.M1.host:2,FS" in `cur`, any in `new`); () for a file of another kind."""
    folder, name = base_name(path[: -len(base_name(path)) - 1]), base_name(path)
    found = _MAILDIR_INFO.search(name)
    if found is None:
        return ("unread",) if folder == "new" and is_in_maildir(path) else ()
    return _or_unread(state for letter, state in _MAILDIR_LETTERS.items() if letter in found[1])


_MOZILLA = ((0x1, "read"), (0x2, "answered"), (0x4, "flagged"))
_MOZILLA_EXPUNGED = 0x8
_MOZILLA_STATUS = re.compile(rb"\A(?:[^\r\n]+\r?\n)*?X-Mozilla-Status: *([0-9A-Fa-f]{4})\r?\n", re.IGNORECASE)
_APPLE = ((1 << 0, "read"), (1 << 2, "answered"), (1 << 4, "flagged"), (1 << 6, "draft"))
_GMAIL = {"unread": "unread", "opened": "read", "starred": "flagged", "drafts": "draft"}
_GMAIL_FOLDERS = frozenset({"inbox", "sent", "archived", "important", "chat", "trash", "spam"})

Header = Callable[[str], str]
"""gives the first header of that lower-case name as one line, "" for none"""


def header_states(header: Header) -> tuple[str, ...]:
    """States from what mail programs write into mailboxes: Status and X-Status, X-Mozilla-Status, X-Gmail-Labels."""
    if re.fullmatch(r"[0-9A-Fa-f]{1,8}", mozilla := header("x-mozilla-status")):
        return _flagged(int(mozilla, 16), _MOZILLA)
    if status := header("status"):
        letters = header("x-status")
        named = [name for letter, name in (("A", "answered"), ("F", "flagged"), ("T", "draft")) if letter in letters]
        return ("read" if "R" in status else "unread", *named)
    labels = [label.lower() for label in _labels(header)]
    states = [_GMAIL[label] for label in labels if label in _GMAIL]
    return tuple(dict.fromkeys(states))


def is_expunged(message: bytes) -> bool:
    """Whether Thunderbird has deleted the mail and not yet compacted its mailbox."""
    found = _MOZILLA_STATUS.search(message, 0, 20_000)
    return found is not None and bool(int(found[1], 16) & _MOZILLA_EXPUNGED)


def header_tags(header: Header) -> tuple[str, ...]:
    """Tags that mail programs write into mailboxes: X-Mozilla-Keys, X-Keywords, X-Label, X-Gmail-Labels."""
    words = " ".join(header(name) for name in ("x-mozilla-keys", "x-keywords", "x-label"))
    named = [word.strip(",") for word in words.split() if not word.startswith("$") and word.lower() != "nonjunk"]
    labels = [one for one in _labels(header) if one.lower() not in _GMAIL.keys() | _GMAIL_FOLDERS]
    return tuple(dict.fromkeys((*named, *(one for one in labels if not one.lower().startswith("category ")))))[:50]


def apple_states(flags: int) -> tuple[str, ...]:
    """States from the number `flags` that Apple Mail writes behind a message (.emlx)."""
    return _flagged(flags, _APPLE)


def _flagged(flags: int, names: Iterable[tuple[int, str]]) -> tuple[str, ...]:
    return _or_unread(name for bit, name in names if flags & bit)


def _or_unread(found: Iterable[str]) -> tuple[str, ...]:
    states = tuple(found)
    return states if "read" in states else ("unread", *states)


def _labels(header: Header) -> list[str]:
    return [label.strip().strip('"') for label in header("x-gmail-labels").split(",") if label.strip()]
