"""A member leaves, or leaves and is forgotten: its rows are erased, then its influence is unlearned.

Erasing is one transaction with the new lineage of models that begins without the member: nothing is half forgotten. Its
tombstone is on disk first, so that no restore brings it back (`tombstones`). How the influence is taken out is the
configured method (foltr.federated.unlearning), or one that the operator asks for:

    reaggregate  from the last model before the member's first round, the others' stored updates are added up again,
                 round by round (`readding`). Instant, approximate; nobody else loses anything.
    noise        the ranker stays: by the group's own privacy mechanism nobody can tell from it whether the member took
                 part, better than its epsilon allows. Rows are erased, and no later round holds the member.
    rollback     the last model before the member's first round; the group learns on from there. Exact. The others'
                 rounds since are lost, and what they spent on them stays spent.
    federaser    the same model, then one forgetting round for each kept round: members replay n' interactions, the
                 server gives their updates the old lengths (Eq. 6.1, 6.2). Approximate; the others pay for these rounds
                 from their own budgets; progress is in the database.

A note that a committee is adding up stays until its round is over: without it the others' notes would be lost. So the
member ends at once, with its tombstone on disk, and the rest follows that round; the receipt says so.

Where what is stored does not suffice for the first or the last, "noise" is used, and the receipt says so; in a group
without a mechanism that covers a member it is "rollback". A group whose updates the server cannot open has "noise" too.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from federation_server.database import note_erasure
from federation_server.forgetting import readding, tombstones
from federation_server.forgetting.tombstones import Tombstone, TombstoneFile, hash_of_member
from federation_server.group import enrolment, group, roster_book
from federation_server.refusals import Refused
from federation_server.rounds import rounds
from federation_server.rounds.rounds import Policy, Round, of_round
from federation_server.sealed import summing
from federation_server.settings import ForgettingSection
from federation_server.tables import facts, forgettings, models, updates
from federation_server.tables import rounds as rounds_table
from federation_server.vault import Vault
from foltr.federated.journal import request_hash
from foltr.federated.method import Model
from foltr.federated.unlearning import kept_rounds
from foltr.federated.wire import JournalEntry, Receipt, Terms
from foltr.privacy.mechanisms import Gaussian, Laplace

APPROXIMATE = ("noise", "federaser", "reaggregate")
KEEPS_RANKER = ("none", "noise")
"""methods that leave the models as they are"""


WAITS = "waits "
"""before a request's name: the fact with pseudonym and tombstone of a member that waits for a round's end"""
PROGRESS = {
    "done": "done",
    "waiting": "the membership ended; all else follows the round that is being added up with it",
}


class Forgetter(msgspec.Struct, frozen=True):
    """What forgetting takes."""

    vault: Vault
    policy: Policy
    settings: ForgettingSection
    file: TombstoneFile


def leave(connection: Connection, device: str, *, now: int) -> Receipt:
    """End the membership; what the member sent stays."""
    enrolment.end_membership(connection, device, now=now)
    return Receipt(
        group_id=group.terms(connection).group_id, request="", state="done", erased={}, method="none",
        approximate=False, progress="the membership ended; nothing was erased", time=now,
    )  # fmt: skip


def forget(connection: Connection, forgetter: Forgetter, device: str, *, now: int) -> Receipt:
    """Erase the member and unlearn it, or begin to."""
    group.lock(connection)
    promised = _without_updates(group.terms(connection), forgetter.settings)
    asked = msgspec.structs.replace(_asked(connection, device, now=now), method=promised)
    return _forget(connection, forgetter, _Request(device, asked, readding.first_place(connection, device)), now=now)


def remove(connection: Connection, forgetter: Forgetter, device: str, *, now: int) -> Receipt:
    """Erase a member's rows and nothing else, as those of a device that came back under another name."""
    group.lock(connection)
    return _forget(connection, forgetter, _Request(device, _asked(connection, device, now=now), None), now=now)


