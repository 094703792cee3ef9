"""A PostgreSQL that is started for one measurement and removed afterwards, from Debian's or PATH's programs."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl, None where PostgreSQL is not installed."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


@contextmanager
def temporary_postgresql() -> Iterator[str]:
    """The address of an empty database on a Unix socket; every commit waits for the disk, as in earnest."""
    programs = binaries()
    if programs is None:
        raise FileNotFoundError("PostgreSQL is not installed")
    folder = Path(tempfile.mkdtemp(prefix="foltr-pg-"))
    if os.geteuid() == 0:
        owner = pwd.getpwnam("postgres")
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    data, options = str(folder / "data"), f"-c listen_addresses='' -c unix_socket_directories={folder}"
    try:
        _run(programs, "initdb", "-D", data, "-U", "foltr", "-A", "trust")
        _run(programs, "pg_ctl", "-D", data, "-w", "-o", options, "-l", str(folder / "log"), "start")
        yield f"postgresql+psycopg://foltr@/postgres?host={folder}"
    finally:
        _run(programs, "pg_ctl", "-D", data, "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _run(programs: Path, name: str, *arguments: str, check: bool = True) -> None:
    """PostgreSQL refuses to run as root; Debian's package brings a user for it."""
    command = [str(programs / name), *arguments]
    as_another = ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command
    subprocess.run(as_another, check=check, capture_output=True)
