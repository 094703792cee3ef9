"""`foltr-server init`: make a group."""

from __future__ import annotations

from pathlib import Path

import click

from federation_server.commands.installation import folder, now


@click.command()
@click.option("--group", default="my group", show_default=True, help="The group's name, for people.")
@click.option(
    "--model", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Begin with this start model."
)
def command(group: str, model: Path | None) -> None:
    """Write commented settings and keys, make the tables and the first model.

    To choose method, privacy or PostgreSQL, write a server.toml with just those keys into the folder before: settings
    that are already there are taken as they are.
    """
    from federation_server import setup, start

    made = setup.make(folder(), name=group, start=start.read(model) if model else start.shipped_start(), now=now())
    click.echo(f"group {group!r} is ready in {made.folder}")
    click.echo("settings: server.toml; secrets: keys.json (back it up: without it updates and backups do not open)")
    click.echo("next: foltr-server invite --note NAME, then foltr-server serve")
