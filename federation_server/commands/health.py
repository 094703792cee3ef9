"""`foltr-server health`: does the server answer?"""

from __future__ import annotations

import os

import click

from federation_server.commands.installation import SETTINGS_FILE, folder


@click.command()
def command() -> int:
    """Ask the running server of this folder whether it is ready; exit code 1 when it is not.

    It is asked on this machine, encrypted as the settings say, and must show the certificate of the folder.
    """
    from federation_server.health import UnhealthyError, check
    from federation_server.settings import resolve, text_if_any

    file = folder() / SETTINGS_FILE
    try:
        where = check(resolve(file, text_if_any(file), os.environ).settings, folder())
    except UnhealthyError as error:
        click.echo(error, err=True)
        return 1
    click.echo(f"ready: {where}")
    return 0
