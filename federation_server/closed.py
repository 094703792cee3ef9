"""What a closed round leaves behind: what is told of it, and in which rounds each member took part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, update

from federation_server import journal
from federation_server.rounds import Round
from federation_server.standing import chance
from federation_server.tables import members


@dataclass(frozen=True, slots=True)
class Closed:
    """A round that is over, for the log and the counters."""

    lineage: int
    round: int
    n_updates: int
    rule: str
    verdict: Literal["calm", "alert", "not judged"]
    summary: str
    """the guard's sentence"""
    agreement: float
    """of the updates; see `agreement`"""

    @property
    def chance(self) -> float:
        """What the agreement of so many updates would be about, if they had nothing in common."""
        return chance(self.n_updates) or 1.0


def note_participation(connection: Connection, devices: tuple[str, ...], here: Round, *, now: int) -> None:
    """Remember in which rounds each member's influence is, for forgetting it; the journal tells the members."""
    journal.note_list(connection, here.lineage, here.number, devices, now=now)
    taking_part = members.c.device.in_(devices)
    first = update(members).where(taking_part, members.c.first_round.is_(None))
    connection.execute(first.values(first_lineage=here.lineage, first_round=here.number))
    connection.execute(update(members).where(taking_part).values(last_lineage=here.lineage, last_round=here.number))
