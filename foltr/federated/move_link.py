"""A server's move as a link, for members who come after the old address has gone: foltr://move/ and its record."""

from __future__ import annotations

from foltr.federated.invite_link import read_link, write_link
from foltr.federated.wire import Signed

PREFIX = "foltr://move/"


def to_link(moved: Signed) -> str:
    """The link that `from_link` reads."""
    return write_link(PREFIX, moved)


def from_link(text: str) -> Signed:
    """The signed record in a link; RecordError for anything else. Whose signature it is, only a member can tell."""
    return read_link(text, PREFIX, Signed, "address link")
