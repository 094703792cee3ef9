"""What the guard remembers of each member: what it sent in all its rounds, added up (see foltr.federated.guard).

The sums outlive lineages: a bound on what noise can add up to knows nothing of rankers, and who was found out should
not be believed again because somebody else was forgotten. They go when the member leaves or is erased.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from sqlalchemy import Connection, delete, insert, select

from federation_server.group import group
from federation_server.tables import guarded
from federation_server.vault import Vault
from foltr.federated.guard.verdict import GuardState, RunningSums
from foltr.federated.wire import decode_vector, encode_vector


class _Alarm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The part of the guard's state that is about no member."""

    alert: bool = False
    calm: int = 0
    n_judged: int = 0


def alarm(connection: Connection) -> GuardState:
    """The guard's state without its sums."""
    stored = group.fact(connection, "guard")
    found = msgspec.json.decode(stored, type=_Alarm) if stored else _Alarm()
    return GuardState(found.alert, found.calm, found.n_judged)


def sums(connection: Connection, vault: Vault, devices: Sequence[str], n_sent: int) -> RunningSums:
    """Of these devices, in their order; zeros for whom the guard does not know."""
    found = RunningSums.none(len(devices), n_sent)
    place = {device: row for row, device in enumerate(devices)}
    for stored in connection.execute(select(guarded)):
        row = place.get(stored.device)
        if row is not None:
            vectors = decode_vector(vault.decrypt(bytes(stored.sums)), 2 * n_sent)
            found.n_rounds[row] = stored.n_rounds
            found.sent[row], found.counted[row] = vectors[:n_sent], vectors[n_sent:]
    return found


def keep(connection: Connection, vault: Vault, devices: Sequence[str], state: GuardState) -> None:
    """The state, and its sums where it has any: those of these devices."""
    told = _Alarm(state.alert, state.calm, state.n_judged)
    group.set_fact(connection, "guard", msgspec.json.encode(told).decode())
    found = state.sums
    if found is None:
        return
    for start in range(0, len(devices), AT_ONCE):
        chunk = devices[start : start + AT_ONCE]
        connection.execute(delete(guarded).where(guarded.c.device.in_(chunk)))
        connection.execute(insert(guarded), [
            {
                "device": device,
                "n_rounds": int(found.n_rounds[row]),
                "sums": vault.encrypt(encode_vector(np.concatenate([found.sent[row], found.counted[row]]))),
            }
            for row, device in enumerate(chunk, start)
        ])  # fmt: skip


AT_ONCE = 500
"""members in one statement: SQLite of old takes 999 values"""
