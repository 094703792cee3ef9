"""What is dropped when its time is over."""

from __future__ import annotations

from sqlalchemy import Connection, delete, or_, select, tuple_

from federation_server.settings import ForgettingSection, RetentionSection
from federation_server.tables import forgettings, invites, rounds, updates

DAY = 86_400


def drop_old(connection: Connection, retention: RetentionSection, forgetting: ForgettingSection, *, now: int) -> int:
    """Delete what the settings no longer keep; how many rows. Updates of an open round always stay.

    FedEraser needs the updates of every `forgetting.every`-th round: with that method they outlive the others.
    """
    over = select(rounds.c.lineage, rounds.c.round).where(
        rounds.c.state != "open", rounds.c.closed <= now - retention.update_days * DAY
    )
    if forgetting.method == "federaser":
        over = over.where(rounds.c.round % forgetting.every != 1 % forgetting.every)
    statements = (
        delete(updates).where(tuple_(updates.c.lineage, updates.c.round).in_(over)),
        delete(invites).where(
            or_(invites.c.used.is_not(None), invites.c.revoked.is_not(None), invites.c.expires <= now),
            invites.c.created <= now - retention.invite_days * DAY,
        ),
        delete(forgettings).where(forgettings.c.done <= now - retention.receipt_days * DAY),
    )
    return sum(int(connection.execute(statement).rowcount) for statement in statements)
