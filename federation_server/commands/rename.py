"""`foltr-server rename`: another name for the group."""

from __future__ import annotations

import click

from federation_server.commands.installation import open_here
from federation_server.database import writing
from federation_server.group import group

LONGEST = 80


@click.command()
@click.argument("name")
def command(name: str) -> None:
    """Rename the group; devices show the new NAME from their next sync on.

    Only the name that people see changes; devices know the group by its id.
    """
    if not name.strip() or len(name) > LONGEST or not name.isprintable():
        raise click.BadParameter(f"wanted 1 to {LONGEST} printable characters, got {name!r}")
    with writing(open_here().engine) as connection:
        before = group.fact(connection, "group")
        group.set_fact(connection, "group", name.strip())
    click.echo(f"the group {before!r} is called {name.strip()!r} now")
