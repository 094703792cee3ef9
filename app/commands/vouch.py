"""`foltr-search invite` and `vouch`: by a member's word another one is let in, or taken off the roster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from app.commands.command import NOTHING_FOUND, Command, ask, say, state_of_member
from console.wording import iso_minute

if TYPE_CHECKING:
    from app.federation.server import Reach
    from app.store import Store

INVITE_EXAMPLES = """
foltr-search invite                           print a link for one person
"""
VOUCH_EXAMPLES = """
foltr-search vouch                            list who waits, with fingerprints to compare
foltr-search vouch 3fa9c1                     ask, then vouch
foltr-search vouch 3fa9c1 --gone              remove a member who lost the device
foltr-search vouch 77b0e2 --was 3fa9c1        they joined again: one person, one year's budget
"""


@click.command(cls=Command, examples=INVITE_EXAMPLES)
def invite() -> int:
    """Print an invite link for one person; this device vouches for them.

    The link contains a secret that the server never sees: give it to that person only. They become a full member at
    once, and the group relies on their noise. Exit code 3 if the server cannot be reached.
    """
    from app.federation import group_roster
    from foltr.federated.links import to_link

    with _speaking() as (store, reach, not_followed):
        made = group_roster.invite(store, reach)
    click.echo(to_link(made.invite))
    if not_followed:
        say(f"{not_followed}; the link has the old address: make another one when the server no longer answers there")
    say(f"for one person, until {iso_minute(made.expires)}; you vouch for whoever uses it")
    return 0


@click.command(cls=Command, examples=VOUCH_EXAMPLES)
@click.argument("member", default="")
@click.option("--gone", is_flag=True, help="Sign instead that MEMBER is gone.")
@click.option("--was", default="", metavar="FORMER", help="Sign that MEMBER is the person who was FORMER.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def vouch(member: str, gone: bool, was: str, yes: bool) -> int:
    """Vouch for MEMBER (the first digits of a pseudonym), whom no member invited; without MEMBER, list who waits.

    Compare the fingerprint with what that person's `foltr-search federation` shows, by phone or in person. Members you
    vouch for take part in sealed rounds, and may be asked to add them up. If they lost their device and were invited
    again, use --was before the new device answers (later: FORMER --gone): what the lost one spent stays spent.
    """
    from app.federation import group_roster

    if was and (gone or not member):
        raise click.UsageError("--was needs a MEMBER, and cannot be combined with --gone")
    with _speaking() as (store, reach, not_followed):
        if not_followed:
            say(not_followed)
        roster = group_roster.of_now(store, reach)
        if not member:
            found = group_roster.unvouched(roster)
            for one in found:
                click.echo(f"{one.device}  {group_roster.print_of(one.device_key, one.box_key)}")
            if not found:
                say("nobody is waiting to be vouched for")
            return 0 if found else NOTHING_FOUND
        about = group_roster.chosen(roster, member)
        if not yes:
            question = "Is this member gone for good" if gone else "Does that person see the same fingerprint"
            question += f", and was {group_roster.chosen(roster, was).device}" if was else ""
            shown = group_roster.print_of(about.device_key, about.box_key)
            ask(f"{about.device}  {shown}\n{question}?")
        group_roster.vouch(store, reach, about.device, gone=gone, was=was)
    once = f"; what {was} sent counts as this member's, and {was} is taken off the roster" if was else ""
    say(f"{about.device} {'is taken off the roster' if gone else 'is vouched for'}{once}")
    return 0


@contextmanager
def _speaking() -> Iterator[tuple[Store, Reach, str]]:
    """The state file of the device that speaks to the group, once it follows the server's move, or why it does not."""
    from app.federation import answering_device, server_move
    from app.federation.server import Reach

    with state_of_member() as (store, settings):
        answering_device.speaker(store)
        reach = Reach(settings.federation)
        with server_move.following(store, reach) as not_followed:
            yield store, reach, not_followed