def _asked(connection: Connection, device: str, *, now: int) -> Tombstone:
    """The tombstone of the request that waits already, as asking twice makes one, or of a new one."""
    fresh = Tombstone(hash_of_member(device), None, None, "none", secrets.token_hex(16), now)
    return dict(_waiting(connection)).get(device, fresh)


def forget_again(connection: Connection, forgetter: Forgetter, *, now: int) -> int:
    """Erase members that tombstones name and this database has, after a restore or a crash before a commit; how many.

    By the method used then or, where what is stored no longer suffices, by going back, because the receipt said that
    the influence is gone.
    """
    found = {hash_of_member(member.device): member.device for member in enrolment.all_members(connection)}
    owed = tombstones.missing(connection, forgetter.file.read())
    for stone in owed:
        _forget_again(connection, forgetter, found.get(stone.member, ""), stone, now=now)
    return len(owed)


def forget_waiting(connection: Connection, forgetter: Forgetter, *, now: int) -> int:
    """Erase those who asked while their note was being added up, once that round is over; how many."""
    group.lock(connection)
    owed = are_owed(connection)
    for device, stone in owed:
        _forget_again(connection, forgetter, device, stone, now=now)
    return len(owed)


def are_owed(connection: Connection) -> list[tuple[str, Tombstone]]:
    """Who waited for a round that is over, by pseudonym."""
    here = rounds.present(connection)
    return [one for one in _waiting(connection) if not summing.lists_member(connection, here, one[0])]


def _waiting(connection: Connection) -> list[tuple[str, Tombstone]]:
    query = select(facts.c.value).where(facts.c.name.startswith(WAITS))
    return [msgspec.json.decode(value, type=tuple[str, Tombstone]) for value in connection.execute(query).scalars()]


def _forget_again(connection: Connection, forgetter: Forgetter, device: str, stone: Tombstone, *, now: int) -> None:
    first = None if stone.method == "none" else readding.first_place(connection, device)
    method = "noise" if stone.method in KEEPS_RANKER else stone.method
    again = msgspec.structs.replace(forgetter, settings=msgspec.structs.replace(forgetter.settings, method=method))
    _forget(connection, again, _Request(device, stone, first, is_promised=True), now=now)


def _wait(connection: Connection, forgetter: Forgetter, device: str, stone: Tombstone, *, now: int) -> Receipt:
    """End the membership for good, and owe the rest until the round is over."""
    enrolment.end_membership(connection, device, now=now)
    if stone not in forgetter.file.read():
        forgetter.file.append(stone)
    group.set_fact(connection, WAITS + stone.request, msgspec.json.encode((device, stone)).decode())
    connection.execute(delete(forgettings).where(forgettings.c.request == stone.request))
    row = {"request": stone.request, "asked": stone.time, "state": "waiting", "method": stone.method, "erased": "{}"}
    connection.execute(insert(forgettings).values(**row))
    return receipt(connection, stone.request)


class _Request(msgspec.Struct, frozen=True):
    """To forget one member."""

    device: str
    stone: Tombstone
    first: readding.Place | None
    """where the member's influence began; None for none to take out"""
    is_promised: bool = False
    """whether its tombstone is of a receipt that was given before"""


def _forget(connection: Connection, forgetter: Forgetter, asked: _Request, *, now: int) -> Receipt:
    """One request, under the group's lock."""
    device, stone, first = asked.device, asked.stone, asked.first
    here = rounds.present(connection, lock=True)  # no update of the member may arrive behind the erasing
    if summing.lists_member(connection, here, device):
        return _wait(connection, forgetter, device, stone, now=now)
    connection.execute(delete(facts).where(facts.c.name == WAITS + stone.request))
    touched = readding.last_before(connection, first) if first else None
    kept = _rounds_to_replay(connection, forgetter.settings, device, touched) if touched else ()
    learned_with = readding.influence_of(connection, first) if first else {}
    erased = enrolment.erase(connection, device)
    note_erasure(connection)
    if here is not None and not rounds.recount(connection, here):
        roster_book.follow(connection)
    method = _possible(connection, forgetter.settings, touched, kept, again=asked.is_promised) if touched else "none"
    if not asked.is_promised:
        lineage, number = first or (None, None)
        stone = Tombstone(stone.member, lineage, number, method, stone.request, now)
    tombstones.note(connection, forgetter.file, stone)
    _write_request(connection, stone.request, method, erased, now=now)
    _erase_traces(connection, learned_with)
    if touched is not None and method not in KEEPS_RANKER:
        begun = _new_lineage(connection, forgetter, method, touched, kept, now=now)
        _erase_models(connection, learned_with)
        _follow(connection, stone.request, begun, len(kept) if method == "federaser" else 0)
    return receipt(connection, stone.request)


