"""A member leaves, or leaves and is forgotten: its rows are erased, then its influence is unlearned.

Erasing is one transaction with the new lineage of models that begins without the member: nothing is half forgotten.
How the influence is taken out is the configured method (foltr.federated.unlearning):

    rollback     the last model before the member's first round; the group learns on from there. Exact.
    federaser    the same model, then one forgetting round for each kept round: members replay n' interactions, the
                 server gives their updates the old lengths (Eq. 6.1, 6.2). Approximate; progress is in the database.
    reaggregate  the same model, then the others' stored updates are added up again. Instant, approximate.

Where the stored updates do not suffice for the second or third, the first is done, and the receipt says so.

Lineages say how the common ranker of today came about, and where a member's influence on it began; the operator, too,
goes back to a model of the past by a new lineage that branches from it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

import msgspec
from sqlalchemy import Connection, delete, func, insert, select, update

from federation_server import enrolment, group, rounds
from federation_server.database import note_erasure
from federation_server.enrolment import member
from federation_server.group import GroupError
from federation_server.received import Received, norms, read_received
from federation_server.rounds import Policy, Round
from federation_server.settings import ForgettingSection
from federation_server.tables import forgettings, lineages, models, updates
from federation_server.vault import Vault
from foltr.arrays import FloatMatrix, FloatVector
from foltr.federated.joining import weights
from foltr.federated.method import Model
from foltr.federated.unlearning import calibrate_lengths, kept_rounds, reaggregate
from foltr.federated.wire import Receipt


def path_to(connection: Connection, lineage: int) -> tuple[int, ...]:
    """The lineages that lead to this one, the first of all first, itself last."""
    parents = {row.lineage: row.parent_lineage for row in connection.execute(select(lineages))}
    path = [lineage]
    while (parent := parents.get(path[-1])) is not None:
        path.append(parent)
    return tuple(reversed(path))


def last_before(connection: Connection, device: str) -> tuple[int, int] | None:
    """(lineage, round) of the newest model that the member cannot have influenced; None when it never took part.

    Where the member's first round lies on a branch that was given up, its influence on today's ranker can only have
    begun in a later lineage: the point where that one began is safe.
    """
    known = member(connection, device)
    if known is None or known.first_round is None or known.first_lineage is None:
        return None
    newest = int(connection.execute(select(func.max(lineages.c.lineage))).scalar_one())
    path = path_to(connection, newest)
    branches = {
        row.lineage: (row.parent_lineage, row.parent_round)
        for row in connection.execute(select(lineages).where(lineages.c.lineage.in_(path)))
    }
    for position, lineage in enumerate(path):
        follower = path[position + 1] if position + 1 < len(path) else None
        if lineage == known.first_lineage:
            inside = follower is None or known.first_round <= branches[follower][1]
            return (lineage, known.first_round - 1) if inside else branches[follower]
        if lineage > known.first_lineage:
            return branches[lineage] if branches[lineage][0] is not None else (lineage, 0)
    return path[-1], 0


def influence_of(connection: Connection, device: str) -> dict[int, int]:
    """By lineage the first round whose model the member may have influenced, on every branch; empty: on none.

    A lineage that began from such a model is influenced from its beginning; any other that is younger than the
    member's first round, from its own first round on.
    """
    known = member(connection, device)
    if known is None or known.first_round is None or known.first_lineage is None:
        return {}
    found = {known.first_lineage: known.first_round}
    later = select(lineages).where(lineages.c.lineage > known.first_lineage).order_by(lineages.c.lineage)
    for row in connection.execute(later):
        parent = found.get(row.parent_lineage)
        found[row.lineage] = 0 if parent is not None and row.parent_round >= parent else 1
    return found


APPROXIMATE = ("federaser", "reaggregate")


def farewell(
    connection: Connection,
    vault: Vault,
    policy: Policy,
    settings: ForgettingSection,
    device: str,
    *,
    forget: bool,
    now: int,
) -> Receipt:
    """End the membership; with `forget` erase the member and begin to unlearn it."""
    if not forget:
        enrolment.end_membership(connection, device, now=now)
        return _receipt(connection, "", "done", {}, "none", "the membership ended; nothing was erased", now)
    group.lock(connection)
    here = rounds.present(connection, lock=True)  # no update of the member may arrive behind the erasing
    touched = last_before(connection, device)
    kept = _rounds_to_replay(connection, settings, device, touched) if touched else ()
    learned_with = influence_of(connection, device)
    erased = enrolment.erase(connection, device)
    note_erasure(connection)
    if here is not None:
        rounds.recount(connection, here)
    request = secrets.token_hex(16)
    method = "none" if touched is None else _possible(connection, settings, touched, kept)
    connection.execute(
        insert(forgettings).values(
            request=request,
            asked=now,
            state="unlearning" if method == "federaser" else "done",
            method=method,
            erased=msgspec.json.encode(erased).decode(),
            from_lineage=touched[0] if touched else None,
            from_round=touched[1] if touched else None,
            done=None if method == "federaser" else now,
        )
    )
    if touched is not None:
        lineage = _new_lineage(connection, vault, policy, method, touched, kept, now=now)
        _erase_models(connection, learned_with)
        _follow(connection, request, lineage, len(kept) if method == "federaser" else 0)
    found = receipt(connection, request)
    if found is None:
        raise group.GroupError("the request to forget was not stored")
    return found


def _possible(
    connection: Connection, settings: ForgettingSection, touched: tuple[int, int], kept: Sequence[int]
) -> str:
    """The configured method, or rollback where what is stored does not suffice for it."""
    lineage, number = touched
    newest = group.newest(connection).record
    if settings.method == "rollback" or lineage != newest.lineage:
        return "rollback"
    if settings.method == "federaser":
        return "federaser" if kept else "rollback"
    count = select(func.count(func.distinct(updates.c.round))).where(
        updates.c.lineage == lineage, updates.c.round > number, updates.c.round <= newest.round
    )
    complete = connection.execute(count).scalar_one() == newest.round - number
    return "reaggregate" if complete else "rollback"


def _rounds_to_replay(
    connection: Connection, settings: ForgettingSection, device: str, touched: tuple[int, int]
) -> tuple[int, ...]:
    """The kept rounds since the member's first in which somebody else took part too."""
    newest = group.newest(connection).record
    others = select(updates.c.round).where(updates.c.lineage == touched[0], updates.c.device != device).distinct()
    stored = set(connection.execute(others).scalars())
    return tuple(r for r in kept_rounds(newest.round, settings.every) if r > touched[1] and r in stored)


