"""`foltr-server forget`: requests to be forgotten, and forgetting a member whose device is gone."""

from __future__ import annotations

from dataclasses import replace

import click
import msgspec

from federation_server import database
from federation_server.commands.installation import now, open_here, tell_of_ghosts, the_member, when
from federation_server.database import reading, writing
from federation_server.forgetting import forgetting
from federation_server.group import group
from federation_server.rounds.history import requests


@click.command()
@click.argument("device", required=False)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--method",
    type=click.Choice(["reaggregate", "noise", "rollback", "federaser"]),
    help="The method, instead of the setting forgetting.method; see docs/server.md, Forget-me.",
)
def command(device: str | None, yes: bool, method: str | None) -> int:
    """List forget-me requests; with DEVICE (the beginning of a pseudonym) forget it, as if the device had asked."""
    installation = open_here()
    if device is None:
        with reading(installation.engine) as connection:
            found = requests(connection)
        for row in found:
            click.echo(
                f"{row['request'][:12]}  {when(row['asked'])}  {row['method']:12} {row['state']}  {row['erased']}"
            )
        return 0 if found else 1
    with reading(installation.engine) as connection:
        member, mode = the_member(connection, device), group.terms(connection).mode
    if mode != "open" and method in ("reaggregate", "federaser"):
        raise click.ClickException(f"{method} needs single updates, which the server of a {mode} group never has")
    if not yes:
        click.confirm(f"erase member {member} and its influence?", abort=True)
    forgetter = installation.forgetter
    if method:
        forgetter = replace(forgetter, settings=msgspec.structs.replace(forgetter.settings, method=method))
    with writing(installation.engine) as connection:
        receipt = forgetting.forget(connection, forgetter, member, now=now())
        tell_of_ghosts(connection, now=now())
    database.scrub(installation.engine)
    click.echo(f"{receipt.state} by {receipt.method}: {receipt.erased}")
    if method and receipt.method not in (method, "none"):
        click.echo(f"(what is stored does not suffice for {method}, so that {receipt.method} was done)", err=True)
    return 0
