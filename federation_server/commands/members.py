"""`foltr-server members`: pseudonyms, and ending their membership."""

from __future__ import annotations

import json

import click

from federation_server.commands.installation import now, opened, when


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> int:
    """List the members: pseudonyms, since when, and in which rounds their updates counted."""
    if ctx.invoked_subcommand:
        return 0
    from federation_server.database import reading
    from federation_server.enrolment import all_members

    with reading(opened().engine) as connection:
        found = all_members(connection)
    for member in found:
        ended = member.ended or (member.expires if member.expires and member.expires <= now() else None)
        if as_json:
            record = {"device": member.device, "joined": member.joined, "ended": ended, "last_round": member.last_round}
            click.echo(json.dumps(record))
        else:
            state = f"ended {when(ended)}" if ended else "member"
            rounds = f"rounds {member.first_round} to {member.last_round}" if member.first_round else "no round yet"
            click.echo(f"{member.device}  since {when(member.joined)}  {state}  {rounds}")
    return 0 if found else 1


@command.command()
@click.argument("device")
def revoke(device: str) -> int:
    """End the membership of DEVICE (a unique beginning of its pseudonym will do); what it sent stays."""
    from federation_server.database import writing
    from federation_server.enrolment import all_members, end_membership

    with writing(opened().engine) as connection:
        found = [member.device for member in all_members(connection) if member.device.startswith(device)]
        if len(found) != 1:
            raise click.ClickException(f"{device} is the beginning of {len(found)} pseudonyms, wanted one")
        ended = end_membership(connection, found[0], now=now())
    click.echo(f"{found[0]}: {'ended' if ended else 'had ended before'}")
    return 0
