"""Closing a round of an open group: its updates become the next common ranker, in the caller's one transaction.

What the next ranker is, foltr.federated.joining says; here it meets the database. A sealed round, which has no single
updates, goes its own way (federation_server.sealed.summing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
from sqlalchemy import Connection, update

from federation_server.forgetting import forgetting
from federation_server.group import group
from federation_server.rounds import guard_memory, rounds
from federation_server.rounds.awaited import awaited
from federation_server.rounds.intake import Received, agreement, read_received
from federation_server.rounds.rounds import Closed, Policy, Round, note_participation
from federation_server.tables import updates
from federation_server.vault import Vault
from foltr.federated.fpdgd import FPDGD
from foltr.federated.joining import Joined, join_what_is_left, weights
from foltr.federated.method import Model
from foltr.federated.wire import Terms


def close_due(connection: Connection, vault: Vault, policy: Policy, *, now: int, asked: bool = False) -> Closed | None:
    """Close the open round if it is due and open the next; None when there was nothing to close.

    It is due when it is complete, or at its deadline, or when the operator has `asked`, with enough updates.
    Opens the first round of a new group, and gives a round whose deadline passed with too few updates a new one.
    Several servers may call this at once: the group is locked, one closes, the others find the next round.
    """
    here = rounds.to_close(connection, vault, policy.schedule, now=now)
    if here is None:
        return None
    agreed = group.terms(connection)
    if rounds.is_overdue(here, floor=agreed.floor, now=now):
        rounds.prolong(connection, here, policy.schedule, now=now)
    waits = awaited(connection, here, policy.schedule, floor=agreed.floor, now=now)
    if not (waits.is_complete or (waits.is_enough and (asked or now >= here.deadline))):
        return None
    closed = _close(connection, vault, policy, agreed, here, now=now)
    purpose = forgetting.next_purpose(connection, here, now=now)
    rounds.open_next(connection, vault, policy.schedule, now=now, purpose=purpose)
    return closed


def _close(connection: Connection, vault: Vault, policy: Policy, agreed: Terms, here: Round, *, now: int) -> Closed:
    method = group.method_of(agreed)
    before = group.newest(connection).model
    found = read_received(connection, vault, method, here.lineage, here.number)
    joined = _join(connection, vault, policy, method, here, found, method.shared_part(before))
    group.publish(connection, agreed, here.lineage, method.whole(before, joined.model), now=now)
    told = joined.verdict
    closed = Closed(
        lineage=here.lineage,
        round=here.number,
        n_updates=len(found.devices),
        rule=joined.rule,
        verdict="alert" if told.alert else "calm" if told.judged else "not judged",
        summary=told.summary,
        agreement=agreement(found.thetas - method.sent(before.theta)),
    )
    report = {
        "rule": closed.rule,
        "guard": closed.summary,
        "verdict": closed.verdict,
        "update_norm": float(np.linalg.norm(joined.delta)),
        "agreement": closed.agreement,
    }
    rounds.end(connection, here, now=now, state="closed", **report)
    guard_memory.keep(connection, vault, found.devices, joined.model.guard)
    _leave_out(connection, here, [found.devices[row] for row in told.left_out])
    note_participation(connection, found.devices, here, now=now)
    return closed


def _join(
    connection: Connection, vault: Vault, policy: Policy, method: FPDGD, here: Round, found: Received, start: Model
) -> Joined:
    """What arrived, joined from the shared part `start` of the round's model."""
    # Members agreed to the noise; a round that forgets has updates of other lengths than the noise gave them.
    noise = method.joining.noise if here.purpose == "learn" else None
    joining = msgspec.structs.replace(policy.joining, noise=noise)
    state = guard_memory.alarm(connection)
    if joining.guard and here.purpose == "learn":
        state = replace(state, sums=guard_memory.sums(connection, vault, found.devices, method.n_sent))
    if here.purpose == "forget":
        found = forgetting.calibrate(connection, here, found, start.theta)
    counts = weights(joining, found.n_interactions, equal=method.weighs_alike)
    return join_what_is_left(joining, replace(start, guard=state), found.thetas, counts)


def _leave_out(connection: Connection, here: Round, devices: Sequence[str]) -> None:
    """Mark what the guard did not let count, so that it does not count when updates are added up again."""
    for device in devices:
        key = (updates.c.lineage == here.lineage, updates.c.round == here.number, updates.c.device == device)
        connection.execute(update(updates).where(*key).values(left_out=1))
