"""`foltr-server invite`: links for new members."""

from __future__ import annotations

import click

from federation_server.commands.installation import now, open_here, warn_of_loopback, when


@click.group(invoke_without_command=True)
@click.option("--note", default="", help="For whom; kept with the invite, for your own list.")
@click.option("--hours", type=click.FloatRange(min=0.01, max=24 * 365), default=1.0, show_default=True)
@click.pass_context
def command(ctx: click.Context, note: str, hours: float) -> None:
    """Print a link that makes one device a member, once, within --hours."""
    if ctx.invoked_subcommand:
        return
    from federation_server import setup

    installation = open_here()
    click.echo(setup.invitation(installation, note=note, seconds=round(hours * 3600), now=now()))
    warn_of_loopback(installation)


@command.command("list")
def list_invites() -> int:
    """Invites, newest first; their secrets are not kept."""
    from federation_server.database import reading
    from federation_server.enrolment import all_invites

    with reading(open_here().engine) as connection:
        found = all_invites(connection)
    moment = now()
    for state in found:
        end = "used" if state.used else "revoked" if state.revoked else "expired" if state.expires <= moment else "open"
        click.echo(f"{state.key_hash[:12]}  {end:8} until {when(state.expires)}  {state.note}")
    return 0 if found else 1


@command.command()
@click.argument("prefix")
def revoke(prefix: str) -> int:
    """Make the unused invites whose listed id begins with PREFIX worthless."""
    from federation_server.database import writing
    from federation_server.enrolment import revoke_invite

    with writing(open_here().engine) as connection:
        count = revoke_invite(connection, prefix, now=now())
    click.echo(f"{count} revoked")
    return 0 if count else 1
