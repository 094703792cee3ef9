"""The tables as the program names them are those that the migrations make."""

from __future__ import annotations

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine

from federation_server.database import is_sqlite
from federation_server.tables import metadata


def test_the_migrations_make_these_tables(engine: Engine) -> None:
    """Tables, columns, whether they may be empty, keys and indices; on PostgreSQL types and defaults too.

    A number of SQLite has 64 bits, whatever its column says.
    """
    with engine.connect() as connection:
        whole = not is_sqlite(engine)
        options = {"compare_type": whole, "compare_server_default": whole}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), metadata) == []
