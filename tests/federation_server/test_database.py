"""Transactions on both kinds of database."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, inspect, text

from federation_server import database
from federation_server.database import DatabaseError, reading, upgrade, writing
from federation_server.group import group
from federation_server.tables import depot_files, depots, named, noises


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


def test_tables_of_another_program_are_refused_in_one_line(engine: Engine) -> None:
    """Their revision is named beside this program's, and nothing is changed."""
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '0001'"))
    with pytest.raises(DatabaseError, match=r"^the database is of another foltr-server \(revision 0001, here 0004\);"):
        upgrade(engine)


def test_an_older_database_gets_the_tables_that_came_since(engine: Engine) -> None:
    """One that was left at the first revision has today's tables after an upgrade, and what was in it."""
    with writing(engine) as connection:
        before = set(inspect(connection).get_table_names())
        group.set_fact(connection, "colour", "red")
        for table in (named, noises, depots, depot_files):
            table.drop(connection)
        connection.execute(text("UPDATE alembic_version SET version_num = '0002'"))
    upgrade(engine)
    with reading(engine) as connection:
        assert set(inspect(connection).get_table_names()) == before
        assert group.fact(connection, "colour") == "red"


def test_the_revisions_are_those_of_the_migrations() -> None:
    """Each of the folder, the newest first."""
    files = (database.MIGRATIONS / "versions").glob("*.py")
    found = [line for file in files for line in file.read_text("utf-8").splitlines() if line.startswith("revision = ")]
    assert sorted((line.split('"')[1] for line in found), reverse=True) == [*database.REVISIONS]
