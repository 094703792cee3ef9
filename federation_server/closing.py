"""Closing a round: its updates become the next common ranker, in the caller's one transaction.

What the next ranker is, foltr.federated.joining says; here it meets the database.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import numpy as np
from sqlalchemy import Connection, update

from federation_server import forgetting, group, journal, rounds
from federation_server.received import agreement, read_received
from federation_server.rounds import Policy, Round
from federation_server.tables import members
from federation_server.vault import Vault
from foltr.federated.guard import GuardState
from foltr.federated.joining import join_what_is_left, weights
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


def _close(connection: Connection, vault: Vault, policy: Policy, agreed: Terms, here: Round, *, now: int) -> Closed:
    method = group.method_of(agreed)
    before = replace(group.newest(connection).model, guard=_guard_state(connection))
    start = method.shared_part(before)
    found = read_received(connection, vault, method, here.lineage, here.number)
    if here.purpose == "forget":
        found = forgetting.calibrate(connection, here, found, start.theta)
    counts = weights(policy.joining, found.n_interactions, equal=method.weighs_alike)
    joined = join_what_is_left(policy.joining, start, found.thetas, counts)
    group.publish(connection, agreed, here.lineage, method.whole(before, joined.model), now=now)
    verdict = joined.verdict
    alert, summary = (verdict.alert, verdict.summary) if verdict else (False, "too few updates to judge")
    report = {
        "rule": joined.rule,
        "guard": summary,
        "update_norm": float(np.linalg.norm(joined.delta)),
        "agreement": agreement(found.thetas - start.theta),
    }
    rounds.end(connection, here, now=now, state="closed", **report)
    group.set_fact(connection, "guard", msgspec.json.encode(joined.model.guard).decode())
    group.set_fact(connection, "rounds closed", str(int(group.fact(connection, "rounds closed") or 0) + 1))
    _note_participation(connection, found.devices, here, now=now)
    return Closed(here.lineage, here.number, len(found.devices), joined.rule, alert, summary)


def _guard_state(connection: Connection) -> GuardState:
    stored = group.fact(connection, "guard")
    return msgspec.json.decode(stored, type=GuardState) if stored else GuardState()


def _note_participation(connection: Connection, devices: tuple[str, ...], here: Round, *, now: int) -> None:
    """Remember in which rounds each member's influence is, for forgetting it; the journal tells the members."""
    journal.note_list(connection, here.lineage, here.number, devices, now=now)
    taking_part = members.c.device.in_(devices)
    first = update(members).where(taking_part, members.c.first_round.is_(None))
    connection.execute(first.values(first_lineage=here.lineage, first_round=here.number))
    connection.execute(update(members).where(taking_part).values(last_lineage=here.lineage, last_round=here.number))
