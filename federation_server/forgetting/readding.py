"""Forgetting by adding up again: the others' stored updates, round by round, from the last model before the member.

Lineages of rankers are a tree, in which a member's influence begins at one place. Every round that is added up again
is published in a new lineage, and the updates it was made of are kept under it. So the next request finds what this one
found, and the group loses nothing but the member. The updates that wait in the open round go on to the next one:
nobody's noise was drawn in vain.

A payload holds the weights that a device arrived at. Kept under another model it is moved with it, so that the
difference, which is what the device said, stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import msgspec
import numpy as np
from sqlalchemy import Connection, delete, func, insert, select, update

from federation_server.group import group
from federation_server.group.enrolment import member
from federation_server.rounds import rounds
from federation_server.rounds.intake import Received, agreement, read_received
from federation_server.rounds.rounds import Policy, Round
from federation_server.tables import lineages, members, models, updates
from federation_server.tables import rounds as rounds_table
from federation_server.vault import Vault
from foltr.arrays import FloatVector
from foltr.federated.fpdgd import FPDGD, FPDGDMessage, encode_message
from foltr.federated.joining import Joined, noise_after, weights
from foltr.federated.unlearning import reaggregate
from foltr.federated.wire import Terms

Place = tuple[int, int]
"""(lineage, round)"""


def path_of_today(connection: Connection) -> dict[int, Place]:
    """The lineages that lead to the newest one, the first of all first, and which model each began from."""
    rows = connection.execute(select(lineages))
    began = {row.lineage: (row.parent_lineage, row.parent_round) for row in rows}
    path = [max(began)]
    while (parent := began[path[-1]][0]) is not None:
        path.append(parent)
    return {lineage: began[lineage] for lineage in reversed(path)}


def first_place(connection: Connection, device: str) -> Place | None:
    """The first round in which an update of the member was counted; None when it never took part."""
    known = member(connection, device)
    if known is None or known.first_round is None or known.first_lineage is None:
        return None
    return known.first_lineage, known.first_round


def last_before(connection: Connection, first: Place) -> Place:
    """The newest model that cannot have been influenced by a member that first took part at this place.

    Where that round lies on a branch that was given up, the member's influence on today's ranker can only have begun in
    a later lineage: the point where that one began is safe.
    """
    path = path_of_today(connection)
    begun = next((model for lineage, model in path.items() if lineage > first[0]), first)
    return (first[0], first[1] - 1) if first[0] in path and first[1] <= begun[1] else begun


def influence_of(connection: Connection, first: Place) -> dict[int, int]:
    """By lineage the first round whose model may be influenced from this place on, on every branch.

    A lineage that began from such a model is influenced from its beginning; any other that is younger than the place,
    from its own first round on.
    """
    found = {first[0]: first[1]}
    later = select(lineages).where(lineages.c.lineage > first[0]).order_by(lineages.c.lineage)
    for row in connection.execute(later):
        parent = found.get(row.parent_lineage)
        found[row.lineage] = 0 if parent is not None and row.parent_round >= parent else 1
    return found


def rounds_since(connection: Connection, place: Place) -> tuple[Place, ...]:
    """The rounds that led from the model of a place on today's path to the newest model, oldest first."""
    path = path_of_today(connection)
    newest = select(func.max(models.c.round)).where(models.c.lineage == max(path))
    ends = {**dict(path.values()), max(path): int(connection.execute(newest).scalar_one())}
    return tuple(
        (lineage, number)
        for lineage in path
        if lineage >= place[0]
        for number in range(place[1] + 1 if lineage == place[0] else 1, ends[lineage] + 1)
    )


class StoredRound(msgspec.Struct, frozen=True, eq=False):
    """What is left of one round."""

    place: Place
    found: Received
    start: FloatVector
    """[n_sent] the shared weights of the model that it began from"""


def can_re_add(connection: Connection, touched: Place) -> bool:
    """Whether all rounds since this model were ordinary ones, and all their updates are still stored."""
    for lineage, number in rounds_since(connection, touched):
        key = (rounds_table.c.lineage == lineage, rounds_table.c.round == number)
        row = connection.execute(select(rounds_table.c.purpose, rounds_table.c.n_updates).where(*key)).first()
        query = select(func.count()).where(updates.c.lineage == lineage, updates.c.round == number)
        if row is None or row.purpose != "learn" or row.n_updates != connection.execute(query).scalar_one():
            return False
    return True


