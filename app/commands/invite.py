"""`foltr-search invite`: a link by which a member brings one person into the group."""

from __future__ import annotations

import click

from app.commands.command import Command, say, state_of_member
from console.wording import iso_minute

EXAMPLES = """
foltr-search invite                           print a link for one person
"""


@click.command(cls=Command, examples=EXAMPLES)
def command() -> int:
    """Print an invite link for one person; this device vouches for them.

    The link holds a secret that the server never sees: give it to that person only. They become a full member at once,
    and are counted on to add noise. Exit code 3 if the server cannot be reached.
    """
    from app.federation.group_roster import invite
    from app.federation.server import Reach
    from foltr.federated.links import to_link

    with state_of_member() as (store, settings):
        made = invite(store, Reach(settings.federation))
    click.echo(to_link(made.invite))
    say(f"for one person, until {iso_minute(made.expires)}; you vouch for whoever uses it")
    return 0