def _write_request(connection: Connection, request: str, method: str, erased: Mapping[str, int], *, now: int) -> None:
    """The request's row, and its entry in the journal."""
    entry = JournalEntry(kind="receipt", time=now, request=request_hash(request), method=method)
    position, _ = group.write_in_journal(connection, entry)
    connection.execute(delete(forgettings).where(forgettings.c.request == request))
    connection.execute(
        insert(forgettings).values(
            request=request,
            asked=now,
            state="unlearning" if method == "federaser" else "done",
            method=method,
            erased=msgspec.json.encode(erased).decode(),
            position=position,
            done=None if method == "federaser" else now,
        )
    )


def _possible(
    connection: Connection, settings: ForgettingSection, touched: readding.Place, kept: Sequence[int], *, again: bool
) -> str:
    """The wanted method, or what stands in for it where what is stored does not suffice.

    `again`: a receipt has promised it before, so that only going back is as good.
    """
    agreed, newest, here = group.terms(connection), group.newest(connection).record, rounds.present(connection)
    instead = "noise" if covers(agreed) and not again else "rollback"
    if settings.method == "federaser" and agreed.mode == "open":
        return "federaser" if kept and touched[0] == newest.lineage else instead
    if settings.method in ("reaggregate", "by-mode") and agreed.mode == "open":
        learns = here is None or here.purpose == "learn"
        return "reaggregate" if learns and readding.can_re_add(connection, touched) else instead
    return _without_updates(agreed, settings)


def _without_updates(agreed: Terms, settings: ForgettingSection) -> str:
    """The method of a group whose server has only sums."""
    return "noise" if covers(agreed) and settings.method != "rollback" else "rollback"


def covers(agreed: Terms) -> bool:
    """Whether the group's noise hides each member in every ranker that was made of its updates."""
    return isinstance(group.method_of(agreed).privacy, Gaussian | Laplace)


def _rounds_to_replay(
    connection: Connection, settings: ForgettingSection, device: str, touched: readding.Place
) -> tuple[int, ...]:
    """The kept rounds since the member's first in which somebody else took part too."""
    newest = group.newest(connection).record
    others = select(updates.c.round).where(updates.c.lineage == touched[0], updates.c.device != device).distinct()
    stored = set(connection.execute(others).scalars())
    return tuple(r for r in kept_rounds(newest.round, settings.every) if r > touched[1] and r in stored)


def _new_lineage(
    connection: Connection, forgetter: Forgetter, method: str, touched: readding.Place, kept: Sequence[int], *, now: int
) -> int:
    """Begin again without the member; what waits in the open round goes on where it can."""
    agreed, here = group.terms(connection), rounds.present(connection, lock=True)
    if method == "reaggregate":
        before = group.newest(connection).model.theta
        begun = readding.re_add(connection, forgetter.vault, forgetter.policy, agreed, touched, now=now)
        rounds.open_next(connection, forgetter.vault, forgetter.policy.schedule, now=now)
        if here is not None:
            readding.carry_waiting(connection, forgetter.vault, agreed, here, before)
        abandon(connection, here, now=now)
        return begun
    start = group.at(connection, *touched)
    if start is None:
        raise group.GroupError(f"the model of lineage {touched[0]}, round {touched[1]} is not stored")
    abandon(connection, here, now=now)
    begin = Model(start.model.theta, noise=start.model.noise)
    begun = group.begin_lineage(connection, agreed, begin, reason=f"forget: {method}", now=now, parent=touched)
    purpose: rounds.Purpose = "forget" if method == "federaser" else "learn"
    rounds.open_next(connection, forgetter.vault, forgetter.policy.schedule, now=now, purpose=purpose)
    if method == "federaser":
        group.set_fact(connection, f"replay {begun}", msgspec.json.encode((touched[0], list(kept))).decode())
    return begun


