"""Links that a person can pass on: an invite, or the new address of a server for members who missed its move.

foltr://join/ or foltr://move/, and the base64url of the record's JSON, unpadded.
"""

from __future__ import annotations

import base64
import binascii

from foltr.errors import RecordError
from foltr.federated.wire import Invite, R, Signed, decode, encode

PREFIX, MOVED = "foltr://join/", "foltr://move/"
AROUND = "\"'`<>()[]“”‘’„‚«»‹›.,;:"
"""what people and programs put around a link"""
LONGEST = 8192
"""characters; a link holds an address, two fingerprints and a token"""


def to_link(record: Invite | Signed) -> str:
    """The link that `from_link` or `read_move` reads."""
    prefix = PREFIX if isinstance(record, Invite) else MOVED
    return prefix + base64.urlsafe_b64encode(encode(record)).decode().rstrip("=")


def from_link(text: str) -> Invite:
    """The invite in a link; quotes around it, and line breaks within (mail programs fold), are taken off.

    RecordError for anything else.
    """
    return _read(text, PREFIX, Invite, "invite link")


def read_move(text: str) -> Signed:
    """The signed record in a link; RecordError for anything else. Whose signature it is, only a member can tell."""
    return _read(text, MOVED, Signed, "address link")


def _read(text: str, prefix: str, kind: type[R], what: str) -> R:
    """The record in a link of `prefix`, as `from_link` reads it; `what` names such a link in errors."""
    link = "".join(text.split()).strip(AROUND)
    if not link.startswith(prefix):
        raise RecordError(f"an {what} begins with {prefix}")
    if len(link) > LONGEST:
        raise RecordError(f"an {what} has at most {LONGEST} characters, not {len(link)}")
    coded = link.removeprefix(prefix).rstrip("=")
    try:
        return decode(base64.b64decode(coded + "=" * (-len(coded) % 4), altchars=b"-_", validate=True), kind)
    except (binascii.Error, ValueError, RecordError) as error:
        raise RecordError(
            f"the {what} is damaged or not whole, or of another version of foltr-search; copy all of it"
        ) from error
