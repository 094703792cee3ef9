"""What waits in a round that is given up."""

from __future__ import annotations

from sqlalchemy import Engine, func, select, update

from federation_server.database import writing
from federation_server.forgetting.readding import carry_waiting
from federation_server.group import group
from federation_server.rounds import rounds
from federation_server.tables import rounds as rounds_table
from federation_server.tables import updates
from tests.federation_server.groups import START, VAULT, make_group, send


def test_where_no_round_is_open_what_waits_stays(engine: Engine) -> None:
    """A group that rests has no round to bring it into: nothing is lost, and nothing fails."""
    make_group(engine)
    send(engine, 0, START)
    with writing(engine) as connection:
        old = rounds.present(connection)
        assert old is not None
        connection.execute(update(rounds_table).values(state="closed"))
        carry_waiting(connection, VAULT, group.terms(connection), old, START)
        assert connection.execute(select(func.count()).select_from(updates)).scalar_one() == 1
