"""What the group does today: it collects updates, adds them up, or rests; in words, with the date that ends it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import Connection, select

from federation_server.resting import rest_until
from federation_server.tables import rounds
from foltr.federated.wire import Terms

WORDS = {"collect": "collecting", "sum": "adding up", "rest": "resting", "none": "waiting for its first start"}


@dataclass(frozen=True, slots=True)
class Phase:
    """As devices hear it in the announcement; "none" before the first start."""

    name: Literal["collect", "sum", "rest", "none"]
    until: int = 0
    """seconds since 1970; 0 where no end is known"""

    @property
    def sentence(self) -> str:
        """ "collecting until 2026-11-29 10:00" """
        until = time.strftime(" until %Y-%m-%d %H:%M", time.localtime(self.until)) if self.until else ""
        return WORDS[self.name] + until


def phase(connection: Connection, agreed: Terms, *, now: int) -> Phase:
    """That of the open round, or of a group without one."""
    query = select(rounds.c.phase, rounds.c.deadline).where(rounds.c.state == "open")
    here = connection.execute(query.order_by(rounds.c.lineage.desc(), rounds.c.round.desc()).limit(1)).first()
    if here is not None:
        return Phase("sum" if here.phase == "sum" else "collect", here.deadline)
    opens = rest_until(connection, agreed, now=now)
    return Phase("rest", opens) if opens else Phase("none")


def why_it_rests(agreed: Terms) -> str:
    """For the operator, beside the date."""
    return f"its {agreed.n_rounds} rounds in {agreed.period_days} days are over, the ranker stays"
