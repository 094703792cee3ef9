"""What the open round takes, read once a round instead of once an update."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from sqlalchemy import Connection, Engine

from federation_server import group, rounds
from federation_server.database import reading
from federation_server.intake import Expectation
from federation_server.refusals import Refused
from federation_server.vault import Vault
from foltr.federated.wire import Sealed


@dataclass(slots=True, eq=False)
class Expectations:
    """Of one process; another may close the round, which the writer's transaction finds out."""

    engine: Engine
    vault: Vault
    _known: Expectation | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, sealed: Sealed) -> Expectation:
        """Of the round that is open, read again when the update speaks of another one than was read last."""
        with self._lock:
            here = self._known.open_round if self._known else None
            if self._known is None or here is None or (here.lineage, here.number) != (sealed.lineage, sealed.round):
                with reading(self.engine) as connection:
                    self._known = _read(connection, self.vault)
            return self._known

    def forget(self) -> None:
        """Another round is open; with the lock, so that nobody puts the former one's key back into memory."""
        with self._lock:
            self._known = None


def _read(connection: Connection, vault: Vault) -> Expectation:
    here, agreed = rounds.present(connection), group.terms(connection)
    if here is None or here.sealed_key is None:
        raise Refused("unavailable", "no round is open")
    start = group.by_hash(connection, here.model_hash)
    if start is None:
        raise Refused("unavailable", "the round's model is missing")
    return Expectation(here, vault.decrypt(here.sealed_key), agreed, group.method_of(agreed), start.model.theta)
