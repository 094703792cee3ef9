"""`foltr-server members`: pseudonyms, and ending their membership."""

from __future__ import annotations

import json

import click

from federation_server.commands.installation import now, open_here, the_member, when


@click.group(invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> int:
    """List the members: pseudonyms, since when, and the round (LINEAGE.ROUND) in which an update first counted."""
    if ctx.invoked_subcommand:
        return 0
    from federation_server.database import reading
    from federation_server.enrolment import all_members

    with reading(open_here().engine) as connection:
        found = all_members(connection)
    for member in found:
        ended = member.ended or (member.expires if member.expires and member.expires <= now() else None)
        if as_json:
            record = {"device": member.device, "joined": member.joined, "ended": ended, "last_round": member.last_round}
            click.echo(json.dumps(record))
        else:
            state = f"ended {when(ended)}" if ended else "member"
            first = f"{member.first_lineage}.{member.first_round}"
            rounds = f"takes part since round {first}" if member.first_round else "no round yet"
            click.echo(f"{member.device}  since {when(member.joined)}  {state}  {rounds}")
    return 0 if found else 1


@command.command()
@click.argument("device")
def revoke(device: str) -> int:
    """End the membership of DEVICE (a unique beginning of its pseudonym will do); what it sent stays."""
    from federation_server.database import writing
    from federation_server.enrolment import end_membership

    with writing(open_here().engine) as connection:
        member = the_member(connection, device)
        ended = end_membership(connection, member, now=now())
    click.echo(f"{member}: {'ended' if ended else 'had ended before'}")
    return 0
