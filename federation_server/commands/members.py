"""`foltr-server invite`, `members` and `forget`: links for new members, pseudonyms, and ways to end a membership."""

from __future__ import annotations

import io
import json
import math

import click
import msgspec
from msgspec.structs import replace
from sqlalchemy import Engine

from console.command_line import CommandsInFull
from console.extras import how_to_add
from console.wording import round_label, rows_in_words
from federation_server import database, setup
from federation_server.commands.installation import (
    YES,
    ask,
    listed,
    now,
    open_here,
    tell_of_ghosts,
    the_member,
    the_one,
    warn_of_address,
    when,
)
from federation_server.database import reading, writing
from federation_server.forgetting import forgetting
from federation_server.group import depots, group, roster_book
from federation_server.group.enrolment import all_invites, all_members, end_membership, revoke_invite
from federation_server.rounds.history import requests
from federation_server.sealed.summing import hands_without
from foltr.errors import FoltrError


def _number(ctx: click.Context, parameter: click.Parameter, value: float) -> float:
    """What is within no range, and outside of none, is none."""
    if math.isnan(value):
        raise click.BadParameter("wanted a number, got nan")
    return value


_hours = click.option(
    "--hours", type=click.FloatRange(min=0.01, max=24 * 365), default=1.0, show_default=True, callback=_number
)


@click.group(cls=CommandsInFull, invoke_without_command=True)
@click.option("--note", default="", help="A reminder of whom it is for; `invite list` shows it.")
@_hours
@click.option("--qr", is_flag=True, help="Draw the link as a QR code as well, on stderr.")
@click.pass_context
def invite(ctx: click.Context, note: str, hours: float, qr: bool) -> None:
    """Print a link by which one device becomes a member; it works once, for so many --hours."""
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


@invite.command("list")
def list_invites() -> int:
    """List invites, newest first: whether and when each was used, and its note. The links are not stored."""
    with reading(open_here().engine) as connection:
        found = all_invites(connection)
    moment = now()
    for row in found:
        if row.used:
            state = f"used {when(row.used)}"
        elif row.revoked:
            state = f"revoked {when(row.revoked)}"
        else:
            state = f"{'open until' if row.expires > moment else 'expired'} {when(row.expires)}"
        click.echo(f"{row.key_hash[:12]}  {state:27}  {row.note}")
    return listed(found, "there are no invites: `foltr-server invite` makes one")


@invite.command()
@click.argument("prefix")
@_hours
def again(prefix: str, hours: float) -> None:
    """Replace the unused invite whose listed id begins with PREFIX: revoke it, and print a new link with its note.

    The old link cannot be printed again, because its secret is not stored.
    """
    installation = open_here()
    with reading(installation.engine) as connection:
        notes = {one.key_hash: one.note for one in all_invites(connection) if not one.used}
    known = the_one([key for key in notes if key.startswith(prefix)], prefix, "unused invite")
    with writing(installation.engine) as connection:
        revoke_invite(connection, known, now=now())
    click.echo(setup.invitation(installation, note=notes[known], seconds=round(hours * 3600), now=now()))
    warn_of_address(installation)


@invite.command("revoke")
@click.argument("prefix")
def revoke_invites(prefix: str) -> int:
    """Revoke the unused invites whose listed id begins with PREFIX."""
    if not prefix:
        raise click.BadParameter("wanted the beginning of an id, got ''")
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


@click.group(cls=CommandsInFull, invoke_without_command=True)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
@click.pass_context
def members(ctx: click.Context, as_json: bool) -> int:
    """List the members: pseudonym, since when, first and last round (LINEAGE.ROUND) that counted an update, depot."""
    if ctx.invoked_subcommand:
        return 0
    with reading(open_here().engine) as connection:
        found, kept = all_members(connection), depots.used(connection)
        people = roster_book.state(connection).members.values() if group.terms(connection).mode != "open" else ()
        waiting = {one.device for one in people if not one.vouched}
        tell_of_ghosts(connection, now=now())
    for member in found:
        ended = member.ended or (member.expires if member.expires and member.expires <= now() else None)
        if as_json:
            seen = {"last_lineage": member.last_lineage, "last_round": member.last_round}
            seen |= zip(("depot_files", "depot_bytes"), kept.get(member.device, (0, 0)), strict=True)
            click.echo(json.dumps({"device": member.device, "joined": member.joined, "ended": ended, **seen}))
        else:
            until = f"member until {when(member.expires)}" if member.expires else "member"
            state = f"ended {when(ended)}" if ended else "not vouched for" if member.device in waiting else until
            first = round_label(member.first_lineage or 0, member.first_round or 0)
            last = round_label(member.last_lineage or 0, member.last_round or 0)
            rounds = f"takes part since round {first}, last seen in {last}" if member.first_round else "no round yet"
            depot = f"  depot {depots.in_words([kept[member.device]])}" if member.device in kept else ""
            click.echo(f"{member.device}  since {when(member.joined)}  {state}  {rounds}{depot}")
    return listed(found, "nobody has joined yet: `foltr-server invite` makes a link")


