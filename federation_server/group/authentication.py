"""Which member sent a request: the signature over method, path, body, time and nonce, and the guard against replays."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete
from sqlalchemy.dialects import postgresql, sqlite

from federation_server.group.enrolment import Member, member
from federation_server.refusals import Refused
from federation_server.tables import nonces
from federation_server.vault import hash_of
from foltr.federated.envelope import REQUEST, SignatureError, request_text, verify

CLOCK_SECONDS = 300
"""how far a request's time may be from the server's; nonces are kept for twice as long"""
NONCE = re.compile("[0-9A-Za-z]{16,64}")
DEVICE = re.compile("[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Credentials:
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


def check_signature(found: Credentials, device_key: bytes, *, method: str, path: str, body: bytes, now: int) -> None:
    """Refused("clock") or Refused("bad-signature") unless the key's holder signed this very request lately."""
    if abs(now - found.time) > CLOCK_SECONDS:
        raise Refused("clock", f"the server's clock says {now}, the request {found.time}")
    text = request_text(method, path, body, time=found.time, nonce=found.nonce)
    try:
        verify(device_key, REQUEST, text, found.signature)
    except SignatureError as error:
        raise Refused("bad-signature") from error


def active_member(connection: Connection, device: str, *, now: int) -> Member:
    """The member of this pseudonym; Refused when it is unknown, or its membership ended or expired."""
    return still_active(member(connection, device), now=now)


def still_active(known: Member | None, *, now: int) -> Member:
    """The member; Refused when there is none, or its membership ended or expired."""
    if known is None:
        raise Refused("unknown-device")
    if known.ended is not None or (known.expires is not None and known.expires <= now):
        raise Refused("revoked")
    return known


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
