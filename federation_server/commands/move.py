"""`foltr-server move`: tell the members where the server is to be found from now on."""

from __future__ import annotations

from urllib.parse import urlsplit

import click

from federation_server.commands.installation import now, open_here
from federation_server.database import writing
from federation_server.group import group
from federation_server.serve import LOOPBACK
from federation_server.setup import pinned_at
from foltr.federated.links import move_link


@click.command()
@click.option("--to", "address", required=True, help="The new address, such as https://host:8421.")
def command(address: str) -> None:
    """Move the server to a new address; members who sync while the old one still answers follow automatically.

    First write the new values into server.toml (server.port, server.public, tls.mode). Then run this while the old
    server still answers, leave it up until your members have synced once, and restart it. Members who come too late
    use the link that this prints: `foltr-search federation move LINK`.
    """
    _check(address)
    installation = open_here()
    pinned = pinned_at(installation, address)
    with writing(installation.engine) as connection:
        signed = group.move(connection, installation.vault.identity, address=address, certificate=pinned, now=now())
    click.echo(move_link(signed))
    click.echo(f"members who sync while the old address answers go to {address}; the link is for the others", err=True)
    if installation.public_address != address.rstrip("/"):
        click.echo(
            f"(server.toml still says {installation.public_address}: set server.public, server.port and tls.mode)",
            err=True,
        )


def _check(address: str) -> None:
    """BadParameter unless devices would go there: https, or http on a loopback address."""
    parts = urlsplit(address)
    encrypted = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK)
    if not parts.hostname or not encrypted or parts.query or parts.fragment or parts.username or "\\" in address:
        raise click.BadParameter(f"wanted an address such as https://host:8421, got {address!r}")