def _who_goes(engine: Engine, device: str) -> tuple[str, str]:
    """The member of this pseudonym, and what its going takes from the others of the open round, to be told with it."""
    with reading(engine) as connection:
        member = the_member(connection, device)
        taken = hands_without(connection, member, now=now())
    return member, taken.sentence if taken else ""


@members.command("revoke")
@click.argument("device")
@YES
def revoke_member(device: str, yes: bool) -> None:
    """End the membership of DEVICE (the beginning of its pseudonym is enough); its past updates still count."""
    installation = open_here()
    member, taken = _who_goes(installation.engine, device)
    ask(f"End the membership of {member}? No invite brings this device back.{taken}", yes=yes)
    with writing(installation.engine) as connection:
        ended = end_membership(connection, member, now=now())
        tell_of_ghosts(connection, now=now())
    click.echo(f"{member}: membership {'ended' if ended else 'had ended before'}")


@members.command()
@click.argument("device")
@YES
def remove(device: str, yes: bool) -> None:
    """Remove DEVICE, whose owner lost its data and joined again: erase what is stored of it, keep the ranker.

    The ranker does not unlearn it; for that, use `foltr-server forget DEVICE`. No restore of a backup brings it back.
    """
    installation = open_here()
    member, taken = _who_goes(installation.engine, device)
    ask(f"Remove member {member}, and leave the ranker as it is?{taken}", yes=yes)
    with writing(installation.engine) as connection:
        receipt = forgetting.remove(connection, installation.forgetter, member, now=now())
        tell_of_ghosts(connection, now=now())
    database.scrub(installation.engine)
    done = f"removed; erased {rows_in_words(receipt.erased)}; the ranker was not changed"
    click.echo(f"{member}: {receipt.progress if receipt.state == 'waiting' else done}")


@click.command()
@click.argument("device", required=False)
@YES
@click.option(
    "--method",
    type=click.Choice(["reaggregate", "noise", "rollback", "federaser"]),
    help="The method, instead of the setting forgetting.method; see docs/server.md, Forget-me.",
)
def forget(device: str | None, yes: bool, method: str | None) -> int:
    """List forget-me requests; with DEVICE (the beginning of a pseudonym) forget it, as if the device had asked."""
    installation = open_here()
    if device is None:
        with reading(installation.engine) as connection:
            found = requests(connection)
        for row in found:
            told = f"{row['method']:12} {row['state']:10}  erased {row['erased']}"
            click.echo(f"{row['request'][:12]}  {when(row['asked'])}  {told}")
        return listed(found, "nobody has asked to be forgotten")
    member, taken = _who_goes(installation.engine, device)
    with reading(installation.engine) as connection:
        mode = group.terms(connection).mode
    if mode != "open" and method in ("reaggregate", "federaser"):
        raise click.ClickException(f"{method} needs single updates, which the server of a {mode} group never has")
    ask(f"Erase member {member} and its influence?{taken}", yes=yes)
    forgetter = installation.forgetter
    if method:
        forgetter = replace(forgetter, settings=msgspec.structs.replace(forgetter.settings, method=method))
    with writing(installation.engine) as connection:
        receipt = forgetting.forget(connection, forgetter, member, now=now())
        tell_of_ghosts(connection, now=now())
    database.scrub(installation.engine)
    how = "the ranker had learned nothing from it" if receipt.method == "none" else f"method {receipt.method}"
    erased = receipt.progress if receipt.state == "waiting" else f"erased {rows_in_words(receipt.erased)}"
    click.echo(f"{receipt.state}; {erased}; {how}")
    if method and receipt.method not in (method, "none"):
        click.echo(f"(too little is stored for {method}, so {receipt.method} was used instead)", err=True)
    return 0
