"""`foltr-search [FOLDER]`: the screen; and `foltr-search --pick [QUERY]`, where chosen paths go to stdout."""

from __future__ import annotations

import os
import sys

import click

from app.commands.command import (
    FAILED,
    INTERRUPTED,
    NOTHING_FOUND,
    Command,
    TypedPath,
    load,
    print_line,
    printed_path,
    say,
)

EXAMPLES = """
vim "$(foltr-search --pick)"
foltr-search --pick --multi -0 invoice | xargs -0 -r cp -t ~/taxes
foltr-search --pick report ext:pdf
"""


@click.command(cls=Command, hidden=True)
@click.argument("folder", type=TypedPath(exists=True, file_okay=False))
@click.pass_context
def on_folder(ctx: click.Context, folder: str) -> int:
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


@click.command("--pick", cls=Command, hidden=True, examples=EXAMPLES)
@click.argument("query", nargs=-1)
@click.option("--multi", "-m", is_flag=True, help="Tab marks several; Enter prints them in that order.")
@click.option("--null", "-0", "null", is_flag=True, help="End each path with a NUL byte instead of a line end.")
def command(query: tuple[str, ...], multi: bool, null: bool) -> int:
    """Choose files on the screen, and print their paths.

    The screen is drawn on the terminal, so stdout has only the paths. Chosen files count as opened, for learning. Exit
    codes: 0 chosen; 1 Enter with nothing found; 130 left with Esc or Ctrl-C; 2 an error.
    """
    from app.tui import run
    from app.tui.screen_setup import Picking
    from app.tui.terminal.controlling_terminal import on_the_terminal

    context, picking = load(), Picking(multi, " ".join(query))
    with on_the_terminal():
        code = run(context.settings, context.paths, picking=picking)
    for path in picking.paths if code == 0 else ():
        if null:
            click.echo(path + "\0", nl=False, color=True)
        else:
            print_line(printed_path(path))
    return code if code in (0, NOTHING_FOUND, INTERRUPTED) else FAILED
