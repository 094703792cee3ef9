"""Which member signed a request, and that it is no replay.

A signature is over method, path, body, time and nonce; a nonce that was spent guards against replays.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping

from msgspec import Struct
from sqlalchemy import Connection, delete
from sqlalchemy.dialects import postgresql, sqlite

from console.wording import count
from federation_server.refusals import Refused
from federation_server.tables import nonces
from federation_server.vault import hash_of
from foltr.federated.envelope import REQUEST, SignatureError, request_text, verify

CLOCK_SECONDS = 300
"""how far a request's time may be from the server's; nonces are kept for twice as long"""
NONCE = re.compile("[0-9A-Za-z]{16,64}")
DEVICE = re.compile("[0-9a-f]{32}")


class Credentials(Struct, frozen=True):
    """What the headers of a signed request say; nothing of it is believed yet."""

    device: str
    time: int
    nonce: str
    signature: bytes


def credentials(headers: Mapping[str, str]) -> Credentials:
    """From the headers Foltr-Device, -Time, -Nonce and -Signature; Refused("unsigned") when one is missing or odd."""
    try:
        nonce = headers["foltr-nonce"]
        found = Credentials(
            device=headers["foltr-device"],
            time=int(headers["foltr-time"]),
            nonce=nonce,
            signature=base64.b64decode(headers["foltr-signature"], validate=True),
        )
    except (KeyError, ValueError, binascii.Error) as error:
        raise Refused("unsigned") from error
    # Checked before anything is looked up or remembered by them: an odd name could be as long as a header may be.
    if not (NONCE.fullmatch(nonce) and DEVICE.fullmatch(found.device)) or abs(found.time) > 1 << 53:
        raise Refused("unsigned", "the device, the nonce or the time has an odd form")
    return found


class Request(Struct, frozen=True):
    """A signed request, as the network brought it."""

    credentials: Credentials
    method: str
    path: str
    """with its query"""
    body: bytes


def check_signature(asked: Request, device_key: bytes, *, now: int) -> None:
    """Refused("clock") or Refused("bad-signature") unless the key's holder signed this very request lately."""
    found = asked.credentials
    if abs(now - found.time) > CLOCK_SECONDS:
        days, seconds = divmod(abs(found.time - now), 86_400)
        far = count(days, "day") if days else count(seconds // 60, "minute")
        raise Refused("clock", f"the device's is {far} {'ahead' if found.time > now else 'behind'}")
    text = request_text(asked.method, asked.path, asked.body, time=found.time, nonce=found.nonce)
    try:
        verify(device_key, REQUEST, text, found.signature)
    except SignatureError as error:
        raise Refused("bad-signature") from error


def spend_nonce(connection: Connection, found: Credentials) -> None:
    """Refused("replayed") when this device used this nonce before, within the window in which its time is accepted."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    row = {"nonce_hash": hash_of(f"{found.device} {found.nonce}"), "expires": found.time + 2 * CLOCK_SECONDS}
    fresh = insert(nonces).values(**row).on_conflict_do_nothing().returning(nonces.c.nonce_hash)
    if connection.execute(fresh).first() is None:
        raise Refused("replayed")


def forget_old_nonces(connection: Connection, *, now: int) -> int:
    """Drop those whose requests would be refused by the clock anyway."""
    return int(connection.execute(delete(nonces).where(nonces.c.expires < now)).rowcount)