def re_add(connection: Connection, vault: Vault, policy: Policy, agreed: Terms, touched: Place, *, now: int) -> int:
    """Begin a new lineage from the model `touched` with what is stored since; its number. See `can_re_add`."""
    group.step_by(connection, policy.joining.optimizer)
    method, start = group.method_of(agreed), group.at(connection, *touched)
    if start is None:
        raise group.GroupError(f"the model of lineage {touched[0]}, round {touched[1]} is not stored")
    stored = _stored(connection, vault, method, touched)
    before = path_of_today(connection)
    carried = sorted({*before, *(one for lineage in before for one in group.carried_by(connection, lineage))})
    begin = replace(start.model, round=0)
    begun = group.begin_lineage(connection, agreed, begin, reason="forget: reaggregate", now=now, parent=touched)
    group.set_fact(connection, f"carried {begun}", msgspec.json.encode(carried).decode())
    counts = [weights(policy.joining, one.found.n_interactions, equal=method.weighs_alike) for one in stored]
    deltas = [one.found.thetas - one.start for one in stored]
    model, part = begin, method.shared_part(begin)
    known = method.joining.noise is not None  # then the guard has said of each update whether it counts
    joining = msgspec.structs.replace(policy.joining, guard=policy.joining.guard and not known)
    again = reaggregate(part, list(zip(deltas, counts, strict=True)), joining)
    for one, joined, weighed in zip(stored, again, counts, strict=True):
        published = group.newest(connection).hash
        _move_round(connection, one, (begun, joined.model.round), published, joined)
        _move_updates(connection, vault, method, one, (begun, joined.model.round), method.sent(model.theta))
        noise = noise_after(method.joining.noise, model.noise, weighed)
        model = replace(method.whole(model, joined.model), noise=noise)
        group.publish(connection, agreed, begun, model, now=now)
        group.note_participants(connection, begun, joined.model.round, one.found.devices, now=now)
    return begun


def carry_waiting(connection: Connection, vault: Vault, agreed: Terms, old: Round, start: FloatVector) -> None:
    """Bring what waits in a round that is given up into the open one; it began from theta `start` `[n_params]`."""
    here = rounds.present(connection, lock=True)
    if here is None or (here.lineage, here.number) == (old.lineage, old.number):
        return
    method, place = group.method_of(agreed), (old.lineage, old.number)
    waiting = StoredRound(place, read_received(connection, vault, method, *place), method.sent(start))
    after = method.sent(group.newest(connection).model.theta)
    _move_updates(connection, vault, method, waiting, (here.lineage, here.number), after)
    rounds.recount(connection, here)


def _stored(connection: Connection, vault: Vault, method: FPDGD, touched: Place) -> list[StoredRound]:
    found = []
    for place in rounds_since(connection, touched):
        begun = group.at(connection, place[0], place[1] - 1)
        if begun is None:
            raise group.GroupError(f"the model before round {place[1]} of lineage {place[0]} is not stored")
        found.append(
            StoredRound(place, read_received(connection, vault, method, *place), method.sent(begun.model.theta))
        )
    return found


def _move_round(connection: Connection, one: StoredRound, new: Place, model_hash: str, joined: Joined) -> None:
    """The round's row under its new name, with what joining it again came to; whoever first took part in it follows."""
    old, agreed_by = one.place, agreement(one.found.thetas - one.start)
    key = (rounds_table.c.lineage == old[0], rounds_table.c.round == old[1])
    row = connection.execute(select(rounds_table).where(*key)).one()
    changed = {
        "lineage": new[0], "round": new[1], "model_hash": model_hash, "rule": joined.rule,
        "guard": "added up again without a member", "verdict": "not judged",
        "update_norm": float(np.linalg.norm(joined.delta)), "agreement": agreed_by,
    }  # fmt: skip
    connection.execute(insert(rounds_table).values(**{**row._mapping, **changed}))
    for lineage, number in (("first_lineage", "first_round"), ("last_lineage", "last_round")):
        there = (members.c[lineage] == old[0], members.c[number] == old[1])
        connection.execute(update(members).where(*there).values({lineage: new[0], number: new[1]}))


def _move_updates(
    connection: Connection, vault: Vault, method: FPDGD, one: StoredRound, new: Place, start: FloatVector
) -> None:
    """Keep the round's updates under another place, as differences from the shared weights `[n_sent]` there.

    What the guard left out stays marked so; its count says nothing.
    """
    old = (updates.c.lineage == one.place[0], updates.c.round == one.place[1])
    moved: Iterable[FloatVector] = one.found.thetas - one.start + start
    for device, theta, count in zip(one.found.devices, moved, one.found.n_interactions, strict=True):
        payload = vault.encrypt(encode_message(method, FPDGDMessage(theta, max(int(count), 1))))
        chosen = update(updates).where(*old, updates.c.device == device)
        connection.execute(chosen.values(lineage=new[0], round=new[1], payload=payload))
    key = (rounds_table.c.lineage == one.place[0], rounds_table.c.round == one.place[1])
    connection.execute(delete(rounds_table).where(*key, rounds_table.c.state == "closed"))
