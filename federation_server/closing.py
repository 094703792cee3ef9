"""Closing a round: its updates become the next common ranker, in the caller's one transaction.

    delta = rule(theta_c - theta_t)  over the devices c;    theta_{t+1} = optimiser(theta_t, delta)

With rule "mean", weights n_c and optimiser "sgd" of rate 1 this is FedAvg (thesis Eq. 3.16 and 6.1).
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import numpy as np
from sqlalchemy import Connection, update

from federation_server import forgetting, group, rounds
from federation_server.policy import Policy, combined, malicious, weights
from federation_server.received import received
from federation_server.rounds import Round
from federation_server.tables import members
from federation_server.vault import Vault
from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.guard import Guard, GuardState, Verdict, guarded
from foltr.federated.method import Model
from foltr.federated.wire import Terms


@dataclass(frozen=True, slots=True)
class Closed:
    """A round that is over, for the log and the counters."""

    lineage: int
    round: int
    n_updates: int
    rule: str
    alert: bool
    summary: str
    """the guard's sentence"""


def close_due(connection: Connection, vault: Vault, policy: Policy, *, now: int) -> Closed | None:
    """Close the open round if it is due and open the next; None when there was nothing to close.

    Opens the first round of a new group, and gives a round whose deadline passed with too few updates a new one.
    Several servers may call this at once: the group is locked, one closes, the others find the next round.
    """
    if not group.lock(connection):
        return None
    here = rounds.present(connection, lock=True)
    if here is None:
        rounds.open_next(connection, vault, policy.schedule, now=now)
        return None
    agreed = group.terms(connection)
    if rounds.is_overdue(here, floor=agreed.floor, now=now):
        rounds.prolong(connection, here, policy.schedule, now=now)
    if not rounds.is_due(here, policy.schedule, floor=agreed.floor, now=now):
        return None
    closed = _close(connection, vault, policy, agreed, here, now=now)
    purpose = forgetting.next_purpose(connection, here, now=now)
    rounds.open_next(connection, vault, policy.schedule, now=now, purpose=purpose)
    return closed


def joined(
    policy: Policy, state: GuardState, deltas: FloatMatrix, counts: FloatVector
) -> tuple[FloatVector, GuardState, Verdict | None]:
    """One vector `[n_params]` from all updates: by the configured rule, or by the guard's while it is alert."""
    bad = malicious(policy, len(deltas))
    if not len(deltas):
        return np.zeros(deltas.shape[1]), state, None
    if not policy.guard or bad < 1 or len(deltas) < max(5, 2 * bad + 3):
        return combined(policy, deltas, counts), state, None
    guard = Guard(n_malicious=bad, peace=policy.rule)
    return guarded(guard, state, deltas, weights=counts)


def _close(connection: Connection, vault: Vault, policy: Policy, agreed: Terms, here: Round, *, now: int) -> Closed:
    method, start = group.method_of(agreed), group.newest(connection).model
    found = received(connection, vault, method, here.lineage, here.number, start.theta)
    if here.purpose == "forget":
        found = forgetting.calibrate(connection, here, found)
    counts = weights(method, found.messages, largest=policy.largest_weight)
    delta, state, verdict = joined(policy, _guard_state(connection), found.deltas, counts)
    theta, moments = policy.optimizer.step(start.theta, delta, start.moments)
    group.publish(connection, agreed, here.lineage, Model(theta, here.number, moments), now=now)
    alert, summary = (verdict.alert, verdict.summary) if verdict else (False, "too few updates to judge")
    rule = "guard" if alert else str(type(policy.rule).__struct_config__.tag)
    report = {
        "rule": rule,
        "guard": summary,
        "update_norm": float(np.linalg.norm(delta)),
        "agreement": agreement(found.deltas),
    }
    rounds.end(connection, here, now=now, state="closed", **report)
    group.set_fact(connection, "guard", msgspec.json.encode(state).decode())
    group.set_fact(connection, "rounds closed", str(int(group.fact(connection, "rounds closed") or 0) + 1))
    _note_participation(connection, found.devices, here)
    return Closed(here.lineage, here.number, len(found.devices), rule, alert, summary)


def agreement(deltas: FloatMatrix) -> float:
    """||mean of the unit vectors||: 1 when all updates point the same way, about 1/sqrt(n) when they do by chance."""
    norms = np.linalg.norm(deltas, axis=1, keepdims=True)
    return float(np.linalg.norm((deltas / np.where(norms > 0, norms, 1.0)).mean(axis=0)))


def _guard_state(connection: Connection) -> GuardState:
    stored = group.fact(connection, "guard")
    return msgspec.json.decode(stored, type=GuardState) if stored else GuardState()


def _note_participation(connection: Connection, devices: tuple[str, ...], here: Round) -> None:
    """Remember in which rounds each member's influence is, for forgetting it."""
    taking_part = members.c.device.in_(devices)
    first = update(members).where(taking_part, members.c.first_round.is_(None))
    connection.execute(first.values(first_lineage=here.lineage, first_round=here.number))
    connection.execute(update(members).where(taking_part).values(last_round=here.number))
