"""`foltr-server keys`: fingerprint, rotation, the dashboard's token."""

from __future__ import annotations

import secrets

import click

from console.command_line import CommandsInFull
from federation_server.commands.installation import open_here
from federation_server.database import writing
from federation_server.group import group
from federation_server.setup import make_certificate
from federation_server.tls import TlsError, key_fingerprint
from federation_server.vault import hash_of
from foltr.federated.envelope import fingerprint


@click.group(cls=CommandsInFull, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> None:
    """Show the fingerprint of the server's identity key, by which devices recognise the server."""
    if ctx.invoked_subcommand:
        return
    installation = open_here()
    click.echo(f"identity   {fingerprint(installation.vault.identity.public)}")
    click.echo(f"column keys {len(installation.vault.column_keys)}, in {installation.settings.server.keys}")


@command.command()
def rotate() -> None:
    """Encrypt stored updates with a new key from now on; then restart the server."""
    installation = open_here()
    installation.vault.with_new_column_key().write(installation.folder / installation.settings.server.keys)
    click.echo("restart the server to use the new key; what was stored before stays readable")


@command.command()
def renew() -> None:
    """Make a new self-signed certificate with the same key; then restart the server. Members notice nothing."""
    installation = open_here()
    if (mode := installation.settings.tls.mode) != "self-signed":
        raise TlsError(f'tls.mode is "{mode}", so this program does not make the certificate and cannot renew it')
    make_certificate(installation.folder, installation.settings, renew=True)
    pinned = key_fingerprint(installation.certificate)
    click.echo(f"restart the server to use the new certificate; its key is the same, which devices know as {pinned}")


@command.command()
def dashboard() -> None:
    """Make a new dashboard token and print it once; only its hash is stored."""
    installation, token = open_here(), secrets.token_urlsafe(24)
    with writing(installation.engine) as connection:
        group.set_fact(connection, "dashboard token", hash_of(token))
    click.echo(token)
