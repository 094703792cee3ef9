"""The parts that the commands share: the opened folder of the server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import click
from sqlalchemy import Connection

from console.wording import iso_minute, lineage_labelled
from federation_server.database import reading
from federation_server.group import group
from federation_server.group.enrolment import all_members, ghosts, vouchers
from federation_server.running.service import now as now
from federation_server.serve import SERVED_AT, Installation, open_installation
from federation_server.settings import LOOPBACK, SETTINGS_FILE, ServerSettingsError, read
from federation_server.setup import make_certificate


def folder() -> Path:
    """The folder that the command line, the environment or the platform names."""
    chosen: Path = click.get_current_context().obj
    return chosen


def is_made() -> bool:
    """Whether there is a group; settings that an operator wrote beforehand are not one yet."""
    settings_file = folder() / SETTINGS_FILE
    return settings_file.exists() and (folder() / read(settings_file).server.keys).exists()


def open_here() -> Installation:
    """The installation; ServerSettingsError says how to make one."""
    if not is_made():
        raise ServerSettingsError(
            f"there is no group in {folder()}, or its key file is gone: run `foltr-server init`, or put the file back"
        )
    settings_file = folder() / SETTINGS_FILE
    make_certificate(folder(), read(settings_file))
    return open_installation(settings_file)


YES = click.option("--yes", is_flag=True, help="Do not ask.")


def ask(question: str, *, yes: bool) -> None:
    """Go on if the operator says so, or has said so already; else click.Abort."""
    if not yes:
        click.confirm(question, abort=True, err=True)


def listed(rows: Sequence[object], nothing: str) -> int:
    """The exit code of a list that was printed; where it is empty, stderr says why."""
    if not rows:
        click.echo(nothing, err=True)
    return 0 if rows else 1


def the_member(connection: Connection, beginning: str) -> str:
    """The pseudonym that begins so."""
    found = [member.device for member in all_members(connection) if member.device.startswith(beginning)]
    return the_one(found, beginning, "pseudonym")


def the_one(found: Sequence[str], beginning: str, what: str) -> str:
    """The only one that begins so; ClickException for none, for several, and for an empty beginning (of a script)."""
    if len(found) != 1 or not beginning:
        raise click.ClickException(f"wanted the beginning of one {what}, got {beginning!r}, which fits {len(found)}")
    return found[0]


NOBODY_LEFT = "nobody is left who can vouch: begin a new group (docs/server.md, A lost device)"


def tell_of_ghosts(connection: Connection, *, now: int) -> None:
    """Say on stderr who is still on the roster and what a member has to do."""
    for sentence in ghosts_in_words(connection, now=now):
        click.echo(sentence, err=True)


def ghosts_in_words(connection: Connection, *, now: int) -> list[str]:
    """Of each member who is gone what another has to sign, for the server cannot; in an open group if forgotten."""
    gone, able = set(ghosts(connection, now=now)), vouchers(connection, now=now)
    until = "is no member any more but still on the roster: each round counts it as missing until a member runs"
    if group.terms(connection).mode == "open":
        gone -= {member.device for member in all_members(connection)}
        who = " or ".join(able) or "the next to join"
        until = f"was forgotten, but its public keys stay in the roster until {who} runs"
    elif gone and not able:
        return [NOBODY_LEFT]
    return [f"{device} {until} `foltr-search vouch {device[:8]} --gone`" for device in sorted(gone)]


def warn_of_address(installation: Installation) -> None:
    """Say on stderr that an invite names an address that others do not reach, or another than the server's."""
    named = installation.public_address
    if urlsplit(named).hostname in LOOPBACK:
        click.echo("(this link works on this machine only: set server.public, see docs/server.md, Start)", err=True)
    with reading(installation.engine) as connection:
        served = group.fact(connection, SERVED_AT)
    if served and served != named:
        click.echo(
            f"(this link names {named}, but the server was last started for {served}: restart it, or run this command "
            "with the environment variables of the server)",
            err=True,
        )


def round_name(version: str) -> tuple[int, int]:
    """(lineage, round) of LINEAGE.ROUND."""
    label, _, number = version.partition(".")
    lineage = lineage_labelled(label)
    if lineage is None or not (number.isdecimal() and len(number) < 19):
        raise click.BadParameter(f"wanted LINEAGE.ROUND as `foltr-server rounds` lists them, got {version!r}")
    return lineage, int(number)


def when(seconds: int | None) -> str:
    """A time for people, "-" for none."""
    return iso_minute(seconds) if seconds else "-"
