"""`foltr-search invite`: a link by which a member brings one person into the group."""

from __future__ import annotations

import click

from app.commands.command import Command, load, say
from console.wording import iso_minute

EXAMPLES = """
foltr-search invite                           prints a link for one person
"""


@click.command(cls=Command, examples=EXAMPLES)
def command() -> int:
    """Print an invite link for one person, for whom this device vouches.

    The link holds a secret that the server never sees: give it to that person alone. Whoever joins by it is a full
    member at once, and is counted on to add noise. Exit code 3 when the server cannot be reached.
    """
    from app.commands.command import ask_server
    from app.federation.group_roster import invite
    from app.store import Store
    from foltr.federated.links import to_link

    context = load()
    context.paths.create_data_dir()

    def offer() -> int:
        with Store(context.paths.state) as store:
            made = invite(store, context.settings)
        click.echo(to_link(made.invite))
        say(f"for one person, until {iso_minute(made.expires)}; you vouch for whoever uses it")
        return 0

    return ask_server(offer)
