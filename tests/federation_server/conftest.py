"""Real databases for the server's tests: SQLite in a folder, and a PostgreSQL that this session starts and stops."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from benchmarks.postgresql import temporary_postgresql
from federation_server.database import connect, upgrade
from tests.federation_server.client import Client, Running, make_server, member, run, running


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL on a Unix socket in a temporary folder."""
    with ExitStack() as stack:
        try:
            address = stack.enter_context(temporary_postgresql(durable=False))
        except LookupError as error:
            pytest.skip(str(error))
        yield address


@contextmanager
def one_more(base: str, template: str = "template1") -> Iterator[str]:
    """The address of a copy of this database of PostgreSQL, by default of an empty one."""
    admin = connect(base).execution_options(isolation_level="AUTOCOMMIT")
    name = f"t{os.urandom(6).hex()}"
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    yield base.replace("/postgres?", f"/{name}?")
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Of each kind, without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/server.sqlite"
        return
    with one_more(request.getfixturevalue("postgresql")) as url:
        yield url


def with_tables(url: str) -> str:
    """The name of this database, once it has the server's tables."""
    made = connect(url)
    upgrade(made)
    made.dispose()
    return made.url.database or ""


@pytest.fixture(scope="session")
def postgresql_tables(postgresql: str) -> Iterator[str]:
    with one_more(postgresql) as url:
        yield with_tables(url)


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory: pytest.TempPathFactory) -> str:
    return with_tables(f"sqlite:///{tmp_path_factory.mktemp('tables')}/server.sqlite")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database of each kind with the server's tables: to make them takes longer than most tests."""
    if request.param == "sqlite":
        shutil.copy(request.getfixturevalue("sqlite_tables"), tmp_path / "server.sqlite")
        yield f"sqlite:///{tmp_path}/server.sqlite"
        return
    with one_more(request.getfixturevalue("postgresql"), request.getfixturevalue("postgresql_tables")) as url:
        yield url


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    made = connect(database_url)
    yield made
    made.dispose()


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server whose rounds these tests never close."""
    with running(make_server(tmp_path_factory.mktemp("server"), quorum=1000)) as server:
        yield server


@pytest.fixture
def ada(live: Running) -> Client:
    return member(live.made)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A group that was made by `foltr-server init`."""
    assert run(tmp_path / "server", "init") == 0
    return tmp_path / "server"
