"""What the commands share: the folder of the server, opened."""

from __future__ import annotations

import time
from pathlib import Path

import click

from federation_server.serve import Installation, open_installation
from federation_server.settings import ServerSettingsError

SETTINGS_FILE = "server.toml"


def folder() -> Path:
    """The folder that the command line, the environment or the platform names."""
    chosen: Path = click.get_current_context().obj
    return chosen


def exists() -> bool:
    return (folder() / SETTINGS_FILE).exists()


def opened() -> Installation:
    """The installation; ServerSettingsError says how to make one."""
    if not exists():
        raise ServerSettingsError(f"there is no server in {folder()}; make one with `foltr-server init`")
    return open_installation(folder() / SETTINGS_FILE)


def now() -> int:
    """Whole seconds since 1970."""
    return int(time.time())


def when(seconds: int | None) -> str:
    """A time for people, "-" for none."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds)) if seconds else "-"
