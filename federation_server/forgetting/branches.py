"""How the common ranker of today came about: a tree of lineages, and where in it a member's influence lies."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from federation_server.group.enrolment import member
from federation_server.tables import lineages, models

Place = tuple[int, int]
"""(lineage, round)"""


def path_to(connection: Connection, lineage: int) -> tuple[int, ...]:
    """The lineages that lead to this one, the first of all first, itself last."""
    parents = {row.lineage: row.parent_lineage for row in connection.execute(select(lineages))}
    path = [lineage]
    while (parent := parents.get(path[-1])) is not None:
        path.append(parent)
    return tuple(reversed(path))


def newest_lineage(connection: Connection) -> int:
    """The lineage of today."""
    return int(connection.execute(select(func.max(lineages.c.lineage))).scalar_one())


def first_place(connection: Connection, device: str) -> Place | None:
    """The first round in which an update of the member was counted; None when it never took part."""
    known = member(connection, device)
    if known is None or known.first_round is None or known.first_lineage is None:
        return None
    return known.first_lineage, known.first_round


def last_before(connection: Connection, first: Place) -> Place:
    """The newest model that cannot have been influenced by a member that first took part in this place.

    Where that round lies on a branch that was given up, the member's influence on today's ranker can only have begun in
    a later lineage: the point where that one began is safe.
    """
    path = path_to(connection, newest_lineage(connection))
    rows = connection.execute(select(lineages).where(lineages.c.lineage.in_(path)))
    branches = {row.lineage: (row.parent_lineage, row.parent_round) for row in rows}
    for position, lineage in enumerate(path):
        follower = path[position + 1] if position + 1 < len(path) else None
        if lineage == first[0]:
            inside = follower is None or first[1] <= branches[follower][1]
            return (lineage, first[1] - 1) if inside else branches[follower]
        if lineage > first[0]:
            return branches[lineage] if branches[lineage][0] is not None else (lineage, 0)
    return path[-1], 0


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
    path = path_to(connection, newest_lineage(connection))
    rows = connection.execute(select(lineages).where(lineages.c.lineage.in_(path)))
    branched = {row.parent_lineage: row.parent_round for row in rows}
    newest = select(func.max(models.c.round)).where(models.c.lineage == path[-1])
    branched[path[-1]] = int(connection.execute(newest).scalar_one())
    return tuple(
        (lineage, number)
        for lineage in path[path.index(place[0]) :]
        for number in range(place[1] + 1 if lineage == place[0] else 1, branched[lineage] + 1)
    )
