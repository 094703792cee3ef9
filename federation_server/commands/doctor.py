"""`foltr-server doctor`: is everything as it should be?"""

from __future__ import annotations

import click

from federation_server.commands.installation import folder, now, open_here


@click.command()
def command() -> int:
    """Check settings, keys, database, rounds and disk; exit code 1 when something is wrong."""
    from federation_server import checkup

    good = True
    for check in checkup.checks(open_here(), folder(), now=now()):
        good = good and check.good
        click.echo(f"{'ok  ' if check.good else 'FAIL'} {check.name}: {check.text}")
    return 0 if good else 1
