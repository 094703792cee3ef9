"""A PostgreSQL for one measurement or test run, from Debian's or PATH's programs; removed afterwards."""

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
def temporary_postgresql(*, durable: bool = True) -> Iterator[str]:
    """The address of an empty database on a Unix socket; `durable`: every commit waits for the disk, as in earnest.

    LookupError where it is not installed, or will not run because this is root and there is no user for it, or its user
    cannot reach the folder for temporary files.
    """
    programs = binaries()
    if programs is None:
        raise LookupError("PostgreSQL is not installed")
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="foltr-pg-"))
    if owner is not None:
        os.chown(folder, owner.pw_uid, owner.pw_gid)
        if subprocess.run(["runuser", "-u", "postgres", "--", "test", "-w", str(folder)], check=False).returncode:
            shutil.rmtree(folder)
            raise LookupError(f"the user postgres cannot reach {folder}; TMPDIR should be open to all")
    data, options = str(folder / "data"), f"-c listen_addresses='' -c unix_socket_directories={folder}"
    options += "" if durable else " -c fsync=off"
    try:
        _run(programs, "initdb", "-D", data, "-U", "foltr", "-A", "trust", *([] if durable else ["--no-sync"]))
        _run(programs, "pg_ctl", "-D", data, "-w", "-o", options, "-l", str(folder / "log"), "start")
        yield f"postgresql+psycopg://foltr@/postgres?host={folder}"
    finally:
        _run(programs, "pg_ctl", "-D", data, "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)


def _owner() -> pwd.struct_passwd | None:
    """Whose the database must be: PostgreSQL refuses to run as root, and Debian's package brings a user for it."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError as error:
        raise LookupError("PostgreSQL will not run as root, and there is no user postgres") from error


def _run(programs: Path, name: str, *arguments: str, check: bool = True) -> None:
    command = [str(programs / name), *arguments]
    as_another = ["runuser", "-u", "postgres", "--", *command] if os.geteuid() == 0 else command
    subprocess.run(as_another, check=check, capture_output=True)
