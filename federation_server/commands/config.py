"""`foltr-server config`: which settings are in force and from where, and whether they can be used."""

from __future__ import annotations

import os

import click

from console.command_line import FAILED, CommandsInFull, print_settings
from federation_server.commands.installation import folder
from federation_server.settings import SCHEME, SETTINGS_FILE, in_force, text_if_any


@click.group(cls=CommandsInFull, invoke_without_command=True)
@click.pass_context
def command(ctx: click.Context) -> int:
    """Show and check the settings: environment variables win over server.toml, that over the defaults."""
    return 0 if ctx.invoked_subcommand else ctx.invoke(show)


@command.command("path")
def path() -> None:
    """Print the path of server.toml, even if it does not exist yet."""
    click.echo(folder() / SETTINGS_FILE)


@command.command("show")
@click.argument("prefix", default="")
def show(prefix: str) -> int:
    """Print settings and where each value comes from; PREFIX limits it to one table or key."""
    return print_settings(SCHEME, in_force(folder()), prefix)


@command.command("check")
def check() -> int:
    """Check server.toml and the environment, and list every problem (exit code 2)."""
    file = folder() / SETTINGS_FILE
    _, problems = SCHEME.examine(str(file), text_if_any(file), os.environ, flags={})
    for problem in problems:
        click.echo(problem, err=True)
    return FAILED if problems else 0


@command.command("default")
def default() -> None:
    """Print the default file with comments."""
    click.echo(SCHEME.default_file(), nl=False)
