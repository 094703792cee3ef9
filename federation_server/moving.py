"""The server moves: to another address, port or name, to TLS, or to another certificate.

Its identity key signs where it is to be found from now on. Announcements carry the record, so that members who sync
before the move follow by themselves; for those who come too late it can be passed on as a link. What devices pinned is
the identity, so nobody else can move them.
"""

from __future__ import annotations

from sqlalchemy import Connection

from federation_server import group
from foltr.federated.envelope import Identity, sign_document
from foltr.federated.wire import ServerMove, Signed, decode, encode

FACT = "moved"


def move(connection: Connection, identity: Identity, *, address: str, certificate: str, now: int) -> Signed:
    """Sign and announce that the server is to be found there; later than whatever was signed before."""
    before = current(connection)
    serial = max(now, decode(before.body, ServerMove).serial + 1 if before else 1)
    record = ServerMove(
        group_id=group.terms(connection).group_id, address=address.rstrip("/"), certificate=certificate, serial=serial
    )
    signed = sign_document(identity, FACT, record)
    group.set_fact(connection, FACT, encode(signed).decode())
    return signed


def current(connection: Connection) -> Signed | None:
    """The newest record, None for a server that never moved."""
    stored = group.fact(connection, FACT)
    return decode(stored.encode(), Signed) if stored else None
