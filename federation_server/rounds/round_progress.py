"""How far the open round is and what it waits for: numbers and dates, never names.

A round closes at once when its quorum is there. Without a fixed quorum (rounds.quorum = 0) that is every active member,
at least the terms' floor: a group of three is not left waiting for a fourth.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, Table, exists, func, select

from console.wording import count, iso_minute
from federation_server.group import enrolment
from federation_server.rounds.rounds import Round, Schedule, of_round, present, rest_until
from federation_server.tables import members, shares, updates
from foltr.federated.wire import Terms


class Awaited(Struct, frozen=True):
    """How far the open round is."""

    lineage: int
    round: int
    n_updates: int
    """there are"""
    floor: int
    """it never closes with fewer"""
    quorum: int
    """so many close it at once; 0: when no active member is missing"""
    n_active: int
    """members whose updates would be taken"""
    n_missing: int
    """active members that have not answered"""
    deadline: int
    """seconds since 1970"""
    other: str = ""
    """what is waited for where it is not the members' updates"""

    @property
    def is_enough(self) -> bool:
        """Whether it may close at all."""
        return self.n_updates >= max(self.floor, 1)

    @property
    def is_complete(self) -> bool:
        """Whether it closes at once."""
        return self.is_enough and (self.n_updates >= self.quorum if self.quorum else self.n_missing == 0)

    @property
    def n_wanted(self) -> int:
        """Further updates that would close it at once."""
        below_floor = max(self.floor, 1) - self.n_updates
        return max(self.quorum - self.n_updates if self.quorum else self.n_missing, below_floor, 0)

    @property
    def sentence(self) -> str:
        """For the operator: "2 of 5 members have answered, 3 more close it at once; otherwise it closes on ..." """
        if self.other:
            return self.other
        answered = f"{self.n_active - self.n_missing} of {count(self.n_active, 'active member')} answered"
        until = iso_minute(self.deadline)
        if self.n_active < self.floor:
            more = count(self.floor - self.n_active, "more member")
            return f"{answered}; a round needs {self.floor}: invite {more}"
        if not self.is_enough:
            lacking = max(self.floor, 1) - self.n_updates
            return f"{answered}, {self.n_wanted} more close it at once; without {lacking} more it goes on after {until}"
        if self.is_complete:
            return f"{answered}; it closes now, if the server is running"
        return f"{answered}, {self.n_wanted} more close it at once; otherwise it closes on {until}"


def awaited(connection: Connection, here: Round, schedule: Schedule, *, floor: int, now: int) -> Awaited:
    """What the open round `here` waits for."""
    n_active = enrolment.count_active(connection, now=now)
    silent = [~_answered(table, here) for table in (updates, shares)]  # a round has the ones or the others
    query = select(func.count()).select_from(members).where(enrolment.is_active(now), *silent)
    return Awaited(
        lineage=here.lineage,
        round=here.number,
        n_updates=here.n_updates,
        floor=floor,
        quorum=schedule.quorum,
        n_active=n_active,
        n_missing=int(connection.execute(query).scalar_one()),
        deadline=here.deadline,
    )


def _answered(table: Table, here: Round) -> ColumnElement[bool]:
    """Whether a member has a row in what came in the round."""
    return exists().where(table.c.device == members.c.device, of_round(table, here))


WORDS = {"collect": "collecting", "sum": "adding up", "rest": "resting", "none": "waiting for its first start"}


class Phase(Struct, frozen=True):
    """As devices hear it in the announcement; "none" before the first start."""

    name: Literal["collect", "sum", "rest", "none"]
    until: int = 0
    """seconds since 1970; 0 where no end is known"""

    @property
    def sentence(self) -> str:
        """ "collecting until 2026-11-29 10:00" """
        until = f" until {iso_minute(self.until)}" if self.until else ""
        return WORDS[self.name] + until


def phase(connection: Connection, agreed: Terms, *, now: int) -> Phase:
    """That of the open round, or of a group without one."""
    if (here := present(connection)) is not None:
        return Phase("sum" if here.phase == "sum" else "collect", here.deadline)
    opens = rest_until(connection, agreed, now=now)
    return Phase("rest", opens) if opens else Phase("none")


def why_it_rests(agreed: Terms) -> str:
    """For the operator, beside the date."""
    return f"its {agreed.n_rounds} rounds in {agreed.period_days} days are over, the ranker stays"