def _new_lineage(
    connection: Connection,
    vault: Vault,
    policy: Policy,
    method: str,
    touched: tuple[int, int],
    kept: Sequence[int],
    *,
    now: int,
) -> int:
    """Abandon the open round and begin again without the member."""
    agreed = group.terms(connection)
    start = group.at(connection, *touched)
    if start is None:
        raise group.GroupError(f"the model of lineage {touched[0]}, round {touched[1]} is not stored")
    begin = Model(start.model.theta)
    if method == "reaggregate":
        others, joined_by = _others_rounds(connection, vault, policy, touched), group.method_of(agreed)
        added_up = reaggregate(joined_by.shared_part(begin), others, policy.joining)
        begin = replace(joined_by.whole(begin, added_up), round=0)
    abandon(connection, rounds.present(connection, lock=True), now=now)
    begun = group.begin_lineage(connection, agreed, begin, reason=f"forget: {method}", now=now, parent=touched)
    purpose: rounds.Purpose = "forget" if method == "federaser" else "learn"
    rounds.open_next(connection, vault, policy.schedule, now=now, purpose=purpose)
    if method == "federaser":
        group.set_fact(connection, f"replay {begun}", msgspec.json.encode((touched[0], list(kept))).decode())
    return begun


def _others_rounds(
    connection: Connection, vault: Vault, policy: Policy, touched: tuple[int, int]
) -> list[tuple[FloatMatrix, FloatVector]]:
    """The remaining devices' updates of all rounds after the member's first, and their weights."""
    method = group.method_of(group.terms(connection))
    found = []
    for number in range(touched[1] + 1, group.newest(connection).record.round + 1):
        start = group.at(connection, touched[0], number - 1)
        if start is not None:
            sent = read_received(connection, vault, method, touched[0], number)
            counts = weights(policy.joining, sent.n_interactions, equal=method.weighs_alike)
            found.append((sent.thetas - method.sent(start.model.theta), counts))
    return found


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


def _follow(connection: Connection, request: str, lineage: int, n_rounds: int) -> None:
    """The request, and older ones that are still under way, are done when this lineage has been through its rounds."""
    mine = (forgettings.c.request == request) | (forgettings.c.state == "unlearning")
    connection.execute(update(forgettings).where(mine).values(lineage=lineage, until_round=n_rounds))
    if not n_rounds:
        under_way = update(forgettings).where(forgettings.c.state == "unlearning")
        connection.execute(under_way.values(state="done", done=forgettings.c.asked))


def _erase_models(connection: Connection, learned_with: Mapping[int, int]) -> None:
    """Delete the models from these rounds of these lineages on, also of branches that were given up."""
    for lineage, number in learned_with.items():
        connection.execute(delete(models).where(models.c.lineage == lineage, models.c.round >= number))


def abandon(connection: Connection, here: Round | None, *, now: int) -> None:
    """End the open round without a model: its key is destroyed, and what devices sent for it is deleted."""
    if here is not None:
        rounds.end(connection, here, now=now, state="abandoned")
        connection.execute(delete(updates).where(updates.c.lineage == here.lineage, updates.c.round == here.number))


def receipt(connection: Connection, request: str) -> Receipt | None:
    """How far a request is, None when there is no such request."""
    row = connection.execute(select(forgettings).where(forgettings.c.request == request)).first()
    if row is None:
        return None
    erased = msgspec.json.decode(row.erased, type=dict[str, int])
    progress = "done" if row.state == "done" else _progress(connection, row.lineage, row.until_round)
    return _receipt(connection, request, row.state, erased, row.method, progress, row.done or row.asked)


def _progress(connection: Connection, lineage: int, n_rounds: int) -> str:
    newest = group.newest(connection).record
    finished = newest.round if newest.lineage == lineage else 0
    return f"{finished} of {n_rounds} rounds"


def _receipt(
    connection: Connection, request: str, state: str, erased: dict[str, int], method: str, progress: str, now: int
) -> Receipt:
    return Receipt(
        group_id=group.terms(connection).group_id,
        request=request,
        state=state,  # type: ignore[arg-type]
        erased=erased,
        method=method,  # type: ignore[arg-type]
        approximate=method in APPROXIMATE,
        progress=progress,
        time=now,
    )


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
