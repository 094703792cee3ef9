"""Tests of foltr.federated.links."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foltr.errors import RecordError
from foltr.federated.links import LONGEST, PREFIX, from_link, to_link
from foltr.federated.wire import Invite

INVITE = Invite(address="https://host:8421", fingerprint="ab" * 32, token="secret", group_id="group")


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_a_link_carries_its_invite_unchanged(address: str, token: str, certificate: str) -> None:
    """Every invite that UTF-8 can hold comes back from its link equal to what went in."""
    invite = Invite(address=address, fingerprint="00" * 32, token=token, group_id="g", certificate=certificate)
    assert from_link(to_link(invite)) == invite


def test_a_link_that_was_folded_by_a_mail_program_is_read() -> None:
    """White space and quotes around a link and line breaks inside of it do not matter."""
    link = to_link(INVITE)
    for begin, end in (("  ", "\n"), ("<", ">"), ("“", "”."), (" '", "'\n")):
        assert from_link(f"{begin}{link[:40]}\r\n {link[40:]}{end}") == INVITE


def test_a_link_has_only_characters_that_need_no_quoting() -> None:
    """After the prefix there are letters, digits, - and _ alone."""
    coded = to_link(INVITE).removeprefix(PREFIX)
    assert all(c.isascii() and (c.isalnum() or c in "-_") for c in coded)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("https://host/join", "begins with foltr://join/"),
        (PREFIX + "!!!", "invite link is damaged or not whole"),
        (PREFIX + "a", "invite link is damaged or not whole"),
        (PREFIX + "e30", "is damaged or not whole, or of another version"),
        (PREFIX, "invite link is damaged"),
        (PREFIX + "a" * LONGEST, "at most 8192 characters"),
        (PREFIX + "é", "invite link is damaged or not whole"),
    ],
)
def test_anything_else_is_a_record_error(text: str, said: str) -> None:
    """A damaged link is refused with a sentence that says what is wrong with it."""
    with pytest.raises(RecordError, match=said):
        from_link(text)
