"""Real databases for the server's tests: SQLite in a folder, and a PostgreSQL that this session starts and stops."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from federation_server.database import connect, upgrade


def _binaries() -> Path | None:
    """Where Debian keeps PostgreSQL's programs, or where PATH does."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def _as_another(command: list[str]) -> list[str]:
    """PostgreSQL refuses to run as root; Debian's package brings a user for it."""
    return ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL on a Unix socket in a temporary folder."""
    binaries = _binaries()
    if binaries is None:
        pytest.skip("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="foltr-pg-"))
    if os.geteuid() == 0:
        try:
            owner = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("PostgreSQL will not run as root, and there is no user postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    data = folder / "data"
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c fsync=off"
    setup = ["initdb", "-D", str(data), "-U", "foltr", "-A", "trust", "--no-sync"]
    start = ["pg_ctl", "-D", str(data), "-w", "-o", options, "-l", str(folder / "log"), "start"]
    try:
        for command in (setup, start):
            subprocess.run(_as_another([str(binaries / command[0]), *command[1:]]), check=True, capture_output=True)
        yield f"postgresql+psycopg://foltr@/postgres?host={folder}"
    finally:
        stop = [str(binaries / "pg_ctl"), "-D", str(data), "-m", "immediate", "stop"]
        subprocess.run(_as_another(stop), check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """An empty database of each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/server.sqlite"
        return
    base = request.getfixturevalue("postgresql")
    admin = connect(base).execution_options(isolation_level="AUTOCOMMIT")
    name = f"t{os.urandom(6).hex()}"
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield base.replace("/postgres?", f"/{name}?")
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    admin.dispose()


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    """A database of each kind with the server's tables."""
    made = connect(database_url)
    upgrade(made)
    yield made
    made.dispose()
