"""The operator goes back to a model of the past: a new lineage branches from it."""

from __future__ import annotations

from sqlalchemy import Connection

from federation_server import group, rounds
from federation_server.forgetting import abandon
from federation_server.group import GroupError
from federation_server.policy import Policy
from federation_server.vault import Vault
from foltr.federated.method import Model


def roll_back(connection: Connection, vault: Vault, policy: Policy, lineage: int, number: int, *, now: int) -> int:
    """The new lineage's number; GroupError when that model is not stored. Later models stay, to go forward again."""
    group.lock(connection)
    chosen = group.at(connection, lineage, number)
    if chosen is None:
        raise GroupError(f"there is no model {lineage}.{number}; `foltr-server model` lists them")
    here = rounds.present(connection, lock=True)
    if here is not None and here.purpose == "forget":
        raise GroupError("a member is being forgotten; wait until `foltr-server forget` says that it is done")
    abandon(connection, here, now=now)
    begun = group.begin_lineage(
        connection,
        group.terms(connection),
        Model(chosen.model.theta),
        reason="rollback",
        now=now,
        parent=(lineage, number),
    )
    rounds.open_next(connection, vault, policy.schedule, now=now)
    return begun
