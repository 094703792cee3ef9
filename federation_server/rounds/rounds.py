"""A round: open -> closed by quorum or deadline. Late, missing and dropped devices are normal.

Every function takes a connection inside a transaction of the caller's. Aggregating, publishing the next model, ending
the round (which destroys its key) and opening the next one belong in one transaction: a crash leaves all or nothing.
The policy says when this server closes a round and how it joins it; foltr.federated.joining does that.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Table, and_, bindparam, delete, func, insert, select, update

from federation_server.group import group, roster_book
from federation_server.settings import ServerSettings
from federation_server.tables import answers, lists, members, named, noises, rounds, shares, updates
from federation_server.vault import Vault
from foltr.federated.envelope import box_public, new_box_key
from foltr.federated.joining import Joining
from foltr.federated.wire import Announcement, Terms

Purpose = Literal["learn", "forget"]
Phase = Literal["collect", "sum"]
DAY = 86_400
_PRESENT = select(rounds).where(rounds.c.state == "open")
_PRESENT = _PRESENT.order_by(rounds.c.lineage.desc(), rounds.c.round.desc()).limit(1)


class Schedule(Struct, frozen=True):
    """When a round closes."""

    quorum: int
    """updates that close it at once; 0: when every active member has answered (round_progress)"""
    seconds: int
    """until its deadline, when it closes with what there is, if that is at least the terms' floor"""
    sum_seconds: int = 86_400
    """that a sealed round's committee has to answer, all of it, before its threshold suffices"""


class Round(Struct, frozen=True, eq=False):
    """The row of a round, its private key still encrypted."""

    lineage: int
    number: int
    purpose: Purpose
    opened: int
    deadline: int
    public_key: bytes
    sealed_key: bytes | None
    model_hash: str
    n_updates: int
    phase: Phase = "collect"
    roster_number: int = 0
    roster_head: str = ""
    """by which roster a sealed round goes; 0 and "" in an open one"""

    @property
    def place(self) -> dict[str, int]:
        """Its key in every table: what a statement of `of_a_round` is executed with."""
        return {"lineage": self.lineage, "round": self.number}


def rest_until(connection: Connection, agreed: Terms, *, now: int) -> int:
    """When the group may open its next learning round, in seconds since 1970; 0 for now.

    A device's privacy budget is for a period: a group that went on past its rounds would only be told so by its
    members. Rounds are counted where they closed, whatever lineage they are in: a new lineage gives none of them back.
    Rounds that forget, and those that were given up, are not among them.
    """
    if not agreed.n_rounds:
        return 0
    learned = (rounds.c.state == "closed", rounds.c.purpose == "learn")
    query = select(rounds.c.closed).where(*learned).order_by(rounds.c.closed.desc())
    nth = connection.execute(query.offset(agreed.n_rounds - 1).limit(1)).scalar_one_or_none()
    ends = 0 if nth is None else int(nth) + agreed.period_days * DAY
    return ends if ends > now else 0


def open_next(
    connection: Connection, vault: Vault, schedule: Schedule, *, now: int, purpose: Purpose = "learn"
) -> Round | None:
    """Open the round that follows the newest model, with a key of its own; None while the group rests."""
    if purpose == "learn" and rest_until(connection, group.terms(connection), now=now):
        return None
    start = group.newest(connection)
    private = new_box_key()
    number, head = (0, "") if group.terms(connection).mode == "open" else roster_book.end(connection)
    fresh = insert(rounds).values(
        lineage=start.record.lineage,
        round=start.record.round + 1,
        purpose=purpose,
        state="open",
        opened=now,
        deadline=now + schedule.seconds,
        public_key=box_public(private),
        private_key=vault.encrypt(private),
        model_hash=start.hash,
        n_updates=0,
        roster_number=number,
        roster_head=head,
    )
    return _round(connection.execute(fresh.returning(rounds)).one())


def present(connection: Connection, *, lock: bool = False) -> Round | None:
    """The open round, None before the first start; with `lock` no other transaction may close it meanwhile."""
    row = connection.execute(_PRESENT.with_for_update() if lock else _PRESENT).first()
    return _round(row) if row is not None else None


def to_close(connection: Connection, vault: Vault, schedule: Schedule, *, now: int) -> Round | None:
    """The open round, which nobody else closes meanwhile; where there is none, one is opened and None returned.

    None without a group, too.
    """
    if not group.lock(connection):
        return None
    here = present(connection, lock=True)
    if here is None:
        open_next(connection, vault, schedule, now=now)
    elif is_ahead(here, schedule, now=now):
        prolong(connection, here, schedule, now=now)
        here = present(connection, lock=True)
    return here


def announcement(open_round: Round, agreed: Terms, *, wanted: int, now: int) -> Announcement:
    """What the server tells its members about the open round; `wanted` updates close it at once."""
    return Announcement(
        terms=agreed,
        lineage=open_round.lineage,
        round=open_round.number,
        purpose=open_round.purpose,
        model_hash=open_round.model_hash,
        round_key=open_round.public_key,
        deadline=open_round.deadline,
        opened=open_round.opened,
        server_time=now,
        wanted=wanted,
        phase=open_round.phase,
        roster_number=open_round.roster_number,
        roster_head=open_round.roster_head,
    )


def announced_rest(connection: Connection, agreed: Terms, *, now: int) -> Announcement | None:
    """What it tells them while the group rests: the round that comes next, and when; None while it does not rest."""
    opens = rest_until(connection, agreed, now=now)
    if not opens:
        return None
    newest = group.newest(connection)
    return Announcement(
        terms=agreed,
        lineage=newest.record.lineage,
        round=newest.record.round + 1,
        purpose="learn",
        model_hash=newest.hash,
        round_key=b"",
        deadline=opens,
        opened=opens,
        server_time=now,
        phase="rest",
        opens=opens,
    )


