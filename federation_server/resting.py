"""A group learns so many rounds in a period, then rests: the ranker stays, nothing is sent, until the period ends.

A device's privacy budget is for a period. A group that went on past its rounds would only be told so by its members.
Rounds are counted where they closed, whatever lineage they are in: a new lineage gives none of them back. Rounds that
forget, and those that were given up, are not among them.
"""

from __future__ import annotations

from sqlalchemy import Connection, select

from federation_server.tables import rounds
from foltr.federated.wire import Terms

DAY = 86_400


def rest_until(connection: Connection, agreed: Terms, *, now: int) -> int:
    """When the group may open its next learning round, in seconds since 1970; 0 for now."""
    if not agreed.n_rounds:
        return 0
    learned = (rounds.c.state == "closed", rounds.c.purpose == "learn")
    query = select(rounds.c.closed).where(*learned).order_by(rounds.c.closed.desc())
    nth = connection.execute(query.offset(agreed.n_rounds - 1).limit(1)).scalar_one_or_none()
    ends = 0 if nth is None else int(nth) + agreed.period_days * DAY
    return ends if ends > now else 0
