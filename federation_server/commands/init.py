"""`foltr-server init`: make a group."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from federation_server import setup
from federation_server.commands.installation import folder, now

MODES = {
    "sealed": "sealed, so this server learns the sum of its members' updates alone; rounds begin with five members",
    "open": "open, so this server opens each update",
    "grouped": "grouped, so this server learns sums of ten or more members' updates; rounds begin with fifty members",
}


@click.command()
@click.option("--group", default="my group", show_default=True, help="The group's name.")
@click.option("--model", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Start from this model.")
@click.option(
    "--mode",
    type=click.Choice(["sealed", "open", "grouped"]),
    help="sealed: the server learns only the sum of five or more members' updates. open: it reads each update, and "
    "each device adds all the noise; robust rules need this. grouped: sealed, with several sums, from fifty "
    "members.",
)
def command(group: str, model: Path | None, mode: Literal["sealed", "open", "grouped"] | None) -> None:
    """Make a group: commented settings, keys, tables and the first model.

    To choose method, privacy or PostgreSQL, first write a server.toml with just those keys into the folder; settings
    that are already there are kept.
    """
    begun = setup.read_start(model) if model else setup.shipped_start()
    made = setup.make(folder(), name=group, start=begun, now=now(), mode=mode)
    click.echo(f"group {group!r} is ready in {made.folder}: {MODES[made.settings.method.mode]}")
    click.echo("settings: server.toml; secrets: keys.json (back it up: without it updates and backups do not open)")
    click.echo("next: foltr-server invite --note NAME, then foltr-server serve")
