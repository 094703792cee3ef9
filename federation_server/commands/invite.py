"""`foltr-server invite`: links for new members."""

from __future__ import annotations

import io

import click

from console.extras import how_to_add
from federation_server import setup
from federation_server.commands.installation import now, open_here, warn_of_address, when
from federation_server.database import reading, writing
from federation_server.group.admission import all_invites, revoke_invite
from foltr.errors import FoltrError


@click.group(invoke_without_command=True)
@click.option("--note", default="", help="For whom; kept with the invite, for your own list.")
@click.option("--hours", type=click.FloatRange(min=0.01, max=24 * 365), default=1.0, show_default=True)
@click.option("--qr", is_flag=True, help="Draw the link as a QR code as well, on stderr.")
@click.pass_context
def command(ctx: click.Context, note: str, hours: float, qr: bool) -> None:
    """Print a link that makes one device a member, once, within --hours."""
    if ctx.invoked_subcommand:
        return
    installation = open_here()
    if qr:
        qr_code("")  # an invite that cannot be shown is not made
    link = setup.invitation(installation, note=note, seconds=round(hours * 3600), now=now())
    click.echo(link)
    if qr:
        click.echo(qr_code(link), err=True, color=True)
    warn_of_address(installation)


@command.command("list")
def list_invites() -> int:
    """Invites, newest first: whether and when they were used, and their notes; their secrets are not kept."""
    with reading(open_here().engine) as connection:
        found = all_invites(connection)
    moment = now()
    for invite in found:
        if invite.used:
            state = f"used {when(invite.used)}"
        elif invite.revoked:
            state = f"revoked {when(invite.revoked)}"
        else:
            state = f"{'open until' if invite.expires > moment else 'expired'} {when(invite.expires)}"
        click.echo(f"{invite.key_hash[:12]}  {state:27}  {invite.note}")
    return 0 if found else 1


@command.command()
@click.argument("prefix")
@click.option("--hours", type=click.FloatRange(min=0.01, max=24 * 365), default=1.0, show_default=True)
def again(prefix: str, hours: float) -> None:
    """Print a new link with the note of the unused invite whose listed id begins with PREFIX; the old one is revoked.

    The old link itself cannot be printed again: its secret was not kept.
    """
    installation = open_here()
    with reading(installation.engine) as connection:
        found = [one for one in all_invites(connection) if one.key_hash.startswith(prefix) and not one.used]
    if len(found) != 1:
        raise click.ClickException(f"{prefix} is the beginning of {len(found)} unused invites, wanted one")
    with writing(installation.engine) as connection:
        revoke_invite(connection, found[0].key_hash, now=now())
    click.echo(setup.invitation(installation, note=found[0].note, seconds=round(hours * 3600), now=now()))
    warn_of_address(installation)


@command.command()
@click.argument("prefix")
def revoke(prefix: str) -> int:
    """Make the unused invites whose listed id begins with PREFIX worthless."""
    with writing(open_here().engine) as connection:
        count = revoke_invite(connection, prefix, now=now())
    click.echo(f"{count} revoked")
    return 0 if count else 1


BORDER = 2
"""light modules around it: half of what the standard asks for, so that a link fits 80 columns; cameras read it"""
WHITE_ON_BLACK, RESET = "\x1b[97;40m", "\x1b[0m"


class MissingExtraError(FoltrError):
    """The package that draws codes is not installed."""


def qr_code(text: str) -> str:
    """Lines of half blocks, two rows of modules in each, white on black whatever the terminal's own colours are."""
    try:
        import segno
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"segno is missing; install it with: {how_to_add('qr')}") from error
    drawn = io.StringIO()
    segno.make_qr(text, error="l", boost_error=False).terminal(drawn, border=BORDER, compact=True)
    return "\n".join(f"{WHITE_ON_BLACK}{line}{RESET}" for line in drawn.getvalue().splitlines())
