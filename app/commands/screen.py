"""`foltr-search [FOLDER]`: the screen."""

from __future__ import annotations

import os
import sys

import click

from app.commands.command import FAILED, INTERRUPTED, Command, load, say


@click.command(cls=Command, hidden=True)
@click.argument("folder", type=click.Path(exists=True, file_okay=False))
@click.pass_context
def command(ctx: click.Context, folder: str) -> int:
    """Open the screen on FOLDER."""
    return open_screen(ctx, folder=folder)


def open_screen(ctx: click.Context, *, folder: str | None) -> int:
    """Run the screen until it is left; without a terminal that draws there is none, so say what there is instead."""
    if not (sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"):
        click.echo(ctx.find_root().get_help(), err=True)
        say("the screen needs a terminal; without one use `foltr-search search QUERY` or `foltr-search --plain`")
        return FAILED
    context = load()
    from app.tui import run

    code = run(context.settings, context.paths, folder=folder)
    return code if code in (0, INTERRUPTED) else FAILED
