"""`foltr-server members`: pseudonyms, and ending their membership."""

from __future__ import annotations

import json

import click

from console.wording import round_label
from federation_server import database
from federation_server.commands.installation import now, open_here, tell_of_ghosts, the_member, when
from federation_server.database import reading, writing
from federation_server.forgetting import forgetting
from federation_server.group.admission import all_members, end_membership


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> int:
    """List the members: pseudonyms, since when, and in which rounds (LINEAGE.ROUND) updates first and last counted."""
    if ctx.invoked_subcommand:
        return 0
    with reading(open_here().engine) as connection:
        found = all_members(connection)
        tell_of_ghosts(connection, now=now())
    for member in found:
        ended = member.ended or (member.expires if member.expires and member.expires <= now() else None)
        if as_json:
            seen = {"last_lineage": member.last_lineage, "last_round": member.last_round}
            click.echo(json.dumps({"device": member.device, "joined": member.joined, "ended": ended, **seen}))
        else:
            state = f"ended {when(ended)}" if ended else "member"
            first = round_label(member.first_lineage or 0, member.first_round or 0)
            last = round_label(member.last_lineage or 0, member.last_round or 0)
            rounds = f"takes part since round {first}, last seen in {last}" if member.first_round else "no round yet"
            click.echo(f"{member.device}  since {when(member.joined)}  {state}  {rounds}")
    return 0 if found else 1


@command.command()
@click.argument("device")
def revoke(device: str) -> int:
    """End the membership of DEVICE (a unique beginning of its pseudonym will do); what it sent stays."""
    with writing(open_here().engine) as connection:
        member = the_member(connection, device)
        ended = end_membership(connection, member, now=now())
        tell_of_ghosts(connection, now=now())
    click.echo(f"{member}: {'ended' if ended else 'had ended before'}")
    return 0


@command.command()
@click.argument("device")
@click.option("--yes", is_flag=True, help="Do not ask.")
def remove(device: str, yes: bool) -> int:
    """Remove DEVICE whose folder is lost, as when its person has joined again: its rows go, the ranker stays.

    What it taught is not unlearned (`foltr-server forget DEVICE` does that), and no restore brings it back.
    """
    installation = open_here()
    with reading(installation.engine) as connection:
        member = the_member(connection, device)
    if not yes:
        click.confirm(f"remove member {member}, and leave the ranker as it is?", abort=True)
    with writing(installation.engine) as connection:
        receipt = forgetting.remove(connection, installation.forgetter, member, now=now())
        tell_of_ghosts(connection, now=now())
    database.scrub(installation.engine)
    click.echo(f"{member}: removed, {receipt.erased}; the ranker was not changed")
    return 0
