"""Transactions on both kinds of database."""

from __future__ import annotations

from sqlalchemy import Engine

from federation_server.database import reading, writing
from federation_server.group import group


def test_a_reading_transaction_is_one_view(engine: Engine) -> None:
    """What another transaction commits between two of its statements it does not see; the next one does."""
    with writing(engine) as connection:
        group.set_fact(connection, "colour", "red")
    with reading(engine) as connection:
        assert group.fact(connection, "colour") == "red"
        with writing(engine) as other:
            group.set_fact(other, "colour", "blue")
        assert group.fact(connection, "colour") == "red"
    with reading(engine) as connection:
        assert group.fact(connection, "colour") == "blue"
