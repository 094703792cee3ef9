"""`foltr-server serve`: answer the group's devices."""

from __future__ import annotations

import os

import click

from federation_server import serve, setup
from federation_server.commands.installation import (
    SETTINGS_FILE,
    folder,
    is_made,
    note_address,
    now,
    open_here,
    warn_of_address,
)
from federation_server.settings import resolve, text_if_any

INVITE_SECONDS = 3600


@click.command()
@click.option("--group", default="my group", show_default=True, help="Name of the group made on the first start.")
def command(group: str) -> None:
    """Serve the group until Ctrl-C or SIGTERM. The first time, make a group and print an invite for one hour."""
    file = folder() / SETTINGS_FILE
    serve.check_exposure(resolve(file, text_if_any(file), os.environ).settings)  # before a group is made
    if is_made():
        installation = open_here()
    else:
        installation = setup.make(folder(), name=group, start=setup.shipped_start(), now=now())
        link = setup.invitation(installation, note="first", seconds=INVITE_SECONDS, now=now())
        click.echo(f"made group {group!r} in {installation.folder}")
        click.echo(f"first member, within the hour:  foltr-search join {link}")
        warn_of_address(installation)
    note_address(installation)
    metrics = installation.settings.operations
    click.echo(f"serving on {installation.public_address}", err=True)
    if metrics.metrics_port:
        click.echo(f"metrics on http://{metrics.metrics_address}:{metrics.metrics_port}/metrics", err=True)
    serve.serve(installation)
