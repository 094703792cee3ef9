"""Lineages: how the common ranker of today came about, and where a member's influence on it began."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from federation_server.enrolment import member
from federation_server.tables import lineages


def path_to(connection: Connection, lineage: int) -> tuple[int, ...]:
    """The lineages that lead to this one, the first of all first, itself last."""
    parents = {row.lineage: row.parent_lineage for row in connection.execute(select(lineages))}
    path = [lineage]
    while (parent := parents.get(path[-1])) is not None:
        path.append(parent)
    return tuple(reversed(path))


def before(connection: Connection, device: str) -> tuple[int, int] | None:
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


def influenced(connection: Connection, device: str) -> dict[int, int]:
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
