"""The stored updates of one round, opened."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, select

from federation_server.tables import updates
from federation_server.vault import Vault
from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.payload import decode_message


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """What arrived, in the order of the pseudonyms, so that every server adds up alike."""

    devices: tuple[str, ...]
    thetas: FloatMatrix
    """[n_clients, n_sent]"""
    n_interactions: FloatVector
    """[n_clients] as the devices said; 0 for an update that the guard left out"""

    def only(self, devices: set[str]) -> Received:
        """The part that came from these devices."""
        rows = [row for row, device in enumerate(self.devices) if device in devices]
        return Received(tuple(self.devices[row] for row in rows), self.thetas[rows], self.n_interactions[rows])


def read_received(connection: Connection, vault: Vault, method: FPDGD, lineage: int, number: int) -> Received:
    """What devices sent in round `number` of a lineage."""
    query = select(updates.c.device, updates.c.payload, updates.c.left_out)
    query = query.where(updates.c.lineage == lineage, updates.c.round == number)
    rows = connection.execute(query.order_by(updates.c.device)).all()
    messages = [decode_message(method, vault.decrypt(bytes(row.payload))) for row in rows]
    return Received(
        tuple(row.device for row in rows),
        np.array([message.theta for message in messages]).reshape(len(rows), method.n_sent),
        np.array(
            [0 if row.left_out else message.n_interactions for row, message in zip(rows, messages, strict=True)],
            dtype=np.float64,
        ),
    )


def norms(connection: Connection, lineage: int, number: int) -> dict[str, float]:
    """||theta_c - theta_t|| of each device in a round whose updates are still kept."""
    query = select(updates.c.device, updates.c.norm).where(updates.c.lineage == lineage, updates.c.round == number)
    return {row.device: row.norm for row in connection.execute(query)}


def agreement(deltas: FloatMatrix) -> float:
    """||mean of the unit vectors||: 1 when all updates point the same way, about 1/sqrt(n) when they do by chance.

    0 where there are none.
    """
    if not len(deltas):
        return 0.0
    norms = np.linalg.norm(deltas, axis=1, keepdims=True)
    return float(np.linalg.norm((deltas / np.where(norms > 0, norms, 1.0)).mean(axis=0)))