def prolong(connection: Connection, open_round: Round, schedule: Schedule, *, now: int) -> None:
    """A new deadline; what was received stays."""
    moments = {"opened": min(open_round.opened, now), "deadline": now + _seconds(open_round, schedule)}
    connection.execute(update(rounds).where(of_round(rounds, open_round)).values(**moments))


def is_ahead(open_round: Round, schedule: Schedule, *, now: int) -> bool:
    """Whether its times are later than this moment's could be, as after the server's clock was wrong for a while."""
    return open_round.opened > now or open_round.deadline > now + _seconds(open_round, schedule)


def give_time_again(connection: Connection, schedule: Schedule, *, now: int) -> None:
    """If the server was away at the moment until which updates were awaited: their usual time from now on.

    Once a round: otherwise a server that is on for an hour a day would close none without all of its members.
    """
    group.lock(connection)
    here = present(connection, lock=True)
    if here is None or here.phase == "sum" or now < here.deadline:
        return
    if here.deadline - here.opened <= schedule.seconds:
        prolong(connection, here, schedule, now=now)


def _seconds(open_round: Round, schedule: Schedule) -> int:
    return schedule.sum_seconds if open_round.phase == "sum" else schedule.seconds


def recount(connection: Connection, open_round: Round) -> int:
    """How many updates are stored; the round's own number is set to it, for some may have been erased."""
    n_updates = 0
    for table in (updates, shares):
        counted = select(func.count()).select_from(table).where(of_round(table, open_round))
        n_updates += int(connection.execute(counted).scalar_one())
    connection.execute(update(rounds).where(of_round(rounds, open_round)).values(n_updates=n_updates))
    return n_updates


def end(connection: Connection, open_round: Round, *, now: int, state: str, **report: object) -> None:
    """Close or abandon it and destroy its private key, and all that it had of single members in a sealed group."""
    recount(connection, open_round)
    for table in (noises, shares, lists, answers, named):
        connection.execute(delete(table).where(of_round(table, open_round)))
    connection.execute(
        update(rounds)
        .where(of_round(rounds, open_round), rounds.c.state == "open")
        .values(state=state, closed=min(now, max(open_round.deadline, open_round.opened)), private_key=None, **report)
    )


LOST = "known by its ranker alone, which a member handed back after a restore; there may have been more updates"


def note_lost(connection: Connection, lineage: int, number: int, *, floor: int, now: int) -> None:
    """A round of which a restore left only the ranker: it counts as closed now, by the fewest updates possible."""
    moments = dict.fromkeys(("opened", "deadline", "closed"), now)
    row = {"lineage": lineage, "round": number, "purpose": "learn", "state": "closed", "guard": LOST, **moments}
    connection.execute(insert(rounds).values(**row, public_key=b"", model_hash="", n_updates=max(floor, 1)))


def of_round(table: Table, here: Round) -> ColumnElement[bool]:
    """Whether a row of the table is of this round."""
    return and_(table.c.lineage == here.lineage, table.c.round == here.number)


def of_a_round(table: Table) -> ColumnElement[bool]:
    """The same for a statement that is made once, and then executed with a round's `place`: that costs a third."""
    return and_(table.c.lineage == bindparam("lineage"), table.c.round == bindparam("round"))


def _round(row: Any) -> Round:
    keys = {"public_key": bytes(row.public_key), "sealed_key": row.private_key and bytes(row.private_key)}
    named = {**row._mapping, "number": row.round, **keys}
    return Round(**{name: named[name] for name in Round.__struct_fields__})


class Policy(Struct, frozen=True):
    """What the settings say about rounds."""

    schedule: Schedule
    joining: Joining


def policy_of(settings: ServerSettings) -> Policy:
    """Those of the settings file, which federation_server.settings has checked."""
    section = settings.aggregation
    return Policy(
        schedule=Schedule(
            settings.rounds.quorum, round(settings.rounds.hours * 3600), round(settings.rounds.sum_hours * 3600)
        ),
        joining=Joining(
            rule=section.rule,
            largest_weight=section.largest_weight,
            guard=section.guard is not False,
            assumed_malicious=section.assumed_malicious,
            optimizer=section.optimizer,
        ),
    )


def chance(n_updates: int) -> float | None:
    """The agreement of updates that point anywhere: 1 / sqrt(n); None for none."""
    return 1.0 / math.sqrt(n_updates) if n_updates else None


class Closed(Struct, frozen=True):
    """A round that is over, for the log and the counters."""

    lineage: int
    round: int
    n_updates: int
    rule: str
    verdict: Literal["calm", "alert", "not judged"]
    summary: str
    """the guard's sentence, without names"""
    agreement: float | None
    """of the updates; see `agreement`; None of a sum"""

    @property
    def chance(self) -> float:
        """What the agreement of so many updates would be about, if they had nothing in common."""
        return chance(self.n_updates) or 1.0


def note_participation(connection: Connection, devices: tuple[str, ...], here: Round, *, now: int) -> None:
    """Remember in which rounds each member's influence is, for forgetting it; the journal tells the members."""
    group.note_participants(connection, here.lineage, here.number, devices, now=now)
    taking_part = members.c.device.in_(devices)
    first = update(members).where(taking_part, members.c.first_round.is_(None))
    connection.execute(first.values(first_lineage=here.lineage, first_round=here.number))
    connection.execute(update(members).where(taking_part).values(last_lineage=here.lineage, last_round=here.number))
