"""Closing a round of an open group: its updates become the next common ranker, in the caller's one transaction.

What the next ranker is, foltr.federated.joining says; here it meets the database. A sealed round, which has no single
updates, goes its own way (federation_server.sealed.summing).

The guard remembers what each member sent in all its rounds, added up (foltr.federated.guard). These sums outlive
lineages: a bound on what noise can add up to does not depend on rankers, and a member that was found out should not be
believed again because somebody else was forgotten. They go when the member leaves or is erased.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
import numpy as np
from sqlalchemy import Connection, delete, insert, select, update

from federation_server.group import group
from federation_server.rounds import rounds
from federation_server.rounds.intake import Received, agreement, norms, read_received
from federation_server.rounds.round_progress import awaited
from federation_server.rounds.rounds import Closed, Policy, Round, note_participation, of_round
from federation_server.tables import forgettings, guarded, updates
from federation_server.vault import Vault
from foltr.arrays import FloatVector
from foltr.federated.fpdgd import FPDGD
from foltr.federated.guard import GuardState, RunningSums
from foltr.federated.joining import Joined, join_what_is_left, weights
from foltr.federated.method import Model
from foltr.federated.unlearning import calibrate_lengths
from foltr.federated.wire import Terms, decode_vector, encode_vector


class _Alarm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The part of the guard's state that is about no member."""

    alert: bool = False
    calm: int = 0
    n_judged: int = 0


def guard_state(connection: Connection) -> GuardState:
    """The guard's state without its sums."""
    stored = group.fact(connection, "guard")
    found = msgspec.json.decode(stored, type=_Alarm) if stored else _Alarm()
    return GuardState(found.alert, found.calm, found.n_judged)


def guard_sums(connection: Connection, vault: Vault, devices: Sequence[str], n_sent: int) -> RunningSums:
    """The sums of these devices, in their order; zeros for those that the guard does not know."""
    found = RunningSums.none(len(devices), n_sent)
    place = {device: row for row, device in enumerate(devices)}
    for stored in connection.execute(select(guarded)):
        row = place.get(stored.device)
        if row is not None:
            vectors = decode_vector(vault.decrypt(bytes(stored.sums)), 2 * n_sent)
            found.n_rounds[row] = stored.n_rounds
            found.sent[row], found.counted[row] = vectors[:n_sent], vectors[n_sent:]
    return found


def keep_guard_state(connection: Connection, vault: Vault, devices: Sequence[str], state: GuardState) -> None:
    """The state, and its sums where it has any: those of these devices."""
    told = _Alarm(state.alert, state.calm, state.n_judged)
    group.set_fact(connection, "guard", msgspec.json.encode(told).decode())
    found = state.sums
    if found is None:
        return
    connection.execute(delete(guarded).where(guarded.c.device.in_(devices)))
    connection.execute(insert(guarded), [
        {
            "device": device,
            "n_rounds": int(found.n_rounds[row]),
            "sums": vault.encrypt(encode_vector(np.concatenate([found.sent[row], found.counted[row]]))),
        }
        for row, device in enumerate(devices)
    ])  # fmt: skip


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
    if now >= here.deadline and here.n_updates < max(agreed.floor, 1):
        rounds.prolong(connection, here, policy.schedule, now=now)
    waits = awaited(connection, here, policy.schedule, floor=agreed.floor, now=now)
    if not (waits.is_complete or (waits.is_enough and (asked or now >= here.deadline))):
        return None
    closed = _close(connection, vault, policy, agreed, here, now=now)
    purpose = next_purpose(connection, here, now=now)
    rounds.open_next(connection, vault, policy.schedule, now=now, purpose=purpose)
    return closed


def _close(connection: Connection, vault: Vault, policy: Policy, agreed: Terms, here: Round, *, now: int) -> Closed:
    method = group.method_of(agreed)
    group.step_by(connection, policy.joining.optimizer)
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
    rounds.end(
        connection, here, now=now, state="closed", rule=closed.rule, guard=closed.summary, verdict=closed.verdict,
        update_norm=float(np.linalg.norm(joined.delta)), agreement=closed.agreement,
    )  # fmt: skip
    keep_guard_state(connection, vault, found.devices, joined.model.guard)
    left_out = [found.devices[row] for row in told.left_out]  # nor do they count when all are added up again
    theirs = update(updates).where(of_round(updates, here), updates.c.device.in_(left_out))
    connection.execute(theirs.values(left_out=1))
    note_participation(connection, found.devices, here, now=now)
    return closed


def _join(
    connection: Connection, vault: Vault, policy: Policy, method: FPDGD, here: Round, found: Received, start: Model
) -> Joined:
    """What arrived, joined from the shared part `start` of the round's model."""
    # Members agreed to the noise; a round that forgets has updates of other lengths than the noise gave them.
    noise = method.joining.noise if here.purpose == "learn" else None
    joining = msgspec.structs.replace(policy.joining, noise=noise)
    state = guard_state(connection)
    if joining.guard and here.purpose == "learn":
        state = msgspec.structs.replace(state, sums=guard_sums(connection, vault, found.devices, method.n_sent))
    if here.purpose == "forget":
        found = calibrate(connection, here, found, start.theta)
    counts = weights(joining, found.n_interactions, equal=method.weighs_alike)
    return join_what_is_left(joining, replace(start, guard=state), found.thetas, counts)


def calibrate(connection: Connection, here: Round, found: Received, start: FloatVector) -> Received:
    """What a forgetting round adds up: fresh updates of `start` `[n_sent]` at their old lengths, if any (Eq. 6.2)."""
    lineage, kept = _replay(connection, here.lineage)
    old = norms(connection, lineage, kept[here.number - 1])
    able = found.only(set(old))
    lengths = [old[device] for device in able.devices]
    return Received(able.devices, start + calibrate_lengths(able.thetas - start, lengths), able.n_interactions)


def next_purpose(connection: Connection, here: Round, *, now: int) -> rounds.Purpose:
    """Whether the round after `here` forgets on or learns again; marks requests that are done."""
    if here.purpose == "learn":
        return "learn"
    if here.number < len(_replay(connection, here.lineage)[1]):
        return "forget"
    waiting = update(forgettings).where(forgettings.c.lineage == here.lineage, forgettings.c.state == "unlearning")
    connection.execute(waiting.values(state="done", done=now))
    return "learn"


def _replay(connection: Connection, lineage: int) -> tuple[int, list[int]]:
    """The lineage whose kept rounds a forgetting lineage replays, and which rounds those are."""
    stored = group.fact(connection, f"replay {lineage}")
    if stored is None:
        raise group.GroupError(f"lineage {lineage} does not say what it replays")
    return msgspec.json.decode(stored, type=tuple[int, list[int]])