def _follow(connection: Connection, request: str, lineage: int, n_rounds: int) -> None:
    """The request, and older ones that are still under way, are done when this lineage has been through its rounds."""
    mine = (forgettings.c.request == request) | (forgettings.c.state == "unlearning")
    connection.execute(update(forgettings).where(mine).values(lineage=lineage, until_round=n_rounds))
    if not n_rounds:
        end_unlearning(connection)


def end_unlearning(connection: Connection) -> None:
    """No forgetting round comes any more, and the ranker has nothing of those who asked."""
    under_way = update(forgettings).where(forgettings.c.state == "unlearning")
    connection.execute(under_way.values(state="done", done=forgettings.c.asked))


def _erase_models(connection: Connection, learned_with: Mapping[int, int]) -> None:
    """Delete the models from these rounds of these lineages on, also of branches that were given up."""
    for lineage, number in learned_with.items():
        connection.execute(delete(models).where(models.c.lineage == lineage, models.c.round >= number))


def _erase_traces(connection: Connection, learned_with: Mapping[int, int]) -> None:
    """Delete what closing these rounds said of the updates, and so of the member's: lengths, the guard's words."""
    for lineage, number in learned_with.items():
        chosen = update(rounds_table).where(rounds_table.c.lineage == lineage, rounds_table.c.round >= number)
        connection.execute(chosen.values(guard=None, verdict=None, update_norm=None, agreement=None))


def abandon(connection: Connection, here: Round | None, *, now: int) -> None:
    """End the open round without a model: its key is destroyed, and what devices sent for it is deleted."""
    if here is not None:
        rounds.end(connection, here, now=now, state="abandoned")
        roster_book.erase_bodies(connection)
        connection.execute(delete(updates).where(of_round(updates, here)))


def receipt(connection: Connection, request: str) -> Receipt:
    """How far a request is."""
    row = connection.execute(select(forgettings).where(forgettings.c.request == request)).first()
    if row is None:
        raise Refused("not-found", "no such request")
    progress = PROGRESS.get(row.state) or _progress(connection, row.lineage, row.until_round)
    return Receipt(
        group_id=group.terms(connection).group_id,
        request=request,
        state=row.state,
        erased=msgspec.json.decode(row.erased, type=dict[str, int]),
        method=row.method,
        approximate=row.method in APPROXIMATE,
        progress=progress,
        time=row.done or row.asked,
        position=row.position,
        chain=group.journal_hash(connection, row.position),
    )


def _progress(connection: Connection, lineage: int, n_rounds: int) -> str:
    newest = group.newest(connection).record
    finished = newest.round if newest.lineage == lineage else 0
    return f"{finished} of {n_rounds} rounds"


def roll_back(connection: Connection, vault: Vault, policy: Policy, lineage: int, number: int, *, now: int) -> int:
    """The new lineage's number; GroupError when that model is not stored. Later models stay, to go forward again."""
    group.lock(connection)
    chosen = group.at(connection, lineage, number)
    if chosen is None:
        raise group.GroupError(f"there is no model {lineage}.{number}; `foltr-server model` lists them")
    here = rounds.present(connection, lock=True)
    if here is not None and here.purpose == "forget":
        raise group.GroupError("a member is being forgotten; wait until `foltr-server forget` says that it is done")
    abandon(connection, here, now=now)
    begun = group.branch(connection, chosen, reason="rollback", now=now)
    rounds.open_next(connection, vault, policy.schedule, now=now)
    return begun
