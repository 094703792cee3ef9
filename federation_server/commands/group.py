"""`foltr-server init`, `serve`, `rename` and `move`: make a group, answer its devices, say its name and its place."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from federation_server import serve as running
from federation_server import setup
from federation_server.commands.installation import folder, is_made, now, open_here, warn_of_address
from federation_server.database import writing
from federation_server.group import group
from federation_server.settings import DEVICES_GO, in_force
from foltr.federated.links import to_link

INVITE_SECONDS = 3600
LONGEST_NAME = 80
MODES = {
    "sealed": "sealed, so this server learns only the sum of its members' updates; rounds begin with five members",
    "open": "open, so this server opens each update",
    "grouped": "grouped, so this server learns sums of ten or more members' updates; rounds begin with fifty members",
}


def _plain_name(_: click.Context, __: click.Parameter, name: str) -> str:
    """The name that all members are shown, if it is one line that fits."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise click.BadParameter(f"wanted 1 to {LONGEST_NAME} printable characters, got {name!r}")
    return name.strip()


NAMED = click.option(
    "--group", default="my group", show_default=True, callback=_plain_name, help="The name of the new group."
)


@click.command()
@NAMED
@click.option("--model", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Start from this model.")
@click.option(
    "--mode",
    type=click.Choice(["sealed", "open", "grouped"]),
    help="sealed: the server learns only the sum of five or more members' updates. open: it reads each update, and "
    "each device adds all the noise; robust rules need this. grouped: sealed, with several sums, from fifty "
    "members.",
)
def init(group: str, model: Path | None, mode: Literal["sealed", "open", "grouped"] | None) -> None:
    """Make a group: server.toml with comments, keys, database tables and the first model.

    To choose the method, privacy or PostgreSQL, first write a server.toml with just those keys into the folder; what it
    says stays in force.
    """
    begun = setup.read_start(model) if model else setup.shipped_start()
    made = setup.make(folder(), name=group, start=begun, now=now(), mode=mode)
    click.echo(f"group {group!r} is ready in {made.folder}: {MODES[made.settings.method.mode]}")
    click.echo("settings: server.toml; secrets: keys.json (back it up: without it no update or backup can be read)")
    click.echo("next: foltr-server invite --note NAME, then foltr-server serve")


@click.command()
@NAMED
def serve(group: str) -> None:
    """Serve the group until Ctrl-C or SIGTERM; the first time, make a group and print an invite valid for an hour."""
    running.check_exposure(in_force(folder()).settings)  # before a group is made
    if is_made():
        installation = open_here()
    else:
        installation = setup.make(folder(), name=group, start=setup.shipped_start(), now=now())
        link = setup.invitation(installation, note="first", seconds=INVITE_SECONDS, now=now())
        click.echo(f"made group {group!r} in {installation.folder}")
        click.echo(f"the first member runs, within the hour:  foltr-search join {link}")
        warn_of_address(installation)
    running.serve(installation)


@click.command()
@click.argument("name", callback=_plain_name)
def rename(name: str) -> None:
    """Rename the group; devices show the new NAME from their next sync on.

    Only the name that people see changes; devices know the group by its id.
    """
    with writing(open_here().engine) as connection:
        before = group.fact(connection, "group")
        group.set_fact(connection, "group", name)
    click.echo(f"the group {before!r} is now called {name!r}")


@click.command()
@click.option("--to", "address", required=True, help="The new address, such as https://host:8421.")
def move(address: str) -> None:
    """Move the server to a new address; members who sync before the old one stops answering follow by themselves.

    First write the new values into server.toml (server.port, server.public, tls.mode). Then run this while the old
    server still answers, leave it up until your members have synced once, and restart it. Members who come too late
    run `foltr-search federation move LINK` with the link that this prints.
    """
    if not DEVICES_GO.fullmatch(address):
        raise click.BadParameter(f"wanted an address such as https://host:8421, got {address!r}")
    installation = open_here()
    pinned = setup.pinned_at(installation, address)
    with writing(installation.engine) as connection:
        signed = group.move(connection, installation.vault.identity, address=address, certificate=pinned, now=now())
    click.echo(to_link(signed))
    click.echo(f"members who sync while the old address answers go to {address}; the link is for the others", err=True)
    if installation.public_address != address.rstrip("/"):
        click.echo(
            f"(server.toml still says {installation.public_address}: set server.public, port, tls.mode)", err=True
        )
