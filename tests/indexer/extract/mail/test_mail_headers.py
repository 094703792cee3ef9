"""The head of a mail: what is kept of it, and which parts are attachments."""

from __future__ import annotations

import pytest

from indexer.extract.mail.mail_headers import MAX_PEOPLE, MailHeaders, apple_states, is_attachment, is_expunged


def test_a_head_as_properties() -> None:
    """In a fixed order, each value once, without empty ones; all who got it in one line."""
    head = MailHeaders(
        to=("Ann  <a@x>", "Ann <a@x>"), cc=("c@x",), bcc=("b@x",), attachments=("a.pdf", "a.pdf"), states=("read",),
        tags=("work",), message_id="1@x", answered_ids=("0@x", "1@x", "0@x"),
    )  # fmt: skip
    assert head.properties == (
        ("to", "Ann <a@x>"), ("cc", "c@x"), ("bcc", "b@x"), ("attachment", "a.pdf"), ("tag", "work"), ("is", "read"),
        ("message-id", "1@x"),
    )  # fmt: skip
    assert head.recipients == "Ann  <a@x>; Ann <a@x>; c@x; b@x"
    assert head.message_ids == ("1@x", "0@x")
    assert (MailHeaders().properties, MailHeaders().message_ids) == ((), ())


def test_a_mail_to_a_crowd_is_bounded() -> None:
    """So many people are kept one by one."""
    assert len(MailHeaders(to=tuple(f"{i}@x" for i in range(5_000))).properties) == MAX_PEOPLE


@pytest.mark.parametrize(
    ("name", "media_type", "disposition", "content_id", "wanted"),
    [
        ("plan.pdf", "application/pdf", "attachment", "", True),
        ("plan.pdf", "application/pdf", "", "<1>", True),
        ("photo.jpg", "image/jpeg", "attachment", "<1>", True),
        ("photo.jpg", "image/jpeg", "inline", "", True),
        ("logo.png", "image/png", "inline", "<1>", False),
        ("", "application/pdf", "attachment", "", False),
        ("smime.p7s", "application/octet-stream", "attachment", "", False),
        ("x.asc", "application/pgp-signature", "attachment", "", False),
    ],
)
def test_what_is_attached(name: str, media_type: str, disposition: str, content_id: str, wanted: bool) -> None:
    """What a person attached; neither signatures nor pictures that the text shows."""
    assert is_attachment(name=name, media_type=media_type, disposition=disposition, content_id=content_id) == wanted


def test_flags() -> None:
    """Apple's bits: 0 read, 2 answered, 4 flagged, 6 draft; Thunderbird's 0x8 in the header, not in the text."""
    assert apple_states(0) == ("unread",)
    assert apple_states(0b1010101) == ("read", "answered", "flagged", "draft")
    assert is_expunged(b"From: a\nX-Mozilla-Status: 0009\nTo: b\n\n")
    assert not is_expunged(b"From: a\nX-Mozilla-Status: 0001\n\n")
    assert not is_expunged(b"From: a\n\nX-Mozilla-Status: 0009\n")
