"""Delete what the settings no longer keep, by a moment that no wrong clock can take far ahead at once.

What is deleted is gone, and a server's clock may be years ahead for an hour. So the moment by which rows are old
follows the clock, and gains no more than LEAP each time it is asked for, once a minute:

    moment = min(clock, moment before + LEAP)

A server that was off for a month has caught up after half a day; an hour with a wrong clock deletes what was due within
two and a half days anyway.

By this moment a round also waits for members whose time is over by the clock (federation_server.group.enrolment).
"""

from __future__ import annotations

from sqlalchemy import Connection, delete, exists, or_, select, tuple_

from federation_server.group import enrolment, group
from federation_server.group.enrolment import LEAP, REACHED
from federation_server.rounds.rounds import DAY
from federation_server.settings import ForgettingSection, RetentionSection
from federation_server.tables import depot_files, depots, forgettings, invites, members, updates
from federation_server.tables import rounds as rounds_table


def moment(connection: Connection, *, clock: int) -> int:
    """Seconds since 1970 by which rows are old now; to be asked once a minute.

    Before anybody is a member there is nothing to lose, and a machine may not have been told the time yet.
    """
    stored = group.fact(connection, REACHED)
    if stored is None and not connection.execute(select(exists().select_from(members))).scalar_one():
        return clock
    before = clock - LEAP if stored is None else int(stored)
    if clock >= before + LEAP:
        group.set_fact(connection, REACHED, str(before + LEAP))
    return min(clock, before + LEAP)


def drop_old(connection: Connection, retention: RetentionSection, forgetting: ForgettingSection, *, now: int) -> int:
    """Delete what the settings no longer keep; how many rows. Updates of an open round always stay.

    The depot of a member whose time is over goes, too.
    FedEraser needs the updates of every `forgetting.every`-th round: with that method they outlive the others.
    """
    is_old = rounds_table.c.closed <= now - retention.update_days * DAY
    over = select(rounds_table.c.lineage, rounds_table.c.round).where(rounds_table.c.state != "open", is_old)
    if forgetting.method == "federaser":
        over = over.where(rounds_table.c.round % forgetting.every != 1 % forgetting.every)
    here = select(members.c.device).where(enrolment.is_active(now))
    statements = (
        delete(updates).where(tuple_(updates.c.lineage, updates.c.round).in_(over)),
        delete(invites).where(
            or_(invites.c.used.is_not(None), invites.c.revoked.is_not(None), invites.c.expires <= now),
            invites.c.created <= now - retention.invite_days * DAY,
        ),
        delete(forgettings).where(forgettings.c.done <= now - retention.receipt_days * DAY),
        *(delete(table).where(table.c.device.not_in(here)) for table in (depots, depot_files)),
    )
    return sum(int(connection.execute(statement).rowcount) for statement in statements)
