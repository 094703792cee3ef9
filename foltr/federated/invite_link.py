"""An invite as a link that a person can pass on: foltr://join/ and the base64url of the Invite's JSON, unpadded."""

from __future__ import annotations

import base64
import binascii

from foltr.errors import RecordError
from foltr.federated.wire import Invite, decode, encode

PREFIX = "foltr://join/"
LONGEST = 8192
"""characters; a link holds an address, two fingerprints and a token"""


def to_link(invite: Invite) -> str:
    """The link that `from_link` reads."""
    return PREFIX + base64.urlsafe_b64encode(encode(invite)).decode().rstrip("=")


def from_link(text: str) -> Invite:
    """The invite in a link; space around it and line breaks within (mail programs fold) are taken off.

    RecordError for anything else.
    """
    link = "".join(text.split())
    if not link.startswith(PREFIX):
        raise RecordError(f"an invite link begins with {PREFIX}")
    if len(link) > LONGEST:
        raise RecordError(f"an invite link has at most {LONGEST} characters, not {len(link)}")
    coded = link.removeprefix(PREFIX).rstrip("=")
    try:
        data = base64.b64decode(coded + "=" * (-len(coded) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise RecordError("the invite link is damaged: it is not base64url") from error
    try:
        return decode(data, Invite)
    except RecordError as error:
        raise RecordError(f"the invite link is damaged, or of another version of foltr-search: {error}") from error
